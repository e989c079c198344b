package live_test

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// resumePosts watches for the posts after a cursor.
func resumePosts(s *repotest.Site, group site.GroupName, after string) *live.Watch {
	s.T.Helper()
	w, err := s.Live.ResumePosts(s.Ctx, group, "after", after)
	if err != nil {
		s.T.Fatalf("ResumePosts of %q after %q: %v", group, after, err)
	}
	return w
}

// takeCursor takes a post, and returns the cursor that it was sent with.
func takeCursor(t *testing.T, w *live.Watch) (site.ArticleID, string) {
	t.Helper()
	d := delivery(t, w)
	defer d.Done(true)
	return d.Newest().ID, d.Cursor()
}

// Each partition has its own clock and its own numbers; posts of one second are in no order.
func TestPostsGoOnAfterACursor(t *testing.T) {
	t.Parallel()
	for name, tags := range map[string][]string{"one partition": {""}, "four partitions": repotest.Four} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := redisrepo.WithPartitions(len(tags))
			s := repotest.New(t, nil, options)
			l := listen(s.Reopened(s.Client(), nil, options), tags...)
			s.MustPost("alice", "go")
			l.settle()
			all, goers := l.watchPosts(""), l.watchPosts("go")
			cursors := map[site.GroupName]string{"": all.Cursor(), "go": goers.Cursor()}
			all.Close()
			goers.Close()
			posted, delivered := map[site.GroupName][]site.ArticleID{}, map[site.GroupName][]site.ArticleID{}
			deleted := map[site.ArticleID]bool{}
			for round := range 12 {
				for i := range []int{0, 1, 5, 130, 240}[round%5] {
					group := site.GroupName([]string{"go", "x"}[i%2])
					id := s.MustPost("alice", string(group)).ID
					if deleted[id] = i%7 == 3; deleted[id] {
						s.MustDelete(id, repotest.Moderator)
						continue
					}
					posted[""] = append(posted[""], id)
					if group == "go" {
						posted["go"] = append(posted["go"], id)
					}
					if i%40 == 39 {
						s.Clock.Advance(time.Second)
					}
				}
				l.settle()
				for group := range cursors {
					w := resumePosts(l.Site, group, cursors[group])
					late := s.MustPost("alice", "go").ID
					posted[group] = append(posted[group], late)
					if group == "" {
						posted["go"] = append(posted["go"], late)
					} else {
						posted[""] = append(posted[""], late)
					}
					// Some rounds are cut off before all has been taken.
					for len(delivered[group]) < len(posted[group]) && (round%3 != 1 || len(delivered[group])%50 != 49) {
						var id site.ArticleID
						id, cursors[group] = takeCursor(t, w)
						delivered[group] = append(delivered[group], id)
					}
					w.Close()
				}
				s.Clock.Advance(time.Duration(round%2) * time.Second)
			}
			for group, cursor := range cursors {
				w := resumePosts(l.Site, group, cursor)
				for len(delivered[group]) < len(posted[group]) {
					id, _ := takeCursor(t, w)
					delivered[group] = append(delivered[group], id)
				}
				l.pass()
				if a := take(w); a != nil {
					t.Errorf("group %q: delivered %v after the last post", group, a.ID)
				}
				slices.Sort(delivered[group])
				slices.Sort(posted[group])
				if !slices.Equal(delivered[group], posted[group]) {
					t.Errorf("group %q: delivered\n%v\nwant\n%v", group, delivered[group], posted[group])
				}
			}
			l.wantReports(0)
		})
	}
}

// A number may be drawn before another one, and be stored after it.
func TestPostThatWasOvertakenIsDeliveredAfterACursor(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	l := listen(s.Reopened(s.Client(), nil))
	s.MustPost("alice")
	l.pass()
	w := l.watchPosts("")
	s.Do("INCR article:") // 2 is drawn
	third := s.MustPost("alice")
	id, cursor := takeCursor(t, w)
	if id != third.ID {
		t.Fatalf("delivered %v, want %v", id, third.ID)
	}
	w.Close()
	for _, later := range []time.Duration{0, time.Second} { // in the same second, and in the next
		s.Clock.Advance(later)
		s.Do("SET article: 1")
		second := s.MustPost("alice")
		if second.ID != 2 {
			t.Fatalf("posted %v, want article:2", second.ID)
		}
		s.Do("SET article: 3")
		l.pass() // a late message about a number that was given out before is about another article
		w := resumePosts(l.Site, "", cursor)
		if id, _ := takeCursor(t, w); id != second.ID {
			t.Errorf("delivered %v, want the post that was overtaken", id)
		}
		l.wantTaken(w)
		w.Close()
		s.Do("DEL article:2 voted:2 downvoted:2")
		s.Do("ZREM time: article:2")
		s.Do("ZREM score: article:2")
	}
}

