package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"frontpage/redisrepo"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/store"
	"frontpage/settings"
)

type eraseUser struct {
	Name  string `arg:"" optional:"" help:"The user's name."`
	Posts string `enum:"keep,remove" default:"keep" help:"keep: the user's articles stay, as those of a deleted user. remove: they are deleted and emptied."`
	Find  bool   `help:"Only list the words of users that contain the name, such as titles and notes, which stay. It changes nothing."`
	List  bool   `help:"Only list the digests of the names of erased users."`
}

// Run erases the user, and has Redis rewrite its files. With Find or List it changes nothing.
func (e *eraseUser) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	if e.Name == "" && !e.List {
		return errors.New("name the user, or give --list")
	}
	return withStore(ctx, s, log, func(st *store.Store) error {
		repo, err := openSite(ctx, s, st, redisrepo.KeepRules())
		if err != nil {
			return err
		}
		switch {
		case e.List:
			digests, err := erase.Erased(ctx, repo)
			for _, digest := range digests {
				fmt.Println(digest)
			}
			return err
		case e.Find:
			return erase.Find(ctx, repo, e.Name, func(f erase.Found) { fmt.Printf("%s: %q\n", f.Where, f.Words) })
		}
		o := erase.Options{Remove: e.Posts == "remove", Settle: erase.Settle}
		if terminal(os.Stderr) != nil {
			o.Progress = func(keys, changes int) { fmt.Fprintf(os.Stderr, "\r%d keys, %d changes", keys, changes) }
			defer fmt.Fprintln(os.Stderr)
		}
		done, err := erase.User(ctx, repo, e.Name, o)
		if err != nil {
			return fmt.Errorf("%w: call this again, and it goes on", err)
		}
		fmt.Printf("erased: %d changes, %d walks over the keys\n", done.Changes, done.Walks)
		did, err := st.Rewrite(ctx)
		for _, text := range did {
			fmt.Println(strings.TrimSpace(text))
		}
		if err != nil {
			return fmt.Errorf("the name has left the store, but not yet all files: %w: run BGREWRITEAOF and BGSAVE on each Redis", err)
		}
		return nil
	})
}
