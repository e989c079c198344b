package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
)

// unanswered is a hook that loses the replies to scripts.
type unanswered struct{ observer }

func (unanswered) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		err := next(ctx, command)
		if slices.Contains([]string{"evalsha", "eval"}, command.Name()) {
			err = io.EOF
			command.SetErr(err)
		}
		return err
	}
}

// Each write, whatever becomes of it, changes the version before it returns. Reads and charges change nothing.
func TestWritesChangeTheVersion(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	client := s.client()
	lost := s.reopened(client, nil)
	a, doomed := s.post("alice", "go"), s.post("alice")
	alice, mod := site.Actor{Name: "alice"}, site.Actor{Name: "mod", Moderator: true}
	first := site.PageRequest{First: new(5)}
	for name, tt := range map[string]struct {
		do      func() error
		changes bool
	}{
		"a post":       {func() error { _, err := s.Post(s.ctx, "alice", s.fresh()); return err }, true},
		"a vote":       {func() error { _, err := s.Vote(s.ctx, a.ID, "bob", site.Up, ""); return err }, true},
		"a regrouping": {func() error { _, err := s.Regroup(s.ctx, a.ID, alice, []string{"web"}, nil); return err }, true},
		"an edit": {func() error {
			_, err := s.Edit(s.ctx, a.ID, alice, redisrepo.Edit{Text: new("text")})
			return err
		}, true},
		"a deletion":    {func() error { _, err := s.Delete(s.ctx, doomed.ID, alice); return err }, true},
		"an undeletion": {func() error { _, err := s.Undelete(s.ctx, a.ID, mod); return err }, true},
		"an import": {func() error {
			_, errs := s.Import(s.ctx, []redisrepo.Imported{{ID: 900, Poster: "alice", PostedAt: opened, Votes: 1, Draft: draft("imported")}})
			return errs[0]
		}, true},
		"a listing": {func() error {
			_, err := s.List(s.ctx, lists.InGroup("go", site.ByScore, site.Descending), 1, nil)
			return err
		}, false},
		"a page": {func() error {
			_, _, err := s.Walk(s.ctx, lists.AllArticles(site.ByScore, site.Descending), first)
			return err
		}, false},
		"an article":  {func() error { _, errs := s.ArticlesByID(s.ctx, []site.ArticleID{a.ID}); return errs[0] }, false},
		"a kept text": {func() error { return s.KeepDocument(s.ctx, strings.Repeat("0", 64), "{ viewer { id } }") }, false},
		"a rate's count": {func() error {
			_, err := s.Charge(s.ctx, "", []rates.Charge{{Rule: "votes", Most: 9, Window: time.Minute, Amount: 1, Address: netip.MustParseAddr("192.0.2.1")}})
			return err
		}, false},
	} {
		before := s.Version()
		if err := tt.do(); err != nil || (s.Version() > before) != tt.changes {
			t.Errorf("%s: got version %d after %d, %v, want a change: %v", name, s.Version(), before, err, tt.changes)
		}
	}
	client.AddHook(unanswered{})
	before := lost.Version()
	if _, err := lost.Vote(s.ctx, a.ID, "carol", site.Up, ""); !errors.Is(err, failover.ErrUnavailable) || lost.Version() == before {
		t.Errorf("a vote without a reply: got version %d after %d, %v, want another one and no reply", lost.Version(), before, err)
	}
}

// When a watch delivers a change, the version has changed, whether a message or a read brought it.
func TestVersionChangesBeforeWatchesDeliver(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one).listen()
	a := s.post("alice")
	other := s.reopened(s.client(), nil)
	watch := must.Get(s.WatchArticles(s.ctx, []site.ArticleID{a.ID}))(t)
	defer watch.Close()
	for i := range 10 {
		s.settle()
		before, votes := s.Version(), s.article(a.ID).Votes
		if i%2 == 0 {
			other.vote(a.ID, site.UserName(fmt.Sprint("user", i)), site.Up)
		} else { // as a legacy client, which publishes nothing
			s.do("HINCRBY", "article:1", "votes", 1)
			s.article(a.ID)
		}
		d := delivery(t, watch) // the watch may be woken for nothing
		if d.Newest().Votes != votes+1 || s.Version() == before {
			t.Errorf("got %d votes after %d, version %d after %d, want one vote more and another version", d.Newest().Votes, votes, s.Version(), before)
		}
		d.Done(true)
	}
}
