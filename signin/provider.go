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

// mismatchError is the error of a provider that says that it is another one.
type mismatchError = oidc.IssuerMismatchError

// provider is what the site knows of the provider.
type provider struct {
	*oidc.Provider
	oauth2.Config
	ids        *oidc.IDTokenVerifier
	endSession string // where users sign out; empty: nowhere
}

// providers find the provider once, when that works.
type providers struct {
	open func(context.Context) (*provider, error)

	mu      sync.Mutex
	found   *provider
	failed  error
	retryAt time.Time
}

// get returns the provider. While it cannot be found, it is looked for at most once in a few seconds.
func (p *providers) get(ctx context.Context) (*provider, error) {
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
	if p.found, p.failed = p.open(ctx); p.failed != nil && !errors.As(p.failed, new(*mismatchError)) {
		p.failed = brief(p.failed)
	}
	p.retryAt = time.Now().Add(discoveryPause)
	return p.found, p.failed
}

// client returns a context with the client for requests to the provider.
func (s *SignIn) client(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, &http.Client{Transport: s.o.Transport, Timeout: requestTimeout})
}

// brief returns an error for the log: some have the whole page that a server answered with.
func brief(err error) error {
	const longest = 300 // bytes
	if text := err.Error(); len(text) > longest {
		return errors.New(strings.ToValidUTF8(text[:longest], "") + "...")
	}
	return err
}

// discover reads what the provider says about itself.
func (s *SignIn) discover(ctx context.Context) (*provider, error) {
	found, err := oidc.NewProvider(s.client(ctx), s.o.Issuer)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		EndSession string `json:"end_session_endpoint"`
	}
	if err := found.Claims(&metadata); err != nil {
		return nil, fmt.Errorf("what the provider says about itself: %w", err)
	}
	if found.Endpoint().AuthURL == "" || found.Endpoint().TokenURL == "" {
		return nil, errors.New("the provider names no authorization_endpoint or no token_endpoint")
	}
	p := &provider{
		Provider: found, endSession: metadata.EndSession,
		ids: found.Verifier(&oidc.Config{ClientID: s.o.ClientID, Now: s.o.Now}),
		Config: oauth2.Config{
			ClientID: s.o.ClientID, ClientSecret: s.o.ClientSecret, Endpoint: found.Endpoint(),
			RedirectURL: s.o.PublicURL + callbackPath, Scopes: s.o.scopes(),
		},
	}
	if s.o.ClientSecret == "" {
		p.Config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return p, nil
}

// user is what the provider says about a user.
type user struct {
	subject string
	claims  map[string]any
}

func (u user) name(path string) string {
	name, _ := identity.Claim(u.claims, path).(string)
	return name
}

func (s *SignIn) isModerator(u user) bool {
	return s.o.RolesClaim != "" && slices.Contains(identity.RolesIn(u.claims, s.o.RolesClaim), s.o.Moderator)
}

// user returns the claims of a verified ID token. What it lacks is read from where the provider has more about users,
// if it has such a place.
func (s *SignIn) user(ctx context.Context, p *provider, id *oidc.IDToken, tokens *oauth2.Token) (user, error) {
	u := user{subject: id.Subject}
	if err := id.Claims(&u.claims); err != nil {
		return u, fmt.Errorf("the claims of the ID token: %w", err)
	}
	complete := u.name(s.o.NameClaim) != "" && (s.o.RolesClaim == "" || identity.Claim(u.claims, s.o.RolesClaim) != nil)
	if complete || p.UserInfoEndpoint() == "" {
		return u, nil
	}
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return u, fmt.Errorf("the user's claims: %w", err)
	}
	if info.Subject != id.Subject {
		return u, errors.New("the user's claims are those of another user")
	}
	var more map[string]any
	if err := info.Claims(&more); err != nil {
		return u, fmt.Errorf("the user's claims: %w", err)
	}
	for name, value := range more {
		if _, found := u.claims[name]; !found {
			u.claims[name] = value
		}
	}
	return u, nil
}
