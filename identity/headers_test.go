package identity_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"frontpage/identity"
)

// request has the headers of the pairs.
func request(from string, pairs ...string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/query", nil)
	req.RemoteAddr = from
	for i := 0; i < len(pairs); i += 2 {
		req.Header.Add(pairs[i], pairs[i+1])
	}
	return req
}

const anywhere = "192.0.2.1:1234"

func TestAuthorization(t *testing.T) {
	t.Parallel()
	good := sign(header("HS256", ""), claims(), secret)
	old := sign(header("HS256", ""), claims("exp", "1"), secret)
	v := open(t, identity.Options{Secret: secret})
	tests := map[string]struct {
		headers []string
		name    string
		code    identity.Code
	}{
		"nothing":                    {},
		"a token":                    {headers: []string{"Authorization", "Bearer " + good}, name: "alice"},
		"bearer in small letters":    {headers: []string{"authorization", "bearer " + good}, name: "alice"},
		"two blanks":                 {headers: []string{"Authorization", "Bearer  " + good}, name: "alice"},
		"other headers are nothing":  {headers: []string{"X-User-ID", "mallory", "X-User-Roles", "moderator", "Cookie", "token=" + good}},
		"a token and other headers":  {headers: []string{"X-User-ID", "mallory", "Authorization", "Bearer " + good}, name: "alice"},
		"an old token":               {headers: []string{"Authorization", "Bearer " + old}, code: identity.Expired},
		"an empty header":            {headers: []string{"Authorization", ""}, code: identity.Invalid},
		"an empty token":             {headers: []string{"Authorization", "Bearer "}, code: identity.Invalid},
		"no token":                   {headers: []string{"Authorization", "Bearer"}, code: identity.Invalid},
		"no scheme":                  {headers: []string{"Authorization", good}, code: identity.Invalid},
		"another scheme":             {headers: []string{"Authorization", "Basic YWxpY2U6"}, code: identity.Invalid},
		"another scheme, good token": {headers: []string{"Authorization", "Token " + good}, code: identity.Invalid},
		"a tab":                      {headers: []string{"Authorization", "Bearer\t" + good}, code: identity.Invalid},
		"two tokens":                 {headers: []string{"Authorization", "Bearer " + good + ", Bearer " + good}, code: identity.Invalid},
		"two headers":                {headers: []string{"Authorization", "Bearer " + good, "Authorization", "Bearer " + good}, code: identity.Invalid},
		"a good and an empty one":    {headers: []string{"Authorization", "Bearer " + good, "Authorization", ""}, code: identity.Invalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			person, err := v.FromRequest(request(anywhere, tt.headers...))
			want(t, person, err, tt.name, tt.code)
			if person.Moderator {
				t.Error("a header made a moderator")
			}
		})
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	const proxy, proxy6, stranger = "10.0.0.7:50000", "[fd00::1%eth0]:50000", "10.0.1.7:50000"
	v := open(t, identity.Options{ProxyHeader: "X-Forwarded-User", RolesHeader: "x-forwarded-groups",
		Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/8")}})
	tests := map[string]struct {
		from      string
		headers   []string
		name      string
		moderator bool
		code      identity.Code
	}{
		"nobody":                      {from: proxy},
		"nobody, in an empty header":  {from: proxy, headers: []string{"X-Forwarded-User", "", "X-Forwarded-Groups", "moderator"}},
		"somebody":                    {from: proxy, headers: []string{"X-Forwarded-User", "alice"}, name: "alice"},
		"by IPv6":                     {from: proxy6, headers: []string{"X-Forwarded-User", "alice"}, name: "alice"},
		"by IPv4 within IPv6":         {from: "[::ffff:10.0.0.7]:1", headers: []string{"X-Forwarded-User", "alice"}, name: "alice"},
		"a moderator":                 {from: proxy, headers: []string{"X-Forwarded-User", "alice", "X-Forwarded-Groups", "a,moderator b"}, name: "alice", moderator: true},
		"no moderator":                {from: proxy, headers: []string{"X-Forwarded-User", "alice", "X-Forwarded-Groups", "moderators"}, name: "alice"},
		"roles of nobody":             {from: proxy, headers: []string{"X-Forwarded-Groups", "moderator"}},
		"other headers are nothing":   {from: proxy, headers: []string{"X-User-ID", "mallory", "Authorization", "Bearer x"}},
		"two headers":                 {from: proxy, headers: []string{"X-Forwarded-User", "mallory", "X-Forwarded-User", "alice"}, code: identity.NameInvalid},
		"two headers of roles":        {from: proxy, headers: []string{"X-Forwarded-User", "mallory", "X-Forwarded-Groups", "moderator", "X-Forwarded-Groups", ""}, code: identity.NameInvalid},
		"not a name":                  {from: proxy, headers: []string{"X-Forwarded-User", strings.Repeat("a", 65)}, code: identity.NameInvalid},
		"nobody, from elsewhere":      {from: stranger},
		"somebody, from elsewhere":    {from: stranger, headers: []string{"X-Forwarded-User", "alice"}, code: identity.Untrusted},
		"an empty one from elsewhere": {from: stranger, headers: []string{"X-Forwarded-User", ""}, code: identity.Untrusted},
		"named in another header":     {from: stranger, headers: []string{"X-Forwarded-User", "alice", "X-Forwarded-For", "10.0.0.7"}, code: identity.Untrusted},
		"from a unix socket":          {from: "@", headers: []string{"X-Forwarded-User", "alice"}, code: identity.Untrusted},
		"from this machine":           {from: "127.0.0.1:1", headers: []string{"X-Forwarded-User", "alice"}, code: identity.Untrusted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := request(tt.from, tt.headers...)
			person, err := v.FromRequest(req)
			want(t, person, err, tt.name, tt.code)
			if person.Moderator != tt.moderator {
				t.Errorf("Moderator = %v", person.Moderator)
			}
			person, err = v.FromInit(map[string]any{"X-Forwarded-User": "mallory", "X-User-ID": "mallory"}, req)
			want(t, person, err, tt.name, tt.code)
		})
	}
	_, err := v.FromToken(sign(header("HS256", ""), claims(), secret))
	want(t, identity.Person{}, err, "", identity.Invalid)
}

func TestDevelopment(t *testing.T) {
	t.Parallel()
	v := open(t, identity.Options{Development: true})
	tests := map[string]struct {
		headers   []string
		name      string
		moderator bool
		code      identity.Code
	}{
		"nobody":        {},
		"an empty name": {headers: []string{"X-User-ID", ""}},
		"somebody":      {headers: []string{"X-User-ID", "alice"}, name: "alice"},
		"a moderator":   {headers: []string{"X-User-ID", "alice", "X-User-Roles", "moderator"}, name: "alice", moderator: true},
		"not a name":    {headers: []string{"X-User-ID", "ali\tce"}, code: identity.NameInvalid},
		"two names":     {headers: []string{"X-User-ID", "alice", "X-User-ID", "bob"}, code: identity.NameInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			person, err := v.FromRequest(request(anywhere, tt.headers...))
			want(t, person, err, tt.name, tt.code)
			if person.Moderator != tt.moderator {
				t.Errorf("Moderator = %v", person.Moderator)
			}
		})
	}
}

