package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// voterGrowth is a hook that notes how many voters of article:1 to article:9 one round trip adds at most.
type voterGrowth struct {
	mutex     sync.Mutex
	site      *testSite
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
		total += g.site.do("SCARD", fmt.Sprint("voted:", i+1)).(int64) + g.site.do("SCARD", fmt.Sprint("downvoted:", i+1)).(int64)
	}
	g.max, g.last = max(g.max, total-g.last), total
}

func (*voterGrowth) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *voterGrowth) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		defer g.note()
		return next(ctx, command)
	}
}

func (g *voterGrowth) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		defer g.note()
		return next(ctx, commands)
	}
}

// maxImportStep is the number of voters that one round trip of an import adds at most: one poster for each of
// 50 articles, and 1000 others.
const maxImportStep = 1050

func TestImportAddsVotersInSteps(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]func(*site.Rules){"counted": nil, "uncounted": uncounted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside, growth := newSite(t, rules), new(voterGrowth)
			s := beside.reopened(beside.client(growth), rules)
			growth.site = beside
			votes := []int{5000, 700, 600, 1, -3500, 1000, 1001, 1002, 0}
			var articles []redisrepo.Imported
			for i, n := range votes {
				articles = append(articles, old(site.ArticleID(i+1), time.Hour, n, "go"))
			}
			s.imports(articles...)
			if growth.max > maxImportStep {
				t.Errorf("one round trip added %d voters, want at most %d", growth.max, maxImportStep)
			}
			for i, n := range votes {
				if a := s.article(site.ArticleID(i + 1)); a.Votes != n {
					t.Errorf("votes of %v = %d, want %d", a.ID, a.Votes, n)
				}
			}
			s.wantClean()
			s.wantNothingImported(articles...)
		})
	}
}

// An import that is killed between the steps of an article leaves nothing that readers see, and a later one
// makes the article right, whatever votes it has now.
func TestKilledImportCanBeRepeated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		next  func(s *testSite)
		votes int
		voted int64
	}{
		"with the same votes": {next: func(s *testSite) { s.imports(old(1, time.Hour, 5000, "go")) }, votes: 5000, voted: 5000},
		"with more votes":     {next: func(s *testSite) { s.imports(old(1, time.Hour, 6000, "go")) }, votes: 6000, voted: 6000},
		"with fewer votes":    {next: func(s *testSite) { s.imports(old(1, time.Hour, 1500, "go")) }, votes: 1500, voted: 1500},
		"with few votes":      {next: func(s *testSite) { s.imports(old(1, time.Hour, 5, "go")) }, votes: 5, voted: 5},
		"with downvotes":      {next: func(s *testSite) { s.imports(old(1, time.Hour, -1500, "go")) }, votes: -1500},
		"after the window":    {next: func(s *testSite) { s.imports(old(1, 3*week, 5000, "go")) }, votes: 5000},
		"by a post":           {next: func(s *testSite) { s.post("alice", "go") }, votes: 1, voted: 1},
		"by several at once": {next: func(s *testSite) {
			var mutex sync.Mutex
			stored := 0
			together(3, func(int) {
				added, errs := s.Import(s.ctx, []redisrepo.Imported{old(1, time.Hour, 5000, "go")})
				mutex.Lock()
				defer mutex.Unlock()
				if errs[0] != nil {
					s.t.Errorf("Import: %v", errs[0])
				}
				if added[0] {
					stored++
				}
			})
			if stored != 1 {
				s.t.Errorf("%d imports added the article, want 1", stored)
			}
		}, votes: 5000, voted: 5000},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, one)
			ctx, kill := context.WithCancel(s.ctx)
			opened, steps := false, 0
			importer := s.reopened(s.client(before{"evalsha", func(context.Context) {
				if !opened {
					return
				}
				if steps++; steps == 4 {
					kill()
				}
			}}), nil)
			opened = true
			added, errs := importer.Import(ctx, []redisrepo.Imported{old(1, time.Hour, 5000, "go"), old(2, time.Hour, 1, "go")})
			if added[0] || added[1] || !errors.Is(errs[0], context.Canceled) || !errors.Is(errs[1], context.Canceled) {
				t.Fatalf("Import = %v, %v, want context.Canceled twice", added, errs)
			}
			if n := s.do("SCARD voted:1"); n == int64(0) || s.ttl("voted:1") <= 0 {
				t.Errorf("voted:1 has %d members and expires in %v, want some that expire", n, s.ttl("voted:1"))
			}
			_, err := s.Vote(s.ctx, 1, "bob", up, "")
			wantRefused(t, err, "NOT_FOUND article")
			s.wantList(best("go"))
			s.wantList(lists.AllArticles(site.ByTime, site.Ascending))
			s.wantClean()

			tt.next(s)
			if a := s.article(1); a.Votes != tt.votes || s.do("SCARD voted:1") != tt.voted {
				t.Errorf("%d votes, %d upvoters, want %d, %d", a.Votes, s.do("SCARD voted:1"), tt.votes, tt.voted)
			}
			s.wantClean()
		})
	}
}
