package redisrepo_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// commandStats returns the number of calls of each command that the server ran since the last CONFIG RESETSTAT.
func commandStats(s *repotest.Site) string {
	s.T.Helper()
	var calls []string
	for _, m := range regexp.MustCompile(`cmdstat_([a-z]+):calls=(\d+)`).FindAllStringSubmatch(s.Do("INFO commandstats").(string), -1) {
		switch m[1] {
		case "config", "info", "hello", "client", "ping":
		default:
			calls = append(calls, m[1]+" "+m[2])
		}
	}
	slices.Sort(calls)
	return strings.Join(calls, ", ")
}

func withHistory(r *site.Rules) { repotest.NoFeatures(r); r.VoteHistory = 400 * 24 * time.Hour }

// A vote runs only the commands that can matter, and the votes of a call share most of them.
func TestVoteRunsFewCommands(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		features func(*site.Rules)
		prepare  func(s *repotest.Site)
		vote     site.Vote
		bucket   string
		voter    site.UserName // bob if empty
		want     string
	}{
		"an upvote, with all features": {features: func(r *site.Rules) { r.GroupTop = true }, vote: up, prepare: func(s *repotest.Site) { s.MustVote(s.MustPost("alice").ID, "bob", up) },
			want: "evalsha 1, hmget 1, hset 1, pttl 1, sadd 1, sismember 1, xadd 1, xlen 1, zadd 1"},
		"the first upvote of a user": {features: withHistory, vote: up,
			want: "evalsha 1, hmget 1, hset 1, pttl 1, sadd 1, sismember 1, xadd 1, xlen 1, zadd 1"},
		"a withdrawal, with a history of votes": {features: withHistory, prepare: func(s *repotest.Site) { s.MustVote(1, "bob", down); s.MustVote(1, "bob", up) }, vote: none,
			want: "evalsha 1, hmget 1, hset 1, pttl 1, sismember 1, srem 1, xadd 1, xlen 1, zadd 1"},
		"a switched vote, with a history of votes": {features: withHistory, prepare: func(s *repotest.Site) { s.MustVote(1, "bob", up) }, vote: down,
			want: "evalsha 1, hmget 1, hset 1, pttl 2, sadd 1, sismember 2, srem 1, xadd 1, xlen 1, zadd 1"},
		"the first upvote of an hour": {features: func(r *site.Rules) { repotest.NoFeatures(r); r.FrontPages = time.Hour }, vote: up,
			prepare: func(s *repotest.Site) { s.Clock.Advance(time.Hour) },
			want:    "evalsha 3, expire 1, hget 2, hlen 1, hmget 2, hset 2, pttl 2, sadd 1, sismember 1, xadd 1, xlen 1, zadd 2, zcard 2, zrange 1, zremrangebyscore 1"},
		"an upvote": {vote: up,
			want: "evalsha 1, hmget 1, hset 1, pttl 1, sadd 1, sismember 1, xadd 1, xlen 1, zadd 1"},
		"an upvote, with a listing": {prepare: func(s *repotest.Site) { s.List(repotest.Best("go")) }, vote: up,
			want: "evalsha 1, hmget 1, hset 1, pttl 1, sadd 1, sismember 1, xadd 1, xlen 1, zadd 1"},
		"a recorded upvote": {vote: up, bucket: "b",
			want: "evalsha 1, expire 1, hlen 1, hmget 1, hset 2, pttl 1, sadd 1, sismember 1, xadd 1, xlen 1, zadd 1"},
		"a first downvote": {prepare: func(s *repotest.Site) { s.MustVote(1, "carol", none) }, vote: down,
			want: "evalsha 1, hmget 1, hset 1, pttl 2, sadd 1, sismember 2, srem 1, xadd 1, xlen 1, zadd 1"},
		"a repeated vote": {prepare: func(s *repotest.Site) { s.MustVote(1, "bob", up) }, vote: up,
			want: "evalsha 1, hmget 1, pttl 1, sismember 1"},
		"an upvote of the poster": {prepare: func(s *repotest.Site) { s.MustVote(1, "bob", up); s.MustVote(1, "alice", none) }, vote: up, voter: "alice",
			want: "evalsha 1, hmget 1, hset 1, pttl 1, sadd 1, sismember 1, xadd 1, xlen 1, zadd 1"},
		"the upvote that reaches a milestone": {prepare: func(s *repotest.Site) { s.MustVote(1, "carol", up) }, vote: up,
			features: func(r *site.Rules) { repotest.NoFeatures(r); r.Events, r.Milestones = 10, []int{6} },
			want:     "evalsha 1, hget 1, hmget 1, hset 2, pttl 1, sadd 1, sismember 1, xadd 2, xlen 1, xrevrange 1, zadd 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.features == nil {
				tt.features = repotest.NoFeatures
			}
			s := repotest.New(t, tt.features, repotest.One)
			s.Store.OnChange = func(int) {} // no vote waits for what processes tell each other
			s.MustPost("alice", "go")
			s.MustVote(1, "warm", up)
			s.MustVote(1, "record", up)
			require.Value(s.Vote(s.Ctx, 1, "recorded", up, "b"))(t)
			voter := cmp.Or(tt.voter, "bob")
			if tt.prepare != nil {
				tt.prepare(s)
			}
			if tt.vote == down {
				s.MustVote(1, "eve", down)
				s.MustVote(1, voter, up)
			}
			s.Do("CONFIG RESETSTAT")
			require.Value(s.Vote(s.Ctx, 1, voter, tt.vote, tt.bucket))(t)
			if got := commandStats(s); got != tt.want {
				t.Errorf("the server ran %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A vote's reply lacks what never changes in an article, which the process may know from before. It belongs to another
// article when the store was emptied, and a number was given again in the same second.
func TestVoteShowsTheArticleThatHasTheNumberNow(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	other := s.Reopened(s.Client(), nil)
	for i, title := range []string{"first", "second", "third"} {
		s.Do("FLUSHALL")
		d := repotest.Draft(title, "go", "g"+strconv.Itoa(i))
		if i == 1 {
			d.Link, d.Text = nil, new("a text")
		}
		a, err := other.Post(s.Ctx, site.UserName("poster"+strconv.Itoa(i)), d)
		if err != nil || a.ID != 1 {
			t.Fatalf("Post = %v, %v, want article:1", a, err)
		}
		for _, voter := range []site.UserName{"bob", "carol"} {
			repotest.WantEqual(t, s.MustVote(1, voter, up).Article, s.Article(1))
		}
	}
}

// A deletion and a regrouping elsewhere show in the next vote's article.
func TestVoteShowsChangesOfOtherProcesses(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	other := s.Reopened(s.Client(), nil)
	a := s.MustPost("alice", "go")
	s.MustVote(a.ID, "bob", up)
	other.MustRegroup(a, []string{"redis"}, nil)
	repotest.WantEqual(t, s.MustVote(a.ID, "carol", up).Article, other.Article(a.ID))
	other.MustDelete(a.ID, repotest.Moderator)
	_, err := s.Vote(s.Ctx, a.ID, "dave", up, "")
	repotest.WantRefused(t, err, "NOT_FOUND article")
	other.MustUndelete(a.ID)
	repotest.WantEqual(t, s.MustVote(a.ID, "dave", up).Article, other.Article(a.ID))
	s.WantClean()
}

// maxVoteAllocations is the bound for a vote by a new voter on an article that was voted on before, go-redis included.
const maxVoteAllocations = 23

// This test is not parallel: others would allocate, too.
func TestVoteAllocatesLittle(t *testing.T) {
	s := repotest.New(t, nil)
	s.Store.OnChange = func(int) {} // of which one message tells for all votes of 5 ms
	a := s.MustPost("alice", "go")
	s.MustVote(a.ID, "warm", up)
	voters := make([]site.UserName, 0, 300)
	for i := range 300 {
		voters = append(voters, site.UserName(fmt.Sprint("voter", i)))
	}
	allocations := testing.AllocsPerRun(200, func() {
		if _, err := s.Vote(s.Ctx, a.ID, voters[0], up, ""); err != nil {
			t.Fatal(err)
		}
		voters = voters[1:]
	})
	if allocations > maxVoteAllocations {
		t.Errorf("a vote makes %v allocations, want at most %d", allocations, maxVoteAllocations)
	}
}