func TestInit(t *testing.T) {
	t.Parallel()
	token := func(sub string) string {
		return "Bearer " + sign(header("HS256", ""), claims("sub", `"`+sub+`"`), secret)
	}
	byToken, development := open(t, identity.Options{Secret: secret}), open(t, identity.Options{Development: true})
	tests := map[string]struct {
		by      *identity.Verifier
		headers []string
		payload map[string]any
		name    string
		code    identity.Code
	}{
		"nothing":                      {by: byToken},
		"the header alone":             {by: byToken, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"x": 1}, name: "alice"},
		"the payload alone":            {by: byToken, payload: map[string]any{"Authorization": token("bob")}, name: "bob"},
		"small letters":                {by: byToken, payload: map[string]any{"authorization": token("bob")}, name: "bob"},
		"the payload goes first":       {by: byToken, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"AUTHORIZATION": token("bob")}, name: "bob"},
		"a bad header is passed over":  {by: byToken, headers: []string{"Authorization", "Basic x"}, payload: map[string]any{"Authorization": token("bob")}, name: "bob"},
		"a bad payload is not":         {by: byToken, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"Authorization": "Bearer x"}, code: identity.Invalid},
		"null is nothing":              {by: byToken, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"Authorization": nil}, name: "alice"},
		"an empty string is something": {by: byToken, headers: []string{"Authorization", token("alice")}, payload: map[string]any{"Authorization": ""}, code: identity.Invalid},
		"a list":                       {by: byToken, payload: map[string]any{"Authorization": []any{token("bob")}}, code: identity.Invalid},
		"twice":                        {by: byToken, payload: map[string]any{"Authorization": token("bob"), "authorization": token("bob")}, code: identity.Invalid},
		"no scheme":                    {by: byToken, payload: map[string]any{"Authorization": strings.TrimPrefix(token("bob"), "Bearer ")}, code: identity.Invalid},
		"a name instead of a token":    {by: byToken, payload: map[string]any{"X-User-ID": "mallory", "": 1}},
		"a name":                       {by: development, payload: map[string]any{"x-user-id": "bob"}, name: "bob"},
		"a name goes first":            {by: development, headers: []string{"X-User-ID", "alice"}, payload: map[string]any{"X-User-ID": "bob"}, name: "bob"},
		"not a name":                   {by: development, payload: map[string]any{"X-User-ID": " bob"}, code: identity.NameInvalid},
		"a number":                     {by: development, payload: map[string]any{"X-User-ID": 17.0}, code: identity.NameInvalid},
		"a token instead of a name":    {by: development, payload: map[string]any{"Authorization": token("bob")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			person, err := tt.by.FromInit(tt.payload, request(anywhere, tt.headers...))
			want(t, person, err, tt.name, tt.code)
		})
	}
	person, err := development.FromInit(map[string]any{"X-User-ID": "bob", "x-user-roles": "moderator"}, request(anywhere))
	if want(t, person, err, "bob", ""); !person.Moderator {
		t.Error("the roles of the payload do not count")
	}
}
