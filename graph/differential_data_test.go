package graph_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// Texts that are hard to write as JSON. Only a legacy client can store those that are not valid UTF-8, and control
// characters.
var (
	texts   = []string{"Go", "a <b> & c", `"quoted\"`, "line\u2028separators\u2029", "zoë 日本 🚀", "\u00a0", "'", "{\"a\":1}", "\ufffd", "<script>"}
	foreign = []string{"\x00\x01\x1f\x7f", "\xff\xfe", "a\xc3", "tab\tnewline\n", "\xed\xa0\x80", "", strings.Repeat("long ", 300)}
	groups  = []string{"go", "news", "a.b", "x-y_z"}
)

// dataset fills the empty database of a client with random articles, legacy and broken ones among them, and returns
// samples of its values. The repository's clock stands at the end of what was done.
func dataset(t testing.TB, random *rand.Rand, client *redis.Client) (site.Rules, time.Time, samples) {
	rules := site.DefaultRules()
	rules.InterestingVotes = 1 + random.IntN(3)
	rules.PageSize = 2 + random.IntN(24)
	rules.PosterVotes = random.IntN(3) > 0
	rules.Downvotes = random.IntN(4) > 0
	rules.LinkWindow = pick(random, []time.Duration{0, time.Hour, 7 * 24 * time.Hour})
	now := sitetest.Start
	ctx := t.Context()
	repo := require.Value(redisrepo.New(ctx, client, rules, redisrepo.WithClock(func() time.Time { return now })))(t)
	s := samples{
		ids:    []string{"group:go", "group:none", "user:alice", "user:", "host:a.example", "host:", "nonsense", "article:0", "article:99", "99", ""},
		texts:  map[string][]string{"name": {"go", "GO", "news", "interesting", "alice", "bob", "zoë <&>", "Article", "UserError", "no such", "www.A.example"}},
		cursor: map[string]bool{"after": true, "before": true},
	}
	users := []site.UserName{"alice", "bob", "mod", "zoë <&>"}
	for range 3 + random.IntN(12) {
		now = now.Add(time.Duration(random.IntN(3)) * time.Second)
		title, text, link := pick(random, texts), pick(random, texts), fmt.Sprint("https://a.example/?a=<b>&c=", random.IntN(1000))
		d := site.Draft{Title: title + "!", Text: &text, Groups: groups[:random.IntN(3)]}
		if random.IntN(2) == 0 {
			d.Link, d.Text = &link, nil
			s.texts["link"] = append(s.texts["link"], link)
		}
		article, err := repo.Post(ctx, pick(random, users), d)
		if err != nil {
			continue // a text without a visible character
		}
		s.ids = append(s.ids, article.ID.String(), article.ID.String())
		for range random.IntN(6) {
			_, _ = repo.Vote(ctx, article.ID, pick(random, users), pick(random, []site.Vote{site.Up, site.Up, site.Down, site.None}), "")
		}
		mod := site.Actor{Name: pick(random, users), Moderator: true}
		switch random.IntN(8) {
		case 6, 7:
			for range 1 + random.IntN(3) {
				_, _ = repo.Edit(ctx, article.ID, mod, redisrepo.Edit{Title: new(pick(random, texts) + "."), Text: new(pick(random, texts)), Groups: groups[:random.IntN(3)]})
			}
		case 0:
			_, _ = repo.Regroup(ctx, article.ID, mod, []string{pick(random, groups)}, []string{pick(random, groups)})
		case 1:
			_, _ = repo.Delete(ctx, article.ID, mod, site.Why{})
			if random.IntN(3) == 0 {
				_, _ = repo.Undelete(ctx, article.ID, mod)
			}
		}
	}
	require.NoError(t, repo.Views.CatchUpAll(ctx)) // else only the first read of the lists would do it
	spoil(ctx, random, client, &s, now)
	future(ctx, random, client, &s)
	cursors(ctx, repo, &s)
	s.texts["title"] = append([]string{" ", "t\n"}, texts...)
	s.texts["text"] = texts
	s.texts["link"] = append(s.texts["link"], "https://new.example/", "javascript:x", "")
	s.texts["group"] = append([]string{"interesting", ""}, groups...)
	s.texts["groups"] = s.texts["group"]
	s.texts["add"], s.texts["remove"] = s.texts["group"], s.texts["group"]
	s.texts["prefix"] = []string{"", "g", "NEW", "a.", " x", "\x00"}
	s.texts["reason"] = []string{"spam", "<&>", "", strings.Repeat("long ", 101)}
	s.texts["idempotencyKey"] = []string{"k", "<&>", ""}
	s.texts["at"] = []string{"2026-01-02T04:00:00.000Z", "2026-01-02t03:04:05.999+01:00", "0000-01-01T00:00:00.000+23:59", "9999-12-31T23:59:59.999Z", "2026-01-02T04:00:00Z"}
	s.texts["postedAfter"], s.texts["postedBefore"] = s.texts["at"], s.texts["at"]
	s.texts[""] = append(slices.Clone(texts), "go", "alice")
	return rules, now, s
}

