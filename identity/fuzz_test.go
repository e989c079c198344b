package identity_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/tests/require"
)

// wantRefusal checks that an error is a refusal with a known code and without any of the secrets.
func wantRefusal(t *testing.T, got identity.Caller, err error, secrets ...string) {
	t.Helper()
	var refusal *identity.Refusal
	if !errors.As(err, &refusal) || got != (identity.Caller{}) {
		t.Fatalf("got %+v, %v; want a refusal alone", got, err)
	}
	codes := []identity.Code{identity.Expired, identity.Invalid, identity.KeyUnknown, identity.NameInvalid, identity.Untrusted}
	if !slices.Contains(codes, refusal.Code) {
		t.Errorf("code = %q, want one of %q", refusal.Code, codes)
	}
	for _, s := range secrets {
		if len(s) > 8 && strings.Contains(refusal.Message, s) {
			t.Errorf("message = %q, want nothing of %q", refusal.Message, s)
		}
	}
}

// FuzzClaims signs arbitrary claims. Accepted ones name a valid user and have not expired, and the caller is
// what another decoder reads from them.
func FuzzClaims(f *testing.F) {
	for _, seed := range []string{
		claims(), claims("sub", `"Zoë 花"`), claims("sub", `" alice"`), claims("sub", `""`), claims("sub", `17`),
		claims("sub", `"alice\ud800"`), claims("exp", "1e300"), claims("exp", "-1"), claims("nbf", `"0"`), claims("exp", seconds(-time.Minute)),
		claims("roles", `["moderator"]`), claims("roles", `"a moderator"`), claims("roles", `{"moderator":true}`),
		`{"sub":"alice","sub":"bob","exp":99999999999}`, `[]`, `null`, `{}`, `{"exp":1`, claims() + "{}", strings.Repeat("[", 100),
	} {
		f.Add([]byte(seed))
	}
	v := require.Value(identity.New(f.Context(), identity.Options{Secret: secret, Now: clock, Leeway: time.Second, ValidName: endpoint.ValidName}))(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		token := sign(header("HS256", ""), string(text), secret)
		got, err := byToken(v, token)
		if err != nil {
			wantRefusal(t, got, err, token)
			return
		}
		var read map[string]any
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("accepted claims that are not a JSON object: %v", err)
		}
		if got.Name != read["sub"] || endpoint.ValidName(got.Name) != nil {
			t.Errorf("Name = %q, want the valid name %v", got.Name, read["sub"])
		}
		if !got.Expires.After(now) {
			t.Errorf("Expires = %v, want it after %v", got.Expires, now)
		}
		var roles []string
		switch value := read["roles"].(type) {
		case string:
			roles = strings.Fields(strings.ReplaceAll(value, ",", " "))
		case []any:
			for _, role := range value {
				name, _ := role.(string)
				roles = append(roles, name)
			}
		case map[string]any:
			roles = slices.DeleteFunc(slices.Collect(maps.Keys(value)), func(role string) bool {
				return slices.Contains([]any{nil, false, 0.0, ""}, value[role])
			})
		}
		if got.Moderator != slices.Contains(roles, "moderator") {
			t.Errorf("Moderator = %v with the roles %q", got.Moderator, roles)
		}
	})
}

// FuzzAuthorization sends an arbitrary Authorization header: only the one valid token is accepted.
func FuzzAuthorization(f *testing.F) {
	valid := sign(header("HS256", ""), claims(), secret)
	for _, seed := range []string{
		"", "Bearer", "Bearer ", "Bearer " + valid, "bearer  " + valid, "Basic YTpi", "Bearer " + valid + "=", "Bearer ..", "Bearer " + valid[1:],
		"Bearer " + sign(`{"alg":"none"}`, claims(), nil), "Bearer " + sign(`{"alg":"HS256","crit":[]}`, claims(), secret),
	} {
		f.Add(seed)
	}
	v := require.Value(identity.New(f.Context(), identity.Options{Secret: secret, Now: clock, ValidName: endpoint.ValidName}))(f)
	f.Fuzz(func(t *testing.T, value string) {
		got, err := v.FromRequest(request(anywhere, "Authorization", value))
		scheme, token, _ := strings.Cut(value, " ")
		if accepted := strings.EqualFold(scheme, "bearer") && strings.TrimLeft(token, " ") == valid; !accepted {
			wantRefusal(t, got, err, strings.Split(token, ".")...)
		} else if err != nil || got.Name != "alice" {
			t.Errorf("got %+v, %v; want alice", got, err)
		}
	})
}

