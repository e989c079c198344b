package redisrepo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestPostStoresTheHashAndIndexes(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	d := site.Draft{Title: " Go ", Link: new("https://go.dev"), Text: new(" a\nb "), Groups: []string{"lang", "Go", "GO", "c-x"}}
	a := require.Value(s.Post(s.Ctx, "alice", d))(t)
	repotest.WantEqual(t, a, s.Article(a.ID))
	if got, want := fmt.Sprintf("%v %q %q %q %s %v +%d -%d =%d %v %v", a.ID, a.Title, *a.Link, *a.Text, a.Poster.ID(),
		a.CreatedAt.Equal(repotest.Opened), a.Upvotes, a.Downvotes, a.Votes, a.Groups, a.VotingEndsAt.Sub(repotest.Opened)),
		`article:1 "Go" "https://go.dev" " a\nb " user:alice true +1 -0 =1 [c-x go lang] 168h0m0s`; got != want {
		t.Errorf("Post = %s, want %s", got, want)
	}
	want := fmt.Sprintf(`article:: 1, ends: false
article:1: map[cast:1 downvotes:0 groups:c-x go lang link:https://go.dev poster:user:alice revision:1 text: a
b  time:%[1]d title:Go votes:1], ends: false
cast:alice:641: [{%[2]v 1}], ends: true
clock:: map[folded:20504 front:492324 front_since:492325 p:h:492324:1], ends: false
events:: [map[article:1 at:%[1]d by:alice downvotes:0 groups:c-x go lang kind:posted revision:1 score:%[4]d time:%[1]d to:c-x go lang votes:1]], ends: false
group:c-x: [article:1], ends: false
group:go: [article:1], ends: false
group:lang: [article:1], ends: false
groups:: [{0 c-x} {0 go} {0 lang}], ends: false
host:go.dev: [{%[2]v article:1}], ends: false
link:a2e0cac798040a079bc79ff08aaa5374: article:1 %[1]d, ends: false
meta:: map[calendar:on cast:on cast_since:1771761600 640 34560000 604800 events:on front:on index:0 interesting_votes:200 layout:9 partitions:1 ranking:linear vote_score:432 voting_window:604800], ends: false
name:a55dd3906de999b502cf5b7b5b26d5fe: alice, ends: false
posted:alice: [{%[2]v article:1}], ends: false
score:: [{%[3]v article:1}], ends: false
sizes:: [{-1 c-x} {-1 go} {-1 lang}], ends: false
time:: [{%[2]v article:1}], ends: false
top:h:492324: [{1 article:1}], ends: false
voted:1: [user:alice], ends: true
`, repotest.Opened.Unix(), float64(repotest.Opened.Unix()), float64(repotest.Opened.Unix()+432), repotest.Opened.Unix()+432)
	s.WantStore(want)
	s.WantClean()
}

func TestDefaultClockIsThatOfRedis(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	repo := require.Value(redisrepo.New(s.Ctx, s.Server.Client, s.Rules))(t)
	before := s.Raw.Time(s.Ctx).Val().Unix()
	a := require.Value(repo.Post(s.Ctx, "alice", repotest.Draft("t")))(t)
	after := s.Raw.Time(s.Ctx).Val().Unix()
	if posted := a.CreatedAt.Unix(); posted < before || posted > after {
		t.Errorf("posted at %d, want between %d and %d", posted, before, after)
	}
	if result, err := repo.Vote(s.Ctx, a.ID, "bob", up, ""); err != nil || result.Article.Votes != 2 || !repo.Articles.CanVote("bob", a) {
		t.Errorf("Vote = %+v, %v, want 2 votes and CanVote", result, err)
	}
	week := int64(week.Seconds())
	for _, tt := range []struct {
		age  int64
		open bool
	}{{week - 60, true}, {week + 1, false}} {
		s.Do("ZADD time: XX", after-tt.age, "article:1")
		s.Do("HSET article:1 time", after-tt.age)
		if _, err := repo.Vote(s.Ctx, a.ID, "carol", up, ""); (err == nil) != tt.open {
			t.Errorf("Vote %d s after posting: %v", tt.age, err)
		}
	}
}

