package rankings_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/exchange/export"
	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// A ranking that is read in many steps has all articles once: it matches the oracle however short a step is.
func TestRankingsInStepsMatchTheOracle(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 2, 16} {
		for _, embedded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d partitions, embedded %t", partitions, embedded), func(t *testing.T) {
				t.Parallel()
				w := newRankedWorld(t, partitions, embedded)
				for asked := 0; asked < *questions/programtest.Size(20, 8) && !t.Failed(); {
					w.Site = w.Reopened(w.Raw, nil, redisrepo.WithPartitions(partitions), redisrepo.WithStep(1+w.IntN(40)))
					w.fill()
					for range programtest.Size(20, 50) {
						asked += w.ask()
					}
				}
			})
		}
	}
}

// A ranking that needs many members is read in steps that look at a bounded number of members each.
func TestStepsOfRankingsAreBounded(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		t.Run(fmt.Sprint(partitions, " partitions"), func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, redisrepo.WithPartitions(partitions))
			fillDay(s, 4000, 100)                // many votes and many ages make the same keys
			const step, most = 200, 64 + 64 + 25 // what a list may add at the end of a step
			var replies []*redis.Cmd
			client := s.Client(redistest.Before(func(commands ...redis.Cmder) {
				if redistest.IsAside(commands[0]) {
					return
				}
				looked := 0
				for _, c := range replies {
					answer, _ := c.Slice()
					if len(answer) > 1 {
						n, _ := answer[1].(int64) // not of STALE
						looked += int(n)
					}
				}
				if allowed := max(step, step/8*partitions) + most*partitions; looked > allowed {
					t.Errorf("%d calls of one step looked at %d members, want at most %d", len(replies), looked, allowed)
				}
				replies = nil
				for _, c := range commands {
					if call, ok := c.(*failover.Unrepeated); ok {
						replies = append(replies, call.Cmd)
					}
				}
			}))
			other := s.Reopened(client, nil, redisrepo.WithPartitions(partitions), redisrepo.WithStep(step))
			list, err := other.Rankings.RankedList(rankings.RankQuery{By: rankings.RankBy{Formula: rankings.RankLinear, VoteScore: new(900)}})
			if err != nil {
				t.Fatal(err)
			}
			looked := 0
			seen := map[site.ArticleID]bool{}
			for after, more := (*string)(nil), true; more; {
				page := require.Value(other.Rankings.Rank(s.Ctx, list, new(100), after))(t)
				looked = max(looked, page.Looked)
				for _, e := range page.Edges {
					if seen[e.ID] {
						t.Errorf("%v is shown twice", e.ID)
					}
					seen[e.ID] = true
				}
				after, more = page.Info.EndCursor, page.Info.HasNextPage
			}
			if len(seen) != 4000 || looked < 3*step {
				t.Errorf("pages have %d articles, and one looked at %d members, want %d, and at least %d", len(seen), looked, 4000, 3*step)
			}
		})
	}
}

// fillDay stores articles of one day with votes below a number.
func fillDay(s *repotest.Site, n, votes int) {
	s.T.Helper()
	w := &rankedWorld{Site: s, Rand: rand.New(rand.NewPCG(1, 1)), tags: s.Tags()}
	_, err := s.Raw.Pipelined(s.Ctx, func(pipe redis.Pipeliner) error {
		for id := range site.ArticleID(n) {
			a := &rankedArticle{id: id + 1, time: float64(s.Clock.Now().Unix() - int64(w.IntN(dayOf))), votes: w.IntN(votes)}
			w.articles = append(w.articles, a)
			w.put(pipe, a)
		}
		return nil
	})
	if err != nil {
		s.T.Fatal(err)
	}
}

