package live_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// A process that has cached an article for votes does not bring back the text that another process has replaced.
func TestEditsAreDeliveredAndStay(t *testing.T) { // with the race detector
	t.Parallel()
	s := listen(repotest.New(t, nil, repotest.One))
	a := require.Value(s.Post(s.Ctx, "alice", site.Draft{Title: "title", Text: new("before")}))(t)
	s.MustVote(a.ID, "bob", site.Up)
	other := s.Reopened(s.Client(), nil)
	watch := require.Value(s.Live.WatchArticles(s.Ctx, []site.ArticleID{a.ID}))(t)
	defer watch.Close()
	taken := func() *site.Article {
		t.Helper()
		for {
			await(t, watch.Wake(), "an event")
			if d, ok := watch.Take(); ok {
				newest := d.Newest()
				d.Done(true)
				return newest
			}
		}
	}
	for i := range 5 {
		want := fmt.Sprint("after ", i)
		other.MustEdit(a.ID, repotest.Alice(), redisrepo.Edit{Text: &want})
		s.MustVote(a.ID, site.UserName(fmt.Sprint("voter", i)), site.Up) // the article that it returns may have the old text
		read, err := s.VoteAndRead(s.Ctx, a.ID, "reader", site.Vote(i%2), "")
		if err != nil || *read.Article.Text != want || read.Article.EditedAt == nil {
			t.Errorf("VoteAndRead = %+v, %v, want the text %q", read.Article, err, want)
		}
		s.settle()
		newest := s.Article(a.ID)
		for event := taken(); *event.Text != want || event.Votes != newest.Votes; event = taken() {
		}
		s.MustVote(a.ID, "late", site.Vote((i+1)%2)) // the call is cached again
		for event := taken(); event.Votes != s.Article(a.ID).Votes; event = taken() {
			if *event.Text != want {
				t.Errorf("a watch got the text %q after %q", *event.Text, want)
			}
		}
	}
}

// wantNextEvents checks that after each of the first events of an article the next one follows, without a gap.
func wantNextEvents(t *testing.T, s *repotest.Site, first []*events.EventEdge) {
	t.Helper()
	for i, e := range first {
		after := e.Cursor()
		page := require.Value(s.Log.Events(s.Ctx, &after, nil, nil))(t)
		if page.Gap || page.Edges[0].Node.Revision != i+2 {
			t.Errorf("after event %d: gap %t, %d events", i+1, page.Gap, len(page.Edges))
		}
	}
}

// Followers of the log and of articles miss nothing while a name leaves them, and get nothing twice.
func TestErasureDisturbsNoFollower(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	l := listen(s.Reopened(s.Client(), nil))
	id := s.MustPost("alice").ID
	s.MustVote(id, "bob", site.Up)
	s.MustVote(id, "alice", site.None)
	s.MustVote(id, "alice", site.Up)
	edges := s.Events(nil, 10).Edges
	w, feed := l.watch(id), watchEvents(l.Site, "")
	l.settle()
	require.Value(erase.User(s.Ctx, s.Repo, "alice", erase.Options{}))(t)
	if got := next(t, w); got.Poster.Name != site.ErasedUser || got.Votes != 2 {
		t.Errorf("delivered %+v, want the poster erased", got)
	}
	s.MustVote(id, "dave", site.Up)
	if got := next(t, w); got.Votes != 3 {
		t.Errorf("delivered %d votes, want 3", got.Votes)
	}
	if got, _ := takeEvents(t, feed, 1); got != "1.5" {
		t.Errorf("the feed goes on with %s, want 1.5 without a gap", got)
	}
	wantNextEvents(t, s, edges)
	if e := s.Events(nil, 10).Edges[0].Node; e.By.Name.Shown() != "deleted user" {
		t.Errorf("the first event is by %q", e.By.Name)
	}
	l.wantClean()
}

