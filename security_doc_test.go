package main

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
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"frontpage/redistest"
)

// SECURITY.md names tests as PACKAGE.TestNAME, and the clients' checks by their file.
func TestSecurityNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	there := map[string]bool{}
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		from := filepath.Dir(file)
		if from == "." {
			from = "main"
		}
		for _, m := range function.FindAllSubmatch(text, -1) {
			there[from+"."+string(m[1])] = true
		}
	}
	named := regexp.MustCompile("`([a-z./]*Test\\w*)`").FindAllSubmatch(document, -1)
	if len(named) < 40 {
		t.Errorf("SECURITY.md names only %d tests", len(named))
	}
	for _, m := range named {
		if !there[string(m[1])] {
			t.Errorf("SECURITY.md names %s, and there is no such test", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`(clients/[^`]*)`").FindAllSubmatch(document, -1) {
		if _, err := os.Stat(string(m[1])); err != nil {
			t.Errorf("SECURITY.md names %s: %v", m[1], err)
		}
	}
}

// signed is a token of mallory's.
func signed(key string) string {
	part := base64.RawURLEncoding.EncodeToString
	text := part([]byte(`{"alg":"HS256"}`)) + "." + part(fmt.Appendf(nil, `{"sub":"mallory","exp":%d}`, time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + part(mac.Sum(nil))
}

// Whatever people do, and whatever goes wrong meanwhile, the log does not say
// who they are, where they are, or what they have sent.
func TestTheLogNamesNobody(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("s3cret", 6)
	good, bad := signed(secret), signed("another")
	for name, tt := range map[string]struct {
		env     []string
		headers []http.Header // each is tried with everything
	}{
		"in development": {headers: []http.Header{{"X-User-Id": {"mallory"}, "Authorization": {"Bearer " + good}}}},
		"with tokens": {[]string{"JWT_SECRET=" + secret}, []http.Header{
			{"Authorization": {"Bearer " + good}, "X-User-Id": {"mallory"}},
			{"Authorization": {"Bearer " + bad}},
			{"Authorization": {"Bearer mallory"}},
			{"Authorization": {"mallory " + good}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := redistest.Start(t)
			s := start(t, append(tt.env, "REDIS_URL="+redis.URL(), "LOG_LEVEL=debug")...)
			all := func() {
				t.Helper()
				for _, header := range tt.headers {
					s.doEverything(header)
				}
			}
			all()
			for _, key := range []string{"voted:1", "posted:mallory", "score:", "group:whisper", "groups:"} {
				if err := redis.Client.Set(t.Context(), key, "of another type", 0).Err(); err != nil {
					t.Fatal(err)
				}
				all()
			}
			redis.Kill()
			all()
			log := s.stop()
			parts := strings.Split(good+"."+bad, ".")
			for _, private := range append(parts, "mallory", "whisper", "s3cret", "127.0.0.77") {
				if strings.Contains(log, private) {
					t.Errorf("%s is in the log:\n%s", private, log)
				}
			}
			if !strings.Contains(log, "WRONGTYPE") || !strings.Contains(log, "unavailable") || (tt.env != nil) != strings.Contains(log, "TOKEN_INVALID") {
				t.Errorf("too little went wrong:\n%s", log)
			}
		})
	}
}

// doEverything asks for what works and for what does not, from 127.0.0.77.
func (s *running) doEverything(header http.Header) {
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
		body, err := json.Marshal(map[string]any{"query": query, "variables": map[string]string{"v": "whisper"}})
		if err != nil {
			s.t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/query", bytes.NewReader(body))
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header = header.Clone()
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			s.t.Fatal(err)
		}
		_ = res.Body.Close()
	}
}

// A client that takes its time does not keep its connection for it.
func TestASlowRequestIsCutOff(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://")
	var waiting []net.Conn
	for _, half := range []string{
		"POST /query HTTP/1.1\r\nHost: localhost\r\n",
		"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		fmt.Fprint(conn, half)
		waiting = append(waiting, conn)
	}
	for i, conn := range waiting {
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("connection %d was not cut off: %v", i, err)
		}
	}
	s.stop()
}
