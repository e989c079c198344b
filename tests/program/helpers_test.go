// Package program_test runs the built program as an operator does, and tests only what is visible from outside.
package program_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/tests/programtest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func TestMain(m *testing.M) { os.Exit(programtest.Main(m)) }

// server is a running program with the requests that these tests send to it.
type server struct {
	*programtest.Server
	t testing.TB
}

// start starts the program with env and waits until it serves.
func start(t testing.TB, env ...string) *server {
	t.Helper()
	return &server{programtest.Start(t, env...), t}
}

// do sends a request and returns the response with its whole body.
func (s *server) do(client *http.Client, req *http.Request) (*http.Response, string) {
	s.t.Helper()
	res := require.Value(client.Do(req))(s.t)
	defer func() { _ = res.Body.Close() }()
	body := require.Value(io.ReadAll(res.Body))(s.t)
	return res, string(body)
}

// post sends a GraphQL request. header is pairs of name and value.
func (s *server) post(client *http.Client, query string, header ...string) (*http.Response, string) {
	s.t.Helper()
	body := require.Value(json.Marshal(map[string]string{"query": query}))(s.t)
	req := require.Value(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+"/query", bytes.NewReader(body)))(s.t)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	return s.do(client, req)
}

// ask sends a query as alice, in development mode, and returns the response's body.
func (s *server) ask(query string) string {
	s.t.Helper()
	return s.as("alice", "", query)
}

// as sends a query as a user with roles, in development mode, and returns the response's body.
func (s *server) as(user, roles, query string) string {
	s.t.Helper()
	_, body := s.post(http.DefaultClient, query, "X-User-ID", user, "X-User-Roles", roles)
	return body
}

// whoAmI asks for the name of the caller. header is pairs of name and value.
func (s *server) whoAmI(client *http.Client, header ...string) (*http.Response, string) {
	s.t.Helper()
	return s.post(client, "{ viewer { name } }", header...)
}

// page returns status and body of a GET of path.
func (s *server) page(path string) (int, string) {
	s.t.Helper()
	req := require.Value(http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+path, nil))(s.t)
	res, body := s.do(http.DefaultClient, req)
	return res.StatusCode, body
}

// status returns the status of a GET of path.
func (s *server) status(path string) int {
	s.t.Helper()
	status, _ := s.page(path)
	return status
}

// tokenFor returns a token of a user, valid for an hour and signed with testSecret.
func tokenFor(user string) string {
	return sitetest.SignToken(sitetest.HeaderHS, fmt.Sprintf(`{"sub":%q,"exp":%s}`, user, sitetest.UnixIn(time.Hour)), testSecret)
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// events opens a stream of server-sent events and returns its lines.
func (s *server) events(query string) *bufio.Scanner {
	s.t.Helper()
	req := require.Value(http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+"/query?query="+url.QueryEscape(query), nil))(s.t)
	req.Header.Set("Accept", "text/event-stream")
	res := require.Value(http.DefaultClient.Do(req))(s.t)
	s.t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || lines.Text() != ":" { // it is open
		s.t.Fatalf("open an event stream: status %d, first line %q (%v), want a comment", res.StatusCode, lines.Text(), lines.Err())
	}
	return lines
}

// socket opens a WebSocket and starts an operation on it.
func (s *server) socket(query string) *websocket.Conn {
	s.t.Helper()
	conn, _, err := websocket.Dial(s.t.Context(), s.URL+"/query", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	for _, message := range []string{`{"type":"connection_init"}`, `{"type":"subscribe","id":"1","payload":{"query":"` + query + `"}}`} {
		require.NoError(s.t, conn.Write(s.t.Context(), websocket.MessageText, []byte(message)))
	}
	if _, message, err := conn.Read(s.t.Context()); err != nil || string(message) != `{"type":"connection_ack"}` {
		s.t.Fatalf("open a WebSocket: %s (%v), want connection_ack", message, err)
	}
	return conn
}
