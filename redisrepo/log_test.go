package redisrepo_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// logged returns a function that returns what was added to the log since its last call: kind, article, revision, votes,
// downvotes, score and groups, and of a vote on a second line the position and the voter.
func (s *testSite) logged() func() []string {
	s.t.Helper()
	last := "-"
	entries := func() (texts []string) {
		s.t.Helper()
		for _, m := range require.Value(s.raw.XRange(s.ctx, "events:", last, "+").Result())(s.t) {
			v := m.Values
			if v["kind"] == site.KindNoticed { // what a legacy client did
				continue
			}
			text := fmt.Sprint(v["kind"], " article:", v["article"], " ", v["revision"], " ", v["votes"], " ", v["downvotes"], " ", v["score"], " ", v["groups"])
			if v["kind"] == site.KindVoted {
				text += fmt.Sprint("\n", v["to"], " user:", v["by"])
			}
			texts, last = append(texts, text), "("+m.ID
		}
		return texts
	}
	entries()
	return entries
}

// scored replaces = in a text by the score of an article with the net votes.
func scored(text string, votes int) string {
	return strings.Replace(text, "=", fmt.Sprint(opened.Unix()+432*int64(votes)), 1)
}

func TestWritesAddToTheLog(t *testing.T) {
	t.Parallel()
	type entry struct {
		text  string // with = for the score
		votes int
	}
	keyed := site.Draft{Title: "keyed", Text: new("text"), IdempotencyKey: new("key")}
	tests := map[string]struct {
		rules func(*site.Rules)
		write func(s *testSite) // article:1 is alice's, in a and b
		want  []entry
	}{
		"a post":                       {write: func(s *testSite) { s.post("bob", "d", "c") }, want: []entry{{"posted article:2 1 1 0 = c d", 1}}},
		"a post without groups":        {write: func(s *testSite) { s.post("bob") }, want: []entry{{"posted article:2 1 1 0 = ", 1}}},
		"a post without a vote":        {rules: uncounted, write: func(s *testSite) { s.post("bob", "c") }, want: []entry{{"posted article:2 1 0 0 = c", 0}}},
		"a vote up":                    {write: func(s *testSite) { s.vote(1, "bob", up) }, want: []entry{{"voted article:1 2 2 0 = a b\n1 user:bob", 2}}},
		"a vote down":                  {write: func(s *testSite) { s.vote(1, "bob", down) }, want: []entry{{"voted article:1 2 0 1 = a b\n-1 user:bob", 0}}},
		"more votes down than up":      {write: func(s *testSite) { s.vote(1, "bob", down); s.vote(1, "carol", down) }, want: []entry{{"voted article:1 2 0 1 = a b\n-1 user:bob", 0}, {"voted article:1 3 -1 2 = a b\n-1 user:carol", -1}}},
		"a switch down":                {write: func(s *testSite) { s.vote(1, "bob", up); s.vote(1, "bob", down) }, want: []entry{{"voted article:1 2 2 0 = a b\n1 user:bob", 2}, {"voted article:1 3 0 1 = a b\n-1 user:bob", 0}}},
		"a switch up":                  {write: func(s *testSite) { s.vote(1, "bob", down); s.vote(1, "bob", up) }, want: []entry{{"voted article:1 2 0 1 = a b\n-1 user:bob", 0}, {"voted article:1 3 2 0 = a b\n1 user:bob", 2}}},
		"a vote taken back":            {write: func(s *testSite) { s.vote(1, "bob", down); s.vote(1, "bob", none) }, want: []entry{{"voted article:1 2 0 1 = a b\n-1 user:bob", 0}, {"voted article:1 3 1 0 = a b\n0 user:bob", 1}}},
		"the poster's vote taken back": {write: func(s *testSite) { s.vote(1, "alice", none) }, want: []entry{{"voted article:1 2 0 0 = a b\n0 user:alice", 0}}},
		"a vote that makes it interesting": {rules: func(r *site.Rules) { r.InterestingVotes = 2 },
			write: func(s *testSite) { s.vote(1, "bob", up) }, want: []entry{{"voted article:1 2 2 0 = a b\n1 user:bob", 2}}},
		"a repeated vote":         {write: func(s *testSite) { s.vote(1, "bob", up); s.vote(1, "bob", up) }, want: []entry{{"voted article:1 2 2 0 = a b\n1 user:bob", 2}}},
		"no vote taken back":      {write: func(s *testSite) { s.vote(1, "bob", none) }},
		"the poster's vote":       {write: func(s *testSite) { s.vote(1, "alice", up) }},
		"into a group":            {write: func(s *testSite) { regroup(s, 1, "ab") }, want: []entry{{"regrouped article:1 2 1 0 = a ab b", 1}}},
		"out of a group":          {write: func(s *testSite) { s.regroup(s.article(1), nil, []string{"a"}) }, want: []entry{{"regrouped article:1 2 1 0 = b", 1}}},
		"out of all groups":       {write: func(s *testSite) { s.regroup(s.article(1), nil, []string{"a", "b"}) }, want: []entry{{"regrouped article:1 2 1 0 = ", 1}}},
		"a repeated regrouping":   {write: func(s *testSite) { regroup(s, 1, "c"); regroup(s, 1, "c") }, want: []entry{{"regrouped article:1 2 1 0 = a b c", 1}}},
		"a regrouping for naught": {write: func(s *testSite) { s.regroup(s.article(1), []string{"a"}, []string{"x"}) }},
		"a deletion":              {write: func(s *testSite) { s.delete(1, moderator); s.delete(1, alice()) }, want: []entry{{"deleted article:1 2 1 0 = a b", 1}}},
		"an undeletion": {write: func(s *testSite) { s.delete(1, moderator); s.undelete(1); s.undelete(1) },
			want: []entry{{"deleted article:1 2 1 0 = a b", 1}, {"undeleted article:1 3 1 0 = a b", 1}}},
		"a repeated post": {write: func(s *testSite) {
			for range 2 {
				require.Value(s.Post(s.ctx, "bob", keyed))(s.t)
			}
			other := keyed
			other.Title = "other"
			_, err := s.Post(s.ctx, "bob", other)
			wantRefused(s.t, err, "CONFLICT idempotencyKey")
		}, want: []entry{{"posted article:2 1 1 0 = ", 1}}},
		"a refused post": {write: func(s *testSite) {
			_, err := s.Post(s.ctx, "bob", draft(""))
			wantRefused(s.t, err, "INVALID title")
		}},
		"a vote after the window": {write: func(s *testSite) {
			s.clock.set(week + time.Second)
			_, err := s.Vote(s.ctx, 1, "bob", up, "")
			wantRefused(s.t, err, "VOTING_CLOSED article")
		}},
		"a vote on nothing": {write: func(s *testSite) {
			_, err := s.Vote(s.ctx, 99, "bob", up, "")
			wantRefused(s.t, err, "NOT_FOUND article")
		}},
		"a poster's vote that does not count": {rules: uncounted, write: func(s *testSite) {
			_, err := s.Vote(s.ctx, 1, "alice", none, "")
			wantRefused(s.t, err, "FORBIDDEN article")
		}},
		"another user's regrouping": {write: func(s *testSite) {
			_, err := s.Regroup(s.ctx, 1, site.Actor{Name: "bob"}, []string{"c"}, nil)
			wantRefused(s.t, err, "FORBIDDEN article")
		}},
		"a vote that fails": {write: func(s *testSite) {
			s.do("DEL", "score:")
			s.do("SET", "score:", "x")
			if _, err := s.Vote(s.ctx, 1, "bob", up, ""); err == nil {
				s.t.Error("a vote succeeded over a key of the wrong type, want an error")
			}
		}},
		"an import": {write: func(s *testSite) {
			_, errs := s.Import(s.ctx, []redisrepo.Imported{old(50, time.Hour, 3, "a"), old(51, 9*week, 3)}) // perhaps sent twice
			require.NoError(s.t, errors.Join(errs...))
			s.article(50)
			s.article(51)
		}, want: []entry{{text: "imported article:50 1 3 0 1772364096 a"}, {text: "imported article:51 1 3 0 1766924496 "}}},
		"reads": {write: func(s *testSite) {
			s.list(best("a"))
			s.list(lists.AllArticles(site.ByScore, site.Descending))
			s.article(1)
			s.positions("bob", 1)
			s.wantClean()
		}},
	}
	for name, tt := range tests {
		for how, hooks := range map[string][]redis.Hook{"once": nil, "twice": {twice(false)}, "twice, the second reply": {twice(true)}} {
			t.Run(name+", sent "+how, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, tt.rules, one)
				s.post("alice", "b", "a")
				s = s.reopened(s.client(hooks...), nil)
				logged := s.logged()
				tt.write(s)
				var want []string
				for _, m := range tt.want {
					want = append(want, scored(m.text, m.votes))
				}
				if got := logged(); !slices.Equal(got, want) {
					t.Errorf("the log got %q, want %q", got, want)
				}
			})
		}
	}
}

