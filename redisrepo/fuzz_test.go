package redisrepo_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// wantSafeRefusal fails the test unless err is a refusal that is safe to show.
func wantSafeRefusal(t *testing.T, err error) {
	t.Helper()
	var refusal site.Refusal
	if !errors.As(err, &refusal) || len(refusal) == 0 {
		t.Fatalf("err = %v, want a refusal", err)
	}
}

func FuzzParseArticleID(f *testing.F) {
	for _, seed := range []string{"article:17", "17", "article:", "0", "-1", "+1", "017", "2147483647", "2147483648", "article:article:1", "１"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := site.ParseArticleID(s)
		if err != nil {
			wantSafeRefusal(t, err)
			return
		}
		if again, err := site.ParseArticleID(id.String()); err != nil || again != id {
			t.Errorf("ParseArticleID(%q) = %v, which parses to %v, %v; want the same id", s, id, again, err)
		}
		if strings.TrimPrefix(id.String(), "article:") != strings.TrimPrefix(s, "article:") {
			t.Errorf("ParseArticleID(%q) = %v, want one spelling for each id", s, id)
		}
	})
}

func FuzzParseUserName(f *testing.F) {
	for _, seed := range []string{"alice", "", " alice", "a b", "a\nb", strings.Repeat("é", 64), strings.Repeat("é", 65), "\xff", "user:alice", "\u00a0a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := site.ParseUserName(s)
		if err != nil {
			wantSafeRefusal(t, err)
			return
		}
		if string(name) != s {
			t.Errorf("ParseUserName(%q) = %q, want the name unchanged", s, name)
		}
		if id := (site.User{Name: name}).ID(); id != "user:"+s {
			t.Errorf("id of %q = %q, want user: and the name", name, id)
		}
	})
}

func FuzzParseGroupName(f *testing.F) {
	for _, seed := range []string{"go", "Go", "Straße", "İ", "ᏸ", "a b", "", "interesting", "e\u0301", "\u0345", strings.Repeat("ŉ", 40), "a-b_c.1", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := site.ParseGroupName(s)
		if err != nil {
			wantSafeRefusal(t, err)
			return
		}
		if again, err := site.ParseGroupName(string(name)); err != nil || again != name {
			t.Errorf("ParseGroupName(%q) = %q, which parses to %q, %v; want the same name", s, name, again, err)
		}
		if strings.ContainsAny(string(name), " :\n{}") || name == "" {
			t.Errorf("ParseGroupName(%q) = %q, want a name that can be part of a key", s, name)
		}
	})
}

func FuzzNormalizeLink(f *testing.F) {
	for _, seed := range []string{
		"https://example.com", "http://Example.COM:80/a/?b=1&a=2#c", "https://user:pw@h.example./%7Ea/%2f?utm_source=x&&q=%zz",
		"https://[::1]:443/x", "https://bücher.example/ü", "http://e\u0301.example/", "https://example.com/?a=1&a=0", "HTTPS://%65xample.com:/",
		"https://example.com/%%341", "https://bl\u00adog。example。:80/./x//%2e%2e/..",
		"https://\u00ad。/", "https://xn--bcher-kva.a_b.example", "https://example.com/" + strings.Repeat("%3", 900) + "31",
		"http://" + strings.Repeat("a", 2001),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, link string) {
		if !site.IsWebLink(link, unicode.IsControl) {
			return
		}
		scheme, _, _ := strings.Cut(link, "://")
		once := site.NormalizeLink(link)
		if twice := site.NormalizeLink(scheme + "://" + once); twice != once {
			t.Errorf("the normalized form of %q is %q, whose own is %q, want the same", link, once, twice)
		}
		if host := site.HostOf(link); host != "" {
			if again, err := site.ParseHostName(string(host)); again != host || err != nil {
				t.Errorf("the host of %q is %q, whose own name is %q, %v, want the same", link, host, again, err)
			}
			if strings.HasSuffix(string(host), ":") {
				t.Errorf("the host of %q is %q, which would not be listed", link, host)
			}
		}
	})
}

