package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// rankedSite is a site whose articles are posted an hour apart, with 1, 3, 5, 7 and 9 votes; those with 3 and 7 are in
// the group go.
func rankedSite(t *testing.T, change ...func(*site.Rules)) *sitetest.Site {
	t.Helper()
	rules := site.DefaultRules()
	rules.InterestingVotes = 5
	for _, f := range change {
		f(&rules)
	}
	s := sitetest.New(t, redistest.Start(t).Client, rules)
	for i := range 5 {
		var groups []string
		if i%2 == 1 {
			groups = []string{"go"}
		}
		id := s.Post("alice", fmt.Sprint("t", i), groups...)
		for voter := range 2 * i {
			s.Vote(fmt.Sprint("voter", voter), id, "UP")
		}
		s.Advance(time.Hour)
	}
	return s
}

func withGroupTop(r *site.Rules) { r.GroupTop = true }

func TestRankingsRankByTheFormula(t *testing.T) {
	t.Parallel()
	s := rankedSite(t, withGroupTop)
	for arguments, want := range map[string]string{
		``:                                     "t4 t3 t2 t1 t0 of 5",
		`(first: 2)`:                           "t4 t3 of 5",
		`(by: {formula: TOP}, span: DAY)`:      "t4 t3 t2 t1 t0 of 5",
		`(by: {formula: LINEAR})`:              "t4 t3 t2 t1 t0 of 5",
		`(by: {formula: GRAVITY, gravity: 5})`: "t4 t3 t2 t1 t0 of 5",
		`(by: {formula: HALF_LIFE, halfLife: 60})`:                                                "t4 t3 t2 t1 t0 of 5",
		`(postedBefore: "` + after(2*time.Hour) + `")`:                                            "t1 t0 of 2",
		`(postedAfter: "` + after(2*time.Hour) + `")`:                                             "t4 t3 t2 of 3",
		`(postedAfter: "` + after(time.Hour) + `", postedBefore: "` + after(3*time.Hour) + `")`:   "t2 t1 of 2",
		`(postedAfter: "` + after(3*time.Hour) + `", postedBefore: "` + after(2*time.Hour) + `")`: " of 0",
	} {
		if got := ranked(s, "", arguments); got != want {
			t.Errorf("ranking%s = %s, want %s", arguments, got, want)
		}
	}
	if got, want := ranked(s, "go", ``), "t3 t1 of 2"; got != want {
		t.Errorf("ranking of go = %s, want %s", got, want)
	}
	if got, want := ranked(s, "interesting", `(by: {formula: HALF_LIFE})`), "t4 t3 t2 of 3"; got != want {
		t.Errorf("ranking of interesting = %s, want %s", got, want)
	}
	s.Vote("voter0", "article:1", "DOWN")
	if got, want := ranked(s, "", `(by: {formula: LINEAR, voteScore: 1})`), "t4 t3 t2 t1 t0 of 5"; got != want {
		t.Errorf("ranking with cheap votes = %s, want %s", got, want)
	}
	s.Want("", `{ ranking(first: 1) { asOf edges { key node { title } } } }`,
		`{"ranking": {"asOf": "`+after(5*time.Hour)+`", "edges": [{"key": 9, "node": {"title": "t4"}}]}}`)
}

// after is a time on a site's clock.
func after(d time.Duration) string {
	return sitetest.Start.Add(d).UTC().Format("2006-01-02T15:04:05.000Z")
}

// ranked returns the titles of a ranking, and its size.
func ranked(s *sitetest.Site, group, arguments string) string {
	s.T.Helper()
	query := `ranking` + arguments + ` { nodes { title } totalCount }`
	if group != "" {
		query = `group(name: "` + group + `") { ` + query + ` }`
	}
	a := s.Ask("", `{ `+query+` }`)
	data := a.Data
	if group != "" {
		data, _ = data["group"].(map[string]any)
	}
	ranking, ok := data["ranking"].(map[string]any)
	if !ok {
		return fmt.Sprint(a.Errors)
	}
	var titles []string
	for _, node := range ranking["nodes"].([]any) {
		titles = append(titles, node.(map[string]any)["title"].(string))
	}
	return fmt.Sprint(strings.Join(titles, " "), " of ", ranking["totalCount"])
}

