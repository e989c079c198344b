package redistest

import "syscall"

// processAttributes has the server end with the process that started it, even if that is killed: a fuzz worker that
// was killed left its server behind, which kept the worker's pipe open and so its coordinator waiting.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
