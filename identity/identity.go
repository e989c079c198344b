// Package identity authenticates the callers of HTTP requests and WebSockets: by a signed token, by the cookie of a
// session, by a header that an authenticating proxy sets or, for development, by a header that any client can set.
// Invalid credentials are rejected; they never fall back to anonymous.
package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Caller is the user who sent a request. The zero value is an anonymous caller.
type Caller struct {
	Name      string // empty for anonymous callers
	Moderator bool
	Service   bool      // a program that may act for users
	Via       string    // the service that acts for Name; empty: Name itself acts
	Created   time.Time // when the account was created, as a claim says; else zero
	Expires   time.Time // when the token stops being accepted, or the session has to be read again; else zero

	session string // the value of the cookie; empty: another credential
}

// Options say how callers are authenticated. ValidName is required, and exactly one of Secret, JWKS,
// ProxyHeader and Development. Sessions may be set instead of these, or in addition to Secret or JWKS.
type Options struct {
	// ValidName returns an error if a user cannot have this name. Its message is shown to the client. It is not
	// called with empty names, which are never accepted.
	ValidName func(name string) error

	// Secret accepts tokens signed with HS256 and this secret of at least 32 bytes.
	Secret string
	// JWKS is where the issuer publishes its keys as a JSON Web Key Set, or a file with them; tokens signed with RS256,
	// ES256 or EdDSA and one of them are accepted. A URL begins with https://, or with http:// for a host on this machine,
	// and redirects are not followed. Both are loaded again in the same intervals.
	JWKS string

	// Issuer is the required value of a token's iss claim. It is required with JWKS, because many services may trust one
	// issuer's keys; with a secret, empty means that iss is not checked.
	Issuer string
	// Audience lists the names of this server: a token's aud claim must contain one of them. It is required with JWKS,
	// and optional with a secret, as Issuer is.
	Audience []string
	// RolesClaim is the path of the claim with the user's roles, such as realm_access.roles, in a form that Roles.In reads.
	// Empty means roles.
	RolesClaim string
	// NameClaim is the path of the claim that names the user of a token. Empty means sub. With any other claim, which a user
	// may be able to change at the issuer, a user keeps the first name: that needs Accounts.
	NameClaim string
	// CreatedClaim is the path of the claim with the time when the user's account was created, in Unix seconds or as in
	// RFC 3339. Empty means that tokens have no such claim.
	CreatedClaim string
	// Accounts are the users of the site's own sign-in: a token of its issuer names the same user. nil: the site has no
	// sign-in of its own.
	Accounts *Accounts
	// Leeway is the accepted difference between the clocks of the issuer and of this server. 0 means 30 s.
	Leeway time.Duration
	// Refresh is the time between two loads of the keys. 0 means 5 min.
	Refresh time.Duration
	// Pause is the minimum time between two loads, also after a failure or for an unknown key. 0 means 10 s, or Refresh if
	// that is less.
	Pause time.Duration

	// ProxyHeader is the header in which an authenticating proxy names the user. The proxy must set or remove
	// it, and RolesHeader, in every request.
	ProxyHeader string
	// RolesHeader is the header in which the proxy lists the user's roles, separated by blanks or commas. Empty
	// means that there are no moderators.
	RolesHeader string
	// Proxies are the addresses from which ProxyHeader is accepted.
	Proxies []netip.Prefix

	// Development trusts the headers X-User-ID and X-User-Roles of every client. The program must make sure
	// that only this machine can connect.
	Development bool

	// ModeratorRole is the role of moderators. Empty means moderator.
	ModeratorRole string
	// Moderators are the names of users who are moderators whatever roles their credentials have.
	Moderators []string

	// Sessions are the sessions of users who sign in on the site. They apply to requests without a token.
	Sessions *Sessions

	// Log receives lines about loading keys, and about claims that cannot be read. nil discards them.
	Log *slog.Logger
	// Now is the clock. nil means time.Now.
	Now func() time.Time
	// Transport fetches JWKS. nil means http.DefaultTransport.
	Transport http.RoundTripper

	// Names are the names of options in errors, for example "Secret": "JWT_SECRET". The default is the field's name.
	Names map[string]string
}