func TestTakenNumbersAreSkipped(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	for range 3 {
		s.MustPost("alice")
	}
	s.Do("SET article: 0")
	a, err := s.Post(s.Ctx, "bob", repotest.Draft("title"))
	if err != nil || a.ID != 4 {
		t.Fatalf("Post = %v, %v, want article:4", a, err)
	}
	s.WantList(lists.PostedBy("alice"), 3, 2, 1)
	s.WantClean()
	before := s.Dump()
	s.Do("SET article: 0")
	for i := range 101 {
		s.Do("HSET", fmt.Sprint("article:", i+5), "title", "x")
	}
	if a, err := s.Post(s.Ctx, "bob", repotest.Draft("other")); err == nil {
		t.Errorf("Post = %v, want an error after drawing 100 taken numbers", a)
	}
	for i := range 101 {
		s.Do("DEL", fmt.Sprint("article:", i+5))
	}
	s.Do("SET article: 4")
	s.WantStore(before)
}

func TestArticleNumbersEndAt32Bits(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.Do("SET article: 2147483646")
	if a := s.MustPost("alice"); a.ID != 1<<31-1 {
		t.Errorf("Post = %v, want the last number", a.ID)
	}
	if a, err := s.Post(s.Ctx, "alice", repotest.Draft("title")); err == nil {
		t.Errorf("Post = %v, want an error", a.ID)
	}
	s.WantList(lists.PostedBy("alice"), 1<<31-1)
}

func TestIdempotencyKeyFindsTheFirstPost(t *testing.T) {
	t.Parallel()
	keyed := func(key string, d site.Draft) site.Draft {
		d.IdempotencyKey = &key
		return d
	}
	tests := map[string]struct {
		poster  site.UserName
		draft   site.Draft
		same    bool
		refused string
	}{
		"the same draft is the same article":       {poster: "a", draft: keyed("b:c", repotest.Draft("title", "x", "y")), same: true},
		"the order of groups makes no other draft": {poster: "a", draft: keyed("b:c", repotest.Draft("title", "Y", "x", "x")), same: true},
		"blanks around a title are ignored":        {poster: "a", draft: keyed("b:c", site.Draft{Title: " title ", Link: new("https://example.com/title"), Groups: []string{"x", "y"}}), same: true},
		"another title is a conflict":              {poster: "a", draft: keyed("b:c", site.Draft{Title: "other", Link: new("https://example.com/title"), Groups: []string{"x", "y"}}), refused: "CONFLICT idempotencyKey"},
		"another link is a conflict":               {poster: "a", draft: keyed("b:c", site.Draft{Title: "title", Link: new("https://example.com/other"), Groups: []string{"x", "y"}}), refused: "CONFLICT idempotencyKey"},
		"another text is a conflict":               {poster: "a", draft: keyed("b:c", site.Draft{Title: "title", Link: new("https://example.com/title"), Text: new("x"), Groups: []string{"x", "y"}}), refused: "CONFLICT idempotencyKey"},
		"other groups are a conflict":              {poster: "a", draft: keyed("b:c", repotest.Draft("title", "x")), refused: "CONFLICT idempotencyKey"},
		"another key is another article":           {poster: "a", draft: keyed("b:d", repotest.Draft("title", "x", "y"))},
		"a key in large letters is another":        {poster: "a", draft: keyed("B:C", repotest.Draft("title", "x", "y"))},
		"no key is another article":                {poster: "a", draft: repotest.Draft("title", "x", "y")},
		"another user's key is another article":    {poster: "d", draft: keyed("b:c", repotest.Draft("title", "x", "y"))},
		"user and key are not run together":        {poster: "a:b", draft: keyed("c", repotest.Draft("title", "x", "y"))},
	}
	for _, tags := range repotest.Layouts {
		for name, tt := range tests {
			t.Run(fmt.Sprint(name, tags), func(t *testing.T) {
				t.Parallel()
				s := repotest.New(t, noLinkWindow, redisrepo.WithPartitions(len(tags)))
				first := require.Value(s.Post(s.Ctx, "a", keyed("b:c", repotest.Draft("title", "x", "y"))))(t)
				s.MustVote(first.ID, "bob", up)
				s.Clock.Advance(day)
				second, err := s.Post(s.Ctx, tt.poster, tt.draft)
				if tt.refused != "" {
					repotest.WantRefused(t, err, tt.refused)
				} else if err != nil || (second.ID == first.ID) != tt.same {
					t.Fatalf("second Post = %+v, %v, want the first article, %v: %t", second, err, first.ID, tt.same)
				}
				if tt.same {
					repotest.WantEqual(t, second, s.Article(first.ID))
				}
				want := 2
				if tt.same || tt.refused != "" {
					want = 1
				}
				if ids := s.List(lists.AllArticles(site.ByTime, site.Ascending)); len(ids) != want {
					t.Errorf("articles = %v, want %d", ids, want)
				}
				s.WantClean()
			})
		}
	}
}

