package voids_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// shows is all that a reader of lists sees: every article with its counts and score in every listing, the rankings, and which
// articles are interesting.
func shows(s *repotest.Site) (all []string) {
	s.T.Helper()
	for _, group := range []site.GroupName{"", "a", "b", "interesting"} {
		for _, order := range repotest.Orders {
			l := lists.AllArticles(order, site.Descending)
			if group != "" {
				l = lists.InGroup(group, order, site.Descending)
			}
			for _, id := range require.Value(s.Lists.List(s.Ctx, l, 1, new(100)))(s.T) {
				a := s.Article(id)
				all = append(all, fmt.Sprintf("%s %d: %v %d-%d %.0f %t", group, order, id, a.Upvotes, a.Downvotes, a.Score, a.IsInteresting))
			}
		}
	}
	return append(all, s.Derived()...)
}

// ringSize is the number of users of a ring: as many as one call takes.
const ringSize = redisrepo.MaxVoided

// withRing has ordinary users vote on articles, and a ring, too, unless it is left out.
func withRing(s *repotest.Site, votes bool) (ids []site.ArticleID, ring []string) {
	s.T.Helper()
	for i := range ringSize {
		ring = append(ring, fmt.Sprint("ring", i))
	}
	for i := range 6 {
		id := s.MustPost("alice", []string{"a", "b"}[i%2], "c").ID
		ids = append(ids, id)
		for voter := range 4 * i {
			s.MustVote(id, site.UserName(fmt.Sprint("u", voter)), []site.Vote{site.Up, site.Up, site.Down}[voter%3])
		}
		s.Clock.Advance(7 * time.Minute)
	}
	for _, group := range []site.GroupName{"a", "b", "interesting"} {
		s.List(repotest.Best(group)) // so that there are listings to keep
	}
	if votes {
		for i, name := range ring {
			s.MustVote(ids[1], site.UserName(name), site.Up)
			s.MustVote(ids[2], site.UserName(name), []site.Vote{site.Up, site.Down}[i%2])
			s.MustVote(ids[4], site.UserName(name), site.Down)
		}
	}
	return ids, ring
}

// Voiding a ring of 200 votes leaves scores, lists and calendars as if the votes had never been cast, whatever the step at
// which the server is killed or a process dies: before a round trip, or after it and before its reply.
func TestVoidedRingIsAsIfItHadNeverVoted(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 16} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			t.Parallel()
			rules := func(r *site.Rules) { r.GroupTop, r.InterestingVotes = true, 5 }
			never := repotest.New(t, rules, redisrepo.WithPartitions(partitions))
			withRing(never, false)
			require.NoError(t, never.Views.CatchUpAll(never.Ctx))
			want := shows(never)

			s := repotest.New(t, rules, redisrepo.WithPartitions(partitions))
			s.Server.Own()
			ids, ring := withRing(s, true)
			if got := shows(s); slices.Equal(got, want) {
				t.Fatal("the votes of the ring change nothing")
			}
			restore := s.Snapshot()
			voidAll := func(other *repotest.Site) error {
				var errs []error
				for _, id := range []site.ArticleID{ids[1], ids[2], ids[4]} {
					_, err := other.Void(id, true, ring...)
					errs = append(errs, err)
				}
				return errors.Join(append(errs, other.Views.CatchUpAll(s.Ctx))...)
			}
			steps := 0
			for killed := true; killed; steps++ {
				for _, sent := range programtest.Size([]bool{steps%2 > 0}, []bool{false, true}) {
					restore()
					killed = false
					left := 1000 // while the process opens the site
					hook := func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
						if redistest.IsAside(commands[0]) {
							return send(ctx, commands)
						}
						if left--; left >= 0 {
							return send(ctx, commands)
						}
						if sent && !killed {
							_ = send(ctx, commands)
						}
						if !killed {
							s.Server.Kill()
						}
						killed = true
						return redistest.Fail(redis.ErrClosed, commands) // the process has died, too
					}
					dying := s.Reopened(s.Client(redistest.Hook(hook)), nil)
					left = steps
					if err := voidAll(dying); killed != (err != nil) {
						t.Fatalf("step %d: err = %v, killed: %t", steps, err, killed)
					}
					if killed {
						s.Server.Restart()
					}
					fresh := s.Reopened(s.Client(), nil)
					require.NoError(t, voidAll(fresh))
					if got := shows(fresh); !slices.Equal(got, want) {
						t.Fatalf("killed at step %d, sent %t: readers see\n%s\nwant\n%s", steps, sent, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
					if n, err := fresh.Void(ids[2], true, ring...); n != ringSize || err != nil {
						t.Errorf("%d votes do not count, %v, want %d", n, err, ringSize)
					}
					fresh.WantScheduled()
					fresh.WantClean()
				}
			}
			if steps < 6 {
				t.Errorf("the server was killed at %d steps, want more", steps)
			}
		})
	}
}

