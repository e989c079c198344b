package cluster_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"frontpage/export"
	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/store"
)

// A site in a Redis Cluster is exported, imported into one Redis, and from there into the cluster again: always the same.
func TestSiteIsExportedFromAClusterAndImported(t *testing.T) {
	cluster := redistest.StartCluster(t)
	s := mustOpen(t, store.Options{URL: cluster.URL()})
	for i := range 30 {
		a, err := s.repo.Post(t.Context(), "alice", site.Draft{Title: "title", Link: new(fmt.Sprint("https://example.com/", i)), Groups: []string{"go"}})
		if err != nil {
			t.Fatal(err)
		}
		for j := range i {
			must.Get(s.repo.Vote(t.Context(), a.ID, site.UserName(fmt.Sprint("voter", j)), site.Up, ""))(t)
		}
		if i%10 == 3 {
			must.Get(s.repo.Delete(t.Context(), a.ID, site.Actor{Name: "mod", Moderator: true}))(t)
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
