package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/identity/signin"
)

// SignIn are the settings of authentication.
type SignIn struct {
	JWTSecret        string         `name:"jwt-secret" placeholder:"TEXT" help:"Secret of HS256 tokens, at least 32 bytes."`
	JWTSecretFile    string         `name:"jwt-secret-file" hidden:""`
	JWKS             string         `name:"jwks" placeholder:"URL|FILE" help:"The token issuer's public keys (JWKS), for RS256, ES256 and EdDSA: an https URL or a file. Loaded again every 5 minutes."`
	JWTIssuer        string         `name:"jwt-issuer" placeholder:"TEXT" help:"Value that a token's claim iss must have. Required with keys, optional with a secret."`
	JWTAudience      []string       `name:"jwt-audience" placeholder:"TEXT" help:"Values of which a token's claim aud must contain at least one. Required with keys, optional with a secret."`
	JWTNameClaim     string         `name:"jwt-name-claim" default:"sub" help:"Claim of a token that names its user, for issuers other than FRONTPAGE_OIDC_ISSUER; dots separate nested names. From a claim other than sub, a new user gets a name and keeps it for ever."`
	ProxyUserHeader  string         `placeholder:"NAME" help:"Header in which an authenticating proxy names the user, such as X-Forwarded-User."`
	ProxyRolesHeader string         `placeholder:"NAME" help:"Header in which the proxy lists the user's roles, such as X-Forwarded-Groups."`
	TrustedProxies   []netip.Prefix `placeholder:"PREFIX" help:"Addresses of your proxies, such as 192.0.2.1 or 10.0.0.0/8. The headers above and X-Forwarded-For are trusted only from these."`

	RolesClaim    string   `default:"roles" help:"Claim with the roles: an array, a string, or an object with the roles as names. Dots separate nested names, as in realm_access.roles, and may be in names, too."`
	ModeratorRole string   `default:"moderator" help:"Role of moderators, such as the name of a group."`
	Moderators    []string `placeholder:"NAME" help:"Names of users who are moderators without a role, such as alice,bob. At an OIDC provider, let them sign in once before: until then another user may get the name."`

	OIDCIssuer           string        `name:"oidc-issuer" placeholder:"URL" help:"OIDC provider at which users sign in, such as https://login.example.org/realms/site. Needs FRONTPAGE_OIDC_CLIENT_ID and FRONTPAGE_PUBLIC_URL; the provider must allow FRONTPAGE_PUBLIC_URL/sign-in/callback as a redirect URI."`
	OIDCClientID         string        `name:"oidc-client-id" placeholder:"TEXT" help:"Name of this site at the provider."`
	OIDCClientSecret     string        `name:"oidc-client-secret" placeholder:"TEXT" help:"Secret of this site at the provider; unset for a public client."`
	OIDCClientSecretFile string        `name:"oidc-client-secret-file" hidden:""`
	OIDCClientAuth       string        `name:"oidc-client-auth" placeholder:"TEXT" help:"How the site sends the secret: client_secret_basic, client_secret_post, or client_secret_basic_raw for a provider that does not decode what HTTP Basic has (RFC 6749, 2.3.1). Default: client_secret_basic if the provider supports it, else client_secret_post."`
	OIDCScopes           string        `name:"oidc-scopes" default:"openid profile" placeholder:"TEXT" help:"What the site asks the provider for, separated by blanks. Some providers need offline_access to renew sessions, or a scope for roles."`
	OIDCNameClaim        string        `name:"oidc-name-claim" default:"preferred_username" help:"Claim with the name that a user gets and keeps for ever. If it is taken, a number is added, as in alice-2."`
	SessionLifetime      time.Duration `default:"30d" help:"How long after the sign-in, or the last renewal by the provider, a user has to sign in again, at least 1m; more than 400d counts as that."`

	jwtSecret, oidcClientSecret string // or what their files have, set by check
}

// Development reports whether no authentication is configured, so that callers may claim any name.
func (s *SignIn) Development() bool {
	return s.OIDCIssuer == "" && s.JWTSecret == "" && s.JWTSecretFile == "" && s.JWKS == "" && s.ProxyUserHeader == ""
}

func (s *SignIn) check() (err error) {
	if s.jwtSecret, err = secret(s.JWTSecret, s.JWTSecretFile, "jwt-secret", 0); err != nil {
		return err
	}
	if s.OIDCIssuer == "" {
		for flag, value := range map[string]string{
			"oidc-client-id": s.OIDCClientID, "oidc-client-secret": s.OIDCClientSecret, "oidc-client-secret-file": s.OIDCClientSecretFile,
			"oidc-client-auth": s.OIDCClientAuth,
		} {
			if value != "" {
				return Invalid(errors.New("FRONTPAGE_OIDC_ISSUER is missing: the URL of the provider"), flag)
			}
		}
		return nil
	}
	if s.ProxyUserHeader != "" {
		return Invalid(errors.New("set only one of them"), "oidc-issuer", "proxy-user-header")
	}
	if s.SessionLifetime < time.Minute {
		return Invalid(fmt.Errorf("%v is below 1m", s.SessionLifetime), "session-lifetime")
	}
	s.oidcClientSecret, err = secret(s.OIDCClientSecret, s.OIDCClientSecretFile, "oidc-client-secret", 0)
	return err
}

