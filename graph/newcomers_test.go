package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const newAge = 3 * site.Day

// young starts a site whose users are new for three days.
func young(t *testing.T, client redis.UniversalClient, change ...func(*endpoint.Options)) *sitetest.Site {
	t.Helper()
	return sitetest.NewWith(t, client, site.DefaultRules(), redisrepo.WithNewUserAge(newAge), change...)
}

// importOne puts article 1 of alice into the store, whatever its partitions.
func importOne(s *sitetest.Site) []error {
	_, errs := s.Repo.Import(s.T.Context(), []redisrepo.Imported{{ID: 1, Poster: "alice", PostedAt: sitetest.Start, Votes: 1, Draft: site.Draft{Title: "an article"}}})
	return errs
}

// downvote votes with headers, and returns the code and the end of the refusal; empty: it was accepted.
func downvote(s *sitetest.Site, header ...string) string {
	s.T.Helper()
	body := s.PostQuery(`mutation { vote(input: {article: 1, direction: DOWN}) { userErrors { code field ... on DeniedError { until reason } } } }`, header...)
	rest, isVote := strings.CutPrefix(body, `{"data":{"vote":{"userErrors":[`)
	if !isVote {
		s.T.Fatal(body)
	}
	return strings.TrimSuffix(rest, `]}}}`)
}

func tooNew(until time.Time) string {
	return fmt.Sprintf(`{"code":"TOO_NEW","field":["direction"],"until":"%s","reason":null}`, until.UTC().Format("2006-01-02T15:04:05.000Z"))
}

func wantDownvote(s *sitetest.Site, who, want string, header ...string) {
	s.T.Helper()
	if got := downvote(s, header...); got != want {
		s.T.Errorf("%s: got %s, want %s", who, got, want)
	}
}

// A user without a claim and without a sign-in is there since the first post or vote. The process looks for that once.
func TestNewUsersSinceTheFirstWrite(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		client := redistest.Start(t).Client
		require.Value(redisrepo.New(t.Context(), client, site.DefaultRules(), redisrepo.WithPartitions(partitions), redisrepo.WithClock(func() time.Time { return sitetest.Start })))(t)
		s := young(t, client)
		require.NoError(t, errors.Join(importOne(s)...))
		ofBob := []string{"X-User-ID", "bob"}
		wantDownvote(s, "bob, who has done nothing", tooNew(sitetest.Start.Add(newAge)), ofBob...)
		s.Advance(site.Day)
		wantDownvote(s, "bob, who has still done nothing", tooNew(sitetest.Start.Add(site.Day+newAge)), ofBob...)
		s.Vote("bob", "1", "UP")
		s.Advance(time.Hour)
		wantDownvote(s, "bob", tooNew(sitetest.Start.Add(site.Day+newAge)), ofBob...)
		wantDownvote(s, "alice", tooNew(sitetest.Start.Add(newAge)), "X-User-ID", "alice")
		wantDownvote(s, "a moderator", "", "X-User-ID", "mod", "X-User-Roles", "moderator")
		wantDownvote(s, "a service", "", "X-User-ID", "bot", "X-User-Roles", "service")
		s.Vote("bob", "1", "UP")
		s.Advance(newAge - 2*time.Hour)
		wantDownvote(s, "bob, an hour before", tooNew(sitetest.Start.Add(site.Day+newAge)), ofBob...)
		s.Advance(time.Hour)
		s.StopListening()
		for _, who := range []string{"bob", "alice"} {
			s.Trips.Reset()
			wantDownvote(s, who+", who is not new", "", "X-User-ID", who)
			if _, commands := s.Trips.Read(); strings.Trim(sitetest.Tally(commands), "0123456789") != "evalsha " { // of the vote, and front pages
				t.Errorf("%s: got %s, want scripts alone", who, sitetest.Tally(commands))
			}
		}
	}
}

// A downvote of a site without new users takes one round trip, as ever.
func TestWithoutNewUsersNothingIsLookedFor(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sitetest.WithRates(endpoint.Rates{Addresses: 1, New: map[string]endpoint.Rate{endpoint.RuleVotes: {Most: 1, Window: time.Hour}}}))
	s.Post("alice", "an article")
	s.Vote("carol", "1", "UP") // the first of a process finds out which front pages are saved
	s.StopListening()
	s.Trips.Reset()
	wantDownvote(s, "bob", "", "X-User-ID", "bob")
	if n, commands := s.Trips.Read(); n != 1 || sitetest.Tally(commands) != "evalsha 1" {
		t.Errorf("got %d round trips with %s, want the vote alone", n, sitetest.Tally(commands))
	}
}

const newSecret = "0123456789abcdef0123456789abcdef"

// bearer returns the header with a token of a user who has claims, pairs of name and value.
func bearer(claims ...any) []string {
	all := jwt.MapClaims{"exp": time.Now().Add(time.Hour).Unix()}
	for i := 0; i < len(claims); i += 2 {
		all[claims[i].(string)] = claims[i+1]
	}
	return []string{"Authorization", "Bearer " + require.Must(jwt.NewWithClaims(jwt.SigningMethodHS256, all).SignedString([]byte(newSecret)))}
}

