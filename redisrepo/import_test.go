package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/transfer"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestImportStoresArticles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rules           func(*site.Rules)
		age             time.Duration
		votes           int
		voted, down     int64  // voters that are kept
		poster          string // the poster's position, "" for any
		interesting     bool
		closed, refused bool // to bob, and to the poster
	}{
		"without votes":                {age: time.Hour, poster: "0"},
		"with the poster's vote":       {age: time.Hour, votes: 1, voted: 1, poster: "+"},
		"with votes":                   {age: time.Hour, votes: 17, voted: 17, poster: "+"},
		"with 199 votes":               {age: time.Hour, votes: 199, voted: 199, poster: "+"},
		"with 200 votes":               {age: time.Hour, votes: 200, voted: 200, poster: "+", interesting: true},
		"with more votes than a batch": {age: time.Hour, votes: 10_001, voted: 10_001, poster: "+", interesting: true},
		"with votes down":              {age: time.Hour, votes: -17, down: 17, poster: "0"},
		"with many votes down":         {age: time.Hour, votes: -2000, down: 2000, poster: "0"},
		"posted just now":              {votes: 2, voted: 2, poster: "+"},
		"in the last second":           {age: week, votes: 2, voted: 2, poster: "+"},
		"a second later":               {age: week + time.Second, votes: 2, closed: true},
		"long ago":                     {age: 3 * week, votes: 250, closed: true, poster: "?", interesting: true},
		"long ago, down":               {age: 3 * week, votes: -5, closed: true, poster: "?"},
		"before Unix":                  {age: 60 * 365 * day, votes: 3, closed: true, poster: "?"},
		"uncounted":                    {rules: repotest.Uncounted, age: time.Hour, voted: 1, poster: "+", refused: true},
		"uncounted, with votes":        {rules: repotest.Uncounted, age: time.Hour, votes: 17, voted: 18, poster: "+", refused: true},
		"uncounted, with votes down":   {rules: repotest.Uncounted, age: time.Hour, votes: -17, voted: 1, down: 17, poster: "+", refused: true},
		"uncounted, long ago":          {rules: repotest.Uncounted, age: 3 * week, votes: 17, closed: true, poster: "?", refused: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, tt.rules, repotest.One)
			s.WantList(repotest.Best("go"))
			s.MustImport(repotest.Old(30, tt.age, tt.votes, "Go", "b"))
			a := s.Article(30)
			if got, want := fmt.Sprintln(a.Votes, a.Downvotes, a.Upvotes, a.CreatedAt, a.Score, a.Poster.Name, a.Groups, a.IsInteresting),
				fmt.Sprintln(tt.votes, max(0, -tt.votes), max(0, tt.votes), repotest.Opened.Add(-tt.age), float64(a.CreatedAt.Unix()+432*int64(tt.votes)), "zoe", "[b go]", tt.interesting); got != want {
				t.Errorf("article = %s, want %s", got, want)
			}
			if voted, down := s.Do("SCARD voted:30"), s.Do("SCARD downvoted:30"); voted != tt.voted || down != tt.down {
				t.Errorf("stored voters: %d up, %d down; want %d, %d", voted, down, tt.voted, tt.down)
			}
			if got := s.Positions("zoe", 30); tt.poster != "" && got != tt.poster {
				t.Errorf("position of the poster = %s, want %s", got, tt.poster)
			}
			for _, l := range []lists.Listing{repotest.Best("go"), lists.PostedBy("zoe"), lists.LinkingTo("example.com"), lists.AllArticles(site.ByScore, site.Descending)} {
				s.WantList(l, 30)
			}
			if listed := len(s.List(repotest.Best("interesting"))) == 1; listed != tt.interesting {
				t.Errorf("listed as interesting: %t, want %t", listed, tt.interesting)
			}
			s.WantClean()

			_, err := s.Vote(s.Ctx, 30, "bob", up, "")
			if tt.closed {
				repotest.WantRefused(t, err, "VOTING_CLOSED article")
			} else if err != nil || s.Article(30).Votes != tt.votes+1 {
				t.Errorf("Vote: %v, votes = %d, want %d", err, s.Article(30).Votes, tt.votes+1)
			}
			if _, err := s.Vote(s.Ctx, 30, "zoe", down, ""); (err != nil) != (tt.closed || tt.refused) {
				t.Errorf("Vote of the poster: %v, want an error: %t", err, tt.closed || tt.refused)
			}
			s.WantClean()
			if b := s.MustPost("alice"); b.ID != 31 {
				t.Errorf("the post after article:30 is %v, want article:31", b.ID)
			}
			s.WantClean()
		})
	}
}

