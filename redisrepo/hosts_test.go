package redisrepo_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// The tests of the site read the same table.
func TestHostsOfLinks(t *testing.T) {
	t.Parallel()
	text := require.Value(os.ReadFile("testdata/hosts.json"))(t)
	hosts := map[string]string{}
	if err := json.Unmarshal(text, &hosts); err != nil || len(hosts) < 20 {
		t.Fatalf("%d hosts, %v", len(hosts), err)
	}
	for _, none := range []string{"", "go.dev", "ftp://go.dev/", "https://", "https://./", "https://.:8080/", "https://a b.example/", "mailto:a@go.dev", "javascript:alert(1)"} {
		hosts[none] = ""
	}
	for link, want := range hosts {
		if got := site.HostOf(link); string(got) != want {
			t.Errorf("the host of %q is %q, want %q", link, got, want)
		}
	}
}

func TestNamesOfHostsAreNormalized(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]site.HostName{
		"go.dev": "go.dev", "WWW.Go.dev.": "go.dev", "bücher.example": "xn--bcher-kva.example", "go.dev:443": "go.dev", "a.example:81": "a.example:81", "[::0]": "[::]",
	} {
		if got, err := site.ParseHostName(given); got != want || err != nil {
			t.Errorf("ParseHostName(%q) = %q, %v, want %q", given, got, err, want)
		}
	}
	for _, bad := range []string{"", " ", ".", ":80", "a b", "go.dev/", "go.dev?", "go.dev#", "me@go.dev", "https://go.dev", "a:b", "go.dev\n", strings.Repeat("a", 2001)} {
		_, err := site.ParseHostName(bad)
		wantRefused(t, err, "INVALID")
	}
}

// Each way to store, remove and restore an article keeps the list of its host.
func TestHostsListTheirArticles(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		ids := make([]site.ArticleID, 6)
		for i, link := range []string{"https://www.a.example/1", "http://A.example:80/2", "https://b.example/3", "https://a.example:81/4", "https://a.example/5", ""} {
			a := require.Value(s.Post(s.ctx, "alice", site.Draft{Title: "t", Link: &link, Text: new("x")}))(t)
			if host := a.Host(); (host == nil) != (link == "") || host != nil && host.Name != site.HostOf(link) {
				t.Errorf("the host of %q is %v", link, host)
			}
			ids[i] = a.ID
			s.clock.advance(time.Minute)
		}
		b, port := lists.LinkingTo("b.example"), lists.LinkingTo("a.example:81")
		wantHosts := func(a ...site.ArticleID) {
			t.Helper()
			s.wantList(lists.LinkingTo("a.example"), a...)
			s.wantList(b, ids[2])
			s.wantList(port, ids[3])
			if n, err := s.Lists.Count(s.ctx, lists.LinkingTo("a.example")); err != nil || n != len(a) {
				t.Errorf("Count = %d, %v, want %d", n, err, len(a))
			}
			s.wantClean()
		}
		wantHosts(ids[4], ids[1], ids[0])
		if keys := s.raw.Keys(s.ctx, "*host:").Val(); len(keys) > 0 {
			t.Errorf("an article without a link is in %q", keys)
		}
		require.Value(s.Edit(s.ctx, ids[0], alice(), redisrepo.Edit{Title: new("other"), Groups: []string{"go"}}))(t)
		wantHosts(ids[4], ids[1], ids[0])
		for _, by := range []site.Actor{alice(), moderator} {
			s.delete(ids[1], by)
			wantHosts(ids[4], ids[0])
			s.delete(ids[5], by)
			s.undelete(ids[5])
			s.undelete(ids[1])
			wantHosts(ids[4], ids[1], ids[0])
		}
		s.wantList(lists.LinkingTo("c.example"))
	})
}

func TestConcurrentWritesKeepTheListsOfHosts(t *testing.T) { // with the race detector
	t.Parallel()
	s := newSite(t, nil)
	var last [40]site.ArticleID
	together(len(last), func(i int) {
		for n := range 6 {
			a, err := s.Post(s.ctx, "alice", linked(fmt.Sprintf("https://h%d.example/%d/%d", n%2, i, n)))
			if err != nil {
				t.Error(err)
				return
			}
			if n < 4 {
				last[i] = a.ID
			}
			if _, err = s.Delete(s.ctx, a.ID, moderator, site.Why{}); err == nil && n%3 > 0 {
				_, err = s.Undelete(s.ctx, a.ID, moderator)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	for host, want := range map[site.HostName]int{"h0.example": 80, "h1.example": 80} { // all but the first and the fourth of each
		if n, err := s.Lists.Count(s.ctx, lists.LinkingTo(host)); err != nil || n != want {
			t.Errorf("%s has %d articles, %v, want %d", host, n, err, want)
		}
	}
	s.wantClean()
}