// A ranking costs more the more Redis has to look at for it, also if fewer points are left.
func TestRankingsAreChargedByWhatTheyLookAt(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	const cost, most, articles = 53, 250, 2500
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: most, Window: time.Hour}, Addresses: 4}))
	repo := sitetest.Import(t, client, "poster", 1) // the last one among equal votes
	var older []redisrepo.Imported
	for n := 2; n <= articles; n++ {
		older = append(older, redisrepo.Imported{ID: site.ArticleID(n), Poster: "poster", PostedAt: sitetest.Start.Add(-time.Minute), Votes: 1,
			Draft: site.Draft{Title: fmt.Sprint("article ", n)}})
	}
	if _, errs := repo.Import(t.Context(), older); errors.Join(errs...) != nil {
		t.Fatal(errors.Join(errs...))
	}
	asked := 0
	ask := func(user, arguments string) string {
		asked++ // no two share an answer
		return s.AskText(user, fmt.Sprintf(`{ ranking(by: {formula: TOP}, first: 1%s) { nodes { id } } } # %d`, arguments, asked))
	}
	used := func(subject string) int { return sitetest.RateCount(t, client, "cost:"+subject) }
	newest := `, postedAfter: "` + after(0) + `"`
	ask("alice", "")
	if n := used("user:alice"); n != cost {
		t.Errorf("the best article costs %d points, want %d", n, cost)
	}
	list := require.Value(repo.Rankings.RankedList(rankings.RankQuery{By: rankings.RankBy{Formula: rankings.RankTop}, PostedAfter: new(sitetest.Start)}))(t)
	page := require.Value(repo.Rankings.Rank(t.Context(), list, new(1), nil))(t)
	if page.Looked < articles {
		t.Fatalf("the list with one article looks at %d members, want at least %d", page.Looked, articles)
	}
	more := cost + page.Looked/20 - 50
	if body := ask("bob", newest); !strings.Contains(body, `"article:1"`) || used("user:bob") != more {
		t.Errorf("got %s for %d points, want the article for %d", body, used("user:bob"), more)
	}
	for n := 1; sitetest.CodeOf(t, ask("carol", newest)) != "RATE_LIMITED"; n++ {
		if spent := used("user:carol"); spent != n*more || spent > most+more {
			t.Fatalf("after %d rankings %d points are spent, want %d, and at most %d", n, spent, n*more, most+more)
		}
	}
	if spent := used("user:carol"); spent <= most {
		t.Errorf("%d points are spent, want what is owed beyond %d", spent, most)
	}
	if got, want := used("address:127.0.0.1"), used("user:alice")+used("user:bob")+used("user:carol"); got != want {
		t.Errorf("the address has spent %d points, want %d", got, want)
	}
}

// A walk stays at the instant of its first page, whatever is posted meanwhile.
func TestRankingsArePagedAsOfTheFirstPage(t *testing.T) {
	t.Parallel()
	for _, formula := range []string{"TOP", "HALF_LIFE", "GRAVITY", "LINEAR"} {
		t.Run(formula, func(t *testing.T) {
			t.Parallel()
			s := rankedSite(t)
			const query = `query($f: RankFormula!, $after: String) { ranking(by: {formula: $f}, span: DAY, first: 2, after: $after) {
				asOf nodes { title } pageInfo { hasPreviousPage hasNextPage endCursor } } }`
			var titles []any
			var cursor any
			for page := 0; ; page++ {
				a := s.Ask("", query, "f", formula, "after", cursor)
				ranking, _ := a.Data["ranking"].(map[string]any)
				info, _ := ranking["pageInfo"].(map[string]any)
				if len(a.Errors) > 0 || ranking["asOf"] != after(5*time.Hour) || info["hasPreviousPage"] != (page > 0) || info["hasNextPage"] != (page < 2) {
					t.Fatalf("page %d = %v, %v", page, ranking, a.Errors)
				}
				for _, node := range ranking["nodes"].([]any) {
					titles = append(titles, node.(map[string]any)["title"])
				}
				if info["hasNextPage"] == false {
					break
				}
				cursor = info["endCursor"]
				s.Advance(20 * time.Hour) // the span would end before the first articles
				s.Vote("eve", s.Post("bob", "later"), "UP")
			}
			if fmt.Sprint(titles) != "[t4 t3 t2 t1 t0]" {
				t.Errorf("pages = %v, want all articles of the first page's instant", titles)
			}
		})
	}
}