// docs/live.md: if the clock is set back, "articlePosted(after:) leaves out posts that were made until the clock has caught
// up with the cursor. A watch that stays open gets them, and the change feed has them all".
func TestPostsAfterTheClockWentBackAreLeftOutAfterACursor(t *testing.T) {
	t.Parallel()
	for back, left := range map[time.Duration]bool{5 * time.Second: false, 12 * time.Second: true} {
		s := repotest.New(t, nil, repotest.One)
		l := listen(s.Reopened(s.Client(), nil))
		open := l.watchPosts("")
		s.MustPost("alice")
		l.pass()
		_, cursor := takeCursor(t, open)
		s.Clock.Advance(-back)
		second := s.MustPost("alice").ID
		l.wantTaken(open, second)
		resumed := resumePosts(l.Site, "", cursor)
		if left {
			l.wantTaken(resumed)
		} else {
			l.wantTaken(resumed, second)
		}
		s.Clock.Advance(back + time.Second)
		third := s.MustPost("alice").ID
		l.wantTaken(resumed, third)
		l.wantTaken(open, third)
		s.WantFeed(s.Events(nil, 10, events.EventPosted), "1.1 2.1 3.1", false, false)
	}
}

// After the store went back in time, numbers are given to other articles, whatever the clock.
func TestCursorOfALostFuture(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{time.Second, -5 * time.Second} {
		s := repotest.New(t, nil, repotest.One)
		l := listen(s.Reopened(s.Client(), nil))
		w := l.watchPosts("")
		for range 3 {
			s.MustPost("alice")
		}
		var cursor string
		for range 3 {
			_, cursor = takeCursor(t, w)
		}
		w.Close()
		s.Do("FLUSHALL")
		s.Clock.Advance(later)
		again := s.Reopened(s.Client(), nil)
		a, b := again.MustPost("alice"), again.MustPost("bob")
		l.pass()
		w = resumePosts(l.Site, "", cursor)
		l.wantTaken(w, a.ID, b.ID)
	}
}

// A watcher without a cursor of an event has that of a list, or an article.
func TestPostsGoOnAfterAListAndAfterAnArticle(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	l := listen(s.Reopened(s.Client(), nil))
	s.MustPost("alice")
	s.Clock.Advance(time.Minute) // more than the clocks of partitions may differ
	newest := s.MustPost("alice")
	_, page, err := s.Lists.Walk(s.Ctx, lists.AllArticles(site.ByTime, site.Descending), site.PageRequest{First: new(1)})
	require.NoError(t, err)
	s.Clock.Advance(time.Minute)
	a := s.MustPost("alice")
	for _, after := range []string{*page.StartCursor, newest.ID.String(), fmt.Sprint(int(newest.ID))} {
		w := resumePosts(l.Site, "", after)
		l.wantTaken(w, a.ID)
		w.Close()
	}
	for _, after := range []string{"article:77", "x", "AAAA", *page.StartCursor + "A", strings.Repeat("A", 5000)} {
		if _, err := s.Live.ResumePosts(s.Ctx, "", "after", after); err == nil {
			t.Errorf("ResumePosts after %.20q succeeded, want a refusal", after)
		}
	}
}

// A process that cannot read what was missed tries again, and goes on where the watcher was.
func TestCatchingUpSurvivesAnOutage(t *testing.T) { // with the race detector
	t.Parallel()
	l, other, f := cutSite(t)
	w := l.watchPosts("")
	cursor := w.Cursor()
	w.Close()
	var posted []site.ArticleID
	for range 120 {
		other.Clock.Advance(time.Second)
		posted = append(posted, other.MustPost("alice").ID)
	}
	l.settle()
	w = resumePosts(l.Site, "", cursor)
	f.command.Store("evalsha")
	if _, ok := w.Take(); ok || !w.Behind() {
		t.Fatal("a watch that begins at a cursor is not behind")
	}
	done := make(chan error, 1)
	go func() { done <- w.CatchUp(t.Context()) }()
	await(t, f.tried, "an attempt")
	if err := <-done; err == nil {
		t.Fatal("CatchUp succeeded while Redis refuses its reads")
	}
	f.command.Store("")
	await(t, w.Wake(), "another attempt")
	l.wantTaken(w, posted...)
}