// A name leaves the log when a copy of the log without it takes its place, with the same ids. Those who read it lose nothing, and
// stored cursors stay valid.
func TestNameLeavesTheLog(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	l := listen(s.Reopened(s.Client(), nil))
	id := s.MustPost("alice").ID
	s.MustVote(id, "bob", site.Up)
	s.MustVote(id, "carol", site.Up)
	edges := s.Events(nil, 10).Edges
	w, feed := l.watch(id), watchEvents(l.Site, "")
	l.settle()
	s.Do("EVAL", `for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'by' and entry[2][i + 1] == ARGV[1] then entry[2][i + 1] = '' end
  end
  redis.call('XADD', KEYS[2], entry[1], unpack(entry[2]))
end
redis.call('RENAME', KEYS[2], KEYS[1])`, 2, "events:", "events:new", "bob")
	s.MustVote(id, "dave", site.Up)
	if got := next(t, w); got.Votes != 4 {
		t.Errorf("delivered %d votes, want 4", got.Votes)
	}
	if got, _ := takeEvents(t, feed, 1); got != "1.4" {
		t.Errorf("the feed goes on with %s, want 1.4 without a gap", got)
	}
	wantNextEvents(t, s, edges)
	if log := fmt.Sprint(s.Raw.XRange(s.Ctx, "events:", "-", "+").Val()); strings.Contains(log, "bob") {
		t.Errorf("the log names bob: %s", log)
	}
	l.wantClean()
}

func TestDeletionsAreDelivered(t *testing.T) { // with the race detector
	t.Parallel()
	for _, tags := range repotest.Layouts {
		for _, by := range []string{"the same", "another"} {
			t.Run(fmt.Sprint(tags, " by ", by), func(t *testing.T) {
				t.Parallel()
				partitions := redisrepo.WithPartitions(len(tags))
				s := repotest.New(t, nil, partitions)
				writer := s.Reopened(s.Client(), nil, partitions)
				l := listen(s, tags...)
				if by == "the same" {
					writer = s
				}
				a := writer.MustPost("alice", "go")
				l.pass()
				w, posts := l.watch(a.ID), l.watchPosts("")
				deleted := writer.MustDelete(a.ID, repotest.Moderator)
				repotest.WantEqual(t, next(t, w), deleted)
				l.wantTaken(w)
				_, err := writer.Vote(writer.Ctx, a.ID, "bob", site.Up, "")
				repotest.WantRefused(t, err, "NOT_FOUND article")
				l.wantTaken(w)
				late := l.watch(a.ID) // begins when the article is deleted already
				l.wantTaken(late)
				back := writer.MustUndelete(a.ID)
				for _, w := range []*live.Watch{w, late} {
					repotest.WantEqual(t, next(t, w), back)
				}
				writer.MustVote(a.ID, "bob", site.Up)
				if got := until(t, w, 2); got.DeletedAt != nil {
					t.Errorf("delivered %s, want 2 votes and not deleted", repotest.Show(got))
				}
				l.wantTaken(posts)
				l.wantReports(0)
			})
		}
	}
}

// A deletion during an outage is delivered after it; an undeleted article is not a post.
func TestDeletionsDuringAnOutageAreDelivered(t *testing.T) { // with the race detector
	eachOutage(t, func(l *listener, other *repotest.Site, begin, end func()) {
		hidden := other.MustPost("alice", "go")
		other.MustDelete(hidden.ID, repotest.Moderator)
		a := other.MustPost("alice", "go")
		l.pass()
		w, posts := l.watch(a.ID), l.watchPosts("")
		begin()
		deleted := other.MustDelete(a.ID, repotest.Moderator)
		other.MustUndelete(hidden.ID)
		end()
		repotest.WantEqual(l.T, next(l.T, w), deleted)
		l.wantTaken(w)
		l.wantTaken(posts)
		begin()
		back := other.MustUndelete(a.ID)
		end()
		repotest.WantEqual(l.T, next(l.T, w), back)
		l.wantTaken(w)
		l.wantTaken(posts)
	})
}

