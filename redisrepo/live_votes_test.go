package redisrepo_test

import (
	"testing"

	"frontpage/must"
	"frontpage/redisrepo/site"
)

// watchedVote returns the user's position on a watched article and the round trips that reading it took.
func watchedVote(l *listener, counted *counter, user site.UserName, a *site.Article) (site.Vote, int) {
	l.t.Helper()
	counted.reset()
	vote, err := l.WatchedVote(l.ctx, user, a)
	if err != nil || vote == nil {
		l.t.Fatalf("WatchedVote of %s: %v, %v", user, vote, err)
	}
	return *vote, counted.reset().trips
}

func TestWatchedVoteIsReadOnce(t *testing.T) {
	t.Parallel()
	other, counted := newSite(t, nil), new(counter)
	id := other.post("alice").ID
	l := other.reopened(other.client(observer(counted.add)), nil).listen()
	w := l.watch(id)
	a := l.article(id)
	if vote, trips := watchedVote(l, counted, "bob", a); vote != none || trips != 1 {
		t.Errorf("WatchedVote of bob = %d in %d round trips, want 0 in 1", vote, trips)
	}
	if vote, trips := watchedVote(l, counted, "alice", a); vote != up || trips != 1 {
		t.Errorf("WatchedVote of alice = %d in %d round trips, want 1 in 1", vote, trips)
	}
	// Until a message has arrived, a cached position may be outdated.
	other.vote(id, "carol", up)
	next(t, w)
	for _, user := range []site.UserName{"bob", "alice"} {
		watchedVote(l, counted, user, a)
	}
	for _, step := range []struct {
		by   *testSite
		vote site.Vote
	}{{other, up}, {l.testSite, down}, {other, none}, {l.testSite, up}, {other, down}} {
		step.by.vote(id, "bob", step.vote)
		for next(t, w).Votes != 2+int(step.vote) {
			continue
		}
		want := 0
		if step.by == l.testSite { // replies of one process may arrive in another order than their votes
			want = 1
		}
		if vote, trips := watchedVote(l, counted, "bob", a); vote != step.vote || trips != want {
			t.Errorf("WatchedVote of bob after the vote = %d in %d round trips, want %d in %d", vote, trips, step.vote, want)
		}
		if vote, trips := watchedVote(l, counted, "alice", a); vote != up || trips != 0 {
			t.Errorf("WatchedVote of alice after the vote = %d in %d round trips, want 1 in 0", vote, trips)
		}
	}
}

func TestOwnVoteUpdatesTheWatchedVoteAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil) // without Listen
	a := s.post("alice")
	must.Get(s.WatchArticles(s.ctx, []site.ArticleID{a.ID}))(t)
	for _, want := range []site.Vote{none, up, down, none} {
		s.vote(a.ID, "bob", want)
		if vote, err := s.WatchedVote(s.ctx, "bob", a); err != nil || *vote != want {
			t.Errorf("WatchedVote = %v, %v, want %d", vote, err, want)
		}
	}
}

func TestWatchedVoteIsReadAgainAfterAnOutage(t *testing.T) {
	t.Parallel()
	l, other, f := cutSite(t)
	id := other.post("alice").ID
	w := l.watch(id)
	a := l.article(id)
	if vote, err := l.WatchedVote(l.ctx, "bob", a); err != nil || *vote != none {
		t.Fatalf("WatchedVote = %v, %v, want none", vote, err)
	}
	l.cut(f)
	other.vote(id, "bob", up)
	f.dial.Store(false)
	if got := next(t, w); got.Votes != 2 {
		t.Errorf("delivered %d votes, want 2", got.Votes)
	}
	if vote, err := l.WatchedVote(l.ctx, "bob", a); err != nil || *vote != up {
		t.Errorf("WatchedVote after the outage = %v, %v, want up", vote, err)
	}
}

func TestWatchedVoteIsForgottenWithTheVoters(t *testing.T) {
	t.Parallel()
	s := newSite(t, plain)
	a := s.post("alice")
	must.Get(s.WatchArticles(s.ctx, []site.ArticleID{a.ID}))(t)
	if vote, err := s.WatchedVote(s.ctx, "alice", a); err != nil || *vote != up {
		t.Fatal(vote, err)
	}
	s.clock.set(2 * week)
	if vote, err := s.WatchedVote(s.ctx, "alice", a); err != nil || vote != nil {
		t.Errorf("WatchedVote = %v, %v, want none known", vote, err)
	}
}