// Only a cursor that a listing gave is accepted, and only by that listing.
func FuzzCursor(f *testing.F) {
	repo := require.Value(redisrepo.New(f.Context(), redistest.Start(f).Client, site.DefaultRules()))(f)
	for i, votes := range []int{0, 3, -2} {
		link := "https://example.com/" + strconv.Itoa(i)
		imported := redisrepo.Imported{
			ID: site.ArticleID(i + 1), Poster: "alice", PostedAt: time.Unix(1_700_000_000, 0), Votes: votes,
			Draft: site.Draft{Title: "title", Link: &link, Groups: []string{"go"}},
		}
		_, errs := repo.Import(f.Context(), []redisrepo.Imported{imported})
		require.NoError(f, errs[0])
	}
	listings := []lists.Listing{
		lists.AllArticles(site.ByScore, site.Descending), lists.AllArticles(site.ByTime, site.Ascending),
		lists.InGroup("go", site.ByScore, site.Descending), lists.PostedBy("alice"),
		lists.LinkingTo("example.com"),
	}
	for _, l := range listings {
		edges, _, err := repo.Lists.Walk(f.Context(), l, site.PageRequest{})
		if err != nil || len(edges) != 3 {
			f.Fatalf("Walk = %v, %v, want the article", edges, err)
		}
		for _, edge := range edges {
			f.Add(edge.Cursor)
		}
	}
	groups, _, err := repo.Lists.Groups(f.Context(), lists.GroupList{}, site.PageRequest{})
	if err != nil || len(groups) != 1 {
		f.Fatalf("Groups = %v, %v, want the group", groups, err)
	}
	f.Add(groups[0].Cursor)
	f.Add("")
	f.Add("not a cursor")
	f.Fuzz(func(t *testing.T, cursor string) {
		if cursor == "" {
			return // the start of every list
		}
		accepted := 0
		page := site.PageRequest{After: &cursor}
		for _, l := range listings {
			if err := repo.Lists.CheckPage(l, page); err != nil {
				wantSafeRefusal(t, err)
				continue
			}
			accepted++
			decoded, err := l.DecodeCursor("after", cursor)
			again, err2 := l.DecodeCursor("after", l.EncodeCursor(decoded))
			if err != nil || err2 != nil || again != decoded {
				t.Errorf("%+v, %v was encoded and is decoded as %+v, %v, want the same", decoded, err, again, err2)
			}
		}
		if accepted > 1 {
			t.Errorf("%d listings accept the cursor %q, want at most 1", accepted, cursor)
		}
	})
}

// An entry may come from a later version, or from a program that does not belong to Frontpage.
func FuzzParseEntry(f *testing.F) {
	unopened := require.Value(articles.New(&wire.Store{Rules: site.DefaultRules()}))(f)
	f.Add("posted", "1", "1", "1", "0", "", "1700000000", "alice", "1700000000")
	f.Add("voted", "2", "7", "2", "1", "go web", "1700000000.5", "bob", "1700000001")
	f.Add("deleted", "3", "2", "1", "0", "go", "1700000000", " command line", "x")
	f.Add("later", "article:1", "99999999999999999999", "NaN", "1e999", "a  b", "", "", "")
	f.Fuzz(func(t *testing.T, kind, article, revision, votes, downvotes, groups, at, by, changed string) {
		e, err := live.ParseEntry(redis.XMessage{Values: map[string]any{"kind": kind, "article": article, "revision": revision, "votes": votes,
			"downvotes": downvotes, "groups": groups, "time": at, "by": by, "at": changed}})
		if err != nil {
			return
		}
		a := &site.Article{ID: e.Article}
		unopened.Apply(a, e.State)
		if a.Upvotes-a.Downvotes != a.Votes {
			t.Errorf("got %d upvotes, %d downvotes and %d net votes, want these to agree", a.Upvotes, a.Downvotes, a.Votes)
		}
	})
}
