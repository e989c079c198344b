//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package store

import "syscall"

// processAttributes keep Ctrl-C in a terminal from reaching the child, which has to outlive the last request.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
