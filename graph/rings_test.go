package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// asText is the data and the codes of the errors of an answer.
func asText(t *testing.T, a sitetest.Answer) string {
	t.Helper()
	text := string(require.Value(json.Marshal(a.Data))(t))
	for _, e := range a.Errors {
		text += " " + e.Extensions.Code
	}
	return text
}

// withRing fills a site with articles, readers, and three users who vote together on nine articles.
func withRing(s *sitetest.Site) {
	for i := range 120 {
		id := s.Post(fmt.Sprint("poster", i), fmt.Sprint("article ", i), "go")
		s.Vote(fmt.Sprint("reader", i%10), id, "UP")
		for _, user := range []string{"ann", "ben", "cat"} {
			if i < 9 {
				s.Vote(user, id, "UP")
			}
		}
		s.Advance(time.Second)
	}
}

// Moderators alone find who votes together; what is found is kept for ten minutes, and one run at a time looks for it.
func TestRingsAreForModerators(t *testing.T) {
	t.Parallel()
	var scans sync.Map
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules())
	withRing(s)
	client.AddHook(redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		if commands[0].Name() == "scan" {
			scans.Store(commands[0], true)
		}
		return send(ctx, commands)
	}))
	const all = `{ voteRings { users(first: 2) { name } userCount articles(first: 1) { id poster { name } } articleCount together surprise medianGap } }`
	for _, user := range []string{"", "ann"} {
		if got := asText(t, s.Ask(user, all)); got != `{"voteRings":null} FORBIDDEN` {
			t.Errorf("%s: %s", user, got)
		}
	}
	want := `{"voteRings":[{"articleCount":9,"articles":[{"id":"article:1","poster":{"name":"poster0"}}],"medianGap":0,"surprise":`
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got := asText(t, as(s, "mod", "moderator", all)); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, `,"together":9,"userCount":3,"users":[{"name":"ann"},{"name":"ben"}]}]}`) {
				t.Errorf("a moderator finds %s", got)
			}
		})
	}
	group.Wait()
	count := func() (n int) { scans.Range(func(any, any) bool { n++; return true }); return n }
	once := count()
	s.Vote("dan", "article:1", "UP")
	as(s, "mod", "moderator", all)
	if once == 0 || count() != once {
		t.Errorf("%d scans, and then %d", once, count())
	}
	s.Advance(10 * time.Minute)
	as(s, "mod", "moderator", all)
	if count() != 2*once {
		t.Errorf("after ten minutes: %d scans, want %d", count(), 2*once)
	}
	for _, arguments := range []string{`(days: 0)`, `(days: 367)`, `(first: 0)`, `(first: 101)`} {
		if got := asText(t, as(s, "mod", "moderator", `{ voteRings`+arguments+` { userCount } }`)); got != `{"voteRings":null} BAD_USER_INPUT` {
			t.Errorf("voteRings%s: %s", arguments, got)
		}
	}
	if got := asText(t, as(s, "mod", "moderator", `{ voteRings(days: 1) { users(first: 0) { name } } }`)); !strings.Contains(got, "BAD_USER_INPUT") {
		t.Errorf("no users of a ring: %s", got)
	}
}