func TestArticlesGoOnAfterTheirRevisions(t *testing.T) {
	t.Parallel()
	s := repotest.Two(t)
	l := listen(s[0])
	a, b, c, d := s[1].MustPost("alice"), s[1].MustPost("alice"), s[1].MustPost("alice"), s[1].MustPost("alice")
	ids := []site.ArticleID{a.ID, b.ID, c.ID, d.ID, 99}
	w := l.watch(ids...)
	start := w.Cursor()
	s[1].MustVote(a.ID, "bob", site.Up)
	got := delivery(t, w)
	cursor := got.Cursor()
	got.Done(true)
	w.Close()
	s[1].MustVote(b.ID, "bob", site.Up)
	s[1].MustDelete(c.ID, repotest.Moderator)
	l.settle()
	for name, tt := range map[string]struct {
		revisions func() ([]int64, error)
		want      []site.ArticleID
	}{
		"the cursor of the event":     {func() ([]int64, error) { return live.RevisionsAt("id", cursor, ids) }, ids[1:3]},
		"the cursor at the beginning": {func() ([]int64, error) { return live.RevisionsAt("id", start, ids) }, ids[:3]},
		"revisions":                   {func() ([]int64, error) { return []int64{2, 1, 2, 1, 7}, nil }, ids[1:2]},
		"no revision of one":          {func() ([]int64, error) { return []int64{2, 2, 2, -1, -1}, nil }, ids[3:4]},
		"revisions that were lost":    {func() ([]int64, error) { return []int64{9, 2, 2, 1, -1}, nil }, ids[:1]},
	} {
		revisions := require.Value(tt.revisions())(t)
		w := require.Value(l.Live.ResumeArticles(l.Ctx, ids, revisions))(t)
		t.Log(name)
		l.wantTaken(w, tt.want...)
		w.Close()
	}
	_, err := live.RevisionsAt("Last-Event-ID", cursor, ids[1:])
	repotest.WantRefused(t, err, "INVALID Last-Event-ID")
	_, err = l.Live.ResumeArticles(l.Ctx, ids, []int64{1})
	repotest.WantRefused(t, err, "INVALID revisions")
}

// A client can write a short cursor that names very many articles: a process holds few of them.
func TestForgedCursorHoldsFewArticles(t *testing.T) {
	t.Parallel()
	options := redisrepo.WithPartitions(len(repotest.Four))
	s := repotest.New(t, nil, options)
	l := listen(s.Reopened(s.Client(), nil, options), repotest.Four...)
	forge := func(seconds, length int64) string {
		text := []byte{'p'}
		for _, n := range append([]int64{int64(len(repotest.Four)), s.Clock.Now().Unix()}, slices.Repeat([]int64{seconds, 1 << 40, 2, 1, length, 0, length}, len(repotest.Four))...) {
			text = binary.AppendUvarint(text, uint64(n))
		}
		text = binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text))
		return base64.RawURLEncoding.EncodeToString(text)
	}
	w := resumePosts(l.Site, "", forge(0, math.MaxInt64))
	text := require.Value(base64.RawURLEncoding.DecodeString(w.Cursor()))(t)
	text = text[1 : len(text)-crc32.Size]
	number := func() int {
		n, size := binary.Uvarint(text)
		text = text[size:]
		return int(n)
	}
	number()
	number()
	held := 0
	for range repotest.Four {
		number()
		number()
		for range number() {
			number()
			held += number()
		}
	}
	if held == 0 || held > 10_000 {
		t.Errorf("a cursor made the process hold %d articles, want at most 10000", held)
	}
	w.Close()
	// Times that no article has are no error either.
	resumePosts(l.Site, "", forge(math.MaxInt64, 0)).Close()
}

// Any client may resume a watch of any article: what was deleted must not be read that way.
func TestResumedWatchDoesNotShowWhatWasDeleted(t *testing.T) {
	t.Parallel()
	s := repotest.Two(t)
	l := listen(s[0])
	d := site.Draft{Title: "first", Link: new("https://a.example/"), Text: new("text"), Groups: []string{"go"}}
	a := require.Value(s[1].Post(s[1].Ctx, "alice", d))(t)
	s[1].MustEdit(a.ID, repotest.Alice(), redisrepo.Edit{Title: new("second")})
	before := l.watch(a.ID)
	defer before.Close()
	for _, revision := range []int64{-1, 2} {
		deleted := s[1].MustDelete(a.ID, repotest.Moderator)
		seen := delivery(t, before)
		if got := seen.Newest(); got.DeletedAt == nil || got.Title != "second" || got.Text == nil {
			t.Errorf("a watcher before the deletion got %+v, want the article as it was", got)
		}
		seen.Done(true)
		w := require.Value(l.Live.ResumeArticles(l.Ctx, []site.ArticleID{a.ID}, []int64{revision}))(t)
		defer w.Close()
		resumed := delivery(t, w)
		got := resumed.Newest()
		if got.ID != a.ID || got.DeletedAt == nil || got.Revision() != deleted.Revision() || got != resumed.Newest() {
			t.Errorf("resumed at %d: %+v, want a deletion", revision, got)
		}
		versions := require.Value(s[0].Versions(s[0].Ctx, []*site.Article{got}, 100))(t)
		if got.Title != "" || got.Link != nil || got.Text != nil || got.Groups != nil || got.EditedAt != nil || len(versions[0]) > 0 {
			t.Errorf("resumed at %d: %+v, want nothing of what was deleted", revision, got)
		}
		resumed.Done(true)
		s[1].MustUndelete(a.ID)
		for _, w := range []*live.Watch{w, before} {
			back := delivery(t, w)
			if got := back.Newest(); got.Title != "second" || got.DeletedAt != nil {
				t.Errorf("after the undeletion: %+v, want the article", got)
			}
			back.Done(true)
		}
	}
}