// A process tells the others of the partitions that it changes, on the channel of its database.
func TestEachDatabaseHasItsOwnChannel(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	client := s.clientWith(func(o *redis.Options) { o.DB = 1 })
	channels := s.raw.Subscribe(s.ctx, "changes:0", "changes:1")
	t.Cleanup(func() { _ = channels.Close() })
	messages := channels.Channel()
	second := s.reopened(client, nil)
	second.post("alice")
	for told := false; !told; {
		select {
		case m := <-messages:
			sender, partitions, _ := strings.Cut(m.Payload, " ")
			if told = m.Payload != "/"; told && (m.Channel != "changes:1" || len(sender) != 8 || partitions != "0") { // / proves the right to publish
				t.Errorf("got %q on %s, want a name of 8 letters and partition 0 on changes:1", m.Payload, m.Channel)
			}
		case <-time.After(require.Timeout):
			t.Fatal("timed out waiting for a message")
		}
	}
}

func TestNewRefusesAUserWhoMayNotPublish(t *testing.T) {
	t.Parallel()
	for name, rights := range map[string]string{
		"without channels":      "~* resetchannels +@all",
		"with others":           "~* resetchannels &other:* +@all",
		"without the commands":  "~* &* +@all -publish",
		"the channel is enough": "~* resetchannels &changes:0 +@all",
	} {
		for _, n := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d partitions", name, n), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, nil, redisrepo.WithPartitions(n))
				a := s.post("alice", "go")
				client := s.limited(rights)
				before := s.dump()
				rules := s.rules
				rules.VoteScore = 7
				repo, err := redisrepo.New(s.ctx, client, rules, redisrepo.WithPartitions(n), redisrepo.WithClock(s.clock.now))
				if strings.Contains(rights, " &changes:0") {
					require.NoError(t, err)
					require.Value(repo.Vote(s.ctx, a.ID, "bob", up, ""))(t)
					return
				}
				if err == nil || errors.Is(err, failover.ErrUnavailable) || !strings.Contains(err.Error(), "PUBLISH") {
					t.Errorf("New = %v, want an error about publishing that is not ErrUnavailable", err)
				}
				s.wantStore(before)
			})
		}
	}
}

