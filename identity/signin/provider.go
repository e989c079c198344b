package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"frontpage/identity"
)

const (
	discoveryTimeout = 5 * time.Second
	discoveryPause   = 2 * time.Second // between two attempts
	requestTimeout   = 10 * time.Second
)

// provider is what the site knows of the provider.
type provider struct {
	*oidc.Provider
	oauth2.Config
	ids        *oidc.IDTokenVerifier
	endSession string // where users sign out; empty: nowhere
}

// discovery is what became of looking for the provider.
type discovery struct {
	mu      sync.Mutex
	found   *provider
	failed  error
	retryAt time.Time
}

// provider returns the provider. While it cannot be found, it is looked for at most once in a few seconds.
func (s *SignIn) provider(ctx context.Context) (*provider, error) {
	p := &s.discovery
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	if p.failed != nil && time.Now().Before(p.retryAt) {
		return nil, p.failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discoveryTimeout) // others wait for it, too
	defer cancel()
	if p.found, p.failed = s.discover(ctx); p.failed != nil {
		p.failed = reason(p.failed)
	}
	p.retryAt = time.Now().Add(discoveryPause)
	return p.found, p.failed
}

// client returns a context with the client for requests to the provider.
func (s *SignIn) client(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, &http.Client{Transport: s.transport, Timeout: requestTimeout, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if via[0].Method == http.MethodPost || len(via) >= 10 {
			return http.ErrUseLastResponse // or 307 and 308 would send the code or refresh token again
		}
		return nil
	}})
}

