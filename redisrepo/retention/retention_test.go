package retention_test

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
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

const monthKept = 30 * site.Day

// deletesSome posts articles with secret texts and deletes them: many in one second, some earlier, some later. It returns one of
// the first.
func deletesSome(s *repotest.Site) (first site.ArticleID) {
	s.T.Helper()
	post := func(text string) site.ArticleID {
		d := s.Fresh("go")
		d.Title, d.Text, d.Link = text+" title", new(text+" text"), new(*d.Link+text)
		a := require.Value(s.Post(s.Ctx, "alice", d))(s.T)
		s.MustEdit(a.ID, site.Actor{Name: "alice"}, redisrepo.Edit{Title: new(text + " new title")})
		s.MustVote(a.ID, "bob", site.Up)
		return a.ID
	}
	for range 3 {
		first = post("secret")
		s.MustDelete(first, repotest.Moderator)
	}
	s.Clock.Advance(time.Hour)
	restored := post("restored")
	s.MustDelete(restored, repotest.Moderator)
	s.MustUndelete(restored)
	for range 120 {
		a := s.MustPost("alice", "go")
		require.Value(s.Delete(s.Ctx, a.ID, repotest.Moderator, site.Why{Ground: site.GroundRules, Reason: "spam"}))(s.T)
	}
	s.MustDelete(post("secret"), site.Actor{Name: "alice"})
	s.Clock.Advance(monthKept - time.Minute)
	s.MustDelete(post("later"), repotest.Moderator)
	post("kept")
	return first
}

// unlogged is the store without the moderation log, which keeps titles.
func unlogged(s *repotest.Site) string {
	var lines []string
	for line := range strings.Lines(s.Dump()) {
		if !strings.Contains(line, "moderation:") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// sweeps empties articles until there are none left, by processes that end after so many commands, and returns how many it took.
func sweeps(s *repotest.Site, commands int64, options ...redisrepo.Option) (processes int) {
	s.T.Helper()
	var left atomic.Int64
	dies := redistest.Hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		if left.Add(-int64(len(cmds))) < 0 {
			return errors.New("killed")
		}
		return send(ctx, cmds)
	})
	left.Store(1 << 30)
	other := s.Reopened(s.Client(dies), nil, options...)
	for found := 1; found > 0; processes++ {
		left.Store(commands)
		n, err := other.Retention.EmptyDeleted(s.Ctx)
		if found = n; err != nil {
			found = 1
		}
		if processes > 500 {
			s.T.Fatal("the articles are not emptied")
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
			s := repotest.New(t, nil, options...)
			first := deletesSome(s)
			never := s.Reopened(s.Client(), nil, options[0])
			require.NoError(t, s.Views.CatchUpAll(s.Ctx))
			require.NoError(t, s.Fold(s.Ctx, "go")) // which happens in the background otherwise, at any moment of the test
			before := unlogged(s)
			if n := require.Value(never.Retention.EmptyDeleted(s.Ctx))(t); n != 0 || unlogged(s) != before {
				t.Errorf("without the setting %d articles were emptied", n)
			}
			if s.Clock.Set(0); require.Value(s.Retention.EmptyDeleted(s.Ctx))(t) != 0 || unlogged(s) != before {
				t.Error("articles were emptied before their time")
			}
			s.Clock.Set(monthKept + 2*time.Hour)
			processes := sweeps(s, 1, options...)
			if processes < 3 {
				t.Errorf("%d processes emptied all, want some that are killed", processes)
			}
			after := unlogged(s)
			for text, want := range map[string]bool{"secret": false, "restored text": true, "later text": true, "later new title": true, "later title": true, "kept text": true} {
				if strings.Contains(after, text) != want {
					t.Errorf("the store has %q: %t, want %t", text, !want, want)
				}
			}
			if sweeps(s, 1000, options...); unlogged(s) != after {
				t.Error("sweeping again changed something")
			}
			s.WantClean()
			article := require.Value(s.Deleted(s.Ctx, first))(t)
			if article.Title != "" || article.Text != nil || article.Link != nil || article.EditedAt != nil || article.Upvotes != 2 || *article.DeletedBy != "mod" {
				t.Errorf("an emptied article is %+v", article)
			}
			_, err := s.Undelete(s.Ctx, first, repotest.Moderator)
			repotest.WantRefused(t, err, "FORBIDDEN article")
			if again := require.Value(s.Delete(s.Ctx, first, repotest.Moderator, site.Why{Reason: "at last"}))(t); again.Removal == nil || again.Removal.Reason != "at last" {
				t.Errorf("a reason was not added to an emptied article: %+v", again)
			}
			s.WantClean()
		})
	}
}

// While there is nothing to empty, a look takes two commands for each partition.
func TestLookingForArticlesToEmptyIsCheap(t *testing.T) {
	t.Parallel()
	options := []redisrepo.Option{redisrepo.WithPartitions(4), redisrepo.WithDeletedTexts(monthKept)}
	s := repotest.New(t, nil, options...)
	var sent atomic.Int64
	counts := redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		sent.Add(int64(len(commands)))
		return send(ctx, commands)
	})
	other := s.Reopened(s.Client(counts), nil, options...)
	sent.Store(0)
	if n := require.Value(other.Retention.EmptyDeleted(s.Ctx))(t); n != 0 || sent.Load() > 8 {
		t.Errorf("%d commands for 4 partitions, and %d articles", sent.Load(), n)
	}
}
