package sitetest

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"frontpage/tests/require"
)

// Stream is the client's end of server-sent events.
type Stream struct {
	t        *testing.T
	site     *Site
	Res      *http.Response
	Body     *bufio.Reader
	Cancel   context.CancelFunc
	Comments int
	ID       string // of the last event
}

// Stream asks for server-sent events by GET, on a connection of its own.
func (s *Site) Stream(query string, header ...string) *Stream {
	s.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.T.Cleanup(cancel)
	req := require.Value(http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"?query="+url.QueryEscape(query), nil))(s.T)
	req.Header.Set("Accept", "text/event-stream")
	AddHeaders(req.Header, header...)
	defer time.AfterFunc(require.Timeout, cancel).Stop()
	res := require.Value((&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req))(s.T)
	s.T.Cleanup(func() { _ = res.Body.Close() })
	return &Stream{t: s.T, site: s, Res: res, Body: bufio.NewReader(res.Body), Cancel: cancel}
}

func (e *Stream) line() string {
	e.t.Helper()
	defer time.AfterFunc(require.Timeout, e.Cancel).Stop()
	line, err := e.Body.ReadString('\n')
	if err != nil {
		e.t.Fatalf("the stream ended after %q: %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// Comment reads a comment, which must be next.
func (e *Stream) Comment() {
	e.t.Helper()
	if a, b := e.line(), e.line(); a != ":" || b != "" {
		e.t.Fatalf("got %q %q, want a comment", a, b)
	}
	e.Comments++
}

// Next reads an event and the comments before it.
func (e *Stream) Next() (name, data string) {
	e.t.Helper()
	line := e.line()
	for line == ":" || line == "" || strings.HasPrefix(line, "id: ") {
		if line == ":" {
			e.Comments++
		} else if id, ok := strings.CutPrefix(line, "id: "); ok {
			e.ID = id
		}
		line = e.line()
	}
	name, isEvent := strings.CutPrefix(line, "event: ")
	data, isData := strings.CutPrefix(e.line(), "data:")
	blank := e.line()
	if id, ok := strings.CutPrefix(blank, "id: "); ok {
		e.ID, blank = id, e.line()
	}
	if !isEvent || !isData || blank != "" {
		e.t.Fatalf("got %q %q %q, want an event, its data and a blank line", line, data, blank)
	}
	return name, strings.TrimPrefix(data, " ")
}

// Want fails the test unless the next event has this name and data.
func (e *Stream) Want(name, data string) {
	e.t.Helper()
	if n, d := e.Next(); n != name || d != data {
		e.t.Errorf("got %s %s\nwant %s %s", n, d, name, data)
	}
}

// Votes reads an event of one article's votes.
func (e *Stream) Votes() int {
	e.t.Helper()
	name, data := e.Next()
	if name != "next" {
		e.t.Fatalf("got event %s %s, want next", name, data)
	}
	return VotesOf(e.t, data)
}

// Settle is like Socket.Settle, for the only subscription of the stream.
func (e *Stream) Settle(article string) int {
	e.t.Helper()
	return e.site.Settle(article, func() (string, int) { return "", e.Votes() }, "")
}