// Verifier authenticates callers. It is safe for concurrent use, and its methods never wait for the network
// or a file, except when Sessions.Find or Accounts.Find does.
type Verifier struct {
	mode      string
	validName func(string) error

	moderators    []string // names
	moderatorRole string

	tokens     *tokens                     // nil: no tokens are accepted
	sessions   *Sessions                   // nil: there are none
	protection *http.CrossOriginProtection // from pages of other origins

	nameHeader  string         // with the token or the name of the user
	nameKey     string         // of nameHeader in http.Header
	rolesHeader string         // empty: no moderators
	proxied     bool           // the headers are accepted from proxies only
	proxies     []netip.Prefix // at least one if proxied
}

// New creates a Verifier. It returns an error if options conflict or are missing, or if a file cannot be used.
//
// Keys from a URL are fetched before New returns. If the issuer does not return a usable key set within five
// seconds, New logs a warning and succeeds: tokens are rejected with KeyUnknown until a fetch succeeds. After
// that, the last usable set stays in use however long the issuer is down. Keys are reloaded in the background
// until ctx ends.
func New(ctx context.Context, o Options) (*Verifier, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	v := &Verifier{
		protection: http.NewCrossOriginProtection(), moderators: o.Moderators, moderatorRole: cmp.Or(o.ModeratorRole, moderator),
		validName: o.ValidName, nameHeader: authorization, nameKey: authorization, sessions: o.Sessions,
	}
	if o.Sessions != nil {
		if err := v.protection.AddTrustedOrigin(o.Sessions.Origin); err != nil {
			return nil, err
		}
	}
	switch {
	case o.Development:
		v.mode = "development mode without authentication: the header " + developmentName + " names the user"
		v.nameHeader, v.nameKey, v.rolesHeader = developmentName, http.CanonicalHeaderKey(developmentName), developmentRoles
		return v, nil
	case o.ProxyHeader != "":
		v.mode = "users are authenticated by the header " + o.ProxyHeader + " of a trusted proxy"
		v.nameHeader, v.nameKey, v.rolesHeader = o.ProxyHeader, http.CanonicalHeaderKey(o.ProxyHeader), o.RolesHeader
		v.proxied, v.proxies = true, o.Proxies
		return v, nil
	case !o.hasTokens():
		v.mode = o.Sessions.mode()
		return v, nil
	}

	o.NameClaim = cmp.Or(o.NameClaim, subjectClaim)
	o.RolesClaim = cmp.Or(o.RolesClaim, defaultRolesClaim)
	o.Leeway = cmp.Or(o.Leeway, 30*time.Second)
	o.Refresh = cmp.Or(o.Refresh, 5*time.Minute)
	o.Pause = cmp.Or(o.Pause, min(10*time.Second, o.Refresh))
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Transport = cmp.Or(o.Transport, http.DefaultTransport)
	t, err := newTokens(ctx, o)
	if err != nil {
		return nil, err
	}
	v.tokens, v.mode = t, "users are authenticated by tokens signed with a shared secret"
	if t.keys != nil {
		v.mode = "users are authenticated by tokens signed with a key from " + t.keys.source
	}
	if v.sessions != nil {
		v.mode = v.sessions.mode() + "; programs: " + v.mode
	}
	return v, nil
}

// String says in one line how callers are authenticated. It contains no secret.
func (v *Verifier) String() string { return v.mode }

// promote returns the caller as a moderator if Options.Moderators has its name.
func (v *Verifier) promote(c Caller) Caller {
	c.Moderator = c.Moderator || slices.Contains(v.moderators, c.Name)
	return c
}

// NamedByHeader reports whether a header names the callers, not a token or a session.
func (v *Verifier) NamedByHeader() bool { return v.tokens == nil && v.sessions == nil }

// Code is the reason why a caller is rejected.
type Code string

// The closed set of codes.
const (
	Expired     Code = "TOKEN_EXPIRED"     // the token was valid and has expired: get a new one
	Invalid     Code = "TOKEN_INVALID"     // the token will never be accepted
	KeyUnknown  Code = "TOKEN_KEY_UNKNOWN" // the token names a key that is not loaded yet: retry in a few seconds
	NameInvalid Code = "USER_NAME_INVALID" // the header is not exactly one valid user name
	Untrusted   Code = "PROXY_UNTRUSTED"   // the proxy's header came from an address that is not a proxy's
	NotService  Code = "FORBIDDEN"         // the caller is not a service, which may act for a user

	SessionEnded Code = "SESSION_ENDED"      // the cookie's session has ended: sign in again
	ForeignPage  Code = "ORIGIN_NOT_ALLOWED" // a page of another origin sent the cookie of a session
	Unavailable  Code = "UNAVAILABLE"        // the user of the session or token cannot be read now; the request can be repeated
)

