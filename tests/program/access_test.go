package program_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontpage/must"
	"frontpage/redistest"
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
			`"msg":"request","method":"GET","path":"/u/{user}","protocol":"HTTP/1.1","status":404,"transport":"http","operation":"UserArticles","kind":"query","code":"","viewer":false`,
			`"msg":"request","method":"OTHER","path":"/query","protocol":"HTTP/1.1","status":405,"transport":"http","operation":"","kind":"","code":"METHOD_NOT_ALLOWED","viewer":false`,
			`"msg":"request","method":"POST","path":"","protocol":"HTTP/1.1","status":421`,
			`"msg":"request","method":"POST","path":"/query","protocol":"HTTP/1.1","status":200,"transport":"http","operation":"","kind":"","code":"GRAPHQL_VALIDATION_FAILED","viewer":false`,
		},
		"all": {
			`"msg":"operation","transport":"websocket","operation":"Now","kind":"query","code":"","viewer":false`,
			`"msg":"request","method":"GET","path":"/","protocol":"HTTP/1.1","status":404`,
			`"msg":"request","method":"GET","path":"/healthz","protocol":"HTTP/1.1","status":200`,
			`"msg":"request","method":"GET","path":"/query","protocol":"HTTP/1.1","status":101`,
			`"msg":"request","method":"GET","path":"/query","protocol":"HTTP/1.1","status":200,"transport":"sse","operation":"Posts","kind":"subscription","code":"","viewer":false`,
			`"msg":"request","method":"GET","path":"/u/{user}","protocol":"HTTP/1.1","status":404,"transport":"http","operation":"UserArticles","kind":"query","code":"","viewer":false`,
			`"msg":"request","method":"OTHER","path":"/query","protocol":"HTTP/1.1","status":405,"transport":"http","operation":"","kind":"","code":"METHOD_NOT_ALLOWED","viewer":false`,
			`"msg":"request","method":"POST","path":"","protocol":"HTTP/1.1","status":421`,
			`"msg":"request","method":"POST","path":"/query","protocol":"HTTP/1.1","status":200,"transport":"http","operation":"","kind":"","code":"GRAPHQL_VALIDATION_FAILED","viewer":false`,
			`"msg":"request","method":"POST","path":"/query","protocol":"HTTP/1.1","status":200,"transport":"http","operation":"Front","kind":"query","code":"","viewer":true`,
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
			s.status("/u/whisper")
			req := must.Get(http.NewRequestWithContext(t.Context(), "WHISPER", s.URL+"/query", nil))(t)
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
	res := must.Get(http.Get(s.URL + "/healthz"))(t)
	_ = res.Body.Close()
	if got := res.Header.Get("X-Request-Id"); len(got) < 20 {
		t.Errorf("/healthz: got the id %q, want one", got)
	}
}
