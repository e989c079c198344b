package endpoint_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// unreadResponse is a response that its client begins to read when the test says so.
type unreadResponse struct {
	*httptest.ResponseRecorder
	begun, read, done chan struct{}
}

func (r *unreadResponse) Write(body []byte) (int, error) {
	close(r.begun)
	<-r.read
	return len(body), nil
}

// largeResponses is an endpoint whose responses have 1 MB.
func largeResponses(t *testing.T) *endpoint.Handler {
	t.Helper()
	repo, err := redisrepo.New(t.Context(), redistest.Start(t).Client, site.DefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	o := endpoint.DefaultOptions()
	o.SharedAnswers = 0
	o.Rates.Cost = endpoint.Rate{Most: 1_000_000, Window: time.Hour}
	if o.Identity, err = identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}); err != nil {
		t.Fatal(err)
	}
	large := append(append([]byte{'"'}, bytes.Repeat([]byte{'a'}, 1<<20)...), '"')
	return endpoint.New(endpoint.Schema{
		ExecutableSchema: graph.NewExecutableSchema(graph.Config{}),
		Compile: func(*ast.OperationDefinition, ast.FragmentDefinitionList) endpoint.Executable {
			return endpoint.Executable{Execute: func(context.Context) *graphql.Response { return &graphql.Response{Data: large} }}
		},
	}, repo, slog.New(slog.DiscardHandler), o)
}

// While 16 MB of responses to an address are on their way, its operations wait, and are then refused before they run.
func TestAnAddressThatDoesNotReadIsRefused(t *testing.T) {
	t.Parallel()
	handler := largeResponses(t)
	ask := func(address string) *unreadResponse {
		res := &unreadResponse{httptest.NewRecorder(), make(chan struct{}), make(chan struct{}), make(chan struct{})}
		req := post(`{"query":"{ articles { id } }"}`, "alice")
		req.RemoteAddr = address + ":1234"
		go func() {
			defer close(res.done)
			handler.ServeHTTP(res, req)
		}()
		<-res.begun
		return res
	}
	const greedy = "192.0.2.1"
	var all []*unreadResponse
	for range 16 {
		all = append(all, ask(greedy))
	}
	late, other := ask(greedy), ask("192.0.2.2")
	for i, res := range append(all, other) {
		if res.Code != http.StatusOK {
			t.Errorf("response %d: got %d, want 200", i, res.Code)
		}
	}
	if late.Code != http.StatusServiceUnavailable || late.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %v while 16 MB are unread, want 503 with Retry-After", late.Code, late.Header())
	}
	close(all[0].read)
	<-all[0].done
	again := ask(greedy)
	if again.Code != http.StatusOK {
		t.Errorf("got %d after one response was read, want 200", again.Code)
	}
	for _, res := range append(all[1:], late, other, again) {
		close(res.read)
		<-res.done
	}
}

// Responses over event streams and WebSockets count, too.
func TestAnAddressThatDoesNotReadItsStreamsIsRefused(t *testing.T) {
	t.Parallel()
	const query = "{ articles { id } }"
	for name, open := range map[string]func(*sitetest.Site) net.Conn{
		"event streams": func(s *sitetest.Site) net.Conn {
			conn := slow(s)
			if _, err := fmt.Fprintf(conn, "GET /?query=%s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n", url.QueryEscape(query)); err != nil {
				t.Fatal(err)
			}
			return conn
		},
		"WebSockets": func(s *sitetest.Site) net.Conn {
			return rawSocket(s, begin, fmt.Sprintf(`{"type":"subscribe","id":"a","payload":{"query":%q}}`, query))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(largeResponses(t))
			server.Config.ConnContext = endpoint.WithConn
			server.Start()
			t.Cleanup(server.Close)
			s := &sitetest.Site{T: t, URL: server.URL}
			responds := func(want int) func() bool {
				return func() bool {
					res := must.Get(server.Client().Get(server.URL + "/?query=" + url.QueryEscape(query)))(t)
					defer func() { _ = res.Body.Close() }()
					must.Get(io.Copy(io.Discard, res.Body))(t)
					return res.StatusCode == want
				}
			}
			var conns []net.Conn
			for range 16 {
				conns = append(conns, open(s))
			}
			sitetest.Eventually(t, "an operation is refused", responds(http.StatusServiceUnavailable))
			_ = conns[0].Close()
			sitetest.Eventually(t, "an operation runs after a response was given up", responds(http.StatusOK))
		})
	}
}