func TestImportRefusesInvalidArticles(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	tests := map[string]struct {
		change  func(*redisrepo.Imported)
		refused []string // nil when accepted
	}{
		"nothing to object to":       {change: func(*redisrepo.Imported) {}},
		"a title alone":              {change: func(a *redisrepo.Imported) { a.Draft.Link = nil }},
		"wrongly decoded characters": {change: func(a *redisrepo.Imported) { a.Draft.Title, a.Draft.Text = "donâ\u0080\u0099t", new("\u0085") }},
		"the most votes":             {change: func(a *redisrepo.Imported) { a.Votes, a.PostedAt = 1_000_000, repotest.Opened.Add(-2*week) }},
		"the most votes down":        {change: func(a *redisrepo.Imported) { a.Votes, a.PostedAt = -1_000_000, repotest.Opened.Add(-2*week) }},
		"the highest number":         {change: func(a *redisrepo.Imported) { a.ID = 1<<31 - 1<<24 }},

		"a control character":           {change: func(a *redisrepo.Imported) { a.Draft.Title = "a\x01b" }, refused: []string{"INVALID title"}},
		"too many votes":                {change: func(a *redisrepo.Imported) { a.Votes = 1_000_001 }, refused: []string{"INVALID votes"}},
		"too many votes down":           {change: func(a *redisrepo.Imported) { a.Votes = -1_000_001 }, refused: []string{"INVALID votes"}},
		"the future":                    {change: func(a *redisrepo.Imported) { a.PostedAt = repotest.Opened.Add(time.Second) }, refused: []string{"INVALID posted_at"}},
		"the number 0":                  {change: func(a *redisrepo.Imported) { a.ID = 0 }, refused: []string{"INVALID id"}},
		"a negative number":             {change: func(a *redisrepo.Imported) { a.ID = -5 }, refused: []string{"INVALID id"}},
		"a number for posts":            {change: func(a *redisrepo.Imported) { a.ID = 1<<31 - 1<<24 + 1 }, refused: []string{"INVALID id"}},
		"a number of more than 31 bits": {change: func(a *redisrepo.Imported) { a.ID = 1 << 31 }, refused: []string{"INVALID id"}},
		"all of it": {change: func(a *redisrepo.Imported) {
			*a = redisrepo.Imported{PostedAt: repotest.Opened.Add(day), Votes: 1 << 40, Draft: site.Draft{Link: new("x")}}
		}, refused: []string{"INVALID title", "INVALID link", "INVALID id", "INVALID votes", "INVALID posted_at"}},
	}
	var batch []redisrepo.Imported
	var names []string
	for name, tt := range tests {
		a := repotest.Old(site.ArticleID(100+len(batch)), time.Hour, 1)
		tt.change(&a)
		batch, names = append(batch, a), append(names, name)
	}
	added, errs := s.Import(s.Ctx, batch)
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			if want := tests[name].refused; want != nil {
				repotest.WantRefused(t, errs[i], want...)
			} else if errs[i] != nil {
				t.Errorf("err = %v, want none", errs[i])
			}
			if added[i] != (errs[i] == nil) {
				t.Errorf("added = %t, err = %v, want true only without an error", added[i], errs[i])
			}
		})
	}
	if got := len(s.List(lists.PostedBy("zoe"))); got != 6 {
		t.Errorf("the site has %d articles, want 6", got)
	}
	s.WantClean()
}

// wantNothingImported imports articles that the store has.
func wantNothingImported(s *repotest.Site, articles ...redisrepo.Imported) {
	s.T.Helper()
	before := s.Dump()
	added, errs := s.Import(s.Ctx, articles)
	for i := range added {
		if added[i] || errs[i] != nil {
			s.T.Errorf("added[%d], errs[%[1]d] = %t, %v, want false and no error", i, added[i], errs[i])
		}
	}
	s.WantStore(before)
}

