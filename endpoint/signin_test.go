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

// Credentials, however they are sent, are accepted or rejected: invalid ones never fall back to anonymous.
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
	es := func(header string) string { return sitetest.SignToken(header, good, keys.EC) }
	type test struct {
		at     *sitetest.Site
		shown  string // the token, sent after Bearer
		want   string
		values []string // instead of shown
	}
	tests := map[string]test{
		"HS256":                           {at: s, shown: hs, want: "alice"},
		"RS256":                           {at: k, shown: sitetest.SignToken(`{"alg":"RS256","kid":"rsa"}`, good, keys.RSA), want: "alice"},
		"ES256":                           {at: k, shown: es(`{"alg":"ES256","kid":"ec"}`), want: "alice"},
		"EdDSA":                           {at: k, shown: sitetest.SignToken(`{"alg":"EdDSA","kid":"ed"}`, good, keys.Ed25519), want: "alice"},
		"without a kid":                   {at: k, shown: es(`{"alg":"ES256"}`), want: "alice"},
		"a list of audiences":             {at: s, shown: sitetest.Token("aud", `["other","frontpage"]`), want: "alice"},
		"a name in Unicode":               {at: s, shown: sitetest.Token("sub", `"Zoë 花"`), want: "Zoë 花"},
		"a name of 64 characters":         {at: s, shown: sitetest.Token("sub", `"`+strings.Repeat("ü", 64)+`"`), want: strings.Repeat("ü", 64)},
		"expired within the leeway":       {at: s, shown: sitetest.Token("exp", sitetest.UnixIn(-10*time.Second)), want: "alice"},
		"not yet valid within the leeway": {at: s, shown: sitetest.Token("nbf", sitetest.UnixIn(10*time.Second)), want: "alice"},
		"bearer in small letters":         {at: s, values: []string{"bearer " + hs}, want: "alice"},
		"no credentials":                  {at: s, values: []string{}, want: "anonymous"},
		"no credentials, by keys":         {at: k, values: []string{}, want: "anonymous"},
		"expired":                         {at: s, shown: sitetest.Token("exp", sitetest.UnixIn(-time.Hour)), want: expired},
		"expired, by keys":                {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"ec"}`, sitetest.Claims("exp", sitetest.UnixIn(-time.Hour)), keys.EC), want: expired},
		"not yet valid":                   {at: s, shown: sitetest.Token("nbf", sitetest.UnixIn(time.Hour)), want: invalid},
		"another issuer":                  {at: s, shown: sitetest.Token("iss", `"https://evil.example/"`), want: invalid},
		"no issuer":                       {at: s, shown: sitetest.Token("iss", ""), want: invalid},
		"another audience":                {at: s, shown: sitetest.Token("aud", `"backpage"`), want: invalid},
		"a list of other audiences":       {at: s, shown: sitetest.Token("aud", `["backpage","front"]`), want: invalid},
		"no audience":                     {at: s, shown: sitetest.Token("aud", ""), want: invalid},
		"alg none":                        {at: s, shown: sitetest.SignToken(`{"alg":"none"}`, good, nil), want: invalid},
		"alg none, by keys":               {at: k, shown: sitetest.SignToken(`{"alg":"none","kid":"ec"}`, good, nil), want: invalid},
		"alg None":                        {at: s, shown: sitetest.SignToken(`{"alg":"None"}`, good, nil), want: invalid},
		"alg nOnE, signed":                {at: s, shown: sitetest.SignToken(`{"alg":"nOnE"}`, good, sitetest.TokenSecret), want: invalid},
		"hs256 in small letters":          {at: s, shown: sitetest.SignToken(`{"alg":"hs256"}`, good, sitetest.TokenSecret), want: invalid},
		"no algorithm":                    {at: s, shown: sitetest.SignToken(`{"typ":"JWT"}`, good, sitetest.TokenSecret), want: invalid},
		"HS256 with the public key":       {at: k, shown: sitetest.SignToken(`{"alg":"HS256","kid":"rsa"}`, good, keys.PublicPEM(t)), want: invalid},
		"HS256 without a key":             {at: k, shown: sitetest.SignToken(`{"alg":"HS256"}`, good, ""), want: invalid},
		"ES256 without keys":              {at: s, shown: es(`{"alg":"ES256","kid":"ec"}`), want: invalid},
		"another secret":                  {at: s, shown: sitetest.SignToken(sitetest.HeaderHS, good, sitetest.TokenSecret+"!"), want: invalid},
		"another RSA key":                 {at: k, shown: sitetest.SignToken(`{"alg":"RS256","kid":"rsa"}`, good, keys.StrangeRSA), want: invalid},
		"another EC key":                  {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"ec"}`, good, keys.StrangeEC), want: invalid},
		"RS256 with the kid of ES256":     {at: k, shown: sitetest.SignToken(`{"alg":"RS256","kid":"ec"}`, good, keys.RSA), want: invalid},
		"another token's signature":       {at: s, shown: parts[0] + "." + parts[1] + "." + strings.Split(sitetest.Token("sub", `"bob"`), ".")[2], want: invalid},
		"other claims":                    {at: s, shown: parts[0] + "." + sitetest.Base64URL([]byte(sitetest.Claims("sub", `"bob"`))) + "." + parts[2], want: invalid},
		"a cut signature":                 {at: s, shown: hs[:len(hs)-8], want: invalid},
		"no signature":                    {at: s, shown: parts[0] + "." + parts[1] + ".", want: invalid},
		"an unknown kid":                  {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"new"}`, good, keys.StrangeEC), want: unknown},
		"an unknown kid, expired":         {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"new"}`, sitetest.Claims("exp", sitetest.UnixIn(-time.Hour)), keys.StrangeEC), want: expired},
		"a kid that is a path":            {at: k, shown: sitetest.SignToken(`{"alg":"HS256","kid":"../../../../dev/null"}`, good, ""), want: invalid},
		"a kid that is a longer path":     {at: k, shown: es(`{"alg":"ES256","kid":"ec/../ec"}`), want: unknown},
		"a kid that is SQL":               {at: k, shown: es(`{"alg":"ES256","kid":"' or 1=1 --"}`), want: unknown},
		"a kid that is a list":            {at: k, shown: es(`{"alg":"ES256","kid":["ec"]}`), want: invalid},
		"its own key in jwk":              {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"ec","jwk":`+sitetest.JWK("ec", keys.StrangeEC)+`}`, good, keys.StrangeEC), want: invalid},
		"its own keys in jku":             {at: k, shown: sitetest.SignToken(`{"alg":"ES256","kid":"ec","jku":"http://127.0.0.1:1/jwks"}`, good, keys.StrangeEC), want: invalid},
		"its own certificate in x5u":      {at: k, shown: sitetest.SignToken(`{"alg":"RS256","kid":"rsa","x5u":"http://127.0.0.1:1/c"}`, good, keys.StrangeRSA), want: invalid},
		"crit":                            {at: s, shown: sitetest.SignToken(`{"alg":"HS256","crit":["exp"]}`, good, sitetest.TokenSecret), want: invalid},
		"crit, by keys":                   {at: k, shown: es(`{"alg":"ES256","kid":"ec","crit":["b64"],"b64":false}`), want: invalid},
		"no exp":                          {at: s, shown: sitetest.Token("exp", ""), want: invalid},
		"exp is a string":                 {at: s, shown: sitetest.Token("exp", `"`+sitetest.UnixIn(time.Hour)+`"`), want: invalid},
		"exp is null":                     {at: s, shown: sitetest.Token("exp", "null"), want: invalid},
		"exp in milliseconds":             {at: s, shown: sitetest.Token("exp", sitetest.UnixIn(time.Hour)+"000000"), want: invalid},
		"exp is huge":                     {at: s, shown: sitetest.Token("exp", "1e300"), want: invalid},
		"exp is too large":                {at: s, shown: sitetest.Token("exp", "1e999"), want: invalid},
		"exp is negative":                 {at: s, shown: sitetest.Token("exp", "-5"), want: expired},
		"an empty sub":                    {at: s, shown: sitetest.Token("sub", `""`), want: invalid},
		"no sub":                          {at: s, shown: sitetest.Token("sub", ""), want: invalid},
		"sub is a number":                 {at: s, shown: sitetest.Token("sub", "5"), want: invalid},
		"sub is a list":                   {at: s, shown: sitetest.Token("sub", `["alice"]`), want: invalid},
		"two subs":                        {at: s, shown: sitetest.SignToken(sitetest.HeaderHS, `{"sub":"bob",`+good[1:], sitetest.TokenSecret), want: invalid},
		"a control character in sub":      {at: s, shown: sitetest.Token("sub", `"ali\u0007ce"`), want: invalid},
		"a line end in sub":               {at: s, shown: sitetest.Token("sub", `"alice\nSet-Cookie: x"`), want: invalid},
		"a sub of 65 characters":          {at: s, shown: sitetest.Token("sub", `"`+strings.Repeat("a", 65)+`"`), want: invalid},
		"blanks around sub":               {at: s, shown: sitetest.Token("sub", `" alice "`), want: invalid},
		"a huge token":                    {at: s, shown: sitetest.Token("pad", `"`+strings.Repeat("x", 9000)+`"`), want: invalid},
		"a token within a token":          {at: s, shown: sitetest.SignToken(`{"alg":"HS256","cty":"JWT"}`, hs, sitetest.TokenSecret), want: invalid},
		"an encrypted token":              {at: s, shown: hs + ".AA.AA", want: invalid},
		"not base64":                      {at: s, shown: "%%%.***.!!!", want: invalid},
		"padded base64":                   {at: s, shown: hs + "=", want: invalid},
		"without dots":                    {at: s, shown: strings.ReplaceAll(hs, ".", ""), want: invalid},
		"one dot":                         {at: s, shown: parts[0] + "." + parts[1], want: invalid},
		"dots alone":                      {at: s, shown: "..", want: invalid},
		"a token in small letters":        {at: s, shown: strings.ToLower(hs), want: invalid},
		"a token in quotes":               {at: s, shown: `"` + hs + `"`, want: invalid},
		"an empty header":                 {at: s, values: []string{""}, want: invalid},
		"Bearer alone":                    {at: s, values: []string{"Bearer"}, want: invalid},
		"a token without a scheme":        {at: s, values: []string{hs}, want: invalid},
		"Basic":                           {at: s, values: []string{"Basic YWxpY2U6c2VzYW1l"}, want: invalid},
		"another scheme, a good token":    {at: s, values: []string{"Token " + hs}, want: invalid},
		"two tokens in a header":          {at: s, values: []string{"Bearer " + hs + ", Bearer " + hs}, want: invalid},
		"two headers":                     {at: s, values: []string{"Bearer " + hs, "Bearer " + hs}, want: invalid},
		"a good header and a bad one":     {at: s, values: []string{"Bearer " + hs, "Basic x"}, want: invalid},
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

func TestIdentityHeadersOfOtherModesAreIgnored(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	free, byToken := sitetest.New(t, client, site.DefaultRules()), sitetest.New(t, client, site.DefaultRules(), sitetest.WithSecret(t))
	for _, tt := range []struct {
		at     *sitetest.Site
		header []string
		want   string
	}{
		{free, []string{"Authorization", "Bearer nonsense"}, "anonymous"},
		{free, []string{"Authorization", "Bearer " + sitetest.Token()}, "anonymous"},
		{free, []string{"Authorization", "Basic x", "X-User-ID", "bob"}, "bob"},
		{byToken, []string{"X-User-ID", "bob"}, "anonymous"},
		{byToken, []string{"X-User-ID", "bob", "Authorization", "Bearer " + sitetest.Token()}, "alice"},
		{byToken, []string{"X-User-ID", strings.Repeat("u", 65)}, "anonymous"},
		{byToken, []string{"Cookie", "token=" + sitetest.Token()}, "anonymous"},
		{byToken, []string{"X-User-ID", "bob", "X-User-Roles", "moderator", "Authorization", "Bearer " + sitetest.Token()}, "alice"},
	} {
		if _, body := tt.at.Get(whoAmI, tt.header...); nameIn(t, body) != tt.want {
			t.Errorf("%.60q: got %s, want %s", tt.header, body, tt.want)
		}
	}
	// Roles come from the token, too, and not from a header.
	const log = `{ moderationLog { nodes { by } } }`
	for claims, want := range map[string]string{`["moderator"]`: "", `["Moderator","admin"]`: "FORBIDDEN", `"reader moderator"`: "", `true`: "FORBIDDEN"} {
		_, body := byToken.Get(log, "Authorization", "Bearer "+sitetest.Token("roles", claims), "X-User-Roles", "moderator")
		if got := sitetest.CodeOf(t, body); got != want {
			t.Errorf("the roles %s: got %s, want code %q", claims, body, want)
		}
	}
}

func TestInvalidNamesAreRejectedInDevelopmentMode(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	long := strings.Repeat("whisper", 10)
	for name, header := range map[string][]string{
		"too long":            {"X-User-ID", long},
		"a control character": {"X-User-ID", "whisper\u0085"},
		"invalid UTF-8":       {"X-User-ID", "whisper\xff"},
		"two names":           {"X-User-ID", "whisper", "X-User-ID", "bob"},
		"two lists of roles":  {"X-User-ID", "whisper", "X-User-Roles", "moderator", "X-User-Roles", "x"},
		"a no-break space":    {"X-User-ID", "whisper\u00a0"},
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
		"a leading blank":     `{"X-User-ID":" whisper"}`,
		"a number":            `{"X-User-ID":5}`,
		"a list":              `{"X-User-ID":["whisper"]}`,
		"two names":           `{"X-User-ID":"whisper","x-user-id":"bob"}`,
		"a number as roles":   `{"X-User-ID":"whisper","X-User-Roles":1}`,
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
