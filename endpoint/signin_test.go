package endpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/identity"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const whoAmI = `{ viewer { name } }`

// ways holds the ways to send credentials. Each sends whoAmI with these values of Authorization, and returns
// the viewer's name or the code of the refusal.
var ways = map[string]func(*sitetest.Site, []string) string{
	"POST": func(s *sitetest.Site, values []string) string {
		res, body := s.PostJSON(`{"query":"`+whoAmI+`"}`, authorizations(values)...)
		return codeOrName(s.T, res.StatusCode, res.Header.Get("Content-Type"), body)
	},
	"GET": func(s *sitetest.Site, values []string) string {
		res, body := s.Get(whoAmI, authorizations(values)...)
		return codeOrName(s.T, res.StatusCode, res.Header.Get("Content-Type"), body)
	},
	"event stream": func(s *sitetest.Site, values []string) string {
		res, body := s.Get(whoAmI, append(authorizations(values), "Accept", "text/event-stream")...)
		if data, isEvent := strings.CutPrefix(body, ":\n\nevent: next\ndata: "); res.StatusCode == 200 && isEvent {
			data, _, _ = strings.Cut(data, "\n")
			return nameIn(s.T, data)
		}
		return codeOrName(s.T, res.StatusCode, res.Header.Get("Content-Type"), body)
	},
	"socket handshake": func(s *sitetest.Site, values []string) string {
		conn, res, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}}, authorizations(values)...)
		if err != nil {
			if res == nil {
				s.T.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			return codeOrName(s.T, res.StatusCode, res.Header.Get("Content-Type"), string(body))
		}
		w := s.SocketOver(conn)
		w.Begin("")
		w.Subscribe("a", whoAmI, "")
		return nameIn(s.T, string(w.Read().Payload))
	},
	"connection_init": func(s *sitetest.Site, values []string) string {
		members := map[string]string{}
		for i, value := range values {
			members[[]string{"Authorization", "authorization", "AUTHORIZATION"}[i]] = value
		}
		payload := require.Value(json.Marshal(members))(s.T)
		w := s.OpenSocket()
		w.Send(`{"type":"connection_init","payload":` + string(payload) + `}`)
		f, err := w.TryRead()
		how := websocket.CloseError{}
		switch {
		case err == nil && f.Type == "connection_ack":
			w.Subscribe("a", whoAmI, "")
			return nameIn(s.T, string(w.Read().Payload))
		case asClose(err, &how) && how.Code == 4403:
			code, why, _ := strings.Cut(how.Reason, ": ")
			if why == "" {
				s.T.Errorf("got close reason %q, want a message after the code", how.Reason)
			}
			return code
		}
		return fmt.Sprint("neither acknowledged nor closed: ", f, err)
	},
}

func authorizations(values []string) (header []string) {
	for _, value := range values {
		header = append(header, "Authorization", value)
	}
	return header
}

// codeOrName returns the code of a refusal, which must be a JSON response with status 401, or else the
// viewer's name.
func codeOrName(t *testing.T, status int, media, body string) string {
	t.Helper()
	switch code := sitetest.CodeOf(t, body); {
	case status == 200 && code == "":
		return nameIn(t, body)
	case status != 401 || media != typeJSON || strings.Contains(body, `"data"`):
		t.Errorf("got %d %s %s, want a refusal as JSON with 401", status, media, body)
		fallthrough
	default:
		return code
	}
}

