package program_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// accessLines returns the lines of the access log, without the values that differ in each run.
func accessLines(t *testing.T, log string) (lines []string) {
	t.Helper()
	for text := range strings.Lines(log) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if line["msg"] != "request" && line["msg"] != "operation" {
			continue
		}
		if id, ok := line["request_id"].(string); !ok || id == "" {
			t.Errorf("a line has no request id: %s", text)
		}
		if took, ok := line["duration_ms"].(float64); !ok || took <= 0 {
			t.Errorf("a line has no duration: %s", text)
		}
		if bytes, ok := line["bytes"].(float64); !ok || bytes < 0 {
			t.Errorf("a line has no bytes: %s", text)
		}
		rest := regexp.MustCompile(`"(time|level|duration_ms|bytes|request_id)":("[^"]*"|[^,}]*),?`).ReplaceAllString(text, "")
		lines = append(lines, strings.Trim(rest, "{,}\n"))
	}
	return lines
}

func TestAccessLogHasALineForEachRequest(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	for level, want := range map[string][]string{
		"off": nil,
		"errors": {
			`"msg":"request","method":"GET","path":"/","protocol":"HTTP/1.1","status":404`,
			`"msg":"request","method":"GET","path":"/g/{group}","protocol":"HTTP/1.1","status":404,"transport":"http","operation":"GroupArticles","kind":"query","code":"","viewer":false`,
			`"msg":"request","method":"OTHER","path":"/query","protocol":"HTTP/1.1","status":405,"transport":"http","operation":"","kind":"","code":"METHOD_NOT_ALLOWED","viewer":false`,
			`"msg":"request","method":"POST","path":"/query","protocol":"HTTP/1.1","status":200,"transport":"http","operation":"","kind":"","code":"GRAPHQL_VALIDATION_FAILED","viewer":false`,
			`"msg":"request","method":"POST","path":"/query","protocol":"HTTP/1.1","status":421`,
		},
		"all": {
			`"msg":"operation","transport":"websocket","operation":"Now","kind":"query","code":"","viewer":false`,
			`"msg":"request","method":"GET","path":"/","protocol":"HTTP/1.1","status":404`,
			`"msg":"request","method":"GET","path":"/g/{group}","protocol":"HTTP/1.1","status":404,"transport":"http","operation":"GroupArticles","kind":"query","code":"","viewer":false`,
			`"msg":"request","method":"GET","path":"/healthz","protocol":"HTTP/1.1","status":200`,
			`"msg":"request","method":"GET","path":"/query","protocol":"HTTP/1.1","status":101`,
			`"msg":"request","method":"GET","path":"/query","protocol":"HTTP/1.1","status":200,"transport":"sse","operation":"Posts","kind":"subscription","code":"","viewer":false`,
			`"msg":"request","method":"OTHER","path":"/query","protocol":"HTTP/1.1","status":405,"transport":"http","operation":"","kind":"","code":"METHOD_NOT_ALLOWED","viewer":false`,
			`"msg":"request","method":"POST","path":"/query","protocol":"HTTP/1.1","status":200,"transport":"http","operation":"","kind":"","code":"GRAPHQL_VALIDATION_FAILED","viewer":false`,
			`"msg":"request","method":"POST","path":"/query","protocol":"HTTP/1.1","status":200,"transport":"http","operation":"Front","kind":"query","code":"","viewer":true`,
			`"msg":"request","method":"POST","path":"/query","protocol":"HTTP/1.1","status":421`,
		},
	} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			s := start(t, "REDIS_URL="+redis.URL(), "FRONTPAGE_ACCESS_LOG="+level, "FRONTPAGE_LOG_FORMAT=json")
			s.ask(`query Front { articles { title } }`)
			s.post(http.DefaultClient, `{ whisper }`)
			s.post(http.DefaultClient, `{ whisper }`, "Host", "example.org")
			s.status("/healthz?whisper=1")
			s.status("/whisper.txt")
			s.status("/g/whisper")
			req := require.Value(http.NewRequestWithContext(t.Context(), "WHISPER", s.URL+"/query", nil))(t)
			s.do(http.DefaultClient, req)
			if _, answer, err := s.socket("query Now { __typename }").Read(t.Context()); err != nil || !strings.Contains(string(answer), "Query") {
				t.Fatalf("ask over a WebSocket: %s (%v)", answer, err)
			}
			s.events("subscription Posts { articlePosted { node { id } } }")
			log := s.Stop()
			if got := slices.Sorted(slices.Values(accessLines(t, log))); !slices.Equal(got, want) {
				t.Errorf("got the lines\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if strings.Contains(log, "alice") || strings.Contains(log, "hisper") {
				t.Errorf("the log has a name or what a client sent:\n%s", log)
			}
		})
	}
}

