package main

import (
	"cmp"
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
		GroupByHost: i.GroupByHost, ShiftToNow: i.ShiftToNow, Report: os.Stderr, Progress: progress,
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
	fmt.Printf("%d articles, %d deleted ones and %d groups checked: %d violations\n", checked.Articles, checked.Deleted, checked.Groups, violations)
	if violations > 0 {
		return errors.New("the store contradicts itself")
	}
	return nil
}

// commandLine is who brings articles back without signing in. The blank keeps it
// from being anybody's name.
const commandLine redisrepo.UserName = " command line"

type undelete struct {
	Article string `arg:"" help:"Id of the article, such as article:17, or its number."`
}

// Run brings a deleted article back.
func (u *undelete) Run(ctx context.Context, s *settings, log *slog.Logger) (err error) {
	id, err := redisrepo.ParseArticleID(u.Article)
	if err != nil {
		return err
	}
	st, repo, err := openKept(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if _, err := repo.Deleted(ctx, id); err != nil {
		return err
	}
	article, err := repo.Undelete(ctx, id, redisrepo.Actor{Name: commandLine, Moderator: true})
	if err != nil {
		return err
	}
	fmt.Printf("%v is back: %q, %d votes, score %.0f\n", article.ID, article.Title, article.Votes, article.Score)
	return nil
}

type audit struct {
	Article string `arg:"" help:"Id of the article, such as article:17, or its number."`
}

// Run prints a line for each voter: name, vote, time and bucket of the address,
// with tabs between. What was not recorded is a dash.
func (a *audit) Run(ctx context.Context, s *settings, log *slog.Logger) (err error) {
	id, err := redisrepo.ParseArticleID(a.Article)
	if err != nil {
		return err
	}
	st, repo, err := openKept(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	entries, err := repo.Audit(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := "-"
		if e.At != nil {
			at = e.At.Format(time.RFC3339)
		}
		vote := map[redisrepo.Vote]string{redisrepo.Up: "up", redisrepo.Down: "down", redisrepo.None: "none"}[e.Vote]
		fmt.Printf("%s\t%s\t%s\t%s\n", e.Voter, vote, at, cmp.Or(e.Bucket, "-"))
	}
	return nil
}
