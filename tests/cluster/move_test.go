package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"frontpage/exchange/export"
	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
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
		articles, errs := repo.Articles.ArticlesByID(t.Context(), []site.ArticleID{id})
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
		if vote, err := repo.Casts.Votes(t.Context(), site.UserName(user), articles); err != nil || vote[0] == nil || *vote[0] != site.Up {
			t.Errorf("the vote of %s on %v is lost: %v, %v", user, id, vote, err)
		}
	}
	if _, err := check.Check(t.Context(), repo, func(violation string) { t.Errorf("Check reports: %s", violation) }); err != nil {
		t.Error(err)
	}
}

// A site of one Redis is imported into a cluster with 16 partitions, and has the same export there. Then Redis' own program moves
// slots with a partition to another primary, while users vote.
func TestSiteOfOneRedisIsImportedIntoAClusterAndMovedInIt(t *testing.T) {
	c := redistest.StartCluster(t)
	failover.LimitWaiting(c.Client)
	single, rules := redistest.Start(t), site.DefaultRules()
	original := require.Value(redisrepo.New(t.Context(), single.Client, rules))(t)
	var ids []site.ArticleID
	for i := range 200 {
		a := require.Value(original.Post(t.Context(), "alice", site.Draft{Title: "title", Text: new("text"), Groups: []string{fmt.Sprint("g", i%20)}}))(t)
		require.Value(original.Vote(t.Context(), a.ID, site.UserName(fmt.Sprint("before", i%50)), site.Up, ""))(t)
		ids = append(ids, a.ID)
	}
	first := exported(t, original)
	require.Value(export.Read(t.Context(), c.Client, rules, strings.NewReader(first), export.Options{}, redisrepo.WithPartitions(16)))(t)
	copied := require.Value(redisrepo.New(t.Context(), c.Client, rules, redisrepo.WithAcks(1)))(t)
	if second := exported(t, copied); len(copied.Store.Partitions) != 16 || second != first {
		t.Errorf("the site in the cluster has %d partitions, and the same export: %t; want 16, and true", len(copied.Store.Partitions), second == first)
	}
	const tag = "{p60}" // of partition 0 of 16, among the first 768 slots
	from, to := c.Primary(tag), c.Other(tag)
	stop := voted(t, copied, "after", ids)
	id := func(of *redistest.Server) string {
		return require.Value(of.Client.Do(t.Context(), "CLUSTER", "MYID").Text())(t)
	}
	out, err := exec.Command("redis-cli", "--cluster", "reshard", from.Addr, "--cluster-from", id(from), "--cluster-to", id(to), // #nosec G204 -- a test's
		"--cluster-slots", "768", "--cluster-yes", "--cluster-pipeline", "1000").CombinedOutput()
	votes := stop()
	if err != nil || c.Primary(tag) != to {
		t.Fatalf("the partition is at %s, want %s: %v, %.2000s", c.Primary(tag).Addr, to.Addr, err, out)
	}
	wantVotes(t, copied, votes)
}

func exported(t *testing.T, repo *redisrepo.Repo) string {
	t.Helper()
	var to bytes.Buffer
	require.Value(export.Write(t.Context(), repo, &to, export.Options{}))(t)
	return to.String()
}

// A site in a Redis Cluster is exported, imported into one Redis, and from there into the cluster again: always the same.
func TestSiteIsExportedFromAClusterAndImported(t *testing.T) {
	cluster := redistest.StartCluster(t)
	s := mustOpen(t, store.Options{URL: cluster.URL()})
	for i := range 30 {
		d := site.Draft{Title: "title", Link: new(fmt.Sprint("https://example.com/", i)), Groups: []string{"go"}}
		a := require.Value(s.repo.Post(t.Context(), "alice", d))(t)
		for j := range i {
			require.Value(s.repo.Vote(t.Context(), a.ID, site.UserName(fmt.Sprint("voter", j)), site.Up, ""))(t)
		}
		if i%10 == 3 {
			require.Value(s.repo.Delete(t.Context(), a.ID, site.Actor{Name: "mod", Moderator: true}, site.Why{}))(t)
		}
	}
	first := exported(t, s.repo)
	one := redistest.Start(t).Client
	require.Value(export.Read(t.Context(), one, site.DefaultRules(), strings.NewReader(first), export.Options{}))(t)
	repo := require.Value(redisrepo.New(t.Context(), one, site.DefaultRules()))(t)
	if second := exported(t, repo); second != first {
		t.Errorf("the export of the copy in one Redis differs from that of the cluster")
	}
	for _, node := range cluster.Nodes[:3] {
		require.NoError(t, node.Client.FlushAll(t.Context()).Err())
	}
	sum, err := export.Read(t.Context(), cluster.Client, site.DefaultRules(), strings.NewReader(first), export.Options{})
	if err != nil || sum.Articles != 30 || sum.Deleted != 3 {
		t.Fatalf("import into the cluster: %v, %v, want 30 articles, 3 of them deleted", sum, err)
	}
	again := mustOpen(t, store.Options{URL: cluster.URL() + "?partitions=16"})
	if third := exported(t, again.repo); third != first {
		t.Errorf("the export of the cluster differs after the import")
	}
}
