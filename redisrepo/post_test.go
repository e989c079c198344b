package redisrepo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

func TestPostStoresTheHashAndIndexes(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	a, err := s.Post(s.ctx, "alice", site.Draft{Title: " Go ", Link: new("https://go.dev"), Text: new(" a\nb "), Groups: []string{"lang", "Go", "GO", "c-x"}})
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, a, s.article(a.ID))
	if got, want := fmt.Sprintf("%v %q %q %q %s %v +%d -%d =%d %v %v", a.ID, a.Title, *a.Link, *a.Text, a.Poster.ID(),
		a.CreatedAt.Equal(opened), a.Upvotes, a.Downvotes, a.Votes, a.Groups, a.VotingEndsAt.Sub(opened)),
		`article:1 "Go" "https://go.dev" " a\nb " user:alice true +1 -0 =1 [c-x go lang] 168h0m0s`; got != want {
		t.Errorf("Post = %s, want %s", got, want)
	}
	want := fmt.Sprintf(`article:: 1, ends: false
article:1: map[cast:1 downvotes:0 groups:c-x go lang link:https://go.dev poster:user:alice revision:1 text: a
b  time:%[1]d title:Go votes:1], ends: false
cast:alice:641: [{%[2]v 1}], ends: true
clock:: map[folded:20504 front:492324 front_since:492325 p:h:492324:1], ends: false
events:: [map[article:1 by:alice downvotes:0 kind:posted revision:1 score:%[4]d to:c-x go lang votes:1]], ends: false
group:c-x: [article:1], ends: false
group:go: [article:1], ends: false
group:lang: [article:1], ends: false
groups:: [{0 c-x} {0 go} {0 lang}], ends: false
host:go.dev: [{%[2]v article:1}], ends: false
link:a2e0cac798040a079bc79ff08aaa5374: article:1 %[1]d, ends: false
meta:: map[calendar:on cast:on cast_since:1771761600 640 34560000 604800 events:on front:on index:0 interesting_votes:200 layout:4 partitions:1 ranking:linear vote_score:432 voting_window:604800], ends: false
name:a55dd3906de999b502cf5b7b5b26d5fe: alice, ends: false
posted:alice: [{%[2]v article:1}], ends: false
score:: [{%[3]v article:1}], ends: false
sizes:: [{-1 c-x} {-1 go} {-1 lang}], ends: false
time:: [{%[2]v article:1}], ends: false
top:h:492324: [{1 article:1}], ends: false
voted:1: [user:alice], ends: true
`, opened.Unix(), float64(opened.Unix()), float64(opened.Unix()+432), opened.Unix()+432)
	if got := s.dump(); got != want {
		t.Errorf("the store holds\n%s\nwant\n%s", got, want)
	}
	s.wantClean()
}

func TestDefaultClockIsThatOfRedis(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	repo := must.Get(redisrepo.New(s.ctx, s.server.Client, s.rules))(t)
	before := s.raw.Time(s.ctx).Val().Unix()
	a := must.Get(repo.Post(s.ctx, "alice", draft("t")))(t)
	after := s.raw.Time(s.ctx).Val().Unix()
	if posted := a.CreatedAt.Unix(); posted < before || posted > after {
		t.Errorf("posted at %d, want between %d and %d", posted, before, after)
	}
	if result, err := repo.Vote(s.ctx, a.ID, "bob", up, ""); err != nil || result.Article.Votes != 2 || !repo.CanVote("bob", a) {
		t.Errorf("Vote = %+v, %v, want 2 votes and CanVote", result, err)
	}
	week := int64(week.Seconds())
	for _, tt := range []struct {
		age  int64
		open bool
	}{{week - 60, true}, {week + 1, false}} {
		s.do("ZADD time: XX", after-tt.age, "article:1")
		s.do("HSET article:1 time", after-tt.age)
		if _, err := repo.Vote(s.ctx, a.ID, "carol", up, ""); (err == nil) != tt.open {
			t.Errorf("Vote %d s after posting: %v", tt.age, err)
		}
	}
}

func TestTakenNumbersAreSkipped(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	for range 3 {
		s.post("alice")
	}
	s.do("SET article: 0")
	a, err := s.Post(s.ctx, "bob", draft("title"))
	if err != nil || a.ID != 4 {
		t.Fatalf("Post = %v, %v, want article:4", a, err)
	}
	s.wantList(lists.PostedBy("alice"), 3, 2, 1)
	s.wantClean()
	before := s.dump()
	s.do("SET article: 0")
	for i := range 101 {
		s.do("HSET", fmt.Sprint("article:", i+5), "title", "x")
	}
	if a, err := s.Post(s.ctx, "bob", draft("other")); err == nil {
		t.Errorf("Post = %v, want an error after drawing 100 taken numbers", a)
	}
	for i := range 101 {
		s.do("DEL", fmt.Sprint("article:", i+5))
	}
	s.do("SET article: 4")
	if after := s.dump(); after != before {
		t.Errorf("the store holds\n%s\nwant it unchanged:\n%s", after, before)
	}
}

