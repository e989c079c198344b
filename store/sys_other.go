//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package store

import (
	"errors"
	"os"
	"syscall"
)

const canRunChild = false

func tryLock(*os.File, bool) (bool, error) { return false, errors.ErrUnsupported }

func unlock(*os.File) error { return errors.ErrUnsupported }

func runs(int) bool { return true }

func shortPath(dir *os.File) string { return dir.Name() }

func processAttributes() *syscall.SysProcAttr { return nil }
