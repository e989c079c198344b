package identity_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"frontpage/identity"
)

func TestExactlyOneValidTokenIsAccepted(t *testing.T) {
	t.Parallel()
	good := sign(header("HS256", ""), claims(), secret)
	old := sign(header("HS256", ""), claims("exp", "1"), secret)
	v := open(t, identity.Options{Secret: secret})
	tests := map[string]struct {
		headers []string
		name    string
		code    identity.Code
	}{
		"nothing":                     {},
		"a token":                     {headers: []string{"Authorization", "Bearer " + good}, name: "alice"},
		"bearer in lower case":        {headers: []string{"authorization", "bearer " + good}, name: "alice"},
		"two spaces":                  {headers: []string{"Authorization", "Bearer  " + good}, name: "alice"},
		"other headers are ignored":   {headers: []string{"X-User-ID", "mallory", "X-User-Roles", "moderator", "Cookie", "token=" + good}},
		"a token and other headers":   {headers: []string{"X-User-ID", "mallory", "Authorization", "Bearer " + good}, name: "alice"},
		"an expired token":            {headers: []string{"Authorization", "Bearer " + old}, code: identity.Expired},
		"an empty header":             {headers: []string{"Authorization", ""}, code: identity.Invalid},
		"an empty token":              {headers: []string{"Authorization", "Bearer "}, code: identity.Invalid},
		"no token":                    {headers: []string{"Authorization", "Bearer"}, code: identity.Invalid},
		"no scheme":                   {headers: []string{"Authorization", good}, code: identity.Invalid},
		"another scheme":              {headers: []string{"Authorization", "Basic YWxpY2U6"}, code: identity.Invalid},
		"another scheme, valid token": {headers: []string{"Authorization", "Token " + good}, code: identity.Invalid},
		"a tab":                       {headers: []string{"Authorization", "Bearer\t" + good}, code: identity.Invalid},
		"two tokens":                  {headers: []string{"Authorization", "Bearer " + good + ", Bearer " + good}, code: identity.Invalid},
		"two headers":                 {headers: []string{"Authorization", "Bearer " + good, "Authorization", "Bearer " + good}, code: identity.Invalid},
		"a valid and an empty header": {headers: []string{"Authorization", "Bearer " + good, "Authorization", ""}, code: identity.Invalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, err := v.FromRequest(request(anywhere, tt.headers...))
			want(t, caller, err, tt.name, tt.code)
			if caller.Moderator {
				t.Error("a header of development mode made the caller a moderator")
			}
		})
	}
}

