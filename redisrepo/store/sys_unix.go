//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package store

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

const canRunChild = true

// tryLock locks a file for this process alone, or with others that share it.
func tryLock(file *os.File, alone bool) (bool, error) {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// foreignOwner returns the owner of a folder, and its group, if this process is root and the folder is not. Otherwise
// both are -1, which changes no owner.
func foreignOwner(folder *os.File) (uid, gid int) {
	info, err := folder.Stat()
	if err != nil || os.Geteuid() != 0 {
		return -1, -1
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
		return int(stat.Uid), int(stat.Gid)
	}
	return -1, -1
}

// runAs has a child run as a user.
func runAs(attributes *syscall.SysProcAttr, uid, gid int) {
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} // #nosec G115 -- they come from the system
}

var umask sync.Mutex

// startPrivate starts a command whose files only its user can read. The mask is that of the process: what others of its
// goroutines create at this moment is private, too.
func startPrivate(cmd *exec.Cmd) error {
	umask.Lock()
	defer umask.Unlock()
	defer syscall.Umask(syscall.Umask(0o077))
	return cmd.Start()
}

func unlock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

// runs reports whether the process exists.
func runs(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
