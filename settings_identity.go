package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"frontpage/endpoint"
	"frontpage/identity"
)

// recognition are the settings of who is asking.
type recognition struct {
	JWTSecret       string         `env:"JWT_SECRET" name:"jwt-secret" placeholder:"TEXT" help:"At least 32 bytes with which tokens are signed by HS256. Better in the environment, or in a file, than on the command line."`
	JWTSecretFile   string         `env:"JWT_SECRET_FILE" name:"jwt-secret-file" placeholder:"FILE" help:"File with that secret."`
	JWKSURL         string         `env:"JWKS_URL" name:"jwks-url" placeholder:"URL" help:"Where the issuer of tokens publishes its keys, for RS256, ES256 and EdDSA."`
	JWKSFile        string         `env:"JWKS_FILE" name:"jwks-file" placeholder:"FILE" help:"File with such keys."`
	JWTIssuer       string         `env:"JWT_ISSUER" name:"jwt-issuer" placeholder:"TEXT" help:"What the claim iss of a token must be. Needed with keys, optional with a secret."`
	JWTAudience     []string       `env:"JWT_AUDIENCE" name:"jwt-audience" placeholder:"TEXT,..." help:"One of these must be in the claim aud. Needed with keys, optional with a secret."`
	JWTRolesClaim   string         `env:"JWT_ROLES_CLAIM" name:"jwt-roles-claim" default:"roles" help:"Claim that holds roles, with dots to look inside, such as realm_access.roles. The role moderator makes a moderator."`
	JWTLeeway       time.Duration  `env:"JWT_LEEWAY" name:"jwt-leeway" default:"30s" help:"How far the clock of the issuer may be off."`
	JWKSRefresh     time.Duration  `env:"JWKS_REFRESH" name:"jwks-refresh" default:"5m" help:"How often the keys are loaded again."`
	ProxyUserHeader string         `env:"PROXY_USER_HEADER" placeholder:"NAME" help:"Header in which an authenticating proxy names the user, such as X-Forwarded-User."`
	ProxyRoleHeader string         `env:"PROXY_ROLES_HEADER" name:"proxy-roles-header" placeholder:"NAME" help:"Header in which it lists the user's roles, such as X-Forwarded-Groups."`
	TrustedProxies  []netip.Prefix `env:"TRUSTED_PROXIES" placeholder:"PREFIX,..." help:"Addresses of proxies, such as 10.0.0.0/8: their headers and their X-Forwarded-For are believed."`

	AuditSecret string `env:"AUDIT_SECRET" placeholder:"TEXT" help:"At least 32 bytes. When set, the time of each vote is recorded, and its address, concealed with this, for as long as voters are kept: see audit."`

	RateVotes     rate `env:"RATE_VOTES" placeholder:"N/TIME" help:"Most votes of one user in a time, such as 60/1m, or off. Default: 60/1m, and off in development mode."`
	RatePosts     rate `env:"RATE_POSTS" placeholder:"N/TIME" help:"Most posts of one user, likewise. Default: 10/10m, and off in development mode."`
	RateChanges   rate `env:"RATE_CHANGES" placeholder:"N/TIME" help:"Most regroupings and deletions of one user, likewise. Default: 30/1m, and off in development mode."`
	RateCost      rate `env:"RATE_COST" placeholder:"N/TIME" help:"Most points of complexity of one user, likewise. Default: 100000/1m, and off in development mode."`
	RateAddresses int  `env:"RATE_ADDRESSES" default:"10" help:"How many times as much as one user one address may do. Who is not signed in has an address only."`
}

// development reports whether anybody may be anybody: nothing says who is asking.
func (r *recognition) development() bool {
	return r.JWTSecret == "" && r.JWTSecretFile == "" && r.JWKSURL == "" && r.JWKSFile == "" && r.ProxyUserHeader == ""
}

func (r *recognition) verifier(ctx context.Context, log *slog.Logger) (*identity.Verifier, error) {
	o := identity.Options{
		Secret: r.JWTSecret, SecretFile: r.JWTSecretFile, JWKSURL: r.JWKSURL, JWKSFile: r.JWKSFile,
		Issuer: r.JWTIssuer, Audience: r.JWTAudience, RolesClaim: r.JWTRolesClaim,
		Leeway:      max(r.JWTLeeway, time.Nanosecond), // there, none is the default
		Refresh:     r.JWKSRefresh,
		ProxyHeader: r.ProxyUserHeader, RolesHeader: r.ProxyRoleHeader,
		Development: r.development(), Log: log,
		ValidName: endpoint.ValidName,
		Names: map[string]string{
			"Secret": "JWT_SECRET", "SecretFile": "JWT_SECRET_FILE", "JWKSURL": "JWKS_URL", "JWKSFile": "JWKS_FILE",
			"Issuer": "JWT_ISSUER", "Audience": "JWT_AUDIENCE", "Leeway": "JWT_LEEWAY", "Refresh": "JWKS_REFRESH",
			"ProxyHeader": "PROXY_USER_HEADER", "RolesHeader": "PROXY_ROLES_HEADER", "Proxies": "TRUSTED_PROXIES",
		},
	}
	if r.ProxyUserHeader != "" {
		o.Proxies = r.TrustedProxies
	}
	v, err := identity.New(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("sign-in: %w", err)
	}
	return v, nil
}

// rates are those that were set and, but in development, the defaults.
func (r *recognition) rates() endpoint.Rates {
	or := func(set rate, most int, window time.Duration) endpoint.Rate {
		if !set.given && !r.development() {
			return endpoint.Rate{Most: most, Window: window}
		}
		return set.Rate
	}
	return endpoint.Rates{
		Votes:     or(r.RateVotes, 60, time.Minute),
		Posts:     or(r.RatePosts, 10, 10*time.Minute),
		Changes:   or(r.RateChanges, 30, time.Minute),
		Cost:      or(r.RateCost, 100_000, time.Minute),
		Addresses: r.RateAddresses,
	}
}

func (r *recognition) check() error {
	if r.JWTLeeway < 0 {
		return fmt.Errorf("--jwt-leeway: %v is below 0", r.JWTLeeway)
	}
	if r.JWKSRefresh < time.Second {
		return fmt.Errorf("--jwks-refresh: %v is below 1s", r.JWKSRefresh)
	}
	if r.AuditSecret != "" && len(r.AuditSecret) < 32 {
		return errors.New("--audit-secret: it has fewer than 32 bytes")
	}
	if r.RateAddresses < 1 || r.RateAddresses > mostRate {
		return fmt.Errorf("--rate-addresses: %d is not between 1 and %d", r.RateAddresses, mostRate)
	}
	return nil
}

// rate is a limit as it is written in a setting.
type rate struct {
	endpoint.Rate
	given bool
}

// mostRate bounds numbers that are multiplied.
const mostRate = 1_000_000_000

var errRate = errors.New("it must look like 60/1m, 1 to 1000000000 in at least 1s, or be off")

// UnmarshalText is for settings.
func (r *rate) UnmarshalText(text []byte) error {
	r.given = true
	if string(text) == "off" {
		r.Rate = endpoint.Rate{}
		return nil
	}
	most, window, found := strings.Cut(string(text), "/")
	var err, windowErr error
	r.Most, err = strconv.Atoi(most)
	r.Window, windowErr = time.ParseDuration(window)
	if !found || err != nil || windowErr != nil || r.Most < 1 || r.Most > mostRate || r.Window < time.Second {
		return errRate
	}
	return nil
}