func TestArticleNumbersEndAt32Bits(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.do("SET article: 2147483646")
	if a := s.post("alice"); a.ID != 1<<31-1 {
		t.Errorf("Post = %v, want the last number", a.ID)
	}
	if a, err := s.Post(s.ctx, "alice", draft("title")); err == nil {
		t.Errorf("Post = %v, want an error", a.ID)
	}
	s.wantList(lists.PostedBy("alice"), 1<<31-1)
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
		"the same draft is the same article":       {poster: "a", draft: keyed("b:c", draft("title", "x", "y")), same: true},
		"the order of groups makes no other draft": {poster: "a", draft: keyed("b:c", draft("title", "Y", "x", "x")), same: true},
		"blanks around a title are ignored":        {poster: "a", draft: keyed("b:c", site.Draft{Title: " title ", Link: new("https://example.com/title"), Groups: []string{"x", "y"}}), same: true},
		"another title is a conflict":              {poster: "a", draft: keyed("b:c", site.Draft{Title: "other", Link: new("https://example.com/title"), Groups: []string{"x", "y"}}), refused: "CONFLICT idempotencyKey"},
		"another link is a conflict":               {poster: "a", draft: keyed("b:c", site.Draft{Title: "title", Link: new("https://example.com/other"), Groups: []string{"x", "y"}}), refused: "CONFLICT idempotencyKey"},
		"another text is a conflict":               {poster: "a", draft: keyed("b:c", site.Draft{Title: "title", Link: new("https://example.com/title"), Text: new("x"), Groups: []string{"x", "y"}}), refused: "CONFLICT idempotencyKey"},
		"other groups are a conflict":              {poster: "a", draft: keyed("b:c", draft("title", "x")), refused: "CONFLICT idempotencyKey"},
		"another key is another article":           {poster: "a", draft: keyed("b:d", draft("title", "x", "y"))},
		"a key in large letters is another":        {poster: "a", draft: keyed("B:C", draft("title", "x", "y"))},
		"no key is another article":                {poster: "a", draft: draft("title", "x", "y")},
		"another user's key is another article":    {poster: "d", draft: keyed("b:c", draft("title", "x", "y"))},
		"user and key are not run together":        {poster: "a:b", draft: keyed("c", draft("title", "x", "y"))},
	}
	for _, tags := range layouts {
		for name, tt := range tests {
			t.Run(fmt.Sprint(name, tags), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, noLinkWindow, redisrepo.WithPartitions(len(tags)))
				first := must.Get(s.Post(s.ctx, "a", keyed("b:c", draft("title", "x", "y"))))(t)
				s.vote(first.ID, "bob", up)
				s.clock.advance(day)
				second, err := s.Post(s.ctx, tt.poster, tt.draft)
				if tt.refused != "" {
					wantRefused(t, err, tt.refused)
				} else if err != nil || (second.ID == first.ID) != tt.same {
					t.Fatalf("second Post = %+v, %v, want the first article, %v: %t", second, err, first.ID, tt.same)
				}
				if tt.same {
					wantEqual(t, second, s.article(first.ID))
				}
				want := 2
				if tt.same || tt.refused != "" {
					want = 1
				}
				if ids := s.list(lists.AllArticles(site.ByTime, site.Ascending)); len(ids) != want {
					t.Errorf("articles = %v, want %d", ids, want)
				}
				s.wantClean()
			})
		}
	}
}

func TestIdempotencyKeyIsKeptForADay(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	d := draft("title")
	d.IdempotencyKey = new("k")
	must.Get(s.Post(s.ctx, "alice", d))(t)
	records := s.raw.Keys(s.ctx, "post:*").Val()
	if want := []string{"post:alice:k"}; !slices.Equal(records, want) {
		t.Fatalf("records = %v, want %v", records, want)
	}
	if left := s.ttl(records[0]); left > day || left < day-time.Minute {
		t.Errorf("the record expires in %v, want a day", left)
	}
	s.do("DEL", records[0])
	s = s.reopened(s.server.Client, noLinkWindow)
	if again, err := s.Post(s.ctx, "alice", d); err != nil || again.ID != 2 {
		t.Errorf("Post a day later = %v, %v, want a new article", again, err)
	}
}
