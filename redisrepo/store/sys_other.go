//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package store

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

const canRunChild = false

func tryLock(*os.File, bool) (bool, error) { return false, errors.ErrUnsupported }

func foreignOwner(*os.File) (uid, gid int) { return -1, -1 }

func runAs(*syscall.SysProcAttr, int, int) {}

func startPrivate(cmd *exec.Cmd) error { return cmd.Start() }

func unlock(*os.File) error { return errors.ErrUnsupported }

func runs(int) bool { return true }

// openPath is the path of a directory: this system has no other one.
func openPath(dir *os.File) string { return dir.Name() }

func processAttributes() *syscall.SysProcAttr { return nil }
