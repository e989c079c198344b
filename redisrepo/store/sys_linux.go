package store

import (
	"fmt"
	"os"
	"syscall"
)

// processAttributes keep Ctrl-C in a terminal from reaching the child, which has to outlive the last request,
// and end the child if Frontpage is killed.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

// openPath returns a path to an open directory that needs no right to the directories above it.
func openPath(dir *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", dir.Fd()) }