// spoil adds what legacy clients leave, and what nothing should.
func spoil(ctx context.Context, random *rand.Rand, client *redis.Client, s *samples, now time.Time) {
	for n := range random.IntN(5) {
		n += 40
		posted := float64(now.Unix()-int64(random.IntN(9*86400))) + pick(random, []float64{0, 0.123457, 0.5})
		id := fmt.Sprint("article:", n)
		hash := []any{"title", pick(random, append(foreign, texts...)), "link", pick(random, []string{"", "https://"}) + pick(random, foreign), "poster", "user:" + pick(random, append(foreign, "alice")), "time", posted, "votes", 1}
		for i := len(hash) - 2; i >= 0; i -= 2 {
			if random.IntN(12) == 0 {
				hash = slices.Delete(hash, i, i+2)
			}
		}
		client.HSet(ctx, id, append(hash, "x", "")...)
		client.ZAdd(ctx, "time:", redis.Z{Score: posted, Member: id})
		client.ZAdd(ctx, "score:", redis.Z{Score: posted + 432, Member: id})
		client.SAdd(ctx, fmt.Sprint("voted:", n), "user:alice")
		if random.IntN(2) == 0 {
			client.SAdd(ctx, "group:go", id)
		}
		s.ids = append(s.ids, id)
	}
	client.Set(ctx, "article:", 60, 0)
	victim := pick(random, s.ids)
	if number, ok := strings.CutPrefix(victim, "article:"); ok && number != "" && number != "0" {
		switch random.IntN(9) {
		case 0:
			client.HSet(ctx, victim, "votes", "many")
		case 1:
			client.HSet(ctx, victim, "time", pick(random, []string{"", "inf", "-62135596800", "253402300800", "1e15", "0"}))
		case 2:
			client.Del(ctx, victim)
		case 3:
			client.HSet(ctx, victim, "title", pick(random, foreign), "text", pick(random, foreign), "groups", pick(random, foreign))
		case 4:
			client.ZAdd(ctx, "score:", redis.Z{Score: pick(random, []float64{math.Inf(1), math.Inf(-1), 1e300, 0.1}), Member: victim})
		case 5:
			client.HSet(ctx, victim, "votes", pick(random, []string{"9007199254740992", "1.5", "-7"}), "downvotes", "3")
		case 6:
			client.HSet(ctx, victim, "deleted", pick(random, []string{"1", "x"}))
		}
	}
	if random.IntN(20) == 0 {
		s.mistyped = pick(random, []string{"score:", "time:", "groups:", "posted:alice", "host:a.example", "score:go", "moderation:", "events:"})
	}
	// Redis numbers the next entry after the last one: with one in the future, it does not depend on the time.
	client.XAdd(ctx, &redis.XAddArgs{Stream: "moderation:", ID: "9000000000000-0", Values: []string{
		"kind", pick(random, []string{"deleted", "regrouped", "no such kind"}), "article", pick(random, s.ids), "by", pick(random, foreign), "at", "1767323045", "before", "a b", "after", pick(random, foreign),
	}})
}

// future adds an event, for the same reason.
func future(ctx context.Context, random *rand.Rand, client *redis.Client, s *samples) {
	client.XAdd(ctx, &redis.XAddArgs{Stream: "events:", ID: "9000000000000-0", Values: []string{
		"kind", pick(random, []string{"deleted", "voted", "milestone", "no such kind"}), "article", pick(random, s.ids), "revision", "9", "votes", "-1", "downvotes", "2",
		"score", pick(random, []string{"1767323045", "0.5", "x"}), "by", pick(random, foreign), "to", pick(random, []string{"1", "-1", "50", "x"}),
	}})
}

// cursors adds cursors of all lists of the site.
func cursors(ctx context.Context, repo *redisrepo.Repo, s *samples) {
	var found []string
	add := func(edges []lists.Edge, _ site.PageInfo, _ error) {
		for _, edge := range edges {
			found = append(found, edge.Cursor)
		}
	}
	add(repo.Lists.Walk(ctx, lists.AllArticles(site.ByScore, site.Descending), site.PageRequest{}))
	add(repo.Lists.Walk(ctx, lists.AllArticles(site.ByTime, site.Ascending), site.PageRequest{}))
	add(repo.Lists.Walk(ctx, lists.InGroup("go", site.ByScore, site.Descending), site.PageRequest{}))
	add(repo.Lists.Walk(ctx, lists.PostedBy("alice"), site.PageRequest{}))
	add(repo.Lists.Walk(ctx, lists.LinkingTo("a.example"), site.PageRequest{}))
	groups, _, _ := repo.Lists.Groups(ctx, lists.GroupList{}, site.PageRequest{})
	for _, edge := range groups {
		found = append(found, edge.Cursor)
	}
	entries, _, _ := repo.Log.ModerationLog(ctx, site.PageRequest{})
	for _, entry := range entries {
		found = append(found, entry.Cursor)
	}
	events, _ := repo.Log.Events(ctx, nil, nil, nil)
	for _, edge := range events.Edges {
		found = append(found, edge.Cursor())
	}
	s.texts["after"] = append(found, "no cursor")
	s.texts["before"] = s.texts["after"]
}
