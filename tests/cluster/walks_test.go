package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// A cursor of SCAN is valid on one server only. Check and a change of rules read all articles all the same, though a
// partition moves or its primary is killed meanwhile.
func TestWalksAreCompleteThoughPartitionsMove(t *testing.T) {
	const n = 1600
	c := redistest.StartCluster(t)
	var mutex sync.Mutex
	meanwhile := map[string]func(key string){} // by the command before which it is called, with its key
	c.Client.OnNewNode(func(node *redis.Client) {
		node.AddHook(redistest.Before(func(commands ...redis.Cmder) {
			mutex.Lock()
			defer mutex.Unlock()
			command, cursor := commands[0], 2
			name := command.Name()
			if name == "scan" {
				cursor = 1
			}
			if call := meanwhile[name]; call != nil && fmt.Sprint(command.Args()[cursor]) != "0" {
				delete(meanwhile, name)
				call(fmt.Sprint(command.Args()[1]))
			}
		}))
	})
	failover.LimitWaiting(c.Client)
	rules := site.DefaultRules()
	open := func(options ...redisrepo.Option) *redisrepo.Repo {
		t.Helper()
		return require.Value(redisrepo.New(t.Context(), c.Client, rules, append(options, redisrepo.WithPartitions(4))...))(t)
	}
	repo := open(redisrepo.WithAcks(1))
	var articles []redisrepo.Imported
	for i := range n {
		articles = append(articles, redisrepo.Imported{ID: site.ArticleID(i + 1), Poster: "alice", PostedAt: time.Now().Add(-time.Hour),
			Votes: 2, Draft: site.Draft{Title: "title", Text: new("text"), Groups: []string{"go"}}})
	}
	if added, errs := repo.Import(t.Context(), articles); errors.Join(errs...) != nil || slices.Contains(added, false) {
		t.Fatalf("Import: %v, or an article is not reported as added", errors.Join(errs...))
	}
	replica := c.Replica("{p10}") // of article:1
	replica.Pause()
	if added, errs := repo.Import(t.Context(), articles[:1]); added[0] || errs[0] != nil {
		t.Errorf("Import of an article that is there, without a replica = %t, %v, want nothing added", added[0], errs[0])
	}
	replica.Resume()
	c.AwaitHealthy()
	check := func(want int, text string) {
		t.Helper()
		checked, err := check.Check(t.Context(), repo, func(violation string) {
			if !strings.Contains(violation, text) {
				t.Errorf("Check reports: %s", violation)
			}
		})
		if err != nil || checked != (check.Checked{Articles: n, Groups: 1, Violations: want}) {
			t.Errorf("Check = %+v, %v, want all of %d articles and %d violations", checked, err, n, want)
		}
		if len(meanwhile) > 0 {
			t.Errorf("nothing happened before %v", meanwhile)
		}
	}

	meanwhile["zscan"] = func(key string) { c.Move(key, c.Other(key)) }
	meanwhile["sscan"] = func(key string) { c.Move(key, c.Other(key)) }
	meanwhile["scan"] = func(string) {
		for _, tag := range tags {
			c.Move(tag, c.Other(tag))
		}
	}
	check(0, "no violation")
	for _, tag := range tags {
		require.NoError(t, c.Client.Del(t.Context(), tag+"posted:alice").Err())
	}
	meanwhile["zscan"] = func(key string) { c.Primary(key).Kill() }
	check(n, "posted:alice")

	rules.VoteScore = 100
	meanwhile["zscan"] = func(key string) { c.Move(key, c.Other(key)) }
	repo = open()
	check(n, "posted:alice")
}
