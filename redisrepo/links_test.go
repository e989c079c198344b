package redisrepo_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func linked(link string) site.Draft { return site.Draft{Title: link, Link: &link} }

func TestLinksWithOneNormalizedFormAreDuplicates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first, second string
		other         bool
	}{
		"the same":                          {first: "https://a.example/x?q=1", second: "https://a.example/x?q=1"},
		"by http":                           {first: "https://a.example/x", second: "http://a.example/x"},
		"the scheme in large letters":       {first: "https://a.example/x", second: "HTTPS://a.example/x"},
		"the host in large letters":         {first: "https://a.example/x", second: "https://A.Example/x"},
		"a host in Unicode":                 {first: "https://ä.example/", second: "https://A\u0308.example"},
		"a dot after the host":              {first: "https://a.example/x", second: "https://a.example./x"},
		"the port of http":                  {first: "https://a.example/x", second: "http://a.example:80/x"},
		"the port of https":                 {first: "https://a.example/x", second: "https://a.example:443/x"},
		"an empty port":                     {first: "https://a.example/x", second: "https://a.example:/x"},
		"a port of IPv6":                    {first: "https://[2001:DB8::1]/x", second: "http://[2001:db8::1]:80/x"},
		"a slash after the host":            {first: "https://a.example", second: "https://a.example/"},
		"a slash after the path":            {first: "https://a.example/x", second: "https://a.example/x/"},
		"slashes before parameters":         {first: "https://a.example/x?q=1", second: "https://a.example/x//?q=1"},
		"a fragment":                        {first: "https://a.example/x", second: "https://a.example/x#part?/"},
		"no parameters":                     {first: "https://a.example/x", second: "https://a.example/x?"},
		"empty parameters":                  {first: "https://a.example/x?a=1", second: "https://a.example/x?&a=1&&"},
		"parameters in another order":       {first: "https://a.example/x?a=1&b=2&c", second: "https://a.example/x?c&b=2&a=1"},
		"tracking parameters":               {first: "https://a.example/x?id=3", second: "https://a.example/x?utm_source=y&UTM_Medium=z&id=3&fbclid=q&gclid=&mc_cid&ref_src=w"},
		"nothing but a tracking parameter":  {first: "https://a.example/x", second: "https://a.example/x?utm_source=y"},
		"an encoded letter":                 {first: "https://a.example/~x-1", second: "https://a.example/%7e%78%2D%31"},
		"an encoding in small digits":       {first: "https://a.example/a%2Fb", second: "https://a.example/a%2fb"},
		"a path in Unicode":                 {first: "https://a.example/ü", second: "https://a.example/%c3%BC"},
		"an encoded parameter":              {first: "https://a.example/?q=ü", second: "https://a.example/?%71=%C3%BC"},
		"a dot segment":                     {first: "https://a.example/launch", second: "https://a.example/./launch"},
		"a segment and its parent":          {first: "https://a.example/launch", second: "https://a.example/x/../launch"},
		"above the root":                    {first: "https://a.example/launch", second: "https://a.example/../x/y/../../launch/."},
		"encoded dots":                      {first: "https://a.example/launch", second: "https://a.example/%2e/x/.%2E/launch/y/%2e%2e"},
		"the parent of an empty segment":    {first: "https://a.example/x/y", second: "https://a.example/x//../y"},
		"nothing but dot segments":          {first: "https://a.example?q=1", second: "https://a.example/x/..?q=1"},
		"a host in Punycode":                {first: "https://bücher.example/", second: "https://xn--bcher-kva.example/"},
		"an ideographic full stop":          {first: "https://blog.example/", second: "https://blog。example。/"},
		"a soft hyphen in the host":         {first: "https://blog.example/", second: "https://bl%C2%ADog.example/"},
		"a host in full width":              {first: "https://blog.example:8443/", second: "https://ＢＬＯＧ.example:8443/"},
		"a host that cannot be mapped":      {first: "https://a_b.example/x", second: "https://A_B.example./x"},
		"www.":                              {first: "https://a.example/x", second: "http://WWW.A.example:80/x"},
		"www. twice":                        {first: "https://a.example/x", second: "https://www.www.a.example./x"},
		"www. in full width":                {first: "https://a.example/x", second: "https://ｗｗｗ。a.example/x"},
		"an IPv6 address in full":           {first: "https://[2001:db8::1]/x", second: "https://[2001:0DB8:0:0:0:0:0:1]/x"},
		"zeros before the port":             {first: "https://a.example/x", second: "https://a.example:0443/x"},
		"backslashes in the path":           {first: "https://a.example/x/y?q=1", second: `https://a.example/x\z\..\y?q=1`},
		"blanks around the link":            {first: "https://a.example/x", second: " https://a.example/x\n"},
		"another host":                      {first: "https://a.example/x", second: "https://b.example/x", other: true},
		"www. alone":                        {first: "https://example/x", second: "https://www.example/x", other: true},
		"www2.":                             {first: "https://a.example/x", second: "https://www2.a.example/x", other: true},
		"www. after the start":              {first: "https://a.example/x", second: "https://a.www.example/x", other: true},
		"a backslash in a parameter":        {first: "https://a.example/?q=/", second: `https://a.example/?q=\`, other: true},
		"another port":                      {first: "https://a.example/x", second: "https://a.example:8443/x", other: true},
		"the port of the other scheme":      {first: "https://a.example/x", second: "https://a.example:80/x", other: true},
		"a port that ends in the scheme's":  {first: "https://a.example/x", second: "https://a.example:10443/x", other: true},
		"another path":                      {first: "https://a.example/x", second: "https://a.example/y", other: true},
		"a path in large letters":           {first: "https://a.example/x", second: "https://a.example/X", other: true},
		"dots that are no dot segment":      {first: "https://a.example/x", second: "https://a.example/.../x", other: true},
		"dots in a parameter":               {first: "https://a.example/?q=x", second: "https://a.example/?q=./x", other: true},
		"empty segments":                    {first: "https://a.example/x/y", second: "https://a.example/x//y", other: true},
		"an encoded slash":                  {first: "https://a.example/a/b", second: "https://a.example/a%2Fb", other: true},
		"an invalid encoding":               {first: "https://a.example/a%zz", second: "https://a.example/a%z", other: true},
		"another value":                     {first: "https://a.example/?id=1", second: "https://a.example/?id=2", other: true},
		"another parameter":                 {first: "https://a.example/?id=1", second: "https://a.example/?ID=1", other: true},
		"a parameter without a value":       {first: "https://a.example/?id", second: "https://a.example/?id=", other: true},
		"parameters of one name":            {first: "https://a.example/?a=1&a=2", second: "https://a.example/?a=2&a=1", other: true},
		"a name like a tracking parameter":  {first: "https://a.example/", second: "https://a.example/?utm=1", other: true},
		"a tracking parameter in the path":  {first: "https://a.example/", second: "https://a.example/utm_source=1", other: true},
		"a user":                            {first: "https://a.example/", second: "https://me@a.example/", other: true},
		"a path that looks like parameters": {first: "https://a.example/a?b", second: "https://a.example/a%3Fb", other: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil)
			for _, links := range [][2]string{{tt.first, tt.second}, {tt.second, tt.first}} {
				first := require.Value(s.Post(s.Ctx, "alice", linked(links[0])))(t)
				second, err := s.Post(s.Ctx, "bob", linked(links[1]))
				if !tt.other {
					repotest.WantDuplicate(t, err, first.ID)
				} else if err != nil {
					t.Errorf("second post = %v, %v, want it to be stored", second, err)
				}
				s.Do("FLUSHALL")
			}
		})
	}
}

func TestLinkIsReservedForLinkWindow(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := repotest.New(t, func(r *site.Rules) { r.LinkWindow = day }, partitions)
		d := linked("https://a.example/x")
		d.IdempotencyKey = new("k")
		first := require.Value(s.Post(s.Ctx, "alice", d))(t)
		post := func(by site.UserName, change func(*site.Draft)) (*site.Article, error) {
			other := d
			if change(&other); other.Link != nil {
				other.Link = new(*other.Link + "#again")
			}
			return s.Post(s.Ctx, by, other)
		}
		unkeyed := func(d *site.Draft) { d.IdempotencyKey = nil }
		before := s.Dump()
		for _, by := range []site.UserName{"alice", "bob"} {
			_, err := post(by, unkeyed)
			repotest.WantDuplicate(t, err, first.ID)
			_, err = post(by, func(d *site.Draft) { d.IdempotencyKey = new("another") })
			repotest.WantDuplicate(t, err, first.ID)
		}
		if after := s.Dump(); repotest.WithoutCounter(after) != repotest.WithoutCounter(before) {
			t.Errorf("the store holds\n%s\nwant\n%s", after, before)
		}
		// The idempotency key is checked before the link.
		if again, err := s.Post(s.Ctx, "alice", d); err != nil || again.ID != first.ID {
			t.Errorf("Post again = %v, %v, want the first article", again, err)
		}
		// An article without a link is not a duplicate.
		for range 2 {
			if _, err := s.Post(s.Ctx, "bob", site.Draft{Title: "t", Text: new("text")}); err != nil {
				t.Error(err)
			}
		}
		// A draft that is refused otherwise reserves nothing.
		bad := linked("https://a.example/y")
		bad.Groups = []string{"?"}
		_, err := s.Post(s.Ctx, "bob", bad)
		repotest.WantRefused(t, err, "INVALID groups.0")
		if _, err := s.Post(s.Ctx, "bob", linked("https://a.example/y")); err != nil {
			t.Error(err)
		}
		s.MustDelete(first.ID, repotest.Moderator)
		_, err = post("bob", unkeyed)
		repotest.WantDuplicate(t, err, first.ID)
		_, err = s.Post(s.Ctx, "alice", d)
		repotest.WantRefused(t, err, "NOT_FOUND idempotencyKey")
		s.MustUndelete(first.ID)

		s.Clock.Advance(day - time.Second)
		_, err = post("bob", unkeyed)
		repotest.WantDuplicate(t, err, first.ID)
		s.Clock.Advance(time.Second)
		second := require.Value(post("bob", unkeyed))(t)
		_, err = post("carol", unkeyed)
		repotest.WantDuplicate(t, err, second.ID)
		off := s.Reopened(s.Server.Client, noLinkWindow, partitions)
		if _, err := off.Post(s.Ctx, "carol", linked("https://a.example/x")); err != nil {
			t.Errorf("Post with LinkWindow 0: %v", err)
		}
		for _, key := range s.Raw.Keys(s.Ctx, "*link:*").Val() {
			if left := s.TTL(key); left > 0 {
				t.Errorf("%s expires in %v, want never: it is read later, too", key, left)
			}
		}
		s.WantClean()
	})
}

// The partition of an idempotency key may differ from that of the link.
func TestIdempotencyKeysAndLinksWorkAcrossPartitions(t *testing.T) {
	t.Parallel()
	partitions := redisrepo.WithPartitions(len(repotest.Four))
	s := repotest.New(t, nil, partitions)
	taken := s.MustPost("zoe")
	for i := range 40 {
		d := s.Fresh()
		d.IdempotencyKey = new(fmt.Sprint("key", i))
		dup := d
		dup.Link = taken.Link
		_, err := s.Post(s.Ctx, "alice", dup)
		repotest.WantDuplicate(t, err, taken.ID)
		first, err := s.Post(s.Ctx, "alice", d) // the first use of the key
		if err != nil {
			t.Fatalf("Post with key %d: %v", i, err)
		}
		if again, err := s.Post(s.Ctx, "alice", d); err != nil || again.ID != first.ID {
			t.Errorf("Post with key %d again = %v, %v, want the first article", i, again, err)
		}
		for _, link := range []*string{new("https://example.com/other"), taken.Link, nil} {
			other := d
			other.Link, other.Text = link, new("text")
			_, err := s.Post(s.Ctx, "alice", other)
			repotest.WantRefused(t, err, "CONFLICT idempotencyKey")
		}
	}
	if n, err := s.Lists.Count(s.Ctx, lists.PostedBy("alice")); err != nil || n != 40 {
		t.Errorf("Count of alice's articles = %d, %v, want one for each key", n, err)
	}
	s.WantClean()
}

func TestConcurrentPostsOfOneLinkMakeOneArticle(t *testing.T) { // with the race detector
	t.Parallel()
	for _, tags := range repotest.Layouts {
		for _, keyed := range []bool{false, true} {
			t.Run(fmt.Sprint(tags, keyed), func(t *testing.T) {
				t.Parallel()
				partitions := redisrepo.WithPartitions(len(tags))
				s := repotest.New(t, nil, partitions)
				other := s.Reopened(s.Client(), nil, partitions)
				var posted, refused atomic.Int64
				var errs [200]error
				repotest.Together(200, func(i int) {
					d := linked([]string{"https://a.example/x", "http://A.example/x/?utm_source=y"}[i%2])
					if keyed {
						d.IdempotencyKey = new("key")
					}
					a, err := []*repotest.Site{s, other}[i%2].Post(s.Ctx, site.UserName(fmt.Sprint("user", i)), d)
					if errs[i] = err; err == nil {
						posted.Store(int64(a.ID))
					} else {
						refused.Add(1)
					}
				})
				if n := refused.Load(); n != 199 {
					t.Errorf("%d posts were refused, want 199", n)
				}
				for _, err := range errs {
					if err != nil {
						repotest.WantDuplicate(t, err, site.ArticleID(posted.Load()))
					}
				}
				if n, err := s.Lists.Count(s.Ctx, lists.AllArticles(site.ByTime, site.Descending)); err != nil || n != 1 {
					t.Errorf("Count = %d, %v, want 1", n, err)
				}
				s.WantClean()
			})
		}
	}
}

func TestArticleByLinkIsTheNewest(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, func(r *site.Rules) { r.LinkWindow = day }, redisrepo.WithPartitions(len(tags)))
		const link = "http://www.a.example/x#part"
		s.WantNewest(link, 0)
		var last site.ArticleID
		for range 3 {
			a := require.Value(s.Post(s.Ctx, "alice", linked("https://a.example/x")))(t)
			last = a.ID
			s.WantNewest(link, last)
			s.Clock.Advance(30 * day)
		}
		s.WantNewest(link, last) // its link is free, but its article is found
		s.MustDelete(last, repotest.Moderator)
		s.WantNewest(link, last)
		s.Reopened(s.Server.Client, noLinkWindow, redisrepo.WithPartitions(len(tags)))
		s.WantNewest("https://a.example/y", 0)
		for _, bad := range []string{"", " ", "a.example/x", "ftp://a.example/x", "https://", "https://a.example/\x00"} {
			_, err := s.Articles.ArticleByLink(s.Ctx, bad)
			repotest.WantRefused(t, err, "INVALID link")
		}
		s.WantClean()
	})
}

// An import that is interrupted before it records the links is repeated later, perhaps with times relative to now.
func TestRepeatedImportRecordsTheStoredTime(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	a := repotest.Old(5, day, 1)
	a.Draft.Link = new("https://a.example/x")
	s.MustImport(a)
	for _, lost := range []bool{false, true} {
		if lost {
			s.Do("DEL", s.Do("KEYS link:*").([]any)[0])
		}
		a.PostedAt = a.PostedAt.Add(4 * time.Second)
		if added, errs := s.Import(s.Ctx, []redisrepo.Imported{a}); added[0] || errs[0] != nil {
			t.Errorf("the second import = %v, %v, want no addition and no error", added, errs)
		}
		s.WantNewest("https://a.example/x", 5)
		s.WantClean()
	}
}

// An imported article reserves its link like a post at the same time, in whatever order articles arrive, and however
// often. Articles of the import itself may have one link.
func TestImportedLinksAreReserved(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		var all []redisrepo.Imported
		for i, age := range []time.Duration{3 * day, 2 * day, 10 * day, 2 * day} {
			a := repotest.Old(site.ArticleID(5+i), age, 1)
			a.Draft.Link = new("https://www.a.example/x")
			if i == 2 {
				a.Draft.Link = new("https://b.example/")
			}
			all = append(all, a)
		}
		s.MustImport(all...)
		s.Import(s.Ctx, all)
		_, err := s.Post(s.Ctx, "alice", linked("http://a.example/x/"))
		repotest.WantDuplicate(t, err, 8) // of two that were posted at once, that with the higher number
		s.WantNewest("https://b.example", 7)
		b := require.Value(s.Post(s.Ctx, "alice", linked("https://b.example/")))(t)
		s.MustImport(repotest.Old(20, 3*day, 1, "go"))
		s.Import(s.Ctx, all)
		s.WantNewest("https://b.example", b.ID)

		s.Clock.Advance(5 * day) // a week after article:8 was posted
		c := require.Value(s.Post(s.Ctx, "bob", linked("https://a.example/x")))(t)
		s.MustDelete(8, repotest.Moderator)
		if added, errs := s.Import(s.Ctx, all); added[3] || errs[3] != nil {
			t.Errorf("Import of a deleted article = %v, %v, want no addition and no error", added, errs)
		}
		s.WantNewest("https://a.example/x", c.ID)
		s.WantClean()
	})
}

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
		repotest.WantRefused(t, err, "INVALID")
	}
}