func nameIn(t *testing.T, body string) string {
	t.Helper()
	var a struct {
		Data struct{ Viewer *struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("want a GraphQL response: %v, got %.300s", err, body)
	}
	if a.Data.Viewer == nil {
		return "anonymous"
	}
	return a.Data.Viewer.Name
}

// Credentials, however they are sent, are accepted or rejected: invalid ones never fall back to anonymous. Which tokens are
// valid is a matter of package identity.
func TestTokensAreVerifiedOverEveryTransport(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	keys := sitetest.NewKeyring(t)
	now := time.Now()
	options := identity.Options{Issuer: sitetest.TokenIssuer, Audience: []string{sitetest.TokenAudience}, Now: func() time.Time { return now }}
	options.Secret = sitetest.TokenSecret
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithIdentity(t, options))
	options.Secret, options.JWKS = "", keys.File(t)
	k := sitetest.New(t, client, site.DefaultRules(), sitetest.WithIdentity(t, options))

	const invalid, expired, unknown = "TOKEN_INVALID", "TOKEN_EXPIRED", "TOKEN_KEY_UNKNOWN"
	hs, good := sitetest.Token(), sitetest.Claims()
	parts := strings.Split(hs, ".")
	type test struct {
		at     *sitetest.Site
		shown  string // the token, sent after Bearer
		want   string
		values []string // instead of shown
	}
	tests := map[string]test{
		"HS256":                       {at: s, shown: hs, want: "alice"},
		"RS256":                       {at: k, shown: sitetest.SignToken(`{"alg":"RS256","kid":"rsa"}`, good, keys.RSA), want: "alice"},
		"EdDSA":                       {at: k, shown: sitetest.SignToken(`{"alg":"EdDSA","kid":"ed"}`, good, keys.Ed25519), want: "alice"},
		"a name in Unicode":           {at: s, shown: sitetest.Token("sub", `"Zoë 花"`), want: "Zoë 花"},
		"bearer in small letters":     {at: s, values: []string{"bearer " + hs}, want: "alice"},
		"no credentials":              {at: s, values: []string{}, want: "anonymous"},
		"no credentials, by keys":     {at: k, values: []string{}, want: "anonymous"},
		"expired":                     {at: s, shown: sitetest.Token("exp", sitetest.UnixIn(-time.Hour)), want: expired},
		"expired, by keys":            {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"ec"}`, sitetest.Claims("exp", sitetest.UnixIn(-time.Hour)), keys.EC), want: expired},
		"another audience":            {at: s, shown: sitetest.Token("aud", `"backpage"`), want: invalid},
		"alg none":                    {at: s, shown: sitetest.SignToken(`{"alg":"none"}`, good, nil), want: invalid},
		"alg none, by keys":           {at: k, shown: sitetest.SignToken(`{"alg":"none","kid":"ec"}`, good, nil), want: invalid},
		"another secret":              {at: s, shown: sitetest.SignToken(sitetest.HeaderHS, good, sitetest.TokenSecret+"!"), want: invalid},
		"another EC key":              {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"ec"}`, good, keys.StrangeEC), want: invalid},
		"an unknown kid":              {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"new"}`, good, keys.StrangeEC), want: unknown},
		"an unknown kid, expired":     {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"new"}`, sitetest.Claims("exp", sitetest.UnixIn(-time.Hour)), keys.StrangeEC), want: expired},
		"a kid that is a path":        {at: k, shown: sitetest.SignToken(`{"alg":"HS256","kid":"../../../../dev/null"}`, good, ""), want: invalid},
		"no sub":                      {at: s, shown: sitetest.Token("sub", ""), want: invalid},
		"a line end in sub":           {at: s, shown: sitetest.Token("sub", `"alice\nSet-Cookie: x"`), want: invalid},
		"a huge token":                {at: s, shown: sitetest.Token("pad", `"`+strings.Repeat("x", 9000)+`"`), want: invalid},
		"without dots":                {at: s, shown: strings.ReplaceAll(hs, ".", ""), want: invalid},
		"an empty header":             {at: s, values: []string{""}, want: invalid},
		"Bearer alone":                {at: s, values: []string{"Bearer"}, want: invalid},
		"a token without a scheme":    {at: s, values: []string{hs}, want: invalid},
		"Basic":                       {at: s, values: []string{"Basic YWxpY2U6c2VzYW1l"}, want: invalid},
		"two headers":                 {at: s, values: []string{"Bearer " + hs, "Bearer " + hs}, want: invalid},
		"a good header and a bad one": {at: s, values: []string{"Bearer " + hs, "Basic x"}, want: invalid},
	}
	for name, tt := range tests {
		if tt.values == nil {
			tt.values = []string{"Bearer " + tt.shown}
		}
		for way, ask := range ways {
			if got := ask(tt.at, tt.values); got != tt.want {
				t.Errorf("%s, by %s: got %s, want %s", name, way, got, tt.want)
			}
		}
	}
	for _, log := range []string{s.Log.String(), k.Log.String()} {
		if strings.Contains(log, "sesame") || strings.Contains(log, parts[0]) || strings.Contains(log, parts[1][:20]) || !strings.Contains(log, invalid) {
			t.Errorf("got log %.2000s, want codes and no part of a token", log)
		}
	}
}

func asClose(err error, how *websocket.CloseError) bool { return errors.As(err, how) }

func TestInvalidNamesAreRejectedInDevelopmentMode(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	long := strings.Repeat("whisper", 10)
	for name, header := range map[string][]string{
		"too long":            {"X-User-ID", long},
		"a control character": {"X-User-ID", "whisper\u0085"},
		"two names":           {"X-User-ID", "whisper", "X-User-ID", "bob"},
		"that of commands":    {"X-User-ID", "Command Line"},
	} {
		post, body := s.PostJSON(`{"query":"`+whoAmI+`"}`, header...)
		get, getBody := s.Get(whoAmI, header...)
		events, eventsBody := s.Get(whoAmI, append(header, "Accept", "text/event-stream")...)
		for _, res := range []*http.Response{post, get, events} {
			if res.StatusCode != 401 || res.Header.Get("Content-Type") != typeJSON || res.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: got %d %v, want 401", name, res.StatusCode, res.Header)
			}
		}
		if sitetest.CodeOf(t, body) != "USER_NAME_INVALID" || getBody != body || eventsBody != body {
			t.Errorf("%s: got %s, %s, %s, want the same USER_NAME_INVALID", name, body, getBody, eventsBody)
		}
	}
	for name, payload := range map[string]string{
		"too long":            fmt.Sprintf(`{"X-User-ID":%q}`, long),
		"a control character": `{"X-User-ID":"whisper\u0007"}`,
		"a number":            `{"X-User-ID":5}`,
		"two names":           `{"X-User-ID":"whisper","x-user-id":"bob"}`,
	} {
		w := s.OpenSocket("X-User-ID", "bob")
		w.Send(`{"type":"connection_init","payload":` + payload + `}`)
		if before, how := w.ReadClose(); len(before) > 0 || how.Code != 4403 || !strings.HasPrefix(how.Reason, "USER_NAME_INVALID: ") {
			t.Errorf("%s: got %v and %v, want 4403 USER_NAME_INVALID", name, before, how)
		}
	}
	if _, body := s.Get(whoAmI, "X-User-ID", ""); nameIn(t, body) != "anonymous" {
		t.Errorf("an empty name: got %s, want anonymous", body)
	}
}

