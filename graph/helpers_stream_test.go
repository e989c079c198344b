package graph_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// stream is the client's end of server-sent events.
type stream struct {
	t        *testing.T
	site     *site
	res      *http.Response
	body     *bufio.Reader
	cancel   context.CancelFunc
	comments int
}

// stream asks for server-sent events by GET, on a connection of its own.
func (s *site) stream(query string, header ...string) *stream {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"?query="+url.QueryEscape(query), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	defer time.AfterFunc(patience, cancel).Stop()
	res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return &stream{t: s.t, site: s, res: res, body: bufio.NewReader(res.Body), cancel: cancel}
}

func (e *stream) line() string {
	e.t.Helper()
	defer time.AfterFunc(patience, e.cancel).Stop()
	line, err := e.body.ReadString('\n')
	if err != nil {
		e.t.Fatalf("the stream ends with %q: %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// comment reads a comment, which must be next.
func (e *stream) comment() {
	e.t.Helper()
	if a, b := e.line(), e.line(); a != ":" || b != "" {
		e.t.Fatalf("no comment: %q %q", a, b)
	}
	e.comments++
}

// next reads an event and the comments before it.
func (e *stream) next() (name, data string) {
	e.t.Helper()
	line := e.line()
	for ; line == ":"; line = e.line() {
		if blank := e.line(); blank != "" {
			e.t.Fatalf("behind a comment: %q", blank)
		}
		e.comments++
	}
	name, isEvent := strings.CutPrefix(line, "event: ")
	data, isData := strings.CutPrefix(e.line(), "data:")
	if blank := e.line(); !isEvent || !isData || blank != "" {
		e.t.Fatalf("no event: %q %q %q", line, data, blank)
	}
	return name, strings.TrimPrefix(data, " ")
}

func (e *stream) want(name, data string) {
	e.t.Helper()
	if n, d := e.next(); n != name || d != data {
		e.t.Errorf("got %s %s\nwant %s %s", n, d, name, data)
	}
}

// votes reads an event of one article's votes.
func (e *stream) votes() int {
	e.t.Helper()
	name, data := e.next()
	if name != "next" {
		e.t.Fatalf("%s %s", name, data)
	}
	return votesOf(e.t, data)
}

// settle is that of a wire.
func (e *stream) settle(article string) int {
	e.t.Helper()
	return e.site.settle(article, func() (string, int) { return "", e.votes() }, "")
}
