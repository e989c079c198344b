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
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redistest"
)

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
				must.Do(t, redis.Client.Set(t.Context(), key, "of another type", 0).Err())
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
		body := must.Get(json.Marshal(map[string]any{"query": query, "variables": map[string]string{"v": "whisper"}}))(s.t)
		req := must.Get(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+"/query", bytes.NewReader(body)))(s.t)
		req.Header = header.Clone()
		req.Header.Set("Content-Type", "application/json")
		res := must.Get(client.Do(req))(s.t)
		must.Get(io.Copy(io.Discard, res.Body))(s.t)
		_ = res.Body.Close()
	}
}
