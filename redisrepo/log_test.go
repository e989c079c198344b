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
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// scored replaces = in a text by the score of an article with the net votes.
func scored(text string, votes int) string {
	return strings.Replace(text, "=", fmt.Sprint(repotest.Opened.Unix()+432*int64(votes)), 1)
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
		write func(s *repotest.Site) // article:1 is alice's, in a and b
		want  []entry
	}{
		"a post":                       {write: func(s *repotest.Site) { s.MustPost("bob", "d", "c") }, want: []entry{{"posted article:2 1 1 0 = c d", 1}}},
		"a post without groups":        {write: func(s *repotest.Site) { s.MustPost("bob") }, want: []entry{{"posted article:2 1 1 0 = ", 1}}},
		"a post without a vote":        {rules: repotest.Uncounted, write: func(s *repotest.Site) { s.MustPost("bob", "c") }, want: []entry{{"posted article:2 1 0 0 = c", 0}}},
		"a vote up":                    {write: func(s *repotest.Site) { s.MustVote(1, "bob", up) }, want: []entry{{"voted article:1 2 2 0 = a b\n1 user:bob", 2}}},
		"a vote down":                  {write: func(s *repotest.Site) { s.MustVote(1, "bob", down) }, want: []entry{{"voted article:1 2 0 1 = a b\n-1 user:bob", 0}}},
		"more votes down than up":      {write: func(s *repotest.Site) { s.MustVote(1, "bob", down); s.MustVote(1, "carol", down) }, want: []entry{{"voted article:1 2 0 1 = a b\n-1 user:bob", 0}, {"voted article:1 3 -1 2 = a b\n-1 user:carol", -1}}},
		"a switch down":                {write: func(s *repotest.Site) { s.MustVote(1, "bob", up); s.MustVote(1, "bob", down) }, want: []entry{{"voted article:1 2 2 0 = a b\n1 user:bob", 2}, {"voted article:1 3 0 1 = a b\n-1 user:bob", 0}}},
		"a switch up":                  {write: func(s *repotest.Site) { s.MustVote(1, "bob", down); s.MustVote(1, "bob", up) }, want: []entry{{"voted article:1 2 0 1 = a b\n-1 user:bob", 0}, {"voted article:1 3 2 0 = a b\n1 user:bob", 2}}},
		"a vote taken back":            {write: func(s *repotest.Site) { s.MustVote(1, "bob", down); s.MustVote(1, "bob", none) }, want: []entry{{"voted article:1 2 0 1 = a b\n-1 user:bob", 0}, {"voted article:1 3 1 0 = a b\n0 user:bob", 1}}},
		"the poster's vote taken back": {write: func(s *repotest.Site) { s.MustVote(1, "alice", none) }, want: []entry{{"voted article:1 2 0 0 = a b\n0 user:alice", 0}}},
		"a vote that makes it interesting": {rules: func(r *site.Rules) { r.InterestingVotes = 2 },
			write: func(s *repotest.Site) { s.MustVote(1, "bob", up) }, want: []entry{{"voted article:1 2 2 0 = a b\n1 user:bob", 2}}},
		"a repeated vote":         {write: func(s *repotest.Site) { s.MustVote(1, "bob", up); s.MustVote(1, "bob", up) }, want: []entry{{"voted article:1 2 2 0 = a b\n1 user:bob", 2}}},
		"no vote taken back":      {write: func(s *repotest.Site) { s.MustVote(1, "bob", none) }},
		"the poster's vote":       {write: func(s *repotest.Site) { s.MustVote(1, "alice", up) }},
		"into a group":            {write: func(s *repotest.Site) { regroup(s, 1, "ab") }, want: []entry{{"regrouped article:1 2 1 0 = a ab b", 1}}},
		"out of a group":          {write: func(s *repotest.Site) { s.MustRegroup(s.Article(1), nil, []string{"a"}) }, want: []entry{{"regrouped article:1 2 1 0 = b", 1}}},
		"out of all groups":       {write: func(s *repotest.Site) { s.MustRegroup(s.Article(1), nil, []string{"a", "b"}) }, want: []entry{{"regrouped article:1 2 1 0 = ", 1}}},
		"a repeated regrouping":   {write: func(s *repotest.Site) { regroup(s, 1, "c"); regroup(s, 1, "c") }, want: []entry{{"regrouped article:1 2 1 0 = a b c", 1}}},
		"a regrouping for naught": {write: func(s *repotest.Site) { s.MustRegroup(s.Article(1), []string{"a"}, []string{"x"}) }},
		"a deletion":              {write: func(s *repotest.Site) { s.MustDelete(1, repotest.Moderator); s.MustDelete(1, repotest.Alice()) }, want: []entry{{"deleted article:1 2 1 0 = a b", 1}}},
		"an undeletion": {write: func(s *repotest.Site) { s.MustDelete(1, repotest.Moderator); s.MustUndelete(1); s.MustUndelete(1) },
			want: []entry{{"deleted article:1 2 1 0 = a b", 1}, {"undeleted article:1 3 1 0 = a b", 1}}},
		"a repeated post": {write: func(s *repotest.Site) {
			for range 2 {
				require.Value(s.Post(s.Ctx, "bob", keyed))(s.T)
			}
			other := keyed
			other.Title = "other"
			_, err := s.Post(s.Ctx, "bob", other)
			repotest.WantRefused(s.T, err, "CONFLICT idempotencyKey")
		}, want: []entry{{"posted article:2 1 1 0 = ", 1}}},
		"a refused post": {write: func(s *repotest.Site) {
			_, err := s.Post(s.Ctx, "bob", repotest.Draft(""))
			repotest.WantRefused(s.T, err, "INVALID title")
		}},
		"a vote after the window": {write: func(s *repotest.Site) {
			s.Clock.Set(week + time.Second)
			_, err := s.Vote(s.Ctx, 1, "bob", up, "")
			repotest.WantRefused(s.T, err, "VOTING_CLOSED article")
		}},
		"a vote on nothing": {write: func(s *repotest.Site) {
			_, err := s.Vote(s.Ctx, 99, "bob", up, "")
			repotest.WantRefused(s.T, err, "NOT_FOUND article")
		}},
		"a poster's vote that does not count": {rules: repotest.Uncounted, write: func(s *repotest.Site) {
			_, err := s.Vote(s.Ctx, 1, "alice", none, "")
			repotest.WantRefused(s.T, err, "FORBIDDEN article")
		}},
		"another user's regrouping": {write: func(s *repotest.Site) {
			_, err := s.Regroup(s.Ctx, 1, site.Actor{Name: "bob"}, []string{"c"}, nil)
			repotest.WantRefused(s.T, err, "FORBIDDEN article")
		}},
		"a vote that fails": {write: func(s *repotest.Site) {
			s.Do("DEL", "score:")
			s.Do("SET", "score:", "x")
			if _, err := s.Vote(s.Ctx, 1, "bob", up, ""); err == nil {
				s.T.Error("a vote succeeded over a key of the wrong type, want an error")
			}
		}},
		"an import": {write: func(s *repotest.Site) {
			_, errs := s.Import(s.Ctx, []redisrepo.Imported{repotest.Old(50, time.Hour, 3, "a"), repotest.Old(51, 9*week, 3)}) // perhaps sent twice
			require.NoError(s.T, errors.Join(errs...))
			s.Article(50)
			s.Article(51)
		}, want: []entry{{text: "imported article:50 1 3 0 1772364096 a"}, {text: "imported article:51 1 3 0 1766924496 "}}},
		"reads": {write: func(s *repotest.Site) {
			s.List(repotest.Best("a"))
			s.List(lists.AllArticles(site.ByScore, site.Descending))
			s.Article(1)
			s.Positions("bob", 1)
			s.WantClean()
		}},
	}
	for name, tt := range tests {
		for how, hooks := range map[string][]redis.Hook{"once": nil, "twice": {repotest.Twice(false)}, "twice, the second reply": {repotest.Twice(true)}} {
			t.Run(name+", sent "+how, func(t *testing.T) {
				t.Parallel()
				s := repotest.New(t, tt.rules, repotest.One)
				s.MustPost("alice", "b", "a")
				s = s.Reopened(s.Client(hooks...), nil)
				logged := s.Logged()
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
	s := repotest.New(t, nil, repotest.One)
	client := s.ClientWith(func(o *redis.Options) { o.DB = 1 })
	channels := s.Raw.Subscribe(s.Ctx, "changes:0", "changes:1")
	t.Cleanup(func() { _ = channels.Close() })
	messages := channels.Channel()
	second := s.Reopened(client, nil)
	second.MustPost("alice")
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
				s := repotest.New(t, nil, redisrepo.WithPartitions(n))
				a := s.MustPost("alice", "go")
				client := s.Limited(rights)
				before := s.Dump()
				rules := s.Rules
				rules.VoteScore = 7
				repo, err := redisrepo.New(s.Ctx, client, rules, redisrepo.WithPartitions(n), redisrepo.WithClock(s.Clock.Now))
				if strings.Contains(rights, " &changes:0") {
					require.NoError(t, err)
					require.Value(repo.Vote(s.Ctx, a.ID, "bob", up, ""))(t)
					return
				}
				if err == nil || errors.Is(err, failover.ErrUnavailable) || !strings.Contains(err.Error(), "PUBLISH") {
					t.Errorf("New = %v, want an error about publishing that is not ErrUnavailable", err)
				}
				s.WantStore(before)
			})
		}
	}
}