func TestImportDoesNotChangeOtherArticles(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	s.MustImport(repotest.Old(3, time.Hour, 5, "go"))
	before := s.Dump()
	poster, title, link := repotest.Old(3, time.Hour, 5), repotest.Old(3, time.Hour, 5), repotest.Old(3, time.Hour, 5)
	poster.Poster, title.Draft.Title, link.Draft.Link = "yves", "other", nil
	added, errs := s.Import(s.Ctx, []redisrepo.Imported{poster, title, link})
	for i := range added {
		if added[i] {
			t.Errorf("added[%d] = true, want false", i)
		}
		repotest.WantRefused(t, errs[i], "CONFLICT id")
	}
	s.WantStore(before)
}

func TestImportMovesTheCounterPastTheHighestNumber(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		s.MustImport(repotest.Old(50, time.Hour, 1), repotest.Old(2, time.Hour, 1), repotest.Old(1, time.Hour, 1), repotest.Old(49, time.Hour, 1), repotest.Old(30, time.Hour, 1), repotest.Old(51, time.Hour, 1), repotest.Old(52, time.Hour, 1))
		s.WantClean()
		seen := map[site.ArticleID]bool{50: true, 2: true, 1: true, 49: true, 30: true, 51: true, 52: true}
		for range 20 {
			a := s.MustPost("alice")
			if seen[a.ID] || a.ID < 30 {
				t.Errorf("Post = %v, want a higher number than the imported and earlier ones", a.ID)
			}
			seen[a.ID] = true
		}
		s.MustImport(repotest.Old(3, time.Hour, 1)) // below: the counter stays
		s.WantClean()
		if a := s.MustPost("alice"); seen[a.ID] {
			t.Errorf("Post = %v again, want a new number", a.ID)
		}
	})
}

// voterGrowth is a hook that notes how many voters of article:1 to article:9 one round trip adds at most.
type voterGrowth struct {
	mutex     sync.Mutex
	site      *repotest.Site
	last, max int64
}

func (g *voterGrowth) note() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.site == nil {
		return
	}
	var total int64
	for i := range 9 {
		total += g.site.Do("SCARD", fmt.Sprint("voted:", i+1)).(int64) + g.site.Do("SCARD", fmt.Sprint("downvoted:", i+1)).(int64)
	}
	g.max, g.last = max(g.max, total-g.last), total
}

func (g *voterGrowth) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	if !redistest.IsAside(commands[0]) { // a message to other processes may come after the test
		defer g.note()
	}
	return send(ctx, commands)
}

// maxImportStep is the number of voters that one round trip of an import adds at most: one poster for each of
// 50 articles, and 1000 others.
const maxImportStep = 1050

func TestImportAddsVotersInSteps(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]func(*site.Rules){"counted": nil, "uncounted": repotest.Uncounted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside, growth := repotest.New(t, rules), new(voterGrowth)
			s := beside.Reopened(beside.Client(redistest.Hook(growth.hook)), rules)
			growth.site = beside
			votes := []int{5000, 700, 600, 1, -3500, 1000, 1001, 1002, 0}
			var articles []redisrepo.Imported
			for i, n := range votes {
				articles = append(articles, repotest.Old(site.ArticleID(i+1), time.Hour, n, "go"))
			}
			s.MustImport(articles...)
			if growth.max > maxImportStep {
				t.Errorf("one round trip added %d voters, want at most %d", growth.max, maxImportStep)
			}
			for i, n := range votes {
				if a := s.Article(site.ArticleID(i + 1)); a.Votes != n {
					t.Errorf("votes of %v = %d, want %d", a.ID, a.Votes, n)
				}
			}
			s.WantClean()
			wantNothingImported(s, articles...)
		})
	}
}