func TestProxyHeaderIsAcceptedFromProxiesOnly(t *testing.T) {
	t.Parallel()
	const proxy, proxy6, elsewhere = "10.0.0.7:50000", "[fd00::1%eth0]:50000", "10.0.1.7:50000"
	v := open(t, identity.Options{ProxyHeader: "X-Forwarded-User", RolesHeader: "x-forwarded-groups",
		Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/8")}})
	tests := map[string]struct {
		from      string
		headers   []string
		name      string
		moderator bool
		code      identity.Code
	}{
		"anonymous":                   {from: proxy},
		"anonymous, empty header":     {from: proxy, headers: []string{"X-Forwarded-User", "", "X-Forwarded-Groups", "moderator"}},
		"a user":                      {from: proxy, headers: []string{"X-Forwarded-User", "alice"}, name: "alice"},
		"by IPv6":                     {from: proxy6, headers: []string{"X-Forwarded-User", "alice"}, name: "alice"},
		"by IPv4-mapped IPv6":         {from: "[::ffff:10.0.0.7]:1", headers: []string{"X-Forwarded-User", "alice"}, name: "alice"},
		"a moderator":                 {from: proxy, headers: []string{"X-Forwarded-User", "alice", "X-Forwarded-Groups", "a,moderator b"}, name: "alice", moderator: true},
		"another role":                {from: proxy, headers: []string{"X-Forwarded-User", "alice", "X-Forwarded-Groups", "moderators"}, name: "alice"},
		"roles without a user":        {from: proxy, headers: []string{"X-Forwarded-Groups", "moderator"}},
		"other headers are ignored":   {from: proxy, headers: []string{"X-User-ID", "mallory", "Authorization", "Bearer x"}},
		"two headers":                 {from: proxy, headers: []string{"X-Forwarded-User", "mallory", "X-Forwarded-User", "alice"}, code: identity.NameInvalid},
		"two role headers":            {from: proxy, headers: []string{"X-Forwarded-User", "mallory", "X-Forwarded-Groups", "moderator", "X-Forwarded-Groups", ""}, code: identity.NameInvalid},
		"an invalid name":             {from: proxy, headers: []string{"X-Forwarded-User", strings.Repeat("a", 65)}, code: identity.NameInvalid},
		"anonymous from elsewhere":    {from: elsewhere},
		"a user from elsewhere":       {from: elsewhere, headers: []string{"X-Forwarded-User", "alice"}, code: identity.Untrusted},
		"empty header from elsewhere": {from: elsewhere, headers: []string{"X-Forwarded-User", ""}, code: identity.Untrusted},
		"proxy in X-Forwarded-For":    {from: elsewhere, headers: []string{"X-Forwarded-User", "alice", "X-Forwarded-For", "10.0.0.7"}, code: identity.Untrusted},
		"from a unix socket":          {from: "@", headers: []string{"X-Forwarded-User", "alice"}, code: identity.Untrusted},
		"from this machine":           {from: "127.0.0.1:1", headers: []string{"X-Forwarded-User", "alice"}, code: identity.Untrusted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(tt.from, tt.headers...)
			caller, err := v.FromRequest(req)
			want(t, caller, err, tt.name, tt.code)
			if caller.Moderator != tt.moderator {
				t.Errorf("Moderator = %v, want %v", caller.Moderator, tt.moderator)
			}
			caller, err = v.FromInit(map[string]any{"X-Forwarded-User": "mallory", "X-User-ID": "mallory"}, req)
			want(t, caller, err, tt.name, tt.code)
		})
	}
}

func TestDevelopmentModeTrustsItsHeaders(t *testing.T) {
	t.Parallel()
	v := open(t, identity.Options{Development: true})
	tests := map[string]struct {
		headers   []string
		name      string
		moderator bool
		code      identity.Code
	}{
		"anonymous":     {},
		"a token":       {headers: []string{"Authorization", "Bearer nonsense"}},
		"an empty name": {headers: []string{"X-User-ID", ""}},
		"a user":        {headers: []string{"X-User-ID", "alice"}, name: "alice"},
		"a moderator":   {headers: []string{"X-User-ID", "alice", "X-User-Roles", "moderator"}, name: "alice", moderator: true},
		"invalid name":  {headers: []string{"X-User-ID", "ali\tce"}, code: identity.NameInvalid},
		"two names":     {headers: []string{"X-User-ID", "alice", "X-User-ID", "bob"}, code: identity.NameInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, err := v.FromRequest(request(anywhere, tt.headers...))
			want(t, caller, err, tt.name, tt.code)
			if caller.Moderator != tt.moderator {
				t.Errorf("Moderator = %v, want %v", caller.Moderator, tt.moderator)
			}
		})
	}
}

func TestUsersAreModeratorsByName(t *testing.T) {
	t.Parallel()
	ctx, moderators := t.Context(), []string{"alice", "bot"}
	sessions := &identity.Sessions{Cookie: "test", Origin: "https://a.example", Find: func(_ context.Context, id string) (identity.Caller, error) {
		return identity.Caller{Name: id}, nil
	}}
	byHeader := open(t, identity.Options{Development: true, Moderators: moderators})
	bySession := open(t, identity.Options{Secret: secret, Sessions: sessions, Moderators: moderators})
	token := "Bearer " + sign(header("HS256", ""), claims(), secret)
	for name, tt := range map[string]struct {
		by      *identity.Verifier
		headers []string
		want    bool
	}{
		"a header":               {byHeader, []string{"X-User-ID", "alice"}, true},
		"a token":                {bySession, []string{"Authorization", token}, true},
		"a session":              {bySession, []string{"Cookie", "test=alice"}, true},
		"another name":           {bySession, []string{"Cookie", "test=Alice"}, false},
		"anonymous":              {byHeader, nil, false},
		"a service that acts":    {byHeader, []string{"X-User-ID", "bot", "X-User-Roles", "service", "X-On-Behalf-Of", "bob"}, false},
		"acted for, not present": {byHeader, []string{"X-User-ID", "bot", "X-User-Roles", "service", "X-On-Behalf-Of", "alice"}, false},
	} {
		caller, err := tt.by.FromRequest(request(anywhere, tt.headers...))
		if err != nil || caller.Moderator != tt.want {
			t.Errorf("%s: got %+v, %v, want Moderator = %t", name, caller, err, tt.want)
		}
		if again, err := tt.by.Again(ctx, caller); err == nil && again.Moderator != tt.want {
			t.Errorf("%s, read again: got %+v", name, again)
		}
		payload := map[string]any{}
		for i := 0; i+1 < len(tt.headers); i += 2 {
			payload[tt.headers[i]] = tt.headers[i+1]
		}
		if init, err := tt.by.FromInit(payload, request(anywhere, tt.headers...)); err != nil || init.Moderator != tt.want {
			t.Errorf("%s, over a WebSocket: got %+v, %v, want Moderator = %t", name, init, err, tt.want)
		}
	}
}

