package cluster_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redistest"
	"frontpage/store"
)

// openSite opens the site in the cluster as the program does.
func openSite(t *testing.T, c *redistest.Cluster, o store.Options) (*redisrepo.Repo, error) {
	t.Helper()
	o.URL = c.URL() + "?partitions=4"
	s, err := store.Open(t.Context(), o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = s.Close() })
	redisrepo.LimitWaiting(s.Client)
	return redisrepo.New(t.Context(), s.Client, redisrepo.DefaultRules(), redisrepo.WithPartitions(s.Partitions), redisrepo.WithAcks(s.Acks))
}

// post fails the test unless an article can be posted with this title, and then read.
func post(t *testing.T, repo *redisrepo.Repo, title string) redisrepo.ArticleID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a, err := repo.Post(ctx, "alice", redisrepo.Draft{Title: title, Text: &title})
	if err != nil {
		t.Fatalf("post: %v", err)
	}
	return a.ID
}

func wantArticle(t *testing.T, repo *redisrepo.Repo, id redisrepo.ArticleID) {
	t.Helper()
	if articles, errs := repo.ArticlesByID(t.Context(), []redisrepo.ArticleID{id}); errs[0] != nil || articles[0] == nil {
		t.Errorf("read %v: %v, %v; want the article that was posted before", id, articles[0], errs[0])
	}
}

func TestStartDuringAFailoverWaits(t *testing.T) {
	c := redistest.StartCluster(t)
	var log strings.Builder
	repo, err := openSite(t, c, store.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("log of opening a healthy cluster = %s, want nothing", &log)
	}
	id := post(t, repo, "before")

	killed := c.Primary("{p11}")
	killed.Kill()
	again, err := openSite(t, c, store.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatalf("open during a failover: %v", err)
	}
	for _, want := range []string{"waiting for all shards of the Redis Cluster", "too few replicas", killed.Addr + " does not reply"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log = %s, want it to contain %q", &log, want)
		}
	}
	wantArticle(t, again, id)
	post(t, again, "after")
}

// A node that hangs keeps its connections and accepts new ones.
func TestStartWhileAPrimaryHangsWaits(t *testing.T) {
	c := redistest.StartCluster(t)
	repo, err := openSite(t, c, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id := post(t, repo, "before")
	c.Primary("{p11}").Pause()
	again, err := openSite(t, c, store.Options{})
	if err != nil {
		t.Fatalf("open while a primary hangs: %v", err)
	}
	wantArticle(t, again, id)
}
