package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"frontpage/exchange/export"
	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/migrate"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/tests/must"
	"frontpage/tests/redistest"
)

// voted has users vote on articles until the function that it returns is called. It returns the votes that were
// acknowledged. Any error fails the test.
func voted(t *testing.T, repo *redisrepo.Repo, name string, ids []site.ArticleID) (stop func() map[string]site.ArticleID) {
	var stopped atomic.Bool
	var mu sync.Mutex
	acknowledged := map[string]site.ArticleID{}
	var all sync.WaitGroup
	for w := range 3 {
		all.Go(func() {
			for i := w; !stopped.Load(); i += 3 {
				user, id := fmt.Sprint(name, i), ids[i%len(ids)]
				if _, err := repo.Vote(context.Background(), id, site.UserName(user), site.Up, ""); err != nil {
					t.Errorf("the vote of %s: %v", user, err)
					return
				}
				mu.Lock()
				acknowledged[user] = id
				mu.Unlock()
			}
		})
	}
	return func() map[string]site.ArticleID {
		stopped.Store(true)
		all.Wait()
		return acknowledged
	}
}

// wantVotes fails the test unless all votes are there, and the store is consistent.
func wantVotes(t *testing.T, repo *redisrepo.Repo, votes map[string]site.ArticleID) {
	t.Helper()
	if len(votes) == 0 {
		t.Error("no vote was acknowledged")
	}
	for user, id := range votes {
		articles, errs := repo.ArticlesByID(t.Context(), []site.ArticleID{id})
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		if vote, err := repo.Votes(t.Context(), site.UserName(user), articles); err != nil || vote[0] == nil || *vote[0] != site.Up {
			t.Errorf("the vote of %s on %v is lost: %v, %v", user, id, vote, err)
		}
	}
	if _, err := check.Check(t.Context(), repo, func(violation string) { t.Errorf("Check reports: %s", violation) }); err != nil {
		t.Error(err)
	}
}

// A site is copied from one Redis to a cluster, and then a partition moves there. Both are killed at many steps and run
// again, while users vote.
func TestSiteIsCopiedToAClusterAndMovedInIt(t *testing.T) {
	c := redistest.StartCluster(t)
	failover.LimitWaiting(c.Client)
	single, rules := redistest.Start(t), site.DefaultRules()
	original := must.Get(redisrepo.New(t.Context(), single.Client, rules))(t)
	var ids []site.ArticleID
	for i := range 200 {
		a := must.Get(original.Post(t.Context(), "alice", site.Draft{Title: "title", Text: new("text"), Groups: []string{fmt.Sprint("g", i%20)}}))(t)
		ids = append(ids, a.ID)
	}
	listening, silence := context.WithCancel(t.Context())
	var listener sync.WaitGroup
	listener.Go(func() { original.Listen(listening, func(error) {}) })
	stop := voted(t, original, "before", ids)
	stopSite := sync.OnceValue(func() map[string]site.ArticleID {
		silence()
		listener.Wait()
		return stop()
	})
	t.Cleanup(func() { stopSite() })
	for kill := 1; ; kill *= 4 { // at this step
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		_, err := migrate.Migrate(ctx, single.Client, c.Client, rules, func(step string) {
			if strings.HasPrefix(step, "now stop") {
				stopSite()
			}
		}, redisrepo.WithPartitions(2), redisrepo.OnProgress(func(string, int, int) {
			if steps++; steps == kill {
				cancel()
			}
		}))
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	copied := must.Get(redisrepo.New(t.Context(), c.Client, rules, redisrepo.WithAcks(1)))(t)
	wantVotes(t, copied, stopSite())

	const tag = "{p3}" // of partition 0 of 2
	from, to := c.Primary(tag), c.Other(tag)
	stop = voted(t, copied, "after", ids)
	third := c.Nodes[slices.IndexFunc(c.Nodes[:3], func(n *redistest.Server) bool { return n != from && n != to })]
	wantNoMove := func(partition int, to, reason string) {
		t.Helper()
		if _, err := migrate.Move(t.Context(), c.Client, partition, to, func(int, int) {}); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Move of %d to %s = %v, want %q", partition, to, err, reason)
		}
	}
	wantNoMove(2, to.Addr, "partition 2 does not exist: the site has 2 partitions")
	wantNoMove(0, c.Replica(tag).Addr, "is not a primary of the cluster: these are ")
	killed, halfDone := 0, 0
	for kill := 1; ; kill++ {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		_, err := migrate.Move(ctx, c.Client, 0, to.Addr, func(int, int) {
			if steps++; steps == kill {
				cancel()
			}
		})
		cancel()
		if err == nil {
			break
		}
		if killed++; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		places, err := migrate.Places(t.Context(), c.Client)
		if err != nil || len(places) != 2 || places[0].Keys == 0 && places[0].MovingTo == "" {
			t.Errorf("Places in the middle of a move = %+v, %v", places, err)
		}
		if places[0].MovingTo == to.Addr {
			halfDone++
			wantNoMove(0, third.Addr, "a move of this partition to "+to.Addr+" is half done")
		}
	}
	if halfDone == 0 {
		t.Error("no place was shown as half moved")
	}
	if c.Primary(tag) != to || killed < 4 {
		t.Errorf("the partition is at %s after %d kills, want %s after at least 4", c.Primary(tag).Addr, killed, to.Addr)
	}
	wantVotes(t, copied, stop())
}

// A site in a Redis Cluster is exported, imported into one Redis, and from there into the cluster again: always the same.
func TestSiteIsExportedFromAClusterAndImported(t *testing.T) {
	cluster := redistest.StartCluster(t)
	s := mustOpen(t, store.Options{URL: cluster.URL()})
	for i := range 30 {
		d := site.Draft{Title: "title", Link: new(fmt.Sprint("https://example.com/", i)), Groups: []string{"go"}}
		a := must.Get(s.repo.Post(t.Context(), "alice", d))(t)
		for j := range i {
			must.Get(s.repo.Vote(t.Context(), a.ID, site.UserName(fmt.Sprint("voter", j)), site.Up, ""))(t)
		}
		if i%10 == 3 {
			must.Get(s.repo.Delete(t.Context(), a.ID, site.Actor{Name: "mod", Moderator: true}, site.Why{}))(t)
		}
	}
	exported := func(repo *redisrepo.Repo) string {
		t.Helper()
		var to bytes.Buffer
		must.Get(export.Write(t.Context(), repo, &to, export.Options{}))(t)
		return to.String()
	}
	first := exported(s.repo)
	one := redistest.Start(t).Client
	must.Get(export.Read(t.Context(), one, site.DefaultRules(), strings.NewReader(first), export.Options{}))(t)
	repo := must.Get(redisrepo.New(t.Context(), one, site.DefaultRules()))(t)
	if second := exported(repo); second != first {
		t.Errorf("the export of the copy in one Redis differs from that of the cluster")
	}
	for _, node := range cluster.Nodes[:3] {
		must.Do(t, node.Client.FlushAll(t.Context()).Err())
	}
	sum, err := export.Read(t.Context(), cluster.Client, site.DefaultRules(), strings.NewReader(first), export.Options{})
	if err != nil || sum.Articles != 30 || sum.Deleted != 3 {
		t.Fatalf("import into the cluster: %v, %v, want 30 articles, 3 of them deleted", sum, err)
	}
	again := mustOpen(t, store.Options{URL: cluster.URL() + "?partitions=16"})
	if third := exported(again.repo); third != first {
		t.Errorf("the export of the cluster differs after the import")
	}
}