func TestPostDeletedBeforeTakeIsSkipped(t *testing.T) {
	t.Parallel()
	s := repotest.Two(t)
	l := listen(s[0])
	w := l.watchPosts("")
	a, b := s[1].MustPost("alice"), s[1].MustPost("alice")
	l.pass()
	s[0].MustDelete(a.ID, repotest.Moderator)
	taken, ok := w.Take()
	if !ok || taken.Newest().ID != b.ID {
		t.Fatalf("took %v, want %v", taken.Newest(), b.ID)
	}
	s[0].MustDelete(b.ID, repotest.Moderator)
	if newest := taken.Newest(); newest.DeletedAt == nil {
		t.Errorf("Newest = %v, want it to be deleted", newest)
	}
	l.wantTaken(w)
}

// A write that lacks a right before its first command that writes changes nothing. When the right is back, all works again,
// and watchers have missed nothing.
func TestRightsAreTakenAwayAndGivenBack(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	other := s.Reopened(s.Limited("~* &* +@all"), nil)
	l := listen(other)
	a := s.MustPost("alice", "go")
	l.settle() // the first post is not new to the watch
	posts := l.watchPosts("")
	w := l.watch(a.ID)
	for _, command := range []string{
		"@write", "publish", "evalsha", "hmget", "hlen", "scard", "zcard", "xlen", "zinterstore", "pexpire",
	} {
		s.Do("ACL SETUSER limited -" + command)
		s.List(repotest.Best("go")) // so that the listing does not end between the dumps
		before := s.Dump()
		key, suffix := "key "+command, strings.TrimPrefix(command, "@")
		d := s.Fresh("go", "redis")
		d.IdempotencyKey = &key
		var denied int
		for what, call := range map[string]func() error{
			"Post": func() error { _, err := other.Post(s.Ctx, "carol", d); return err },
			"Vote": func() error { _, err := other.Vote(s.Ctx, a.ID, site.UserName("u-"+suffix), site.Up, "b"); return err },
			"Regroup": func() error {
				_, err := other.Regroup(s.Ctx, a.ID, repotest.Moderator, []string{"g-" + suffix}, nil)
				return err
			},
		} {
			if err := call(); err != nil {
				denied++
				if !errors.Is(err, failover.ErrUnavailable) {
					t.Errorf("without %s: %s: %v, want ErrUnavailable", command, what, err)
				}
			}
		}
		if after := s.Dump(); denied == 3 && repotest.WithoutCounter(after) != repotest.WithoutCounter(before) {
			t.Errorf("without %s the store holds\n%s\nwant\n%s", command, after, before)
		}
		s.Do("ACL SETUSER limited +" + command)
		var b *site.Article
		require.Eventually(t, "a post with "+command, func() bool {
			var err error
			b, err = other.Post(s.Ctx, "carol", d)
			return err == nil
		})
		other.MustVote(a.ID, site.UserName("u-"+suffix), site.Up)
		if got := next(t, posts); got.ID != b.ID {
			t.Errorf("with %s again: delivered %v, want %v", command, got.ID, b.ID)
		}
		other.MustRegroup(a, nil, []string{"g-" + suffix})
		until(t, w, s.Article(a.ID).Upvotes)
	}
	l.wantClean()
}

// Watchers see their vote again as none when another process has taken it out, and as it was when it is back.
func TestWatchersSeeThatTheirVoteIsOut(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	l := listen(s)
	s.MustPost("alice")
	s.MustVote(1, "eve", site.Up)
	other := s.Reopened(s.Client(), nil)
	watch := require.Value(s.Live.WatchArticles(s.Ctx, []site.ArticleID{1}))(t)
	_ = watch
	l.pass()
	for _, takesOut := range []bool{true, false} {
		require.Value(other.Void(1, takesOut, "eve"))(t)
		require.Eventually(t, "the vote", func() bool {
			vote := require.Value(s.Live.WatchedVote(s.Ctx, "eve", s.Article(1)))(t)
			return vote != nil && (*vote == site.None) == takesOut
		})
	}
}
