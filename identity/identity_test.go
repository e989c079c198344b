package identity_test

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"frontpage/identity"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}
	gone := filepath.Join(t.TempDir(), "gone")
	keySet := write(t, jwks(jwk("a", newEd())))
	tests := map[string]struct {
		options identity.Options
		want    string // a part of the error
	}{
		"nothing":                       {identity.Options{}, "exactly one"},
		"a secret and development":      {identity.Options{Secret: secret, Development: true}, "exactly one"},
		"a secret and keys":             {identity.Options{Secret: secret, JWKSFile: keySet, Issuer: "i", Audience: []string{"a"}}, "exactly one"},
		"a secret twice":                {identity.Options{Secret: secret, SecretFile: gone}, "exactly one"},
		"keys twice":                    {identity.Options{JWKSFile: keySet, JWKSURL: "https://a.example"}, "exactly one"},
		"a proxy and development":       {identity.Options{ProxyHeader: "X-User", Proxies: proxies, Development: true}, "exactly one"},
		"a short secret":                {identity.Options{Secret: secret[1:]}, "31 bytes"},
		"a short secret in a file":      {identity.Options{SecretFile: write(t, secret[1:]+"\n\r\n")}, "31 bytes"},
		"no file with the secret":       {identity.Options{SecretFile: gone}, "read the secret"},
		"no file with keys":             {identity.Options{JWKSFile: gone, Issuer: "i", Audience: []string{"a"}}, "load the keys"},
		"a file without keys":           {identity.Options{JWKSFile: write(t, "{}"), Issuer: "i", Audience: []string{"a"}}, "no key"},
		"a file with a secret key":      {identity.Options{JWKSFile: write(t, jwks(`{"kty":"oct","k":"`+encode([]byte(secret))+`"}`)), Issuer: "i", Audience: []string{"a"}}, "no key"},
		"a file that is no set":         {identity.Options{JWKSFile: write(t, secret), Issuer: "i", Audience: []string{"a"}}, "read the key set"},
		"a huge file":                   {identity.Options{JWKSFile: write(t, strings.Repeat(" ", 1<<20)+jwks(jwk("a", newEd()))), Issuer: "i", Audience: []string{"a"}}, "more than"},
		"keys without an issuer":        {identity.Options{JWKSFile: keySet, Audience: []string{"a"}}, "issuer and an audience"},
		"keys without an audience":      {identity.Options{JWKSFile: keySet, Issuer: "i"}, "issuer and an audience"},
		"an empty audience":             {identity.Options{Secret: secret, Audience: []string{"a", ""}}, "audience of tokens is empty"},
		"a URL without encryption":      {identity.Options{JWKSURL: "http://a.example/jwks", Issuer: "i", Audience: []string{"a"}}, "https://"},
		"a URL almost here":             {identity.Options{JWKSURL: "http://localhost.example/jwks", Issuer: "i", Audience: []string{"a"}}, "https://"},
		"a URL of a file":               {identity.Options{JWKSURL: "file:///etc/passwd", Issuer: "i", Audience: []string{"a"}}, "https://"},
		"a URL without a host":          {identity.Options{JWKSURL: "https:///jwks", Issuer: "i", Audience: []string{"a"}}, "https://"},
		"no URL at all":                 {identity.Options{JWKSURL: "://user:s3cret@", Issuer: "i", Audience: []string{"a"}}, "https://"},
		"an issuer without tokens":      {identity.Options{Development: true, Issuer: "i"}, "neither a secret nor keys"},
		"an audience without tokens":    {identity.Options{ProxyHeader: "X-User", Proxies: proxies, Audience: []string{"a"}}, "neither a secret nor keys"},
		"a proxy's header from nowhere": {identity.Options{ProxyHeader: "X-User"}, "addresses of the proxies"},
		"an empty address of a proxy":   {identity.Options{ProxyHeader: "X-User", Proxies: make([]netip.Prefix, 1)}, "cannot be read"},
		"proxies without a header":      {identity.Options{Secret: secret, Proxies: proxies}, "no header"},
		"roles without a proxy":         {identity.Options{Development: true, RolesHeader: "X-Roles"}, "no header"},
		"a negative leeway":             {identity.Options{Secret: secret, Leeway: -time.Second}, "negative"},
		"a negative pause":              {identity.Options{Secret: secret, Pause: -time.Second}, "negative"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := identity.New(t.Context(), tt.options)
			if err == nil {
				t.Fatalf("New gives %q, want an error", v)
			}
			if text := err.Error(); !strings.Contains(text, tt.want) || strings.Contains(text, secret[1:]) || strings.Contains(text, "s3cret") {
				t.Errorf("the error is %q, want %q in it and no secret", text, tt.want)
			}
		})
	}
}

func TestSecretFile(t *testing.T) {
	t.Parallel()
	v := open(t, identity.Options{SecretFile: write(t, secret+"\r\n")})
	person, err := v.FromToken(sign(header("HS256", ""), claims(), secret))
	want(t, person, err, "alice", "")
}

func TestString(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, o := range []identity.Options{
		{Secret: secret},
		{JWKSFile: write(t, jwks(jwk("a", newEd()))), Issuer: issuer, Audience: []string{audience}},
		{ProxyHeader: "X-User", Proxies: []netip.Prefix{netip.MustParsePrefix("::1/128")}},
		{Development: true},
	} {
		line := open(t, o).String()
		if line == "" || strings.ContainsAny(line, "\n") || strings.Contains(line, secret) || seen[line] {
			t.Errorf("String() = %q", line)
		}
		seen[line] = true
	}
}
