// Package signin signs users in with an OIDC provider: by authorization code with PKCE. A user is then known by the
// cookie of a session. Sessions are in the store, so that they, and sign-outs, apply to all processes of a site. Each
// is encrypted with the value of its cookie: a copy of the store neither lets its reader act as a user, nor reveals the
// provider's tokens.
//
// While the provider is down, users cannot sign in, but everything else works: only the requests of this package wait
// for it.
package signin

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/sessions"
)

// The paths that Handle serves.
const (
	Path         = "/sign-in" // the parameter return is the path to come back to
	callbackPath = "/sign-in/callback"
	outPath      = "/sign-out"
)

// How the site sends its secret to the token endpoint.
const (
	AuthBasic    = "client_secret_basic"
	AuthPost     = "client_secret_post"
	AuthBasicRaw = "client_secret_basic_raw" // not form-encoded as RFC 6749, 2.3.1 requires
)

// Options say how users sign in. Issuer, ClientID, PublicURL, NameClaim, Client and ValidName are required.
type Options struct {
	Issuer       string   // URL of the provider
	ClientID     string   // of this site at the provider
	ClientSecret string   // empty for a public client, whose only proof is PKCE
	ClientAuth   string   // AuthBasic, AuthPost or AuthBasicRaw; empty: AuthBasic if the provider supports it, else AuthPost
	PublicURL    string   // origin of the site's pages, to which the provider sends users back
	Secure       bool     // cookies are for https only; implied if PublicURL begins with https:
	Scopes       []string // in addition to openid
	NameClaim    string   // with the name that a user gets here, if no other one has it; nested names by dots
	RolesClaim   string   // as in identity.Options; empty: there are no moderators
	Moderator    string   // the role of moderators
	CreatedClaim string   // as in identity.Options

	// Lifetime is how long a session lasts without a renewal, at most sessions.MaxSession.
	Lifetime time.Duration
	// Client returns the client of a request, such as its address, to which the limit on sign-ins applies. It is required.
	Client func(*http.Request) netip.Addr
	// ValidName is as in identity.Options.
	ValidName func(string) error
	// Recheck is how often the session of an open stream is read again. 0 means 30 s.
	Recheck time.Duration
	// Log receives failures of the provider. nil discards them.
	Log *slog.Logger
	// Now is the clock. nil means time.Now.
	Now func() time.Time
	// Transport sends requests to the provider. nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Names are the names of options in errors, as in identity.Options.
	Names map[string]string
}

// SignIn signs users in. Its methods are safe for concurrent use.
type SignIn struct {
	o          Options
	roles      *identity.Roles
	transport  *transport
	discovery  discovery
	repo       atomic.Pointer[redisrepo.Repo] // nil until Use
	protection *http.CrossOriginProtection
	renewals   chan struct{} // has a value for each renewal that runs
	Counts     Counts
}

// New returns an error if an option is missing or invalid, if the provider names another issuer, or if it supports no
// way to send the secret. If the provider cannot be reached within five seconds, New only logs that, and tries again
// when a user signs in.
func New(ctx context.Context, o Options) (*SignIn, error) {
	o.Recheck = cmp.Or(o.Recheck, 30*time.Second)
	o.Lifetime = min(o.Lifetime, sessions.MaxSession)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Transport = cmp.Or(o.Transport, http.DefaultTransport)
	if !slices.Contains(o.Scopes, "openid") {
		o.Scopes = append([]string{"openid"}, o.Scopes...)
	}
	o.Secure = o.Secure || strings.HasPrefix(o.PublicURL, "https:")
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &SignIn{
		o: o, roles: identity.NewRoles(o.RolesClaim, o.Log), transport: &transport{RoundTripper: o.Transport, now: o.Now},
		protection: http.NewCrossOriginProtection(), renewals: make(chan struct{}, maxRenewals),
	}
	if o.ClientAuth == AuthBasicRaw {
		s.transport.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(o.ClientID+":"+o.ClientSecret))
	}
	if err := s.protection.AddTrustedOrigin(o.PublicURL); err != nil {
		return nil, fmt.Errorf("%s: %w", o.name("PublicURL"), err)
	}
	if _, err := s.provider(ctx); err != nil {
		if wrong, ok := errors.AsType[*settingError](err); ok {
			return nil, fmt.Errorf("%s: %w", o.name(wrong.option), err)
		}
		o.Log.Warn("the OIDC provider cannot be reached: reading works, and each sign-in tries again; check FRONTPAGE_OIDC_ISSUER if this lasts", "issuer", o.Issuer, "err", err)
	}
	return s, nil
}

// Use sets where names and sessions are kept. Before it is called, users cannot sign in, and sessions cannot be read.
func (s *SignIn) Use(repo *redisrepo.Repo) { s.repo.Store(repo) }

// Handle makes mux serve signing in and out.
func (s *SignIn) Handle(mux *http.ServeMux) {
	mux.HandleFunc("GET "+Path, s.start)
	mux.HandleFunc("GET "+callbackPath, s.finish)
	mux.Handle("POST "+outPath, s.protection.Handler(http.HandlerFunc(s.out)))
	// The site's own page for other ways of signing in.
	mux.HandleFunc("GET /signin", func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, address(req.FormValue("to")), http.StatusFound)
	})
}

// address is where a user signs in, to return to a path.
func address(to string) string { return Path + "?" + url.Values{"return": {to}}.Encode() }

// Sessions returns the sessions of users who have signed in. They can be read after Use.
func (s *SignIn) Sessions() *identity.Sessions {
	return &identity.Sessions{Cookie: s.cookieName("session"), Origin: s.o.PublicURL, Find: s.find}
}

func (s *SignIn) cookieName(purpose string) string { return identity.CookieName(purpose, s.o.Secure) }

func (o Options) name(field string) string { return cmp.Or(o.Names[field], field) }

func (o Options) validate() error {
	for _, field := range []struct{ name, value string }{
		{"ClientID", o.ClientID}, {"PublicURL", o.PublicURL}, {"NameClaim", o.NameClaim},
	} {
		if field.value == "" {
			return fmt.Errorf("%s needs %s", o.name("Issuer"), o.name(field.name))
		}
	}
	for _, field := range []struct{ name, value string }{{"Issuer", o.Issuer}, {"PublicURL", o.PublicURL}} {
		u, err := url.Parse(field.value)
		if err != nil || !identity.IsConfidential(u) {
			return fmt.Errorf("%s must begin with https://, or with http:// for a host on this machine", o.name(field.name))
		}
		if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return fmt.Errorf("%s must be an address without user, parameters and fragment", o.name(field.name))
		}
	}
	switch {
	case !slices.Contains([]string{"", AuthBasic, AuthPost, AuthBasicRaw}, o.ClientAuth):
		return fmt.Errorf("%s: %q is not %s, %s or %s", o.name("ClientAuth"), o.ClientAuth, AuthBasic, AuthPost, AuthBasicRaw)
	case o.ClientAuth != "" && o.ClientSecret == "":
		return fmt.Errorf("%s needs %s", o.name("ClientAuth"), o.name("ClientSecret"))
	case o.ClientAuth == AuthBasicRaw && strings.Contains(o.ClientID, ":"):
		return fmt.Errorf("%s: %s has a colon, which ends a name in HTTP Basic: use %s", o.name("ClientAuth"), o.name("ClientID"), AuthPost)
	}
	if o.Lifetime < time.Minute {
		return fmt.Errorf("%s: %v is below 1m", o.name("Lifetime"), o.Lifetime)
	}
	if o.ValidName == nil || o.Client == nil {
		return errors.New("ValidName or Client is missing")
	}
	return nil
}
