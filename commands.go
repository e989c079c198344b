package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"frontpage/csvimport"
	"frontpage/redisrepo"
	"frontpage/store"
)

// batchTimeout is the least wait for a reply of the store to commands that send
// it much work at once, and have nobody waiting for them.
const batchTimeout = 30 * time.Second

// openKept opens the store for a command that makes no sense on memory, which
// would end with the command.
func openKept(ctx context.Context, s *settings, log *slog.Logger) (*store.Store, *redisrepo.Repo, error) {
	o := s.storeOptions(log)
	o.Timeout = max(o.Timeout, batchTimeout)
	st, repo, err := open(ctx, o, s.rules(), redisrepo.KeepRules())
	if err != nil {
		return nil, nil, err
	}
	if st.Kind == store.Memory {
		return nil, nil, errors.Join(errors.New("the store is memory, which ends with this command: install redis-server, or set REDIS_URL"), st.Close())
	}
	log.Info("the store is " + st.String())
	return st, repo, nil
}

type importFile struct {
	File        *os.File `arg:"" help:"CSV with a header: id, title, link, votes, poster, posted_at, and perhaps text, groups. posted_at is Unix seconds or RFC 3339."`
	GroupByHost bool     `help:"Put each link into a group that is named after its host, without www."`
	ShiftToNow  bool     `help:"Move all times so that the newest is now."`
}

// Run imports the file. Rows that are refused are no failure of the command.
func (i *importFile) Run(ctx context.Context, s *settings, log *slog.Logger) (err error) {
	st, repo, err := openKept(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	var progress io.Writer
	if term.IsTerminal(int(os.Stderr.Fd())) {
		progress = os.Stderr
	}
	summary, err := csvimport.Run(ctx, repo, i.File, csvimport.Options{
		GroupByHost: i.GroupByHost, ShiftToNow: i.ShiftToNow, Refused: os.Stderr, Progress: progress,
	})
	fmt.Println(summary)
	return err
}

type check struct{}

// Run prints every violation on standard output, and fails when there is one.
func (check) Run(ctx context.Context, s *settings, log *slog.Logger) (err error) {
	st, repo, err := openKept(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	violations := 0
	checked, err := repo.Check(ctx, func(violation string) {
		violations++
		fmt.Println(violation)
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d articles and %d groups checked: %d violations\n", checked.Articles, checked.Groups, violations)
	if violations > 0 {
		return errors.New("the store contradicts itself")
	}
	return nil
}