// FuzzProxyHeaders sends arbitrary headers from an arbitrary address: a name counts from the proxies only,
// and only if it is valid.
func FuzzProxyHeaders(f *testing.F) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/8")}
	for _, from := range []string{"10.0.0.7:50000", "10.0.1.7:1", "[fd00::1%eth0]:1", "[::ffff:10.0.0.7]:1", "@", "", "10.0.0.7"} {
		f.Add(from, "alice", "moderator")
		f.Add(from, "", "moderator")
		f.Add(from, " alice", "a,moderator b")
		f.Add(from, "ali\x00ce", "moderators")
		f.Add(from, strings.Repeat("a", 65), "")
	}
	v := require.Value(identity.New(f.Context(), identity.Options{ProxyHeader: "X-User", RolesHeader: "X-Roles", Proxies: proxies, ValidName: endpoint.ValidName}))(f)
	f.Fuzz(func(t *testing.T, from, name, roles string) {
		got, err := v.FromRequest(request(from, "X-User", name, "X-Roles", roles))
		trusted := false
		if address, parseErr := netip.ParseAddrPort(from); parseErr == nil {
			ip := address.Addr().Unmap().WithZone("")
			trusted = proxies[0].Contains(ip) || proxies[1].Contains(ip)
		}
		var refusal *identity.Refusal
		switch {
		case !trusted:
			if wantRefusal(t, got, err); errors.As(err, &refusal) && refusal.Code != identity.Untrusted {
				t.Errorf("code = %s from %q, want %s", refusal.Code, from, identity.Untrusted)
			}
		case name == "":
			if err != nil || got != (identity.Caller{}) {
				t.Errorf("got %+v, %v; want an anonymous caller", got, err)
			}
		case endpoint.ValidName(name) != nil:
			if wantRefusal(t, got, err); errors.As(err, &refusal) && refusal.Code != identity.NameInvalid {
				t.Errorf("code = %s for %q, want %s", refusal.Code, name, identity.NameInvalid)
			}
		case err != nil || got.Name != name:
			t.Errorf("got %+v, %v; want %q", got, err, name)
		}
		if got.Moderator && !strings.Contains(roles, "moderator") {
			t.Errorf("Moderator = true with the roles %q, want false", roles)
		}
		if direct, err := v.FromRequest(request(from)); err != nil || direct != (identity.Caller{}) {
			t.Errorf("without headers: %+v, %v; want an anonymous caller", direct, err)
		}
	})
}

// FuzzKeySet publishes an arbitrary key set: it is used or ignored, and never makes an unsigned token valid.
func FuzzKeySet(f *testing.F) {
	for _, seed := range []string{
		firstSet, bothSet, jwks(), jwks(`{"kty":"oct","k":"c2VjcmV0"}`), jwks(jwk("rsa", rsaKey(), `"use":"enc"`)), `{"keys":null}`, `null`, `{`,
		strings.NewReplacer(`"x"`, `"y"`, `"y"`, `"x"`).Replace(firstSet), strings.Replace(firstSet, `"x":"`, `"x":"____`, 1),
	} {
		f.Add([]byte(seed))
	}
	other := newEC(first.Curve)
	f.Fuzz(func(t *testing.T, set []byte) {
		s := &server{answer: responds(http.StatusOK, string(set))}
		v := require.Value(identity.New(t.Context(), identity.Options{JWKS: "https://issuer.example/jwks", Issuer: issuer, Audience: []string{audience},
			Transport: s, Now: clock, ValidName: endpoint.ValidName}))(t)
		got, err := byToken(v, sign(header("ES256", ""), claims(), other))
		wantRefusal(t, got, err)
		got, err = byToken(v, sign(header("none", ""), claims(), nil))
		wantRefusal(t, got, err)
	})
}
