package identity_test

import (
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
