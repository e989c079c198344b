package identity_test

import (
	"context"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/tests/require"
)

func TestUnusableOptionsAreRefused(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}
	gone := filepath.Join(t.TempDir(), "gone")
	keySet := write(t, jwks(jwk("a", newEd())))
	tests := map[string]struct {
		options identity.Options
		want    string // part of the error
	}{
		"nothing":                     {identity.Options{}, "set exactly one of JWT_SECRET, JWKS"},
		"a secret and development":    {identity.Options{Secret: secret, Development: true}, "set only one of JWT_SECRET and Development"},
		"a secret and keys":           {identity.Options{Secret: secret, JWKS: keySet, Issuer: "i", Audience: []string{"a"}}, "set only one of JWT_SECRET and JWKS"},
		"a proxy and development":     {identity.Options{ProxyHeader: "X-User", Proxies: proxies, Development: true}, "set only one of PROXY_USER_HEADER and Development"},
		"a short secret":              {identity.Options{Secret: secret[1:]}, "JWT_SECRET: the secret has 31 bytes"},
		"a missing key set":           {identity.Options{JWKS: gone, Issuer: "i", Audience: []string{"a"}}, "JWKS: load keys from " + gone},
		"a key set without keys":      {identity.Options{JWKS: write(t, "{}"), Issuer: "i", Audience: []string{"a"}}, "no usable key"},
		"a key set with a secret key": {identity.Options{JWKS: write(t, jwks(`{"kty":"oct","k":"`+encode([]byte(secret))+`"}`)), Issuer: "i", Audience: []string{"a"}}, "no usable key"},
		"a file without a key set":    {identity.Options{JWKS: write(t, secret), Issuer: "i", Audience: []string{"a"}}, "parse the key set"},
		"a huge key set":              {identity.Options{JWKS: write(t, strings.Repeat(" ", 1<<20)+jwks(jwk("a", newEd()))), Issuer: "i", Audience: []string{"a"}}, "larger than"},
		"keys without an issuer":      {identity.Options{JWKS: keySet, Audience: []string{"a"}}, "JWKS needs JWT_ISSUER:"},
		"keys without an audience":    {identity.Options{JWKS: keySet, Issuer: "i"}, "JWKS needs JWT_AUDIENCE:"},
		"an empty audience":           {identity.Options{Secret: secret, Audience: []string{"a", ""}}, "JWT_AUDIENCE: an audience is empty"},
		"a URL without encryption":    {identity.Options{JWKS: "http://a.example/jwks", Issuer: "i", Audience: []string{"a"}}, "JWKS: a URL must begin with https://"},
		"a URL like a local one":      {identity.Options{JWKS: "http://localhost.example/jwks", Issuer: "i", Audience: []string{"a"}}, "JWKS: a URL must begin with https://"},
		"a URL of a file":             {identity.Options{JWKS: "file:///etc/passwd", Issuer: "i", Audience: []string{"a"}}, "JWKS: a URL must begin with https://"},
		"a URL without a host":        {identity.Options{JWKS: "https:///jwks", Issuer: "i", Audience: []string{"a"}}, "JWKS: a URL must begin with https://"},
		"an invalid URL":              {identity.Options{JWKS: "://user:s3cret@", Issuer: "i", Audience: []string{"a"}}, "JWKS: a URL must begin with https://"},
		"an issuer without tokens":    {identity.Options{Development: true, Issuer: "i"}, "JWT_ISSUER: only tokens"},
		"an audience without tokens":  {identity.Options{ProxyHeader: "X-User", Proxies: proxies, Audience: []string{"a"}}, "JWT_AUDIENCE: only tokens"},
		"a proxy's header, no proxy":  {identity.Options{ProxyHeader: "X-User"}, "PROXY_USER_HEADER needs TRUSTED_PROXIES"},
		"an invalid prefix":           {identity.Options{ProxyHeader: "X-User", Proxies: make([]netip.Prefix, 1)}, "TRUSTED_PROXIES: a prefix is invalid"},
		"proxies without a header":    {identity.Options{Secret: secret, Proxies: proxies}, "TRUSTED_PROXIES: set PROXY_USER_HEADER"},
		"roles without a proxy":       {identity.Options{Development: true, RolesHeader: "X-Roles"}, "PROXY_ROLES_HEADER: set PROXY_USER_HEADER"},
		"a moderator without a name":  {identity.Options{Development: true, Moderators: []string{"a", ""}}, "MODERATORS: a name is empty"},
		"a moderator with a blank":    {identity.Options{Development: true, Moderators: []string{"a", " b"}}, "MODERATORS: a user name has"},
		"a negative leeway":           {identity.Options{Secret: secret, Leeway: -time.Second}, "JWT_LEEWAY: a time cannot be negative"},
		"a negative pause":            {identity.Options{Secret: secret, Pause: -time.Second}, "Pause: a time cannot be negative"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.options.ValidName, tt.options.Names = endpoint.ValidName, names
			v, err := identity.New(t.Context(), tt.options)
			if err == nil {
				t.Fatalf("New = %q, want an error", v)
			}
			if text := err.Error(); !strings.Contains(text, tt.want) || strings.Contains(text, secret[1:]) || strings.Contains(text, "s3cret") {
				t.Errorf("error = %q, want %q in it and no secret", text, tt.want)
			}
		})
	}
}