func TestInvalidRankingsAreRefused(t *testing.T) {
	t.Parallel()
	s := rankedSite(t)
	a := s.Ask("", `{ ranking(first: 1) { pageInfo { endCursor } } }`)
	cursor := a.Data["ranking"].(map[string]any)["pageInfo"].(map[string]any)["endCursor"].(string)
	for arguments, want := range map[string]string{
		`first: 0`:                                            "first is between 1 and 100, not 0",
		`first: 101`:                                          "first is between 1 and 100, not 101",
		`by: {formula: GRAVITY, gravity: 0.09}`:               "gravity is between 0.1 and 5, not 0.09",
		`by: {formula: GRAVITY, gravity: 5.1}`:                "gravity is between 0.1 and 5, not 5.1",
		`by: {formula: HALF_LIFE, halfLife: 59}`:              "halfLife is between 60 and 315360000 seconds, not 59",
		`by: {formula: HALF_LIFE, halfLife: 315360001}`:       "halfLife is between 60 and 315360000 seconds, not 315360001",
		`by: {formula: LINEAR, voteScore: 0}`:                 "voteScore is between 1 and 1000000000 seconds, not 0",
		`by: {formula: LINEAR, voteScore: 1000000001}`:        "voteScore is between 1 and 1000000000 seconds, not 1000000001",
		`by: {gravity: 1.8}`:                                  "gravity belongs to the formula GRAVITY, not to TOP",
		`by: {formula: GRAVITY, halfLife: 60}`:                "halfLife belongs to the formula HALF_LIFE, not to GRAVITY",
		`by: {formula: GRAVITY, voteScore: 60}`:               "voteScore belongs to the formula LINEAR, not to GRAVITY",
		`span: ALL, postedAfter: "2026-01-01T00:00:00.000Z"`:  "span cannot be combined with postedAfter or postedBefore",
		`span: DAY, postedBefore: "2026-01-01T00:00:00.000Z"`: "span cannot be combined with postedAfter or postedBefore",
		`after: "x"`: "after is not a cursor: pass a cursor from a page, unchanged",
		`by: {formula: LINEAR}, after: "` + cursor + `"`:                   "after is a cursor of another list",
		`span: DAY, after: "` + cursor + `"`:                               "after is a cursor of another list",
		`postedAfter: "2026-01-01T00:00:00.000Z", after: "` + cursor + `"`: "after is a cursor of another list",
	} {
		a := s.Ask("", `{ ranking(`+arguments+`) { totalCount } }`)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" || !strings.HasPrefix(a.Errors[0].Message, want) || a.Data["ranking"] != nil {
			t.Errorf("ranking(%s) = %v, %v, want BAD_USER_INPUT: %s", arguments, a.Data, a.Errors, want)
		}
	}
	if got := ranked(s, "go", ``); !strings.Contains(got, "FRONTPAGE_CALENDAR is not groups") || !strings.Contains(got, "BAD_USER_INPUT") {
		t.Errorf("ranking of a group = %s, want BAD_USER_INPUT that names FRONTPAGE_CALENDAR", got)
	}
	off := rankedSite(t, func(r *site.Rules) { r.Calendar = false })
	if got := ranked(off, "", ``); !strings.Contains(got, "FRONTPAGE_CALENDAR") || !strings.Contains(got, "BAD_USER_INPUT") {
		t.Errorf("ranking without a calendar = %s, want BAD_USER_INPUT that names FRONTPAGE_CALENDAR", got)
	}
}

