package store

import "syscall"

// processAttributes keep Ctrl-C in a terminal from reaching the child, which has to outlive the last request,
// and end the child if Frontpage is killed.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