func TestIdempotencyKeyIsKeptForADay(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	d := repotest.Draft("title")
	d.IdempotencyKey = new("k")
	require.Value(s.Post(s.Ctx, "alice", d))(t)
	records := s.Raw.Keys(s.Ctx, "post:*").Val()
	if want := []string{"post:alice:k"}; !slices.Equal(records, want) {
		t.Fatalf("records = %v, want %v", records, want)
	}
	if left := s.TTL(records[0]); left > day || left < day-time.Minute {
		t.Errorf("the record expires in %v, want a day", left)
	}
	s.Do("DEL", records[0])
	s = s.Reopened(s.Server.Client, noLinkWindow)
	if again, err := s.Post(s.Ctx, "alice", d); err != nil || again.ID != 2 {
		t.Errorf("Post a day later = %v, %v, want a new article", again, err)
	}
}

func TestPostRefusesInvalidDrafts(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, noLinkWindow)
	x := func(n int) string { return strings.Repeat("x", n) }
	wide := func(n int) string { return strings.Repeat("世", n) }
	link := func(link string) site.Draft { return site.Draft{Title: "t", Link: &link} }
	text := func(text string) site.Draft { return site.Draft{Title: "t", Text: &text} }
	title := func(title string) site.Draft { return site.Draft{Title: title, Text: new("x")} }
	key := func(key string) site.Draft {
		return site.Draft{Title: key, Text: new("x"), IdempotencyKey: &key}
	}
	groups := func(groups ...string) site.Draft { return repotest.Draft("t", groups...) }
	names := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("g", i))
		}
		return names
	}
	tests := map[string]struct {
		draft   site.Draft
		refused []string // nil when accepted
	}{
		"a title of 200 characters":               {draft: title(x(200))},
		"a title of 200 characters of many bytes": {draft: title(wide(200))},
		"a title of 200 characters and blanks":    {draft: title("  " + x(200) + "\n")},
		"a title of 201 characters":               {draft: title(x(201)), refused: []string{"TOO_LONG title"}},
		"a title of 201 characters of many bytes": {draft: title(wide(201)), refused: []string{"TOO_LONG title"}},
		"no title":             {draft: title(""), refused: []string{"INVALID title"}},
		"a title of blanks":    {draft: title(" \t\u3000"), refused: []string{"INVALID title"}},
		"a title of two lines": {draft: title("a\nb"), refused: []string{"INVALID title"}},
		"a title with a control character of Latin1": {draft: title("a\u0085b"), refused: []string{"INVALID title"}},
		"a title that is not UTF-8":                  {draft: title("a\xffb"), refused: []string{"INVALID title"}},

		"a text of 10000 characters":               {draft: text(x(10_000))},
		"a text of 10000 characters of many bytes": {draft: text(wide(10_000))},
		"a text of 10001 characters":               {draft: text(x(10_001)), refused: []string{"TOO_LONG text"}},
		"a text of lines and tabs":                 {draft: text("a\r\n\tb\n")},
		"a text with an escape":                    {draft: text("a\x1bb"), refused: []string{"INVALID text"}},
		"a text that is not UTF-8":                 {draft: text("a\xffb"), refused: []string{"INVALID text"}},
		"a text of blanks":                         {draft: text(" \n"), refused: []string{"INVALID link"}},

		"a link of 2000 bytes":                 {draft: link("https://example.com/" + x(1980))},
		"a link of 2001 bytes":                 {draft: link("https://example.com/" + x(1981)), refused: []string{"TOO_LONG link"}},
		"a link of 2001 bytes, few characters": {draft: link("https://example.com/a" + wide(660)), refused: []string{"TOO_LONG link"}},
		"an http link":                         {draft: link("http://example.com")},
		"a link in large letters":              {draft: link("HTTP://Example.com")},
		"a link with everything":               {draft: link("https://me:pw@example.com:8080/a%zz|{}?q=1&r=[]#f")},
		"a link to an address":                 {draft: link("http://[::1]:8080/")},
		"a link in other letters":              {draft: link("https://müller.example/ä")},
		"a link between blanks":                {draft: link(" https://example.com \n")},
		"a link of blanks and no text":         {draft: link(" "), refused: []string{"INVALID link"}},
		"a script":                             {draft: link("javascript:alert(1)"), refused: []string{"INVALID link"}},
		"a script that looks like a link":      {draft: link("javascript://example.com/%0aalert(1)"), refused: []string{"INVALID link"}},
		"data":                                 {draft: link("data:text/html,x"), refused: []string{"INVALID link"}},
		"an ftp link":                          {draft: link("ftp://example.com/"), refused: []string{"INVALID link"}},
		"a relative link":                      {draft: link("/a/b"), refused: []string{"INVALID link"}},
		"a link without a scheme":              {draft: link("//example.com/"), refused: []string{"INVALID link"}},
		"a link without a host":                {draft: link("https:///a"), refused: []string{"INVALID link"}},
		"a link with a port alone":             {draft: link("https://:80/"), refused: []string{"INVALID link"}},
		"a link with a user alone":             {draft: link("https://me@/"), refused: []string{"INVALID link"}},
		"a link with one slash":                {draft: link("https:/example.com"), refused: []string{"INVALID link"}},
		"a link with a bad port":               {draft: link("https://example.com:x/"), refused: []string{"INVALID link"}},
		"a link with a blank":                  {draft: link("https://example.com/a b"), refused: []string{"INVALID link"}},
		"a link of two lines":                  {draft: link("https://example.com/\nx"), refused: []string{"INVALID link"}},
		"a link that is not UTF-8":             {draft: link("https://example.com/\xff"), refused: []string{"INVALID link"}},
		"neither link nor text":                {draft: site.Draft{Title: "t"}, refused: []string{"INVALID link"}},
		"a link and a text":                    {draft: site.Draft{Title: "t", Link: new("https://example.com"), Text: new("x")}},

		"a key of 100 characters":               {draft: key(x(100))},
		"a key of 100 characters of many bytes": {draft: key(wide(100))},
		"a key of 101 characters":               {draft: key(x(101)), refused: []string{"TOO_LONG idempotencyKey"}},
		"an empty key":                          {draft: site.Draft{Title: "t", Text: new("x"), IdempotencyKey: new("")}, refused: []string{"INVALID idempotencyKey"}},

		"10 groups":                   {draft: groups(names(10)...)},
		"11 groups":                   {draft: groups(names(11)...), refused: []string{"TOO_LONG groups"}},
		"11 names of 10 groups":       {draft: groups(append(names(10), "G0")...)},
		"a group without a name":      {draft: groups("go", ""), refused: []string{"INVALID groups.1"}},
		"a long group name":           {draft: groups(x(65)), refused: []string{"TOO_LONG groups.0"}},
		"the group interesting":       {draft: groups("Interesting"), refused: []string{"INVALID groups.0"}},
		"a group that is not a name":  {draft: groups("group:go"), refused: []string{"INVALID groups.0"}},
		"two bad groups among others": {draft: groups("a", "b c", "d", "e/f"), refused: []string{"INVALID groups.1", "INVALID groups.3"}},

		"everything at once": {
			draft: site.Draft{Title: x(201), Link: new("ftp://x"), Text: new("\x00"), Groups: []string{"interesting", "ok", " "}, IdempotencyKey: new("")},
			refused: []string{
				"TOO_LONG title", "INVALID link", "INVALID text", "INVALID idempotencyKey", "INVALID groups.0", "INVALID groups.2",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := s.Post(s.Ctx, "alice", tt.draft)
			if tt.refused != nil {
				repotest.WantRefused(t, err, tt.refused...)
				return
			}
			require.NoError(t, err)
			repotest.WantEqual(t, a, s.Article(a.ID))
			if a.Title != strings.TrimSpace(tt.draft.Title) {
				t.Errorf("Title = %q, want the title of the draft, trimmed", a.Title)
			}
			if want := tt.draft.Link; (a.Link == nil) != (want == nil) || want != nil && *a.Link != strings.TrimSpace(*want) {
				t.Errorf("Link = %v, want the link of the draft, trimmed", a.Link)
			}
			if want := tt.draft.Text; (a.Text == nil) != (want == nil) || want != nil && *a.Text != *want {
				t.Errorf("Text = %v, want the text of the draft", a.Text)
			}
		})
	}
}