// A name leaves the log when a copy of the log without it takes its place, with the same ids. Those who read it lose nothing, and
// stored cursors stay valid.
func TestNameLeavesTheLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	l := s.reopened(s.client(), nil).listen()
	id := s.post("alice").ID
	s.vote(id, "bob", up)
	s.vote(id, "carol", up)
	edges := s.events(nil, 10).Edges
	w, feed := l.watch(id), l.watchEvents("")
	l.settle()
	s.do("EVAL", `for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+')) do
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'by' and entry[2][i + 1] == ARGV[1] then entry[2][i + 1] = '' end
  end
  redis.call('XADD', KEYS[2], entry[1], unpack(entry[2]))
end
redis.call('RENAME', KEYS[2], KEYS[1])`, 2, "events:", "events:new", "bob")
	s.vote(id, "dave", up)
	if got := next(t, w); got.Votes != 4 {
		t.Errorf("delivered %d votes, want 4", got.Votes)
	}
	if got, _ := takeEvents(t, feed, 1); got != "1.4" {
		t.Errorf("the feed goes on with %s, want 1.4 without a gap", got)
	}
	for i, e := range edges {
		after := e.Cursor()
		page := require.Value(s.Log.Events(s.ctx, &after, nil, nil))(t)
		if page.Gap || page.Edges[0].Node.Revision != i+2 {
			t.Errorf("after event %d: gap %t, %d events", i+1, page.Gap, len(page.Edges))
		}
	}
	if log := fmt.Sprint(s.raw.XRange(s.ctx, "events:", "-", "+").Val()); strings.Contains(log, "bob") {
		t.Errorf("the log names bob: %s", log)
	}
	s.wantClean()
}
