package store

import "syscall"

// processAttributes keep Ctrl-C in a terminal from the child, which has to
// outlive the last request, and end it when we are killed.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