// A list of groups by size and prefix costs more the more names it reads, and is refused if it would read too many.
func TestGroupsWithAPrefixAreChargedByWhatTheyRead(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	const most, few, many, others = 250, 1000, 5001, 100_000
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: most, Window: time.Hour}, Addresses: 4}))
	add := func(prefix string, count, size int) {
		var names, sizes []redis.Z
		for n := range count {
			name := fmt.Sprint(prefix, n)
			names, sizes = append(names, redis.Z{Member: name}), append(sizes, redis.Z{Score: -float64(size), Member: name})
		}
		client.ZAdd(t.Context(), "groups:", names...)
		client.ZAdd(t.Context(), "sizes:", sizes...)
	}
	add("few", few, 1)
	ask := func(user, prefix string) (answer string, cost int) {
		answer = s.AskText(user, `{ groups(orderBy: ARTICLE_COUNT, prefix: "`+prefix+`", first: 1) { nodes { name } } }`)
		return answer, sitetest.RateCount(t, client, "cost:user:"+user)
	}
	_, none := ask("alice", "none")
	if _, cost := ask("bob", "few"); cost != none+2*few/20 {
		t.Errorf("%d groups cost %d points, none cost %d, want %d more", few, cost, none, 2*few/20)
	}
	add("many", many, 1)
	add("other", others, 2)
	answer, cost := ask("carol", "many")
	if !strings.Contains(answer, "BAD_USER_INPUT") || !strings.Contains(answer, "prefix is too short") || cost < others/20 {
		t.Errorf("groups after %d larger ones: %.300s, for %d points, want BAD_USER_INPUT that names prefix, for %d", others, answer, cost, others/20)
	}
	if answer, _ := ask("carol", "none"); !strings.Contains(answer, "RATE_LIMITED") {
		t.Errorf("after that: %.300s, want RATE_LIMITED", answer)
	}
}

// The votes that votesToReach names put the article at the place, and one less does not.
func TestVotesToReachAreWhatItTakes(t *testing.T) {
	t.Parallel()
	for _, ranking := range []site.Ranking{site.Linear, site.Capped, site.HalfLifeRanking} {
		t.Run(ranking.String(), func(t *testing.T) {
			t.Parallel()
			rules := site.DefaultRules()
			rules.VoteScore, rules.Ranking, rules.RankCap, rules.HalfLife = 60, ranking, 10*time.Minute, 5*time.Minute
			s := sitetest.New(t, redistest.Start(t).Client, rules)
			random := rand.New(rand.NewPCG(uint64(ranking), 0))
			for i := range 20 {
				id := s.Post("alice", fmt.Sprint("article ", i))
				for range random.IntN(3) {
					s.VoteUp(id)
				}
				s.Advance(time.Duration(random.IntN(3)) * time.Minute)
			}
			out, voted := 0, 0
			for range 25 {
				number, rank := 1+random.IntN(20), 1+random.IntN(8)
				id := fmt.Sprint("article:", number)
				var a struct {
					Article struct {
						Score        float64
						VotesToReach *int
						RankedBy     struct {
							Formula    string
							PostedAt   time.Time
							VotesWorth float64
						}
					}
				}
				readInto(s, fmt.Sprintf(`{ article(id: %d) { score rankedBy { formula postedAt votesWorth } votesToReach(rank: %d) } }`, number, rank), &a)
				by := a.Article.RankedBy
				if float64(by.PostedAt.Unix())+by.VotesWorth != a.Article.Score || by.Formula != map[site.Ranking]string{
					site.Linear: "LINEAR", site.Capped: "CAPPED", site.HalfLifeRanking: "HALF_LIFE"}[ranking] {
					t.Errorf("%s: %+v, want the parts of its score", id, a.Article)
				}
				if a.Article.VotesToReach == nil {
					out++
					continue
				}
				for n := *a.Article.VotesToReach; ; n-- {
					if place := placeOf(s, id); (place <= rank) != (n <= 0) {
						t.Fatalf("%s with %d votes of %d to place %d: it is at %d", id, *a.Article.VotesToReach-n, *a.Article.VotesToReach, rank, place)
					}
					if n <= 0 {
						break
					}
					s.VoteUp(id)
					voted++
				}
			}
			if voted < 10 || (out > 0) != (ranking == site.Capped) {
				t.Errorf("%d votes, and %d places out of reach: the test shows too little", voted, out)
			}
			for _, rank := range []int{0, 1001} {
				if got := s.AskText("", fmt.Sprintf(`{ article(id: 1) { votesToReach(rank: %d) } }`, rank)); !strings.Contains(got, "BAD_USER_INPUT") {
					t.Errorf("rank %d: %s, want BAD_USER_INPUT", rank, got)
				}
			}
		})
	}
}

