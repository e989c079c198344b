//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package store

import (
	"errors"
	"os"
	"syscall"
)

const canRunChild = false

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func shortPath(dir *os.File) string { return dir.Name() }

func processAttributes() *syscall.SysProcAttr { return nil }