// discover reads what the provider says about itself.
func (s *SignIn) discover(ctx context.Context) (*provider, error) {
	found, err := oidc.NewProvider(s.client(ctx), s.o.Issuer)
	if errors.As(err, new(*oidc.IssuerMismatchError)) {
		return nil, &settingError{"Issuer", err}
	}
	if err != nil {
		return nil, err
	}
	var metadata struct {
		EndSession  string   `json:"end_session_endpoint"`
		Keys        string   `json:"jwks_uri"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := found.Claims(&metadata); err != nil {
		return nil, fmt.Errorf("what the provider says about itself: %w", err)
	}
	if found.Endpoint().AuthURL == "" || found.Endpoint().TokenURL == "" {
		return nil, errors.New("the provider names no authorization_endpoint or no token_endpoint")
	}
	endpoint := found.Endpoint()
	if endpoint.AuthStyle, err = s.o.authStyle(metadata.AuthMethods); err != nil {
		return nil, err
	}
	s.transport.limit(metadata.Keys)
	p := &provider{
		Provider: found, endSession: metadata.EndSession,
		ids: found.Verifier(&oidc.Config{ClientID: s.o.ClientID, Now: s.o.Now}),
		Config: oauth2.Config{
			ClientID: s.o.ClientID, ClientSecret: s.o.ClientSecret, Endpoint: endpoint,
			RedirectURL: s.o.PublicURL + callbackPath, Scopes: s.o.Scopes,
		},
	}
	return p, nil
}

// authStyle returns how the site authenticates at a token endpoint that supports these methods. oauth2 would find that out
// by sending a code or a refresh token twice, which works once (RFC 6749, 4.1.2).
func (o Options) authStyle(supported []string) (oauth2.AuthStyle, error) {
	if len(supported) == 0 {
		supported = []string{AuthBasic} // OpenID Connect Discovery 1.0, 3
	}
	switch {
	case o.ClientSecret == "", o.ClientAuth == AuthPost:
		return oauth2.AuthStyleInParams, nil
	case o.ClientAuth != "", slices.Contains(supported, AuthBasic):
		return oauth2.AuthStyleInHeader, nil
	case slices.Contains(supported, AuthPost):
		return oauth2.AuthStyleInParams, nil
	}
	return 0, &settingError{"ClientAuth", fmt.Errorf("the provider names %s as the methods of client authentication at its token endpoint. Allow %s or %s there. "+
		"If it supports one of them without naming it, set this to that method", strings.Join(supported, ", "), AuthBasic, AuthPost)}
}

// settingError is that the provider cannot be used with the settings. Its text has nothing of users.
type settingError struct {
	option string
	cause  error
}

func (e *settingError) Error() string { return e.cause.Error() }

// verify returns an ID token that the provider made for this site. The error is a *tokenError.
func (s *SignIn) verify(ctx context.Context, p *provider, raw string) (*oidc.IDToken, error) {
	id, err := p.ids.Verify(ctx, raw)
	if err != nil {
		return nil, invalidToken(err)
	}
	if id.Subject == "" { // go-oidc accepts that; all such users would be one
		return nil, &tokenError{text: "has no subject"}
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return nil, invalidToken(err)
	}
	// OpenID Connect Core 3.1.3.7, steps 4 and 5. go-oidc leaves them out.
	party, found := claims["azp"]
	if found && party != s.o.ClientID || !found && len(id.Audience) > 1 {
		return nil, &tokenError{text: "was issued to another client"}
	}
	return id, nil
}

// user is what the provider says about a user.
type user struct {
	subject string
	claims  map[string]any // of the ID token
	info    map[string]any // what the UserInfo endpoint has
}

// claim returns the claim at a path, or nil. The ID token takes precedence.
func (u user) claim(path string) any {
	if value := identity.Claim(u.claims, path); value != nil {
		return value
	}
	return identity.Claim(u.info, path)
}

func (u user) name(path string) string {
	name, _ := u.claim(path).(string)
	return name
}

func (s *SignIn) isModerator(u user) bool {
	return s.o.RolesClaim != "" && slices.Contains(s.roles.In(u.claim(s.o.RolesClaim)), s.o.Moderator)
}

// user returns the claims of a verified ID token. What it lacks is read from where the provider has more about users,
// if it has such a place.
func (s *SignIn) user(ctx context.Context, p *provider, id *oidc.IDToken, tokens *oauth2.Token) (user, error) {
	u := user{subject: id.Subject}
	if err := id.Claims(&u.claims); err != nil {
		return u, fmt.Errorf("the claims of the ID token: %w", err)
	}
	complete := u.name(s.o.NameClaim) != ""
	for _, path := range []string{s.o.RolesClaim, s.o.CreatedClaim} {
		complete = complete && (path == "" || u.claim(path) != nil)
	}
	if complete || p.UserInfoEndpoint() == "" {
		return u, nil
	}
	var err error
	u.info, err = s.userInfo(ctx, p, id.Subject, tokens)
	return u, err
}

// userInfo returns the claims of a subject that the provider's UserInfo endpoint has.
func (s *SignIn) userInfo(ctx context.Context, p *provider, subject string, tokens *oauth2.Token) (claims map[string]any, err error) {
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, fmt.Errorf("the user's claims: %w", err)
	}
	if info.Subject != subject {
		return nil, errOtherUser
	}
	if err := info.Claims(&claims); err != nil {
		return nil, fmt.Errorf("the user's claims: %w", err)
	}
	return claims, nil
}

// keysPause is the least time between two requests for the provider's keys. An ID token that names an unknown key causes
// one.
const keysPause = 5 * time.Second

var errKeysPause = errors.New("the keys were read a moment ago")

// statusError is that a provider answered a request for something with a status of 400 or more. It leaves out what the
// body says, which may be about a user.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("the answer has status %d", e.status) }

// transport sends requests to the provider: those for its keys at most once in a while, and those for tokens once.
type transport struct {
	http.RoundTripper
	now           func() time.Time
	authorization string // in requests for tokens; empty: the default of oauth2

	mu   sync.Mutex
	keys string    // their address; empty until it is known
	next time.Time // when they may be asked for again
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet && !t.allows(req.URL.String()) {
		return nil, errKeysPause
	}
	if req.Method == http.MethodPost {
		req = req.Clone(req.Context())
		req.GetBody = nil // or HTTP/2 would send it again after some errors
		if t.authorization != "" {
			req.Header.Set("Authorization", t.authorization)
		}
	}
	res, err := t.RoundTripper.RoundTrip(req)
	if err == nil && req.Method == http.MethodGet && res.StatusCode >= http.StatusBadRequest {
		_ = res.Body.Close()
		return nil, &statusError{res.StatusCode}
	}
	return res, err
}

// allows reports whether an address may be asked for now.
func (t *transport) allows(address string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == "" || address != t.keys {
		return true
	}
	now := t.now()
	if now.Before(t.next) {
		return false
	}
	t.next = now.Add(keysPause)
	return true
}

// limit says where the keys are.
func (t *transport) limit(keys string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keys = keys
}