func TestValidNameIsRequired(t *testing.T) {
	t.Parallel()
	if _, err := identity.New(t.Context(), identity.Options{Development: true}); err == nil || !strings.Contains(err.Error(), "ValidName") {
		t.Errorf("New without ValidName: %v, want an error that names it", err)
	}
}

func TestStringNamesTheModeAndNoSecret(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, o := range []identity.Options{
		{Secret: secret},
		{JWKS: write(t, jwks(jwk("a", newEd()))), Issuer: issuer, Audience: []string{audience}},
		{ProxyHeader: "X-User", Proxies: []netip.Prefix{netip.MustParsePrefix("::1/128")}},
		{Development: true},
	} {
		line := open(t, o).String()
		if line == "" || strings.ContainsAny(line, "\n") || strings.Contains(line, secret) || seen[line] {
			t.Errorf("String() = %q, want one line without the secret, different for each mode", line)
		}
		seen[line] = true
	}
}

func TestIssuedTokenNamesItsUserByEachConfiguredClaim(t *testing.T) {
	t.Parallel()
	var issuerAsked, subjectAsked, wantedName string
	o := identity.Options{
		Secret: secret, Issuer: issuer, NameClaim: "site.name", RolesClaim: "site.roles", ValidName: func(string) error { return nil },
		Accounts: &identity.Accounts{Issuer: "https://login.example", NameClaim: "nick", Find: func(_ context.Context, issuer, subject, wanted string) (string, error) {
			issuerAsked, subjectAsked, wantedName = issuer, subject, wanted
			return "found", nil
		}},
	}
	for _, of := range []string{issuer, "https://login.example"} {
		o.Issuer = of
		token := require.Value(identity.Issue(o, "alice", []string{"moderator"}, time.Hour))(t)
		v := require.Value(identity.New(t.Context(), o))(t)
		req := require.Value(http.NewRequest(http.MethodGet, "/", nil))(t)
		req.Header.Set("Authorization", "Bearer "+token)
		caller, err := v.FromRequest(req)
		if err != nil || caller.Name != "found" || !caller.Moderator || issuerAsked != of || subjectAsked != "alice" || wantedName != "alice" {
			t.Errorf("%s: got %+v, %v for %q, %q, %q", of, caller, err, issuerAsked, subjectAsked, wantedName)
		}
	}
	o.Accounts = nil
	if _, err := identity.New(t.Context(), o); err == nil {
		t.Error("a claim other than sub needs accounts")
	}
}