func TestConnectionInitTakesPrecedenceOverTheHandshake(t *testing.T) {
	t.Parallel()
	token := func(sub string) string {
		return "Bearer " + sign(header("HS256", ""), claims("sub", `"`+sub+`"`), secret)
	}
	tokens, development := open(t, identity.Options{Secret: secret}), open(t, identity.Options{Development: true})
	tests := map[string]struct {
		by      *identity.Verifier
		headers []string
		payload map[string]any
		name    string
		code    identity.Code
	}{
		"nothing":                   {by: tokens},
		"header only":               {by: tokens, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"x": 1}, name: "alice"},
		"payload only":              {by: tokens, payload: map[string]any{"Authorization": token("bob")}, name: "bob"},
		"lower case":                {by: tokens, payload: map[string]any{"authorization": token("bob")}, name: "bob"},
		"payload takes precedence":  {by: tokens, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"AUTHORIZATION": token("bob")}, name: "bob"},
		"invalid header is ignored": {by: tokens, headers: []string{"Authorization", "Basic x"}, payload: map[string]any{"Authorization": token("bob")}, name: "bob"},
		"invalid payload is not":    {by: tokens, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"Authorization": "Bearer x"}, code: identity.Invalid},
		"null means missing":        {by: tokens, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"Authorization": nil}, name: "alice"},
		"empty string is invalid":   {by: tokens, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"Authorization": ""}, code: identity.Invalid},
		"a list":                    {by: tokens, payload: map[string]any{"Authorization": []any{token("bob")}}, code: identity.Invalid},
		"twice":                     {by: tokens, payload: map[string]any{"Authorization": token("bob"), "authorization": token("bob")}, code: identity.Invalid},
		"no scheme":                 {by: tokens, payload: map[string]any{"Authorization": strings.TrimPrefix(token("bob"), "Bearer ")}, code: identity.Invalid},
		"a name instead of a token": {by: tokens, payload: map[string]any{"X-User-ID": "mallory", "": 1}},
		"a name":                    {by: development, payload: map[string]any{"x-user-id": "bob"}, name: "bob"},
		"name takes precedence":     {by: development, headers: []string{"X-User-ID", "alice"}, payload: map[string]any{"X-User-ID": "bob"}, name: "bob"},
		"invalid name":              {by: development, payload: map[string]any{"X-User-ID": " bob"}, code: identity.NameInvalid},
		"a number":                  {by: development, payload: map[string]any{"X-User-ID": 17.0}, code: identity.NameInvalid},
		"a token instead of a name": {by: development, payload: map[string]any{"Authorization": token("bob")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller, err := tt.by.FromInit(tt.payload, request(anywhere, tt.headers...))
			want(t, caller, err, tt.name, tt.code)
		})
	}
	caller, err := development.FromInit(map[string]any{"X-User-ID": "bob", "x-user-roles": "moderator"}, request(anywhere))
	if want(t, caller, err, "bob", ""); !caller.Moderator {
		t.Error("Moderator = false, want the role of the payload to make a moderator")
	}
}

