package redisrepo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo/site"
)

// audited returns the entries of the audit as text.
func audited(s *testSite, id site.ArticleID) (texts []string) {
	s.t.Helper()
	entries := must.Get(s.Audit(s.ctx, id))(s.t)
	for _, e := range entries {
		text := fmt.Sprintf("%s %+d", e.Voter, e.Vote)
		if e.At != nil {
			text += fmt.Sprintf(" %v %s", e.At.Sub(opened), e.Bucket)
		}
		texts = append(texts, text)
	}
	return texts
}

func TestAuditListsVotersWithTimeAndBucket(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	a := s.post("alice")
	from := func(voter site.UserName, vote site.Vote, bucket string) {
		t.Helper()
		s.clock.advance(time.Second)
		must.Get(s.Vote(s.ctx, a.ID, voter, vote, bucket))(t)
	}
	if s.vote(a.ID, "zoe", up); s.do("EXISTS audit:1") != int64(0) {
		t.Error("a vote without a bucket was recorded, want no record")
	}
	from("bob", up, "b1")
	from("bob", up, "b2") // changes nothing
	from("carol", down, "b1")
	from("dave", up, "b 3")
	from("dave", none, "b4")
	from("erin", up, "b5")
	s.vote(a.ID, "erin", down) // was not recorded
	from("frank", down, "b6")
	s.vote(a.ID, "frank", none)
	from("grace", none, "b7") // changes nothing
	want := []string{"alice +1", "erin -1", "zoe +1", "bob +1 1s b1", "carol -1 3s b1", "dave +0 5s b4"}
	if got := audited(s, a.ID); !slices.Equal(got, want) {
		t.Errorf("Audit = %q, want %q", got, want)
	}
	if left := s.ttl("audit:1"); left > week+time.Hour || left < week {
		t.Errorf("audit:1 expires in %v, want as long as the voters", left)
	}
	s.wantClean()
	s.delete(a.ID, moderator)
	if got := audited(s, a.ID); !slices.Equal(got, want) {
		t.Errorf("Audit of a deleted article = %q, want %q", got, want)
	}
	s.do("PERSIST audit:1")
	if got := strings.Join(s.violations(), "\n"); got != "audit:1: does not expire" {
		t.Errorf("Check reports %s, want that audit:1 does not expire", got)
	}
	_, err := s.Audit(s.ctx, 99)
	wantRefused(t, err, "NOT_FOUND article")
}

func TestAuditListsAllOfManyVoters(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.imports(old(1, time.Hour, 700))
	for i := range 300 {
		must.Get(s.Vote(s.ctx, 1, site.UserName(fmt.Sprint("voter", i)), up, "bucket"))(t)
	}
	got := audited(s, 1)
	if len(got) != 301 || got[0] != "zoe +1" || got[300] != "voter99 +1 0s bucket" {
		t.Errorf("Audit has %d entries, from %s to %s; want 301, from zoe to voter99", len(got), got[0], got[len(got)-1])
	}
}