// Of articles with equal keys, each that is looked at is compared by the bytes of its name with few of those on the page.
func TestRankingComparesFewNames(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	fillDay(s, 1000, 1)
	counting := strings.NewReplacer("local function is_before(",
		"local compared, compare = 0, by_bytes local function by_bytes(a, b) compared = compared + 1 return compare(a, b) end local function is_before(",
		"'OK', looked", "'OK', compared", "'MORE', looked", "'MORE', compared")
	client := s.Client(redistest.Before(func(commands ...redis.Cmder) {
		for _, c := range commands {
			if call, ok := c.(*failover.Unrepeated); ok {
				words := call.Args()
				words[0], words[1] = "eval", counting.Replace(wire.TextOf(words[1].(string)))
			}
		}
	}))
	var looked [2]int
	var pages [2]string
	for i, repo := range []*repotest.Site{s, s.Reopened(client, nil, repotest.One)} {
		list, err := repo.Rankings.RankedList(rankings.RankQuery{By: rankings.RankBy{Formula: rankings.RankTop}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := repo.Rankings.Rank(s.Ctx, list, new(100), nil)
		if err != nil {
			t.Fatal(err)
		}
		looked[i] = page.Looked
		for _, e := range page.Edges {
			pages[i] += e.ID.String() + " "
		}
	}
	// One with the last of the page, one before its list is left, and seven to find its place among 100.
	if members, compared := looked[0], looked[1]; pages[0] != pages[1] || compared < members || compared > 9*members {
		t.Errorf("%d members were compared %d times", members, compared)
	}
}

// Only Frontpage makes cursors of rankings: what decides how much is read is no client's choice. All processes of a
// site accept each other's, and so does a copy of the site.
func TestCursorsOfRankingsCannotBeForged(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 16} {
		t.Run(fmt.Sprint(partitions, " partitions"), func(t *testing.T) {
			t.Parallel()
			option := redisrepo.WithPartitions(partitions)
			s := repotest.New(t, nil, option)
			for range 3 {
				s.MustPost("alice")
			}
			list := require.Value(s.Rankings.RankedList(rankings.RankQuery{}))(t)
			page := require.Value(s.Rankings.Rank(s.Ctx, list, new(1), nil))(t)
			genuine := page.Edges[0].Cursor
			text := require.Value(base64.RawURLEncoding.DecodeString(genuine))(t)
			text = text[:len(text)-12]
			other := repotest.New(t, nil, option) // another site
			other.MustPost("alice")
			foreign := require.Value(other.Rankings.Rank(s.Ctx, list, new(1), nil))(t)
			forged := map[string]string{
				"of another site":        foreign.Edges[0].Cursor,
				"with a checksum":        base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text))),
				"without a code":         base64.RawURLEncoding.EncodeToString(text),
				"with a code of zeros":   base64.RawURLEncoding.EncodeToString(append(text, make([]byte, 12)...)),
				"that is nearly genuine": strings.Replace(genuine, genuine[40:41], string(genuine[40]^1), 1),
			}
			for name, cursor := range forged {
				if page, err := s.Rankings.Rank(s.Ctx, list, nil, &cursor); !errors.As(err, new(site.Refusal)) || page.Looked != 0 {
					t.Errorf("a cursor %s: %v, and %d members were looked at, want a refusal", name, err, page.Looked)
				}
			}
			for name, repo := range map[string]*repotest.Site{
				"this process":    s,
				"another process": s.Reopened(s.Client(), nil, option),
				"a copy":          moved(s, option),
			} {
				if page, err := repo.Rankings.Rank(s.Ctx, list, nil, &genuine); err != nil || len(page.Edges) != 2 {
					t.Errorf("%s: %d articles after a genuine cursor, %v, want 2", name, len(page.Edges), err)
				}
			}
		})
	}
}

// Processes that open a new store at once agree on the key of cursors and the UUID, and also after the store was emptied.
func TestProcessesAgreeOnWhatIsDrawnOnce(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.Do("FLUSHDB")
	sites := make([]*repotest.Site, 6)
	repotest.Together(len(sites), func(i int) { sites[i] = s.Reopened(s.Client(), nil, repotest.One) })
	check := func() {
		t.Helper()
		for range 2 {
			sites[0].MustPost("alice")
		}
		for i, from := range sites {
			list := require.Value(from.Rankings.RankedList(rankings.RankQuery{}))(t)
			page := require.Value(from.Rankings.Rank(s.Ctx, list, new(1), nil))(t)
			to := sites[(i+1)%len(sites)]
			if a, b := from.Store.UUID.Load(), to.Store.UUID.Load(); *a != *b {
				t.Errorf("two processes have the UUIDs %v and %v", a, b)
			}
			if _, err := to.Rankings.Rank(s.Ctx, list, nil, page.Info.EndCursor); err != nil {
				t.Errorf("process %d refuses a cursor of process %d: %v", (i+1)%len(sites), i, err)
			}
		}
	}
	check()
	s.Do("HDEL meta: uuid cursor_key") // as an earlier version has it
	repotest.Together(len(sites), func(i int) { sites[i] = s.Reopened(s.Client(), nil, repotest.One) })
	check()
	s.Do("FLUSHDB")
	for _, other := range sites {
		require.NoError(t, other.Live.CheckHistory(s.Ctx, 0))
	}
	check()
}

