package graph_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redistest"
)

const whoAmI = `{ viewer { name } }`

// ways to ask who one is, each with some headers Authorization. They return the
// viewer's name or, in capital letters, the code of the refusal.
var ways = map[string]func(*site, []string) string{
	"POST": func(s *site, values []string) string {
		res, body := s.postJSON(`{"query":"`+whoAmI+`"}`, authorizations(values)...)
		return refusedOr(s.t, res.StatusCode, res.Header.Get("Content-Type"), body)
	},
	"GET": func(s *site, values []string) string {
		res, body := s.get(whoAmI, authorizations(values)...)
		return refusedOr(s.t, res.StatusCode, res.Header.Get("Content-Type"), body)
	},
	"event stream": func(s *site, values []string) string {
		res, body := s.get(whoAmI, append(authorizations(values), "Accept", "text/event-stream")...)
		if data, isEvent := strings.CutPrefix(body, ":\n\nevent: next\ndata: "); res.StatusCode == 200 && isEvent {
			data, _, _ = strings.Cut(data, "\n")
			return nameIn(s.t, data)
		}
		return refusedOr(s.t, res.StatusCode, res.Header.Get("Content-Type"), body)
	},
	"handshake of a socket": func(s *site, values []string) string {
		conn, res, err := s.dial(websocket.DialOptions{Subprotocols: []string{subprotocol}}, authorizations(values)...)
		if err != nil {
			if res == nil {
				s.t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			return refusedOr(s.t, res.StatusCode, res.Header.Get("Content-Type"), string(body))
		}
		w := s.wire(conn)
		w.begin("")
		w.start("a", whoAmI, "")
		return nameIn(s.t, string(w.read().Payload))
	},
	"payload of a socket": func(s *site, values []string) string {
		members := map[string]string{}
		for i, value := range values {
			members[[]string{"Authorization", "authorization", "AUTHORIZATION"}[i]] = value
		}
		payload, err := json.Marshal(members)
		if err != nil {
			s.t.Fatal(err)
		}
		w := s.open()
		w.send(`{"type":"connection_init","payload":` + string(payload) + `}`)
		if f, err := w.tryRead(); err == nil && f.Type == "connection_ack" {
			w.start("a", whoAmI, "")
			return nameIn(s.t, string(w.read().Payload))
		} else if how := (websocket.CloseError{}); asClose(err, &how) && how.Code == 4403 {
			code, why, _ := strings.Cut(how.Reason, ": ")
			if why == "" {
				s.t.Errorf("the reason does not say why: %q", how.Reason)
			}
			return code
		} else {
			return fmt.Sprint("neither in nor out: ", f, err)
		}
	},
}

func authorizations(values []string) (header []string) {
	for _, value := range values {
		header = append(header, "Authorization", value)
	}
	return header
}

// refusedOr is the code of a refusal, which must be a JSON answer with the status
// 401, or else the name.
func refusedOr(t *testing.T, status int, media, body string) string {
	t.Helper()
	switch code := codeOf(t, body); {
	case status == 200 && code == "":
		return nameIn(t, body)
	case status != 401 || media != typeJSON || strings.Contains(body, `"data"`):
		t.Errorf("no refusal: %d %s %s", status, media, body)
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
		t.Fatalf("%v: %.300s", err, body)
	}
	if a.Data.Viewer == nil {
		return "nobody"
	}
	return a.Data.Viewer.Name
}

// Whatever is shown, and in whatever way, counts wholly or is refused: nobody is
// taken for nobody.
func TestTokensInEveryWay(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	keys := newKeyring(t)
	s := newSite(t, client, redisrepo.BookRules(), bySecret(t))
	k := newSite(t, client, redisrepo.BookRules(), recognise(t, identity.Options{JWKSFile: keys.file(t), Issuer: tokenIssuer, Audience: []string{tokenAudience}}))

	const invalid, expired, unknown = "TOKEN_INVALID", "TOKEN_EXPIRED", "TOKEN_KEY_UNKNOWN"
	hs, good := hsToken(), claimsOf()
	parts := strings.Split(hs, ".")
	es := func(header string) string { return tokenOf(header, good, keys.ec) }
	type test struct {
		at     *site
		shown  string // with Bearer in front
		want   string
		values []string // instead of shown
	}
	tests := map[string]test{
		"HS256":                        {at: s, shown: hs, want: "alice"},
		"RS256":                        {at: k, shown: tokenOf(`{"alg":"RS256","kid":"rsa"}`, good, keys.rsa), want: "alice"},
		"ES256":                        {at: k, shown: es(`{"alg":"ES256","kid":"ec"}`), want: "alice"},
		"EdDSA":                        {at: k, shown: tokenOf(`{"alg":"EdDSA","kid":"ed"}`, good, keys.ed), want: "alice"},
		"without a kid":                {at: k, shown: es(`{"alg":"ES256"}`), want: "alice"},
		"a list of audiences":          {at: s, shown: hsToken("aud", `["other","frontpage"]`), want: "alice"},
		"a name in Unicode":            {at: s, shown: hsToken("sub", `"Zoë 花"`), want: "Zoë 花"},
		"a name of 64 characters":      {at: s, shown: hsToken("sub", `"`+strings.Repeat("ü", 64)+`"`), want: strings.Repeat("ü", 64)},
		"a little late":                {at: s, shown: hsToken("exp", unixIn(-10*time.Second)), want: "alice"},
		"a little early":               {at: s, shown: hsToken("nbf", unixIn(10*time.Second)), want: "alice"},
		"bearer in small letters":      {at: s, values: []string{"bearer " + hs}, want: "alice"},
		"nothing":                      {at: s, values: []string{}, want: "nobody"},
		"nothing, by keys":             {at: k, values: []string{}, want: "nobody"},
		"expired":                      {at: s, shown: hsToken("exp", unixIn(-time.Hour)), want: expired},
		"expired, by keys":             {at: k, shown: tokenOf(`{"alg":"ES256","kid":"ec"}`, claimsOf("exp", unixIn(-time.Hour)), keys.ec), want: expired},
		"not yet valid":                {at: s, shown: hsToken("nbf", unixIn(time.Hour)), want: invalid},
		"another issuer":               {at: s, shown: hsToken("iss", `"https://evil.example/"`), want: invalid},
		"no issuer":                    {at: s, shown: hsToken("iss", ""), want: invalid},
		"another audience":             {at: s, shown: hsToken("aud", `"backpage"`), want: invalid},
		"a list of other audiences":    {at: s, shown: hsToken("aud", `["backpage","front"]`), want: invalid},
		"no audience":                  {at: s, shown: hsToken("aud", ""), want: invalid},
		"none":                         {at: s, shown: tokenOf(`{"alg":"none"}`, good, nil), want: invalid},
		"none, by keys":                {at: k, shown: tokenOf(`{"alg":"none","kid":"ec"}`, good, nil), want: invalid},
		"None":                         {at: s, shown: tokenOf(`{"alg":"None"}`, good, nil), want: invalid},
		"nOnE, signed":                 {at: s, shown: tokenOf(`{"alg":"nOnE"}`, good, tokenSecret), want: invalid},
		"hs256 in small letters":       {at: s, shown: tokenOf(`{"alg":"hs256"}`, good, tokenSecret), want: invalid},
		"no algorithm":                 {at: s, shown: tokenOf(`{"typ":"JWT"}`, good, tokenSecret), want: invalid},
		"HS256 with the public key":    {at: k, shown: tokenOf(`{"alg":"HS256","kid":"rsa"}`, good, keys.publicPEM(t)), want: invalid},
		"HS256 without a key":          {at: k, shown: tokenOf(`{"alg":"HS256"}`, good, ""), want: invalid},
		"a key where a secret is":      {at: s, shown: es(`{"alg":"ES256","kid":"ec"}`), want: invalid},
		"another secret":               {at: s, shown: tokenOf(headerHS, good, tokenSecret+"!"), want: invalid},
		"another RSA key":              {at: k, shown: tokenOf(`{"alg":"RS256","kid":"rsa"}`, good, keys.strangeRSA), want: invalid},
		"another EC key":               {at: k, shown: tokenOf(`{"alg":"ES256","kid":"ec"}`, good, keys.strangeEC), want: invalid},
		"RS256 with the kid of ES256":  {at: k, shown: tokenOf(`{"alg":"RS256","kid":"ec"}`, good, keys.rsa), want: invalid},
		"the signature of another":     {at: s, shown: parts[0] + "." + parts[1] + "." + strings.Split(hsToken("sub", `"bob"`), ".")[2], want: invalid},
		"other claims":                 {at: s, shown: parts[0] + "." + base64URL([]byte(claimsOf("sub", `"bob"`))) + "." + parts[2], want: invalid},
		"a cut signature":              {at: s, shown: hs[:len(hs)-8], want: invalid},
		"no signature":                 {at: s, shown: parts[0] + "." + parts[1] + ".", want: invalid},
		"an unknown kid":               {at: k, shown: tokenOf(`{"alg":"ES256","kid":"new"}`, good, keys.strangeEC), want: unknown},
		"an unknown kid, expired":      {at: k, shown: tokenOf(`{"alg":"ES256","kid":"new"}`, claimsOf("exp", unixIn(-time.Hour)), keys.strangeEC), want: expired},
		"a kid that is a path":         {at: k, shown: tokenOf(`{"alg":"HS256","kid":"../../../../dev/null"}`, good, ""), want: invalid},
		"a kid that is a longer path":  {at: k, shown: es(`{"alg":"ES256","kid":"ec/../ec"}`), want: unknown},
		"a kid that is SQL":            {at: k, shown: es(`{"alg":"ES256","kid":"' or 1=1 --"}`), want: unknown},
		"a kid that is a list":         {at: k, shown: es(`{"alg":"ES256","kid":["ec"]}`), want: invalid},
		"its own key in jwk":           {at: k, shown: tokenOf(`{"alg":"ES256","kid":"ec","jwk":`+jwkOf("ec", keys.strangeEC)+`}`, good, keys.strangeEC), want: invalid},
		"its own keys in jku":          {at: k, shown: tokenOf(`{"alg":"ES256","kid":"ec","jku":"http://127.0.0.1:1/jwks"}`, good, keys.strangeEC), want: invalid},
		"its own certificate in x5u":   {at: k, shown: tokenOf(`{"alg":"RS256","kid":"rsa","x5u":"http://127.0.0.1:1/c"}`, good, keys.strangeRSA), want: invalid},
		"crit":                         {at: s, shown: tokenOf(`{"alg":"HS256","crit":["exp"]}`, good, tokenSecret), want: invalid},
		"crit, by keys":                {at: k, shown: es(`{"alg":"ES256","kid":"ec","crit":["b64"],"b64":false}`), want: invalid},
		"no exp":                       {at: s, shown: hsToken("exp", ""), want: invalid},
		"exp is a text":                {at: s, shown: hsToken("exp", `"`+unixIn(time.Hour)+`"`), want: invalid},
		"exp is null":                  {at: s, shown: hsToken("exp", "null"), want: invalid},
		"exp in milliseconds":          {at: s, shown: hsToken("exp", unixIn(time.Hour)+"000000"), want: invalid},
		"exp is huge":                  {at: s, shown: hsToken("exp", "1e300"), want: invalid},
		"exp is too large":             {at: s, shown: hsToken("exp", "1e999"), want: invalid},
		"exp is negative":              {at: s, shown: hsToken("exp", "-5"), want: expired},
		"an empty sub":                 {at: s, shown: hsToken("sub", `""`), want: invalid},
		"no sub":                       {at: s, shown: hsToken("sub", ""), want: invalid},
		"sub is a number":              {at: s, shown: hsToken("sub", "5"), want: invalid},
		"sub is a list":                {at: s, shown: hsToken("sub", `["alice"]`), want: invalid},
		"two subs":                     {at: s, shown: tokenOf(headerHS, `{"sub":"bob",`+good[1:], tokenSecret), want: invalid},
		"a control character in sub":   {at: s, shown: hsToken("sub", `"ali\u0007ce"`), want: invalid},
		"a line end in sub":            {at: s, shown: hsToken("sub", `"alice\nSet-Cookie: x"`), want: invalid},
		"a sub of 65 characters":       {at: s, shown: hsToken("sub", `"`+strings.Repeat("a", 65)+`"`), want: invalid},
		"blanks around sub":            {at: s, shown: hsToken("sub", `" alice "`), want: invalid},
		"a huge token":                 {at: s, shown: hsToken("pad", `"`+strings.Repeat("x", 9000)+`"`), want: invalid},
		"a token within a token":       {at: s, shown: tokenOf(`{"alg":"HS256","cty":"JWT"}`, hs, tokenSecret), want: invalid},
		"an encrypted token":           {at: s, shown: hs + ".AA.AA", want: invalid},
		"not base64":                   {at: s, shown: "%%%.***.!!!", want: invalid},
		"padded base64":                {at: s, shown: hs + "=", want: invalid},
		"without dots":                 {at: s, shown: strings.ReplaceAll(hs, ".", ""), want: invalid},
		"one dot":                      {at: s, shown: parts[0] + "." + parts[1], want: invalid},
		"dots alone":                   {at: s, shown: "..", want: invalid},
		"in small letters":             {at: s, shown: strings.ToLower(hs), want: invalid},
		"in quotes":                    {at: s, shown: `"` + hs + `"`, want: invalid},
		"an empty header":              {at: s, values: []string{""}, want: invalid},
		"Bearer alone":                 {at: s, values: []string{"Bearer"}, want: invalid},
		"a token alone":                {at: s, values: []string{hs}, want: invalid},
		"Basic":                        {at: s, values: []string{"Basic YWxpY2U6c2VzYW1l"}, want: invalid},
		"another scheme, a good token": {at: s, values: []string{"Token " + hs}, want: invalid},
		"two tokens in a header":       {at: s, values: []string{"Bearer " + hs + ", Bearer " + hs}, want: invalid},
		"two headers":                  {at: s, values: []string{"Bearer " + hs, "Bearer " + hs}, want: invalid},
		"a good header and a bad one":  {at: s, values: []string{"Bearer " + hs, "Basic x"}, want: invalid},
	}
	for name, tt := range tests {
		if tt.values == nil {
			tt.values = []string{"Bearer " + tt.shown}
		}
		for way, ask := range ways {
			if got := ask(tt.at, tt.values); got != tt.want {
				t.Errorf("%s, by %s: %s, want %s", name, way, got, tt.want)
			}
		}
	}
	for _, log := range []string{s.log.String(), k.log.String()} {
		if strings.Contains(log, "sesame") || strings.Contains(log, parts[0]) || strings.Contains(log, parts[1][:20]) || !strings.Contains(log, invalid) {
			t.Errorf("the log has a part of a token, or no code: %.2000s", log)
		}
	}
}