// SECURITY.md promises that the log contains no names and no part of rejected credentials.
func TestLogContainsNoRejectedCredentials(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	free, byToken := sitetest.New(t, client, site.DefaultRules()), sitetest.New(t, client, site.DefaultRules(), sitetest.WithSecret(t))
	for _, name := range []string{"whisper\u0085", "whisper\u00a0", strings.Repeat("whisper", 10)} {
		free.Get(whoAmI, "X-User-ID", name)
	}
	w := free.OpenSocket()
	w.Send(`{"type":"connection_init","payload":{"X-User-ID":" whisper"}}`)
	w.ReadClose()
	for _, token := range []string{
		sitetest.Token("sub", `"whisper\u0007"`), sitetest.Token("sub", `" whisper"`), sitetest.Token("aud", `"whisper"`), sitetest.Token("iss", `"whisper"`), sitetest.Token("exp", `"whisper"`),
		sitetest.SignToken(`{"alg":"whisper"}`, sitetest.Claims(), sitetest.TokenSecret), sitetest.SignToken(`{"alg":"HS256","crit":["whisper"]}`, sitetest.Claims(), sitetest.TokenSecret),
		sitetest.SignToken(sitetest.HeaderHS, "whisper", sitetest.TokenSecret), sitetest.SignToken("whisper", sitetest.Claims(), sitetest.TokenSecret), "whisper", "whisper.whisper.whisper",
	} {
		byToken.Get(whoAmI, "Authorization", "Bearer "+token)
	}
	for mode, log := range map[string]string{"in development mode": free.Log.String(), "by token": byToken.Log.String()} {
		if strings.Count(log, "not authenticated") < 4 {
			t.Errorf("%s: got log %s, want a line for each refusal", mode, log)
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, "whisper") {
				t.Errorf("%s: got log line %s, want no part of the credentials", mode, line)
			}
		}
	}
}

// When a token has expired, including its leeway of 30 s, the streams that it opened end.
func TestExpiredTokenEndsOpenStreams(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sitetest.WithSecret(t))
	began := time.Now()
	ends := began.Add(3 * time.Second).Truncate(time.Second)
	short := "Bearer " + sitetest.Token("exp", fmt.Sprint(ends.Add(-30*time.Second).Unix()))
	long := "Bearer " + sitetest.Token()
	byHeader, byPayload := s.Socket("", "Authorization", short), s.Socket(fmt.Sprintf(`{"Authorization":%q}`, short), "Authorization", long)
	lasting := s.Socket(fmt.Sprintf(`{"Authorization":%q}`, long), "Authorization", short)
	quiet := s.Socket(fmt.Sprintf(`{"Authorization":%q}`, short))
	for _, w := range []*sitetest.Socket{byHeader, byPayload, lasting} {
		w.Subscribe("a", watchAll, "")
	}
	events := s.Stream(watchAll, "Authorization", short)
	events.Comment()
	for name, w := range map[string]*sitetest.Socket{"by the handshake": byHeader, "by the payload": byPayload, "without an operation": quiet} {
		before, how := w.ReadClose()
		if len(before) > 0 || how.Code != 4403 || !strings.HasPrefix(how.Reason, "TOKEN_EXPIRED: ") {
			t.Errorf("%s: got %v after %v, want 4403 TOKEN_EXPIRED", name, how, before)
		}
		if early := time.Until(ends); early > 0 {
			t.Errorf("%s: ended %v before the token expired, want no earlier end", name, early)
		}
	}
	rest := new(strings.Builder)
	defer time.AfterFunc(require.Timeout, events.Cancel).Stop()
	if _, err := events.Body.WriteTo(rest); err != nil || strings.Contains(rest.String(), "event:") {
		t.Errorf("event stream: got %q, %v, want its end without events", rest, err)
	}
	if late := time.Since(ends); late < 0 || late > 10*time.Second {
		t.Errorf("the streams ended %v after the token expired, want at most 10s", late)
	}
	if res, body := s.Get(whoAmI, "Authorization", short); res.StatusCode != 401 || sitetest.CodeOf(t, body) != "TOKEN_EXPIRED" {
		t.Errorf("the expired token: got %d %s, want 401 TOKEN_EXPIRED", res.StatusCode, body)
	}
	lasting.Subscribe("b", whoAmI, "")
	lasting.Want("next", "b", `{"data":{"viewer":{"name":"alice"}}}`)
}