// Refusal rejects a caller. It is the only error that the methods of a Verifier return. Its Message is safe to show to
// the client: it contains no part of the token and no text of a library. The wrapped error is for the log only.
type Refusal struct {
	Code    Code
	Message string // one sentence in lower case, without a full stop
	cause   error
}

func (r *Refusal) Error() string { return r.Message }

// Unwrap returns the cause of the refusal, or nil if the message says everything.
func (r *Refusal) Unwrap() error { return r.cause }

// name returns what errors call the option.
func (o Options) name(field string) string { return cmp.Or(o.Names[field], field) }

// list names several options, for example "A, B and C".
func (o Options) list(conjunction string, fields ...string) string {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = o.name(field)
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// where returns those of the fields whose value is true.
func where(fields []string, values ...bool) (found []string) {
	for i, value := range values {
		if value {
			found = append(found, fields[i])
		}
	}
	return found
}

// hasTokens reports whether tokens are accepted.
func (o Options) hasTokens() bool {
	return o.Secret != "" || o.JWKS != ""
}

// validate checks everything that needs no file and no network.
func (o Options) validate() error {
	byToken := []string{"Secret", "JWKS"}
	modes := append(byToken[:2:2], "ProxyHeader", "Development")
	chosen := where(modes, o.Secret != "", o.JWKS != "", o.ProxyHeader != "", o.Development)
	claims := where([]string{"Issuer", "Audience"}, o.Issuer != "", len(o.Audience) > 0)
	missing := where([]string{"Issuer", "Audience"}, o.Issuer == "", len(o.Audience) == 0)
	proxy := where([]string{"RolesHeader", "Proxies"}, o.RolesHeader != "", len(o.Proxies) > 0)
	negative := where([]string{"Leeway", "Refresh", "Pause"}, o.Leeway < 0, o.Refresh < 0, o.Pause < 0)
	switch {
	case o.ValidName == nil:
		return errors.New("ValidName is missing")
	case o.NameClaim != "" && o.NameClaim != subjectClaim && o.Accounts == nil:
		return fmt.Errorf("%s needs Accounts", o.name("NameClaim"))
	case o.Sessions != nil && (o.ProxyHeader != "" || o.Development):
		return fmt.Errorf("set only one of %s", o.list("and", "Sessions", chosen[0]))
	case o.Sessions != nil && !o.hasTokens() && len(claims) > 0:
		return fmt.Errorf("%s: only tokens have an issuer and an audience: set one of %s, too", o.list("and", claims...), o.list("or", byToken...))
	case len(chosen) == 0 && o.Sessions == nil:
		return fmt.Errorf("set exactly one of %s", o.list("and", modes...))
	case len(chosen) > 1:
		return fmt.Errorf("set only one of %s", o.list("and", chosen...))
	case (o.ProxyHeader != "" || o.Development) && len(claims) > 0:
		return fmt.Errorf("%s: only tokens have an issuer and an audience: set one of %s, too", o.list("and", claims...), o.list("or", byToken...))
	case o.JWKS != "" && len(missing) > 0:
		return fmt.Errorf("%s needs %s: other services may trust the same keys", o.name(chosen[0]), o.list("and", missing...))
	case o.ProxyHeader == "" && len(proxy) > 0:
		return fmt.Errorf("%s: set %s, too: the header in which the proxy names the user", o.list("and", proxy...), o.name("ProxyHeader"))
	case o.ProxyHeader != "" && len(o.Proxies) == 0:
		return fmt.Errorf("%s needs %s: the addresses of the proxies that set the header", o.name("ProxyHeader"), o.name("Proxies"))
	case len(negative) > 0:
		return fmt.Errorf("%s: a time cannot be negative", o.list("and", negative...))
	}
	for _, audience := range o.Audience {
		if audience == "" {
			return fmt.Errorf("%s: an audience is empty", o.name("Audience"))
		}
	}
	for _, name := range o.Moderators {
		if name == "" {
			return fmt.Errorf("%s: a name is empty", o.name("Moderators"))
		}
		if err := o.ValidName(name); err != nil {
			return fmt.Errorf("%s: %w", o.name("Moderators"), err)
		}
	}
	for _, proxy := range o.Proxies {
		if !proxy.IsValid() {
			return fmt.Errorf("%s: a prefix is invalid: write it like 10.0.0.1/32 or fd00::/8", o.name("Proxies"))
		}
	}
	return nil
}
