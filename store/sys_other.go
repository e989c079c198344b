//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package store

import (
	"errors"
	"os"
	"syscall"
)

const canRunChild = false

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func processAttributes() *syscall.SysProcAttr { return nil }
