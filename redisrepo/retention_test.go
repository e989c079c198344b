package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

const monthKept = 30 * site.Day

// deletesSome posts articles with secret texts and deletes them: many in one second, some earlier, some later. It returns one of
// the first.
func (s *testSite) deletesSome() (first site.ArticleID) {
	s.t.Helper()
	post := func(text string) site.ArticleID {
		d := s.fresh("go")
		d.Title, d.Text, d.Link = text+" title", new(text+" text"), new(*d.Link+text)
		a := require.Value(s.Post(s.ctx, "alice", d))(s.t)
		s.edit(a.ID, site.Actor{Name: "alice"}, redisrepo.Edit{Title: new(text + " new title")})
		s.vote(a.ID, "bob", up)
		return a.ID
	}
	for range 3 {
		first = post("secret")
		s.delete(first, moderator)
	}
	s.clock.advance(time.Hour)
	restored := post("restored")
	s.delete(restored, moderator)
	s.undelete(restored)
	for range 120 {
		a := s.post("alice", "go")
		require.Value(s.Delete(s.ctx, a.ID, moderator, site.Why{Ground: site.GroundRules, Reason: "spam"}))(s.t)
	}
	s.delete(post("secret"), site.Actor{Name: "alice"})
	s.clock.advance(monthKept - time.Minute)
	s.delete(post("later"), moderator)
	post("kept")
	return first
}

// unlogged is the store without the moderation log, which keeps titles.
func (s *testSite) unlogged() string {
	var lines []string
	for line := range strings.Lines(s.dump()) {
		if !strings.Contains(line, "moderation:") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// sweeps empties articles until there are none left, by processes that end after so many commands, and returns how many it took.
func (s *testSite) sweeps(commands int64, options ...redisrepo.Option) (processes int) {
	s.t.Helper()
	var left atomic.Int64
	dies := redistest.Hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		if left.Add(-int64(len(cmds))) < 0 {
			return errors.New("killed")
		}
		return send(ctx, cmds)
	})
	left.Store(1 << 30)
	other := s.reopened(s.client(dies), nil, options...)
	for found := 1; found > 0; processes++ {
		left.Store(commands)
		n, err := other.Retention.EmptyDeleted(s.ctx)
		if found = n; err != nil {
			found = 1
		}
		if processes > 500 {
			s.t.Fatal("the articles are not emptied")
		}
		commands++
	}
	return processes
}

func TestDeletedArticlesAreEmptied(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 16} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			options := []redisrepo.Option{redisrepo.WithPartitions(partitions), redisrepo.WithDeletedTexts(monthKept)}
			s := newSite(t, nil, options...)
			first := s.deletesSome()
			never := s.reopened(s.client(), nil, options[0])
			require.NoError(t, s.Views.CatchUpAll(s.ctx))
			require.NoError(t, s.Fold(s.ctx, "go")) // which happens in the background otherwise, at any moment of the test
			before := s.unlogged()
			if n := require.Value(never.Retention.EmptyDeleted(s.ctx))(t); n != 0 || s.unlogged() != before {
				t.Errorf("without the setting %d articles were emptied", n)
			}
			if s.clock.set(0); require.Value(s.Retention.EmptyDeleted(s.ctx))(t) != 0 || s.unlogged() != before {
				t.Error("articles were emptied before their time")
			}
			s.clock.set(monthKept + 2*time.Hour)
			processes := s.sweeps(1, options...)
			if processes < 3 {
				t.Errorf("%d processes emptied all, want some that are killed", processes)
			}
			after := s.unlogged()
			for text, want := range map[string]bool{"secret": false, "restored text": true, "later text": true, "later new title": true, "later title": true, "kept text": true} {
				if strings.Contains(after, text) != want {
					t.Errorf("the store has %q: %t, want %t", text, !want, want)
				}
			}
			if s.sweeps(1000, options...); s.unlogged() != after {
				t.Error("sweeping again changed something")
			}
			s.wantClean()
			article := require.Value(s.Deleted(s.ctx, first))(t)
			if article.Title != "" || article.Text != nil || article.Link != nil || article.EditedAt != nil || article.Upvotes != 2 || *article.DeletedBy != "mod" {
				t.Errorf("an emptied article is %+v", article)
			}
			_, err := s.Undelete(s.ctx, first, moderator)
			wantRefused(t, err, "FORBIDDEN article")
			if again := require.Value(s.Delete(s.ctx, first, moderator, site.Why{Reason: "at last"}))(t); again.Removal == nil || again.Removal.Reason != "at last" {
				t.Errorf("a reason was not added to an emptied article: %+v", again)
			}
			s.wantClean()
		})
	}
}

// While there is nothing to empty, a look takes two commands for each partition.
func TestLookingForArticlesToEmptyIsCheap(t *testing.T) {
	t.Parallel()
	options := []redisrepo.Option{redisrepo.WithPartitions(4), redisrepo.WithDeletedTexts(monthKept)}
	s := newSite(t, nil, options...)
	var sent atomic.Int64
	counts := redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		sent.Add(int64(len(commands)))
		return send(ctx, commands)
	})
	other := s.reopened(s.client(counts), nil, options...)
	sent.Store(0)
	if n := require.Value(other.Retention.EmptyDeleted(s.ctx))(t); n != 0 || sent.Load() > 8 {
		t.Errorf("%d commands for 4 partitions, and %d articles", sent.Load(), n)
	}
}
