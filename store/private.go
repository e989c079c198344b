package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// others are the rights of all users but the owner.
const others fs.FileMode = 0o077

// makePrivate takes the rights of other users from the data directory, and from the files of Frontpage and Redis in it:
// they say who voted for what. A directory that has other files, too, is left as it is: that is an error.
func (c *child) makePrivate(o Options) error {
	info, err := c.folder.Stat()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	if info.Mode()&others != 0 {
		for _, entry := range entries {
			if !isOurs(entry.Name()) {
				return fmt.Errorf("other users of this machine can read %s (mode %v), and it has %s, which is not from Frontpage: "+
					"make it private by chmod 700, or set %s to a directory of its own", c.dir, info.Mode().Perm(), entry.Name(), o.name("DataDir"))
			}
		}
		if err := c.folder.Chmod(0o700); err != nil {
			return fmt.Errorf("other users of this machine can read %s (mode %v): %w: make it private by chmod 700, or set %s to a directory in it",
				c.dir, info.Mode().Perm(), err, o.name("DataDir"))
		}
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, entry := range entries {
		if !isOurs(entry.Name()) || entry.Type()&fs.ModeSymlink != 0 {
			continue
		}
		if err := fs.WalkDir(root.FS(), entry.Name(), privateIn(root)); err != nil {
			return fmt.Errorf("other users of this machine can read files in %s: %w", c.dir, err)
		}
	}
	return nil
}

// isOurs reports whether Frontpage or Redis gives this name to something in a data directory.
func isOurs(name string) bool {
	switch name {
	case lockName, joinedName, backupName, logName, socketName, dumpName, stagingName, aofFolder, "lost+found":
		return true
	}
	return strings.HasPrefix(name, aofName) || strings.HasPrefix(name, "temp-") // of a Redis that is writing them
}

// privateIn returns a function for fs.WalkDir in root. It follows no link. What is gone meanwhile is not an error.
func privateIn(root *os.Root) fs.WalkDirFunc {
	return func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return unlessGone(err)
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&others == 0 || !info.IsDir() && !info.Mode().IsRegular() || entry.Name() == "lost+found" {
			return unlessGone(err)
		}
		return unlessGone(root.Chmod(path, info.Mode().Perm()&^others))
	}
}

func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