// A script that Redis did not answer in time is not sent again: Redis may still be busy with it.
func TestRankingIsNotRepeatedAfterATimeout(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice")
	options := *s.Server.Client.Options()
	options.ReadTimeout, options.MinIdleConns = 200*time.Millisecond, 4
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	other := s.Reopened(client, nil, repotest.One)
	list, err := other.Rankings.RankedList(rankings.RankQuery{})
	if err != nil {
		t.Fatal(err)
	}
	conns := make([]*redis.Conn, 4) // so that a repeat would find one that is open
	for i := range conns {
		conns[i] = client.Conn()
		require.NoError(t, conns[i].Ping(s.Ctx).Err())
	}
	for _, c := range conns {
		_ = c.Close()
	}
	s.Do("CONFIG RESETSTAT")
	s.Server.Pause()
	_, err = other.Rankings.Rank(context.WithoutCancel(s.Ctx), list, nil, nil)
	s.Server.Resume()
	if !errors.Is(err, failover.ErrUnavailable) {
		t.Errorf("Rank of a paused Redis: %v, want ErrUnavailable", err)
	}
	s.Do("PING")
	if stats := fmt.Sprint(s.Do("INFO commandstats")); !strings.Contains(stats, "cmdstat_evalsha:calls=1,") {
		t.Errorf("commands = %s, want one evalsha", stats)
	}
	if _, err := other.Rankings.Rank(s.Ctx, list, nil, nil); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

// Rankings match the oracle while articles are posted, imported, voted on, regrouped, deleted and restored, and while
// days are folded.
func TestRankingsFollowWrites(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 2, 16} {
		for _, embedded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d partitions, embedded %t", partitions, embedded), func(t *testing.T) {
				t.Parallel()
				w := &writtenWorld{rankedWorld: newRankedWorld(t, partitions, embedded)}
				w.Rand, w.change = rand.New(rand.NewPCG(uint64(partitions), 11)), func() {
					for range w.IntN(6) {
						w.write()
					}
				}
				for step := 0; step < 150 && !t.Failed(); step++ {
					w.write()
					if step%3 == 0 {
						w.ask()
					}
				}
				w.WantClean()
			})
		}
	}
}

// writtenWorld is a rankedWorld that is written through the repository. Its articles are those that are not deleted.
type writtenWorld struct {
	*rankedWorld
	deleted []*rankedArticle
}

func (w *writtenWorld) write() {
	w.T.Helper()
	groups := [][]string{nil, {"go"}, {"x"}, {"go", "x"}}
	switch n := w.IntN(20); {
	case n < 4 || len(w.articles) == 0:
		w.add(w.MustPost("alice", groups[w.IntN(4)]...))
	case n < 6: // an old one
		age := time.Duration(w.IntN([]int{dayOf, 12 * dayOf, 200 * dayOf}[w.IntN(3)])) * time.Second
		row := repotest.Old(site.ArticleID(1000+w.IntN(100_000)), age, w.IntN(12), groups[w.IntN(4)]...)
		row.PostedAt = w.Clock.Now().Add(-age)
		row.Draft.Link = w.Fresh().Link
		w.MustImport(row)
		w.add(w.Article(row.ID))
	case n < 15:
		a := w.articles[w.IntN(len(w.articles))]
		result, err := w.Vote(w.Ctx, a.id, repotest.Users[w.IntN(len(repotest.Users))], site.Vote(w.IntN(3)-1), "")
		if err == nil { // voting may be over
			a.votes = result.Article.Votes
		}
	case n < 16:
		i := w.IntN(len(w.articles))
		w.MustDelete(w.articles[i].id, repotest.Moderator)
		w.deleted = append(w.deleted, w.articles[i])
		w.articles = slices.Delete(w.articles, i, i+1)
	case n < 17 && len(w.deleted) > 0:
		a := w.deleted[0]
		w.MustUndelete(a.id)
		w.deleted, w.articles = w.deleted[1:], append(w.articles, a)
	case n < 18:
		a := w.articles[w.IntN(len(w.articles))]
		regrouped, err := w.Regroup(w.Ctx, a.id, repotest.Moderator, groups[3], nil)
		if w.IntN(2) == 0 {
			regrouped, err = w.Regroup(w.Ctx, a.id, repotest.Moderator, nil, groups[1+w.IntN(2)])
		}
		if err != nil {
			w.T.Fatalf("Regroup: %v", err)
		}
		a.groups = namesOf(regrouped.Groups)
	default:
		w.Clock.Advance(time.Duration(w.IntN(20*hourOf)) * time.Second)
	}
}