// grown matches what grows with each change.
var grown = regexp.MustCompile(`revision:\d+|(?m)^\S*(?:events|moderation):.*\n`)

// Taking votes out and putting them back leaves the store as it was, but for its revisions and logs, and each twice is as once.
func TestVotesThatArePutBackLeaveTheStoreAsItWas(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*site.Rules){
		"":              func(r *site.Rules) { r.GroupTop, r.InterestingVotes = true, 3 },
		"no history":    func(r *site.Rules) { r.VoteHistory, r.PosterVotes = site.NoHistory, false },
		"half-life":     func(r *site.Rules) { r.Ranking, r.InterestingVotes = site.HalfLifeRanking, 2 },
		"no milestones": func(r *site.Rules) { r.Milestones, r.Events = nil, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, change, repotest.One)
			s.MustPost("alice", "a")
			repotest.BookRegroup(s, repotest.BookPost(s, "user:alice"), []string{"a"}, nil)
			require.Value(s.Layout.Adopt(s.Ctx))(t)
			for i, voter := range []site.UserName{"bob", "carol", "dave", "erin", "frank"} {
				for id := site.ArticleID(1); id < 3; id++ {
					s.MustVote(id, voter, []site.Vote{site.Up, site.Up, site.Down}[i%3])
				}
			}
			repotest.BookVote(s, "user:grace", 1)
			repotest.BookVote(s, "user:dave", 1) // over a downvote
			require.Value(s.Layout.Adopt(s.Ctx))(t)
			s.List(repotest.Best("a"))
			s.MustVote(1, "heidi", site.Up)
			all := []string{"alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "zed"}
			for _, users := range [][]string{{"bob"}, {"dave"}, {"dave", "grace", "bob"}, all} {
				for id := site.ArticleID(1); id < 3; id++ {
					before := s.Dump()
					n := require.Value(s.Void(id, true, users...))(t)
					out := s.Dump()
					if again, err := s.Void(id, true, users...); again != n || err != nil || n == 0 {
						t.Errorf("a second time, %d votes of %v are out, %v, want %d", again, users, err, n)
					}
					s.WantStore(out, "taken out a second time, ")
					if n, err := s.Void(id, false, users...); n != 0 || err != nil {
						t.Errorf("put back, %d votes of %v do not count, %v", n, users, err)
					}
					back := s.Dump()
					if got, want := grown.ReplaceAllString(back, ""), grown.ReplaceAllString(before, ""); got != want {
						t.Errorf("with the votes of %v on %d back the store holds\n%s\nwant\n%s", users, id, got, want)
					}
					require.Value(s.Void(id, false, users...))(t)
					s.WantStore(back, "put back a second time, ")
				}
			}
		})
	}
}

func TestVoidVotesRefusals(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice")
	many := slices.Repeat([]string{"a"}, redisrepo.MaxVoided+1)
	for _, tt := range []struct {
		id     site.ArticleID
		by     site.Actor
		users  []string
		void   bool
		reason string
		want   []string
	}{
		{1, repotest.Alice(), []string{"bob"}, true, "x", []string{"FORBIDDEN users"}},
		{9, repotest.Moderator, []string{"bob"}, true, "x", []string{"NOT_FOUND article"}},
		{1, repotest.Moderator, nil, true, "x", []string{"INVALID users"}},
		{1, repotest.Moderator, many, true, "x", []string{"INVALID users"}},
		{1, repotest.Moderator, []string{"bob", " x", ""}, true, "", []string{"INVALID reason", "INVALID users.1", "INVALID users.2"}},
		{1, repotest.Moderator, []string{"bob"}, false, strings.Repeat("x", 501), []string{"TOO_LONG reason"}},
	} {
		_, _, err := s.VoidVotes(s.Ctx, tt.id, tt.by, tt.users, tt.void, tt.reason)
		repotest.WantRefused(t, err, tt.want...)
	}
}

