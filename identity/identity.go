// Package identity finds out who is asking: by a signed token, by a header that
// an authenticating proxy sets, or, for development, by a header that anybody
// may set. Whoever shows something that does not hold is refused, never taken
// for nobody.
package identity

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"frontpage/redisrepo"
)

// Person is who is asking. The zero value is nobody.
type Person struct {
	Name      redisrepo.UserName
	Moderator bool
	Expires   time.Time // from when on the same token is refused; zero: there is no token
}

// Options say how people are recognised. Exactly one of Secret, SecretFile,
// JWKSURL, JWKSFile, ProxyHeader and Development must be set.
type Options struct {
	// Secret makes tokens signed by HS256 count. It has at least 32 bytes.
	Secret string
	// SecretFile is a file with the secret, without the line ends after it. It
	// is read once.
	SecretFile string
	// JWKSURL is where the issuer publishes its keys as a JSON Web Key Set. They
	// make tokens signed by RS256, ES256 and EdDSA count. It begins with
	// https://, or http:// on this machine; redirects are not followed.
	JWKSURL string
	// JWKSFile is a file with such a set, read again whenever a URL would be
	// fetched again.
	JWKSFile string

	// Issuer is what the claim iss of a token must be. Required with JWKSURL and
	// JWKSFile, because many services may trust one issuer's keys; elsewhere,
	// empty means that iss is not looked at.
	Issuer string
	// Audience names this server, maybe in several ways: the claim aud of a token
	// must have one of them. Required and optional as Issuer is.
	Audience []string
	// RolesClaim is the claim that holds roles: an array of strings, or a string
	// with blanks between. A claim within a claim is written as a path, such as
	// realm_access.roles. Empty means roles.
	RolesClaim string
	// Leeway is how far the issuer's clock and ours may be apart. 0 means 30 s.
	Leeway time.Duration
	// Refresh is how often the keys are loaded again. 0 means 5 min.
	Refresh time.Duration
	// Pause is the least time between two loads, also when one failed or a token
	// names an unknown key. 0 means 10 s, or Refresh if that is less.
	Pause time.Duration

	// ProxyHeader is the header in which an authenticating proxy names the user.
	// The proxy must set or remove it, and RolesHeader, in every request.
	ProxyHeader string
	// RolesHeader is the header in which the proxy lists roles, with blanks or
	// commas between. Empty means that nobody is a moderator.
	RolesHeader string
	// Proxies are the addresses whose ProxyHeader counts.
	Proxies []netip.Prefix

	// Development trusts the headers X-User-ID and X-User-Roles of everybody. The
	// caller must see to it that nobody but this machine can connect.
	Development bool

	// Log gets what happens to the keys. nil drops it.
	Log *slog.Logger
	// Now is the clock. nil means time.Now.
	Now func() time.Time
	// Transport fetches JWKSURL. nil means http.DefaultTransport.
	Transport http.RoundTripper
}

// Verifier recognises people. It is safe for concurrent use, and no call of it
// waits for the network or a file.
type Verifier struct {
	mode string

	tokens *tokens // nil: the headers below say who it is

	nameHeader  string
	rolesHeader string         // empty: nobody is a moderator
	proxied     bool           // the headers count only from proxies
	proxies     []netip.Prefix // of which there is at least one
}

// New makes a Verifier. Options that contradict each other, lack something or
// name a file that cannot be used are errors.
//
// Keys from a URL are first fetched before New returns. An issuer that does not
// answer, within five seconds, with a usable set is not an error but a warning
// in the log: tokens are refused with KeyUnknown until it does. From then on the
// last usable set counts, however long the issuer is away. Keys are loaded again
// in the background, until ctx ends.
func New(ctx context.Context, o Options) (*Verifier, error) {
	chosen := 0
	for _, set := range []bool{o.Secret != "", o.SecretFile != "", o.JWKSURL != "", o.JWKSFile != "", o.ProxyHeader != "", o.Development} {
		if set {
			chosen++
		}
	}
	byToken := o.ProxyHeader == "" && !o.Development
	switch {
	case chosen != 1:
		return nil, errors.New("exactly one must say who is asking: a secret or its file, a key set's URL or file, a proxy's header, or development mode")
	case !byToken && (o.Issuer != "" || len(o.Audience) > 0):
		return nil, errors.New("an issuer or an audience is given, but neither a secret nor keys to check tokens by")
	case o.ProxyHeader == "" && (o.RolesHeader != "" || len(o.Proxies) > 0):
		return nil, errors.New("a header with roles or addresses of proxies are given, but no header in which a proxy names the user")
	case o.ProxyHeader != "" && len(o.Proxies) == 0:
		return nil, errors.New("the addresses of the proxies whose header counts are missing")
	case min(o.Leeway, o.Refresh, o.Pause) < 0:
		return nil, errors.New("the leeway of tokens, the time between two loads of keys and the pause after one cannot be negative")
	}
	for _, proxy := range o.Proxies {
		if !proxy.IsValid() {
			return nil, errors.New("an address of a proxy cannot be read: it must look like 10.0.0.1/32 or fd00::/8")
		}
	}
	if o.Development {
		return &Verifier{mode: "development mode: whoever sends the header " + developmentName + " is that user",
			nameHeader: developmentName, rolesHeader: developmentRoles}, nil
	}
	if o.ProxyHeader != "" {
		return &Verifier{mode: "the header " + o.ProxyHeader + " of a trusted proxy says who is asking",
			nameHeader: o.ProxyHeader, rolesHeader: o.RolesHeader, proxied: true, proxies: o.Proxies}, nil
	}

	o.RolesClaim = cmp.Or(o.RolesClaim, "roles")
	o.Leeway = cmp.Or(o.Leeway, 30*time.Second)
	o.Refresh = cmp.Or(o.Refresh, 5*time.Minute)
	o.Pause = cmp.Or(o.Pause, min(10*time.Second, o.Refresh))
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	t, err := newTokens(ctx, o)
	if err != nil {
		return nil, err
	}
	if t.keys == nil {
		return &Verifier{mode: "tokens signed with a shared secret say who is asking", tokens: t}, nil
	}
	return &Verifier{mode: "tokens signed with a key of " + t.keys.source + " say who is asking", tokens: t}, nil
}

// String says in one line how people are recognised. It holds no secret.
func (v *Verifier) String() string { return v.mode }