// readInto reads the data of a query by an anonymous caller.
func readInto(s *sitetest.Site, query string, data any) {
	s.T.Helper()
	if err := json.Unmarshal([]byte(s.AskText("", query)), &struct{ Data any }{data}); err != nil {
		s.T.Fatalf("%s: %v", query, err)
	}
}

// placeOf returns the place of an article in the listing by score, from 1.
func placeOf(s *sitetest.Site, id string) int {
	s.T.Helper()
	var a struct{ Articles []struct{ ID string } }
	readInto(s, `{ articles(pageSize: 100) { id } }`, &a)
	for i, article := range a.Articles {
		if article.ID == id {
			return i + 1
		}
	}
	s.T.Fatalf("%s is not listed", id)
	return 0
}

// The clock of a site starts at 03:04:05.
func TestFrontPageOfThePast(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		for i := range 3 {
			s.Post("alice", fmt.Sprint("article ", i+1))
		}
		s.Vote("bob", "article:2", "UP")
		s.Advance(time.Hour)
		s.Want("", `{ frontPage(at: "2026-01-02T05:00:00.000Z") { at } }`, `{"frontPage": null}`) // has not come yet
		s.Vote("bob", "article:3", "UP")
		s.Vote("carol", "article:3", "UP")
		moderate(s, deletion(1), `{"deleteArticle":{"deletedId":"article:1","userErrors":[]}}`)
		s.Want("", `{ frontPage(at: "2026-01-02T04:04:05.000Z") { at savedAt edges { rank score node { id } } } }`,
			`{"frontPage": {"at": "2026-01-02T04:00:00.000Z", "savedAt": "2026-01-02T04:00:00.000Z", "edges": [
				{"rank": 1, "score": 1767323909, "node": {"id": "article:2"}},
				{"rank": 2, "score": 1767323477, "node": {"id": "article:3"}},
				{"rank": 3, "score": 1767323477, "node": null}]}}`)
		s.Advance(2 * time.Hour)
		s.Want("", `{ frontPage(at: "2026-01-02T05:00:00.000Z") { at savedAt edges { rank node { id } } } }`,
			`{"frontPage": {"at": "2026-01-02T05:00:00.000Z", "savedAt": "2026-01-02T06:00:00.000Z", "edges": [
				{"rank": 1, "node": {"id": "article:3"}}, {"rank": 2, "node": {"id": "article:2"}}]}}`)
		for _, at := range []string{"2026-01-02T03:59:59.000Z", "2026-01-02T06:59:59.000Z", "1900-01-01T00:00:00.000Z", "2200-01-01T00:00:00.000Z"} {
			want := `{"frontPage": null}`
			if at == "2026-01-02T06:59:59.000Z" {
				want = `{"frontPage": {"at": "2026-01-02T06:00:00.000Z"}}`
			}
			s.Want("", fmt.Sprintf(`{ frontPage(at: %q) { at } }`, at), want)
		}
		s.Want("", `{ articles { id bestRank { rank at } ranks(hours: 2) { at rank } } }`, `{"articles": [
			{"id": "article:3", "bestRank": {"rank": 1, "at": "2026-01-02T05:00:00.000Z"}, "ranks": [{"at": "2026-01-02T05:00:00.000Z", "rank": 1}, {"at": "2026-01-02T06:00:00.000Z", "rank": 1}]},
			{"id": "article:2", "bestRank": {"rank": 1, "at": "2026-01-02T04:00:00.000Z"}, "ranks": [{"at": "2026-01-02T05:00:00.000Z", "rank": 2}, {"at": "2026-01-02T06:00:00.000Z", "rank": 2}]}]}`)
		a := s.Ask("", `{ article(id: 2) { ranks(hours: 721) { rank } } }`)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "BAD_USER_INPUT" {
			t.Errorf("ranks of 721 hours: got %v, want BAD_USER_INPUT", a)
		}
	})
}