func (w *writtenWorld) add(a *site.Article) {
	w.articles = append(w.articles, &rankedArticle{id: a.ID, time: float64(a.CreatedAt.Unix()), votes: a.Votes, groups: namesOf(a.Groups)})
}

func namesOf(groups []site.GroupName) (names []string) {
	for _, name := range groups {
		names = append(names, string(name))
	}
	return names
}

// However old the site is, a ranking of a group without articles looks at no lists, and one of a group that becomes one is found.
func TestRankingOfAGroupWithoutArticlesLooksAtNothing(t *testing.T) {
	t.Parallel()
	for _, folded := range []bool{true, false} {
		s := repotest.New(t, func(r *site.Rules) { r.GroupTop = true }, repotest.One)
		s.MustPost("alice", "first", "go")
		if !folded { // a site that has never folded
			require.NoError(t, s.Raw.HDel(s.Ctx, "clock:", "folded").Err())
		}
		s.Clock.Advance(6 * 365 * site.Day)
		rank := func(name site.GroupName) (looked, found int) {
			t.Helper()
			list := require.Value(s.Rankings.RankedList(rankings.RankQuery{Group: name}))(t)
			page := require.Value(s.Rankings.Rank(s.Ctx, list, new(10), nil))(t)
			return page.Looked, len(page.Edges)
		}
		for range 3 {
			if looked, found := rank("nosuch"); looked > 300 || found != 0 {
				t.Errorf("folded %t: got %d articles, and %d lists and members were looked at, want none", folded, found, looked)
			}
			s.Clock.Advance(400 * site.Day)
		}
		s.MustPost("alice", "second", "nosuch")
		if _, found := rank("nosuch"); found != 1 {
			t.Errorf("folded %t: got %d articles after one was posted into the group, want 1", folded, found)
		}
		require.NoError(t, s.Views.CatchUp(s.Ctx))
		if looked, found := rank("nosuch"); found != 1 || looked > 400 {
			t.Errorf("folded %t: got %d articles once the calendar has it, and %d lists and members were looked at, want 1 and few", folded, found, looked)
		}
	}
}

// moved is a site on another server that has imported the export of this one, and has the same export.
func moved(s *repotest.Site, options ...redisrepo.Option) *repotest.Site {
	s.T.Helper()
	write := func(of *repotest.Site) string {
		var to bytes.Buffer
		require.Value(export.Write(s.Ctx, of.Repo, &to, export.Options{Report: s.T.Output()}))(s.T)
		return to.String()
	}
	text, target := write(s), redistest.Start(s.T)
	require.Value(export.Read(s.Ctx, target.Client, s.Rules, strings.NewReader(text), export.Options{Report: s.T.Output()}, append(options, redisrepo.WithClock(s.Clock.Now))...))(s.T)
	other := *s
	other.Server, other.Raw = target, target.Client
	result := other.Reopened(target.Client, nil, options...)
	first, second := strings.Split(text, "\n"), strings.Split(write(result), "\n")
	for i := range max(len(first), len(second)) {
		if i >= len(first) || i >= len(second) || first[i] != second[i] {
			s.T.Errorf("line %d of the second export differs: %.300q, want %.300q", i+1, second[min(i, len(second)-1)], first[min(i, len(first)-1)])
			break
		}
	}
	result.WantClean()
	return result
}