// The claim of a token decides, if it has a time. That of a service says nothing about the user for whom it acts.
func TestNewUsersByClaim(t *testing.T) {
	t.Parallel()
	s := young(t, redistest.Start(t).Client, func(o *endpoint.Options) {
		o.Identity = require.Must(identity.New(context.Background(), identity.Options{Secret: newSecret, CreatedClaim: "account.created", ValidName: endpoint.ValidName}))
	})
	s.PostQuery(`mutation { post(input: {title: "t", text: "x"}) { article { id } } }`, bearer("sub", "alice")...)
	created := func(at any) map[string]any { return map[string]any{"created": at} }
	day, old := sitetest.Start.Add(-site.Day), sitetest.Start.Add(-newAge)
	unknown := tooNew(sitetest.Start.Add(newAge))
	for name, tt := range map[string]struct {
		claim any
		want  string
	}{
		"a day ago":              {day.Unix(), tooNew(day.Add(newAge))},
		"a day ago, as text":     {"2026-01-01T04:04:05+01:00", tooNew(day.Add(newAge))},
		"long ago":               {old.Unix(), ""},
		"long ago, as text":      {"2025-12-01T00:00:00Z", ""},
		"one second less":        {old.Unix() + 1, tooNew(sitetest.Start.Add(time.Second))},
		"milliseconds":           {old.UnixMilli(), unknown},
		"zero":                   {0, unknown},
		"text that is no time":   {"yesterday", unknown},
		"what is no time either": {true, unknown},
		"null":                   {nil, unknown},
	} {
		wantDownvote(s, name, tt.want, bearer("sub", name, "account", created(tt.claim))...)
	}
	wantDownvote(s, "a service for a user", unknown, append(bearer("sub", "bot", "roles", "service", "account", created(old.Unix())), "X-On-Behalf-Of", "erin")...)
	socket := s.Socket(`{"Authorization":"` + bearer("sub", "frank", "account", created(day.Unix()))[1] + `"}`)
	socket.Subscribe("v", `mutation { vote(input: {article: 1, direction: DOWN}) { userErrors { code } } }`, "")
	if m := socket.Read(); !strings.Contains(string(m.Payload), "TOO_NEW") {
		t.Errorf("on a socket: %s", m.Payload)
	}
}

// A user who signs in on the site is there since the first sign-in, whatever was written under the name before; the account of
// a time before that is kept counts from the first write.
func TestNewUsersSinceTheFirstSignIn(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	var repo *redisrepo.Repo
	s := young(t, client, func(o *endpoint.Options) {
		o.Identity = require.Must(identity.New(context.Background(), identity.Options{ValidName: endpoint.ValidName, Sessions: &identity.Sessions{
			Cookie: "c", Origin: "https://news.example.org",
			Find: func(ctx context.Context, id string) (identity.Caller, error) {
				name, err := repo.Sessions.AccountName(ctx, "account of "+id, id)
				return identity.Caller{Name: string(name)}, err
			},
		}}))
	})
	repo = s.Repo
	of := func(name string) []string { return []string{"Cookie", "c=" + name} }
	s.PostQuery(`mutation { post(input: {title: "t", text: "x"}) { article { id } } }`, of("alice")...)
	s.Advance(site.Day)
	wantDownvote(s, "bob", tooNew(sitetest.Start.Add(site.Day+newAge)), of("bob")...)
	s.Advance(site.Day)
	wantDownvote(s, "bob, a day later", tooNew(sitetest.Start.Add(site.Day+newAge)), of("bob")...)
	require.Value(repo.Vote(t.Context(), 1, "carol", site.Up, ""))(t)
	s.Advance(2 * site.Day)
	wantDownvote(s, "bob, who is not new", "", of("bob")...)
	wantDownvote(s, "carol", tooNew(sitetest.Start.Add(4*site.Day+newAge)), of("carol")...)

	key := repo.Sessions.NameKey("alice")
	digest, _, _ := strings.Cut(client.Get(t.Context(), key).Val(), " ")
	require.NoError(t, client.Set(t.Context(), key, digest, 0).Err())
	wantDownvote(s, "alice, whose account is older", "", of("alice")...)
	wantDownvote(s, "alice again", "", of("alice")...)
}

// New users have rates of their own until they are not new any more; what their address may do stays.
func TestRatesOfNewUsers(t *testing.T) {
	t.Parallel()
	hour := func(most int) endpoint.Rate { return endpoint.Rate{Most: most, Window: time.Hour} }
	client := redistest.Start(t).Client
	s := young(t, client, sitetest.WithRates(endpoint.Rates{
		Votes: hour(4), Posts: hour(3), Addresses: 100,
		New: map[string]endpoint.Rate{endpoint.RuleVotes: hour(2), endpoint.RuleChanges: hour(1)},
	}))
	s.Post("alice", "an article")
	wantVotes := func(user string, most int) {
		t.Helper()
		for i := range most + 1 {
			want := "map[a:done]"
			if i == most {
				want = "map[a:RATE_LIMITED]"
			}
			if got := fmt.Sprint(s.Outcomes(user, `mutation { a: vote(input: {article: 1}) { userErrors { code } } }`)); got != want {
				t.Errorf("vote %d of %s: got %s, want %s", i+1, user, got, want)
			}
		}
	}
	wantVotes("bob", 2)
	s.Post("bob", "another") // by the usual rate
	edit := `mutation { a: editArticle(input: {article: 2, text: "y"}) { userErrors { code } } }`
	if first, second := s.Outcomes("bob", edit)["a"], s.Outcomes("bob", edit)["a"]; first+second != "doneRATE_LIMITED" {
		t.Errorf("got %s and %s, want one edit", first, second)
	}
	if got := fmt.Sprint(sitetest.RateKeys(t, client)); strings.Contains(got, "changes:127") || !strings.Contains(got, "changes:user:bob") {
		t.Errorf("got %s, want changes to be counted for new users alone", got)
	}
	s.Advance(newAge)
	wantVotes("bob", 4)
	if got := s.Outcomes("bob", edit)["a"] + s.Outcomes("bob", edit)["a"]; got != "donedone" {
		t.Errorf("got %s, want no limit", got)
	}
}
