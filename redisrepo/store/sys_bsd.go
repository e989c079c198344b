//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package store

import (
	"os"
	"syscall"
)

// processAttributes keep Ctrl-C in a terminal from reaching the child, which has to outlive the last request.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// openPath is the path of a directory: this system has no other one.
func openPath(dir *os.File) string { return dir.Name() }