// OIDC returns the sign-in at the OIDC provider, nil without a provider. It requests the provider's endpoints. The
// error is an *Error.
func (s *Settings) OIDC(ctx context.Context, log *slog.Logger) (*signin.SignIn, error) {
	if s.OIDCIssuer == "" {
		return nil, nil
	}
	users, err := signin.New(ctx, signin.Options{
		Issuer: s.OIDCIssuer, ClientID: s.OIDCClientID, ClientSecret: s.oidcClientSecret, ClientAuth: s.OIDCClientAuth, PublicURL: s.Address(), Secure: s.HTTPS(), Scopes: strings.Fields(s.OIDCScopes),
		NameClaim: s.OIDCNameClaim, RolesClaim: s.RolesClaim, CreatedClaim: s.NewUserClaim, Moderator: s.ModeratorRole, Lifetime: s.SessionLifetime, ValidName: endpoint.ValidName, Log: log,
		Client: func(req *http.Request) netip.Addr { return endpoint.NetworkOf(req, s.TrustedProxies) },
		Names: map[string]string{
			"Issuer": Name("oidc-issuer"), "ClientID": Name("oidc-client-id"), "ClientSecret": Name("oidc-client-secret"), "ClientAuth": Name("oidc-client-auth"), "PublicURL": Name("public-url"),
			"NameClaim": Name("oidc-name-claim"), "Lifetime": Name("session-lifetime"),
		},
	})
	if err != nil {
		return nil, Invalid(err)
	}
	return users, nil
}

// Verifier returns a verifier that authenticates callers as configured. It reads the files, fetches the keys, and
// reloads them until ctx ends. users is the result of OIDC, names are those of the same site. The error is an *Error.
func (s *Settings) Verifier(ctx context.Context, users *signin.SignIn, names *signin.Names, log *slog.Logger) (*identity.Verifier, error) {
	o := s.identityOptions()
	o.Log = log
	if o.Accounts != nil {
		o.Accounts.Find = names.Find
	}
	if users != nil {
		o.Sessions = users.Sessions()
	}
	verifier, err := identity.New(ctx, o)
	if err != nil {
		return nil, Invalid(err)
	}
	return verifier, nil
}

// Token returns a token of a user, signed with the secret. The error is an *Error.
func (s *Settings) Token(user string, roles []string, lifetime time.Duration) (string, error) {
	switch {
	case s.Development():
		return "", Invalid(errors.New("it is not set. In development mode no token is needed: the header X-User-ID names the user. "+
			"To try tokens, set it for this command and for the server, for example to the output of openssl rand -hex 32"), "jwt-secret")
	case s.jwtSecret == "":
		return "", Invalid(errors.New("it is not set, so tokens and users come from elsewhere: from the issuer of the keys, or from the proxy"), "jwt-secret")
	}
	text, err := identity.Issue(s.identityOptions(), user, roles, lifetime)
	if err != nil {
		return "", Invalid(err)
	}
	return text, nil
}

func (s *Settings) identityOptions() identity.Options {
	o := identity.Options{
		Secret: s.jwtSecret, JWKS: s.JWKS, Issuer: s.JWTIssuer, Audience: s.JWTAudience, RolesClaim: s.RolesClaim, NameClaim: s.JWTNameClaim, CreatedClaim: s.NewUserClaim,
		ProxyHeader: s.ProxyUserHeader, RolesHeader: s.ProxyRolesHeader,
		Moderators: s.Moderators, ModeratorRole: s.ModeratorRole,
		Development: s.Development(),
		ValidName:   endpoint.ValidName,
		Names: map[string]string{
			"Secret": Name(secretFlag(s.JWTSecretFile, "jwt-secret")), "JWKS": Name("jwks"),
			"Issuer": Name("jwt-issuer"), "NameClaim": Name("jwt-name-claim"), "Audience": Name("jwt-audience"),
			"ProxyHeader": Name("proxy-user-header"), "Sessions": Name("oidc-issuer"), "RolesHeader": Name("proxy-roles-header"), "Proxies": Name("trusted-proxies"), "Moderators": Name("moderators"),
		},
	}
	if s.OIDCIssuer != "" || s.JWTNameClaim != "sub" {
		o.Accounts = &identity.Accounts{Issuer: s.OIDCIssuer, NameClaim: s.OIDCNameClaim}
	}
	if s.ProxyUserHeader != "" {
		o.Proxies = s.TrustedProxies
	}
	return o
}
