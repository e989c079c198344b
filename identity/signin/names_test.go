package signin_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/identity/signin"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const tokenSecret = "0123456789abcdef0123456789abcdef"

// programs is a process of the site that accepts tokens.
type programs struct {
	*sitetest.Site
	ahead atomic.Int64
}

func serveTokens(t *testing.T, client redis.UniversalClient, issuer string, o identity.Options) *programs {
	t.Helper()
	p := &programs{}
	names := signin.NewNames(func() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) })
	o.ValidName = endpoint.ValidName
	o.Accounts = &identity.Accounts{Issuer: issuer, NameClaim: "preferred_username", Find: names.Find}
	p.Site = sitetest.New(t, client, site.DefaultRules(), func(e *endpoint.Options) {
		e.Identity = require.Value(identity.New(t.Context(), o))(t)
	})
	names.Use(p.Repo)
	return p
}

func (p *programs) ask(token, query string) string {
	p.T.Helper()
	_, body, err := p.AskBy(http.DefaultClient, query, "Authorization", "Bearer "+token)
	require.NoError(p.T, err)
	return body
}

func (p *programs) want(token, name string) {
	p.T.Helper()
	if got, want := p.ask(token, `{ viewer { name } }`), fmt.Sprintf(`{"data":{"viewer":{"name":%q}}}`, name); got != want {
		p.T.Errorf("got %s, want %s", got, want)
	}
}

// token signs claims, pairs of name and value.
func token(claims ...any) string {
	all := jwt.MapClaims{"exp": time.Now().Add(time.Hour).Unix()}
	for n := 0; n < len(claims); n += 2 {
		all[claims[n].(string)] = claims[n+1]
	}
	return require.Must(jwt.NewWithClaims(jwt.SigningMethodHS256, all).SignedString([]byte(tokenSecret)))
}

func TestOnePersonIsOneUserBySignInAndByToken(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	api := serveTokens(t, s.Client, i.url, identity.Options{JWKS: i.url + "/keys", Issuer: i.url, Audience: []string{"other"}})
	alice, bob := newBrowser(t), newBrowser(t)
	alice.signIn(s, "alice", "/")
	api.want(i.idToken("other", "alice"), "alice")
	alice.ask(s, `mutation { post(input: {title: "t", text: "x"}) { article { id } } }`)

	const vote = `mutation { vote(input: {article: "1"}) { changed article { upvotes } } }`
	ofBob := i.idToken("other", "bob") // who has not signed in yet
	if got := api.ask(ofBob, vote); !strings.Contains(got, `"changed":true,"article":{"upvotes":2}`) {
		t.Errorf("got %s", got)
	}
	bob.signIn(s, "bob", "/")
	bob.want(s, "bob")
	if got := bob.ask(s, vote); !strings.Contains(got, `"changed":false,"article":{"upvotes":2}`) {
		t.Errorf("a second vote of one person: got %s", got)
	}

	// Another account that wants a name gets its own, once for both.
	api.want(i.idToken("other", "alice@2"), "alice-2")
	namesake := newBrowser(t)
	namesake.signIn(s, "alice@2", "/")
	namesake.want(s, "alice-2")
}

func TestChangedClaimsNeverMoveAUser(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	api := serveTokens(t, s.Client, i.url, identity.Options{Secret: tokenSecret})
	b := newBrowser(t)
	b.signIn(s, "alice", "/")
	for _, claims := range [][]any{
		{"preferred_username", "alice"}, {"preferred_username", "mallory"}, {"preferred_username", 1}, {"preferred_username", "\u202e"}, {},
	} {
		api.want(token(append(claims, "iss", i.url, "sub", "sub-alice")...), "alice")
	}
	// Nor does the claim of another user.
	api.want(token("iss", i.url, "sub", "sub-mallory", "preferred_username", "alice"), "alice-2")
	api.want(token("iss", i.url, "sub", "sub-mallory", "preferred_username", "eve"), "alice-2")
	for _, unnamed := range [][]any{{}, {"preferred_username", ""}, {"preferred_username", strings.Repeat("x", 65)}} {
		if got := api.ask(token(append(unnamed, "iss", i.url, "sub", "sub-unnamed")...), `{ viewer { name } }`); !strings.Contains(got, "sign in with the site once") {
			t.Errorf("got %s", got)
		}
	}
	// A service does not sign in.
	api.want(token("iss", i.url, "sub", "board", "roles", []string{"service"}), "board")
	// A token of another issuer names its user itself.
	api.want(token("iss", "https://other.example", "sub", "carol", "preferred_username", "x"), "carol")
	api.want(token("sub", "dave"), "dave")
}

func TestUsersOfTokensKeepTheirNamesWithoutASignIn(t *testing.T) {
	t.Parallel()
	api := serveTokens(t, redistest.Start(t).Client, "", identity.Options{Secret: tokenSecret, NameClaim: "nick"})
	api.want(token("sub", "1", "nick", "alice"), "alice")
	api.want(token("sub", "2", "nick", "alice"), "alice-2")
	api.want(token("sub", "2", "nick", "eve"), "alice-2")
	api.want(token("sub", "1", "iss", "x", "nick", "alice"), "alice-3") // a subject is one of its issuer
}

func TestVoteByATokenIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	s, i := start(t)
	api := serveTokens(t, s.Client, i.url, identity.Options{Secret: tokenSecret})
	ofAlice, ofBob := token("iss", i.url, "sub", "a", "preferred_username", "alice"), token("sub", "bob")
	api.ask(ofBob, `mutation { post(input: {title: "t", text: "x"}) { article { id } } }`)
	vote := func(token, direction string) int {
		api.Trips.Reset()
		if got := api.ask(token, `mutation { vote(input: {article: "1", direction: `+direction+`}) { changed } }`); !strings.Contains(got, `{"changed":true}`) {
			t.Errorf("got %s", got)
		}
		n, _ := api.Trips.Read()
		return n
	}
	vote(ofAlice, "DOWN") // which records the user
	vote(ofBob, "DOWN")
	if known, named := vote(ofAlice, "UP"), vote(ofBob, "UP"); known != named || known != 1 {
		t.Errorf("got %d round trips, and %d of a token that names its user itself, want 1", known, named)
	}
	api.ahead.Store(int64(5 * time.Minute))
	if got := vote(ofAlice, "DOWN"); got != 2 {
		t.Errorf("got %d round trips when the name has to be read again, want 2", got)
	}
}

func TestUserOfATokenCannotBeReadWithoutTheStore(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	names := signin.NewNames(nil)
	if _, err := names.Find(t.Context(), i.url, "a", "alice"); err == nil {
		t.Error("got no error before the store is loaded")
	}
	v := require.Value(identity.New(t.Context(), identity.Options{
		Secret: tokenSecret, ValidName: endpoint.ValidName, Accounts: &identity.Accounts{Issuer: i.url, NameClaim: "nick", Find: names.Find},
	}))(t)
	req := require.Value(http.NewRequest(http.MethodGet, "http://127.0.0.1/", nil))(t)
	req.Header.Set("Authorization", "Bearer "+token("iss", i.url, "sub", "a", "nick", "alice"))
	_, err := v.FromRequest(req)
	if refused := (*identity.Refusal)(nil); !errors.As(err, &refused) || refused.Code != identity.Unavailable {
		t.Errorf("got %v", err)
	}
}