// An article that is deleted before its votes are taken out, and restored after, is as if they had never been cast.
func TestVotesOnDeletedArticlesAreVoided(t *testing.T) {
	t.Parallel()
	rules := func(r *site.Rules) { r.GroupTop, r.InterestingVotes = true, 5 }
	restored := func(votes bool) *repotest.Site {
		s := repotest.New(t, rules, repotest.One)
		ids, ring := withRing(s, votes)
		for _, id := range []site.ArticleID{ids[1], ids[2], ids[4]} {
			s.MustDelete(id, repotest.Moderator)
			if n, err := s.Void(id, true, ring...); err != nil || votes != (n == ringSize) {
				t.Errorf("%d votes on %v do not count, %v", n, id, err)
			}
			s.WantClean()
			s.MustUndelete(id)
			if votes {
				_, err := s.Vote(s.Ctx, id, site.UserName(ring[0]), site.Up, "")
				repotest.WantRefused(t, err, "DENIED article")
			}
		}
		require.NoError(t, s.Views.CatchUpAll(s.Ctx))
		s.WantClean()
		return s
	}
	s := restored(true)
	if got, want := shows(s), shows(restored(false)); !slices.Equal(got, want) {
		t.Errorf("readers see\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// After the voters are forgotten, the histories of the users say who voted and how.
func TestVotesAreVoidedAfterTheVotersAreForgotten(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice", "a")
	for voter, vote := range map[site.UserName]site.Vote{"bob": site.Up, "carol": site.Down, "dave": site.Up} {
		s.MustVote(1, voter, vote)
	}
	s.Clock.Advance(repotest.Week + 2*time.Hour)
	s.Do("DEL voted:1 downvoted:1") // as they expire
	if n, a := require.Value(s.Void(1, true, "bob", "carol", "zed"))(t), s.Article(1); n != 2 || a.Upvotes != 2 || a.Downvotes != 0 {
		t.Errorf("%d votes are out, %d up and %d down are left, want 2, and 2 and 0", n, a.Upvotes, a.Downvotes)
	}
	if got := s.Positions("bob", 1) + s.Positions("dave", 1); got != "0+" {
		t.Errorf("positions = %s, want 0+", got)
	}
	s.WantScheduled()
	s.WantClean()
	if n, a := require.Value(s.Void(1, false, "bob", "carol"))(t), s.Article(1); n != 0 || a.Upvotes != 3 || a.Downvotes != 1 {
		t.Errorf("%d votes are out, %d up and %d down count, want 0, and 3 and 1", n, a.Upvotes, a.Downvotes)
	}
	if exists := s.Do("EXISTS voted:1 downvoted:1"); exists != int64(0) {
		t.Errorf("%v sets of voters exist again", exists)
	}
	s.WantClean()
}

// A milestone that was reached stays reached, and votes that are put back reach another one.
func TestVoidedVotesAndMilestones(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.Milestones, r.InterestingVotes = []int{3, 5}, 3 }, repotest.One)
	s.MustPost("alice", "a") // the first vote
	s.MustVote(1, "u0", site.Up)
	s.MustVote(1, "u1", site.Up)
	require.Value(s.Void(1, true, "u0", "u1"))(t)
	if s.Article(1).IsInteresting || s.Do("SISMEMBER group:interesting article:1") != int64(0) {
		t.Error("the article is interesting without its votes")
	}
	for i := range 2 {
		s.MustVote(1, site.UserName(fmt.Sprint("v", i)), site.Up)
	}
	require.Value(s.Void(1, false, "u0", "u1"))(t)
	if n := strings.Count(s.Story(), "milestone 3"); n != 1 {
		t.Errorf("3 votes were reached %d times in the feed, want once", n)
	}
	if n := strings.Count(s.Story(), "milestone 5"); n != 1 {
		t.Errorf("5 votes were reached %d times in the feed, want once", n)
	}
	s.WantClean()
}

// Votes, and moderators who take them out and put them back, get along: the counts are those of the votes that count.
func TestVotesAndVoidingAtOnce(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 4 }, repotest.One)
	s.MustPost("alice", "a")
	ring := []string{"r0", "r1", "r2", "r3"}
	repotest.Together(6, func(i int) {
		other := s.Reopened(s.Client(), nil)
		for n := range 60 {
			if i < 2 {
				if _, err := other.Void(1, (n+i)%2 == 0, ring...); err != nil {
					t.Error(err)
				}
				continue
			}
			voter := site.UserName([]string{ring[i-2], fmt.Sprint("u", i, n%5)}[n%2])
			_, err := other.Vote(s.Ctx, 1, voter, site.Vote(n%3-1), "")
			var refusal site.Refusal
			if err != nil && (!errors.As(err, &refusal) || refusal[0].Code != site.Denied) {
				t.Error(err)
			}
		}
	})
	s.WantClean()
	require.Value(s.Void(1, true, ring...))(t)
	a, voters := s.Article(1), s.Raw.SMembers(s.Ctx, "voted:1").Val()
	if slices.ContainsFunc(voters, func(v string) bool { return strings.HasPrefix(v, "user:r") }) || a.Upvotes != len(voters) {
		t.Errorf("%d upvotes of %v, want none of the ring's", a.Upvotes, voters)
	}
	s.WantScheduled()
	s.WantClean()
}