// rankings is a hook that counts the rankings that are read at once. Those by HALF_LIFE wait until they may go on.
type rankingSite struct {
	running, most atomic.Int32
	goOn          chan struct{}
}

func (r *rankingSite) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	asks := func(formula string) bool {
		return slices.ContainsFunc(commands, func(c redis.Cmder) bool { return slices.Contains(c.Args(), any(formula)) })
	}
	if waits := asks("HALF_LIFE"); waits || asks("LINEAR") {
		for now := r.running.Add(1); ; {
			if most := r.most.Load(); most >= now || r.most.CompareAndSwap(most, now) {
				break
			}
		}
		defer r.running.Add(-1)
		if waits {
			select {
			case <-r.goOn:
			case <-ctx.Done():
			}
		}
	}
	return send(ctx, commands)
}

// However much an address asks for, its operations use half of the CPUs at once, also those whose answers others share. Those of
// other addresses need not wait for them.
func TestOperationsOfAnAddressTakeTurns(t *testing.T) {
	t.Parallel()
	client, hook := redistest.Start(t).Client, &rankingSite{goOn: make(chan struct{})}
	client.AddHook(redistest.Hook(hook.hook))
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 1_000_000, Window: time.Minute}}))
	s.Post("alice", "t")
	ask := func(halfLife int) string {
		return s.AskText("", fmt.Sprintf(`{ ranking(by: {formula: HALF_LIFE, halfLife: %d}, postedBefore: %q) { totalCount } }`, halfLife, after(time.Second)))
	}
	answers := make(chan string, max(1, runtime.GOMAXPROCS(0)/2))
	for n := range cap(answers) {
		go func() { answers <- ask(1000 + n) }()
	}
	require.Eventually(t, "as many rankings are read", func() bool { return int(hook.running.Load()) == cap(answers) })
	if body := ask(2000); sitetest.CodeOf(t, body) != "UNAVAILABLE" {
		t.Errorf("one operation more: got %s, want UNAVAILABLE", body)
	}
	const other = `{ ranking(by: {formula: LINEAR}, first: 1) { nodes { title } } }`
	if _, body, err := s.AskBy(sitetest.ClientFrom(t, "127.0.0.2"), other); err != nil || body != `{"data":{"ranking":{"nodes":[{"title":"t"}]}}}` {
		t.Errorf("a ranking for another address: got %s, %v, want one", body, err)
	}
	close(hook.goOn)
	for range cap(answers) {
		if body := <-answers; body != `{"data":{"ranking":{"totalCount":1}}}` {
			t.Errorf("got %s, want the number of articles", body)
		}
	}
}

func TestRankingsOfOneResponseAreReadOneAfterAnother(t *testing.T) {
	t.Parallel()
	client, hook := redistest.Start(t).Client, &rankingSite{}
	client.AddHook(redistest.Hook(hook.hook))
	s := sitetest.New(t, client, site.DefaultRules())
	s.Post("alice", "t")
	for n := range 10 {
		var query strings.Builder
		for i := range 10 {
			fmt.Fprintf(&query, " r%d: ranking(by: {formula: LINEAR, voteScore: %d}) { totalCount }", i, 1+10*n+i)
		}
		if a := s.Ask("", "{"+query.String()+" }"); len(a.Data) != 10 || len(a.Errors) > 0 {
			t.Fatalf("got %v, want 10 rankings", a)
		}
	}
	if most := hook.most.Load(); most != 1 {
		t.Errorf("%d rankings were read at once, want 1", most)
	}
}