// An id that is short and harmless is accepted. Otherwise the request gets a new one.
func TestEachRequestHasAnID(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://")
	if log := s.Log(); strings.Contains(log, "upgrading") {
		t.Errorf("the log of an empty store has upgrades:\n%s", log)
	}
	seen := map[string]bool{}
	for _, sent := range []string{"0af7651916cd43dd8448eb211c80319c", "Root=1-67891233-abcdef012345678912345678", "a.b_c~d", "", "two words", "<script>", "é", strings.Repeat("a", 65), "a\tb"} {
		res, _ := s.whoAmI(http.DefaultClient, "X-Request-Id", sent)
		got := res.Header.Get("X-Request-Id")
		accepted := strings.HasPrefix(sent, "0af") || strings.HasPrefix(sent, "Root")
		if accepted != (got == sent) || got == "" || len(got) > 64 || seen[got] {
			t.Errorf("%q was sent, got %q", sent, got)
		}
		seen[got] = true
	}
	res := require.Value(http.Get(s.URL + "/healthz"))(t)
	_ = res.Body.Close()
	if got := res.Header.Get("X-Request-Id"); len(got) < 20 {
		t.Errorf("/healthz: got the id %q, want one", got)
	}
}

// signed returns a token of the user mallory, signed with key.
func signed(key string) string {
	part := base64.RawURLEncoding.EncodeToString
	text := part([]byte(`{"alg":"HS256"}`)) + "." + part(fmt.Appendf(nil, `{"sub":"mallory","exp":%d}`, time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + part(mac.Sum(nil))
}

// At every log level, with requests that succeed and requests that fail, the log contains no user name, no
// address and nothing that a client has sent.
func TestLogContainsNoUserAddressOrInput(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("s3cret", 6)
	good, bad := signed(secret), signed("another")
	for name, tt := range map[string]struct {
		env     []string
		headers []http.Header // doEverything runs with each
	}{
		"in development": {headers: []http.Header{{"X-User-Id": {"mallory"}, "Authorization": {"Bearer " + good}}}},
		"with tokens": {[]string{"FRONTPAGE_JWT_SECRET=" + secret}, []http.Header{
			{"Authorization": {"Bearer " + good}, "X-User-Id": {"mallory"}},
			{"Authorization": {"Bearer " + bad}},
			{"Authorization": {"Bearer mallory"}},
			{"Authorization": {"mallory " + good}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			s := start(t, append(tt.env, "REDIS_URL="+redis.URL(), "FRONTPAGE_LOG_LEVEL=debug")...)
			all := func() {
				t.Helper()
				for _, header := range tt.headers {
					s.doEverything(header)
				}
			}
			all()
			for _, key := range []string{"voted:1", "posted:mallory", "score:", "group:whisper", "groups:"} {
				require.NoError(t, redis.Client.Set(t.Context(), key, "of another type", 0).Err())
				all()
			}
			redis.Kill()
			all()
			log := s.Stop()
			parts := strings.Split(good+"."+bad, ".")
			for _, private := range append(parts, "mallory", "whisper", "s3cret", "127.0.0.77") {
				if strings.Contains(log, private) {
					t.Errorf("the log contains %s:\n%s", private, log)
				}
			}
			if !strings.Contains(log, "WRONGTYPE") || !strings.Contains(log, "unavailable") || (tt.env != nil) != strings.Contains(log, "TOKEN_INVALID") {
				t.Errorf("the log lacks the expected faults:\n%s", log)
			}
		})
	}
}

// doEverything sends valid and invalid operations from the address 127.0.0.77.
func (s *server) doEverything(header http.Header) {
	s.t.Helper()
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 77)}}
	client := &http.Client{Transport: &http.Transport{DialContext: from.DialContext}}
	defer client.CloseIdleConnections()
	for _, query := range []string{
		`mutation { post(input: {title: "whisper", text: "whisper"}) { article { id } } }`,
		`mutation { vote(input: {article: 1, direction: DOWN}) { changed } }`,
		`mutation { regroup(input: {article: 1, add: ["whisper"]}) { article { id } } }`,
		`query($v: String!) { viewer { id } user(name: $v) { id articlesConnection(first: 1) { totalCount } } articles { viewerVote } }`,
		`{ whisper }`, `{ "whisper`, `{ article(id: "whisper") { id } }`, `{ articles(page: -1) { id } }`,
	} {
		body := require.Value(json.Marshal(map[string]any{"query": query, "variables": map[string]string{"v": "whisper"}}))(s.t)
		req := require.Value(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+"/query", bytes.NewReader(body)))(s.t)
		req.Header = header.Clone()
		req.Header.Set("Content-Type", "application/json")
		res := require.Value(client.Do(req))(s.t)
		require.Value(io.Copy(io.Discard, res.Body))(s.t)
		_ = res.Body.Close()
	}
}