func TestServiceActsForAUser(t *testing.T) {
	t.Parallel()
	const on = "X-On-Behalf-Of"
	token := func(roles string) string {
		return "Bearer " + sign(header("HS256", ""), claims("sub", `"app"`, "roles", roles), secret)
	}
	byToken := open(t, identity.Options{Secret: secret})
	byProxy := open(t, identity.Options{ProxyHeader: "X-User", RolesHeader: "X-Roles", Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	byName := open(t, identity.Options{Development: true})
	const proxy = "10.0.0.7:1"
	for name, tt := range map[string]struct {
		by      *identity.Verifier
		from    string
		headers []string
		init    map[string]any // nil: a request
		want    string         // name, service that acts for it, and roles
		code    identity.Code
	}{
		"for itself":                     {by: byToken, headers: []string{"Authorization", token(`["service"]`)}, want: "app  false true"},
		"for a user":                     {by: byToken, headers: []string{"Authorization", token(`["service"]`), on, "alice"}, want: "alice app false true"},
		"a moderator":                    {by: byToken, headers: []string{"Authorization", token(`["moderator", "service"]`), on, "alice"}, want: "alice app false true"},
		"a moderator for itself":         {by: byToken, headers: []string{"Authorization", token(`"moderator service"`)}, want: "app  true true"},
		"without the role":               {by: byToken, headers: []string{"Authorization", token(`["services", "moderator"]`), on, "alice"}, code: identity.NotService},
		"anonymous":                      {by: byToken, headers: []string{on, "alice"}, code: identity.NotService},
		"an empty name":                  {by: byToken, headers: []string{"Authorization", token(`["service"]`), on, ""}, code: identity.NameInvalid},
		"an invalid name":                {by: byToken, headers: []string{"Authorization", token(`["service"]`), on, " alice"}, code: identity.NameInvalid},
		"a name that is not text":        {by: byToken, headers: []string{"Authorization", token(`["service"]`), on, "\ufffd"}, code: identity.NameInvalid},
		"two names":                      {by: byToken, headers: []string{"Authorization", token(`["service"]`), on, "alice", on, "bob"}, code: identity.NameInvalid},
		"an invalid token":               {by: byToken, headers: []string{"Authorization", "Bearer x", on, "alice"}, code: identity.Invalid},
		"by a header of the proxy":       {by: byProxy, from: proxy, headers: []string{"X-User", "app", "X-Roles", "service", on, "alice"}, want: "alice app false true"},
		"by a header of anyone":          {by: byProxy, headers: []string{"X-User", "app", "X-Roles", "service", on, "alice"}, code: identity.Untrusted},
		"in development mode":            {by: byName, headers: []string{"X-User-ID", "app", "X-User-Roles", "service", on, "alice"}, want: "alice app false true"},
		"a payload":                      {by: byToken, init: map[string]any{"authorization": token(`["service"]`), "x-on-behalf-of": "alice"}, want: "alice app false true"},
		"a payload with a handshake":     {by: byToken, headers: []string{"Authorization", token(`["service"]`), on, "bob"}, init: map[string]any{on: "alice"}, want: "alice app false true"},
		"a handshake alone":              {by: byToken, headers: []string{"Authorization", token(`["service"]`), on, "bob"}, init: map[string]any{}, want: "bob app false true"},
		"a payload's token":              {by: byToken, headers: []string{on, "bob"}, init: map[string]any{"Authorization": token(`["service"]`)}, want: "bob app false true"},
		"a payload's token, not allowed": {by: byToken, headers: []string{on, "bob"}, init: map[string]any{"Authorization": token(`[]`)}, code: identity.NotService},
		"a payload with a proxy":         {by: byProxy, from: proxy, headers: []string{"X-User", "app", "X-Roles", "service"}, init: map[string]any{on: "alice", "X-User": "bob"}, want: "alice app false true"},
		"a payload that is not text":     {by: byToken, init: map[string]any{"Authorization": token(`["service"]`), on: 17}, code: identity.Invalid},
		"a payload with an empty name":   {by: byToken, init: map[string]any{"Authorization": token(`["service"]`), on: ""}, code: identity.NameInvalid},
		"a payload without a credential": {by: byToken, init: map[string]any{on: "alice"}, code: identity.NotService},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := tt.from
			if from == "" {
				from = anywhere
			}
			req := request(from, tt.headers...)
			got, err := tt.by.FromRequest(req)
			if tt.init != nil {
				got, err = tt.by.FromInit(tt.init, req)
			}
			if tt.code != "" {
				want(t, got, err, "", tt.code)
				return
			}
			if text := fmt.Sprint(got.Name, " ", got.Via, " ", got.Moderator, " ", got.Service); err != nil || text != tt.want {
				t.Errorf("caller = %s, %v, want %s", text, err, tt.want)
			}
		})
	}
}

func TestOnlyPathsOfThisSiteAreLocal(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"/a/1?x=1":               "/a/1?x=1",
		"/a%2F1":                 "/a%2F1",
		"/a/1#top":               "/a/1",
		"":                       "/",
		"a/1":                    "/",
		"//other.example/a":      "/",
		`/\other.example`:        "/",
		"https://other.example/": "/",
		"javascript:alert(1)":    "/",
		"/%zz":                   "/",
		"/23456789?01":           "/23456789?01",
		"/23456789?012":          "/",
	} {
		most := 12
		if got := identity.LocalPath(to, most).String(); got != want {
			t.Errorf("%q: got %q, want %q", to, got, want)
		}
	}
}

func TestCookiesAreSecureOnHTTPS(t *testing.T) {
	t.Parallel()
	for isSecure, want := range map[bool]string{
		true:  "__Host-frontpage-vote=x; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Lax",
		false: "frontpage-vote=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax",
	} {
		if got := identity.Cookie(identity.CookieName("vote", isSecure), "x", 60).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