// The voters of an article are listed by name, those whose vote does not count included, in pages that lack none.
func TestVotersAreListed(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustImport(repotest.Old(1, time.Hour, 3)) // whose voters have no names
	want := map[string]string{}
	for i := range 230 {
		name := fmt.Sprint("u", i)
		vote := []site.Vote{site.Up, site.Down}[i%2]
		s.Clock.Advance(time.Second)
		s.MustVote(1, site.UserName(name), vote)
		want[name] = fmt.Sprint(vote, " ", s.Clock.Now().Unix(), " false")
	}
	require.Value(s.Void(1, true, "u7", "u8"))(t)
	for _, name := range []string{"u7", "u8"} {
		want[name] = strings.Replace(want[name], "false", "true", 1)
	}
	repotest.BookVote(s, "user:grace", 1)
	want["grace"] = "up unknown false"
	want["zoe"] = fmt.Sprint("up ", s.Clock.Now().Unix()-3600-230, " false")
	article := s.Article(1)
	read := func(direction *site.Vote, size int) map[string]string {
		got, last := map[string]string{}, ""
		var after *string
		for {
			page, info, err := s.Voids.Voters(s.Ctx, article, direction, &size, after)
			require.NoError(t, err)
			for _, v := range page {
				at := "unknown"
				if v.At != nil {
					at = fmt.Sprint(v.At.Unix())
				}
				if got[string(v.Name)] = fmt.Sprint(v.Vote, " ", at, " ", v.Void != nil); string(v.Name) <= last {
					t.Errorf("%s comes after %s", v.Name, last)
				}
				last = string(v.Name)
			}
			if after = info.EndCursor; !info.HasNextPage {
				return got
			}
		}
	}
	for _, size := range []int{7, 100} {
		if got := read(nil, size); !maps.Equal(got, want) {
			t.Errorf("the voters in pages of %d are %v, want %v", size, got, want)
		}
	}
	ups := maps.Clone(want)
	maps.DeleteFunc(ups, func(_, vote string) bool { return strings.HasPrefix(vote, "down") })
	if got := read(new(site.Up), 50); !maps.Equal(got, ups) {
		t.Errorf("the upvoters are %v, want %v", got, ups)
	}
	for _, tt := range []struct {
		direction *site.Vote
		first     int
		after     string
		want      string
	}{{new(site.None), 1, "", "INVALID direction"}, {nil, 101, "", "INVALID first"}, {nil, 1, "x", "INVALID after"}, {nil, 1, site.EncodeCursor("voters 2", "bob"), "INVALID after"}} {
		_, _, err := s.Voids.Voters(s.Ctx, article, tt.direction, &tt.first, &tt.after)
		repotest.WantRefused(t, err, tt.want)
	}
}

// Check reports votes that are counted although they are out, and a number of them that is wrong.
func TestCheckKnowsVotesThatDoNotCount(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice", "a")
	s.MustVote(1, "eve", site.Up)
	require.Value(s.Void(1, true, "eve"))(t)
	repotest.BookVote(s, "user:eve", 1) // a program of the book does not ask
	s.WantViolations("voted:1: has user:eve, but a moderator took this vote out: void it again")
	require.Value(s.Void(1, true, "eve"))(t)
	s.WantClean()
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	s.Do("HSET article:1 voided 2")
	s.Do("HSET void:1 user:x bad")
	s.Do("HDEL void:1 user:eve")
	s.WantViolations(
		`article:1: voided is "2", but void:1 has 1 votes`,
		"cast:eve:641: has 1, but user:eve is not in voted:1",
		`void:1: a vote that does not count is malformed: that of "user:x" on article:1 is "bad"`)
}