// An import that is killed between the steps of an article leaves nothing that readers see, and a later one
// makes the article right, whatever votes it has now.
func TestKilledImportCanBeRepeated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		next  func(s *repotest.Site)
		votes int
		voted int64
	}{
		"with the same votes": {next: func(s *repotest.Site) { s.MustImport(repotest.Old(1, time.Hour, 5000, "go")) }, votes: 5000, voted: 5000},
		"with more votes":     {next: func(s *repotest.Site) { s.MustImport(repotest.Old(1, time.Hour, 6000, "go")) }, votes: 6000, voted: 6000},
		"with fewer votes":    {next: func(s *repotest.Site) { s.MustImport(repotest.Old(1, time.Hour, 1500, "go")) }, votes: 1500, voted: 1500},
		"with few votes":      {next: func(s *repotest.Site) { s.MustImport(repotest.Old(1, time.Hour, 5, "go")) }, votes: 5, voted: 5},
		"with downvotes":      {next: func(s *repotest.Site) { s.MustImport(repotest.Old(1, time.Hour, -1500, "go")) }, votes: -1500},
		"after the window":    {next: func(s *repotest.Site) { s.MustImport(repotest.Old(1, 3*week, 5000, "go")) }, votes: 5000},
		"by a post":           {next: func(s *repotest.Site) { s.MustPost("alice", "go") }, votes: 1, voted: 1},
		"by several at once": {next: func(s *repotest.Site) {
			var mutex sync.Mutex
			stored := 0
			repotest.Together(3, func(int) {
				added, errs := s.Import(s.Ctx, []redisrepo.Imported{repotest.Old(1, time.Hour, 5000, "go")})
				mutex.Lock()
				defer mutex.Unlock()
				if errs[0] != nil {
					s.T.Errorf("Import: %v", errs[0])
				}
				if added[0] {
					stored++
				}
			})
			if stored != 1 {
				s.T.Errorf("%d imports added the article, want 1", stored)
			}
		}, votes: 5000, voted: 5000},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, repotest.One)
			ctx, kill := context.WithCancel(s.Ctx)
			opened, steps := false, 0
			importer := s.Reopened(s.Client(repotest.Before("evalsha", func(context.Context) {
				if !opened {
					return
				}
				if steps++; steps == 4 {
					kill()
				}
			})), nil)
			opened = true
			added, errs := importer.Import(ctx, []redisrepo.Imported{repotest.Old(1, time.Hour, 5000, "go"), repotest.Old(2, time.Hour, 1, "go")})
			if added[0] || added[1] || !errors.Is(errs[0], context.Canceled) || !errors.Is(errs[1], context.Canceled) {
				t.Fatalf("Import = %v, %v, want context.Canceled twice", added, errs)
			}
			if n := s.Do("SCARD voted:1"); n == int64(0) || s.TTL("voted:1") <= 0 {
				t.Errorf("voted:1 has %d members and expires in %v, want some that expire", n, s.TTL("voted:1"))
			}
			_, err := s.Vote(s.Ctx, 1, "bob", up, "")
			repotest.WantRefused(t, err, "NOT_FOUND article")
			s.WantList(repotest.Best("go"))
			s.WantList(lists.AllArticles(site.ByTime, site.Ascending))
			s.WantClean()

			tt.next(s)
			if a := s.Article(1); a.Votes != tt.votes || s.Do("SCARD voted:1") != tt.voted {
				t.Errorf("%d votes, %d upvoters, want %d, %d", a.Votes, s.Do("SCARD voted:1"), tt.votes, tt.voted)
			}
			s.WantClean()
		})
	}
}

func TestAFailureOfAllImportedArticlesIsReportedOnce(t *testing.T) {
	t.Parallel()
	client, rules := redistest.Start(t).Client, site.DefaultRules()
	repo := require.Value(redisrepo.New(t.Context(), redistest.Start(t).Client, rules))(t)
	filling := require.Value(transfer.Fill(t.Context(), client, rules, transfer.Source{Digest: "x", Rules: repo.Layout.RankingRules(), Meta: transfer.Meta{Last: 3}}))(t)
	require.NoError(t, client.Set(t.Context(), "time:", "of the wrong type", 0).Err())
	var records []*transfer.Record
	for id := range site.ArticleID(3) {
		records = append(records, &transfer.Record{ID: id + 1, Title: "A title", Text: "A text", Poster: "ada", Time: 1_000_000_000, Votes: 1, Revision: 1})
	}
	if err := filling.Put(t.Context(), records); err == nil || strings.Count(err.Error(), "WRONGTYPE") != 1 {
		t.Errorf("got %v, want WRONGTYPE once", err)
	}
}
