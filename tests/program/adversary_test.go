package program_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// adversary is a client that uses every limit of its address to the full.
type adversary struct {
	*server
	client *http.Client
	dialer net.Dialer

	mu    sync.Mutex
	codes map[string]int // of the errors that it got
}

func newAdversary(s *server) *adversary {
	a := &adversary{server: s, codes: map[string]int{}}
	a.dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)} // others are 127.0.0.1
	a.client = &http.Client{Transport: &http.Transport{DialContext: a.dialer.DialContext, MaxIdleConnsPerHost: 8}}
	s.t.Cleanup(a.client.CloseIdleConnections)
	return a
}

// count counts the codes in a response.
func (a *adversary) count(body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, part := range bytes.Split(body, []byte(`"code":"`))[1:] {
		code, _, _ := bytes.Cut(part, []byte(`"`))
		a.codes[string(code)]++
	}
}

// send sends a request, and counts the codes of its response.
func (a *adversary) send(accept, body string) {
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.URL+"/query", strings.NewReader(body))
	if err != nil {
		a.t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	res, err := a.client.Do(req)
	if err != nil {
		return // refused by closing the connection
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err == nil {
		a.count(text)
	}
}

// subscription returns the body of a request to watch 100 articles, by a document that no other one has.
func subscription(number string) string {
	ids := make([]int, 100)
	for i := range ids {
		ids[i] = i + 1
	}
	body, err := json.Marshal(map[string]any{
		"query": "subscription S" + number + "($ids: [ID!]!, $all: Boolean!) { articleChanged(ids: $ids) {" +
			" id title link text @include(if: $all) votes score poster { name } groups { name } } }",
		"variables": map[string]any{"ids": ids, "all": true},
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// watch opens a socket with operations subscriptions. It returns when each began or was refused.
func (a *adversary) watch(socket, operations int) {
	conn, res, err := websocket.Dial(a.t.Context(), a.URL+"/query", &websocket.DialOptions{HTTPClient: a.client, Subprotocols: []string{"graphql-transport-ws"}})
	if err != nil {
		if res == nil {
			a.t.Errorf("socket %d: %v", socket, err)
			return
		}
		body, _ := io.ReadAll(res.Body)
		a.count(body)
		return
	}
	a.t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(1 << 20)
	go func() {
		_ = conn.Write(a.t.Context(), websocket.MessageText, []byte(`{"type":"connection_init"}`))
		for i := range operations {
			text := fmt.Sprintf(`{"type":"subscribe","id":"%d","payload":%s}`, i, subscription(fmt.Sprint(socket, "_", i)))
			if conn.Write(a.t.Context(), websocket.MessageText, []byte(text)) != nil {
				return
			}
		}
		_ = conn.Write(a.t.Context(), websocket.MessageText, []byte(`{"type":"ping"}`))
	}()
	for {
		_, data, err := conn.Read(a.t.Context())
		if err != nil {
			a.t.Errorf("socket %d: %v", socket, err)
			return
		}
		switch {
		case bytes.Contains(data, []byte(`"type":"error"`)):
			a.count(data)
		case bytes.Contains(data, []byte(`"type":"pong"`)):
			go func() {
				for err == nil {
					_, _, err = conn.Read(a.t.Context())
				}
			}()
			return
		}
	}
}

// stream opens an event stream that is never read.
func (a *adversary) stream(number int) {
	conn, err := a.dialer.DialContext(a.t.Context(), "tcp", strings.TrimPrefix(a.URL, "http://"))
	if err != nil {
		a.t.Error(err)
		return
	}
	a.t.Cleanup(func() { _ = conn.Close() })
	body := subscription(fmt.Sprint("E", number))
	fmt.Fprintf(conn, "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// header sends a header without an end.
func (a *adversary) header() {
	conn, err := a.dialer.DialContext(a.t.Context(), "tcp", strings.TrimPrefix(a.URL, "http://"))
	if err != nil {
		a.t.Error(err)
		return
	}
	a.t.Cleanup(func() { _ = conn.Close() })
	fmt.Fprint(conn, "GET /query HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
}

// One address uses all of its limits at once. Others notice nothing but a delay, and the server's memory stays
// bounded.
func TestAddressAtAllItsLimitsHarmsNoOther(t *testing.T) {
	t.Parallel()
	const sockets, operations, streams, allowed = 10, 50, 10, 10_000
	s := start(t, "REDIS_URL="+redistest.Start(t).URL(), fmt.Sprint("FRONTPAGE_STREAMS_PER_ADDRESS=", sockets+streams), fmt.Sprint("FRONTPAGE_MAX_WATCHED=", 4*allowed))
	text := strings.Repeat("text ", 100)
	for i := range 100 {
		if got := s.ask(fmt.Sprintf(`mutation { post(input: {title: "t%d", text: %q}) { article { id } } }`, i, text)); !strings.Contains(got, "article:") {
			t.Fatalf("post: %s", got)
		}
	}
	before := s.rss()
	a := newAdversary(s)
	stop := make(chan struct{})
	var begun, attacks sync.WaitGroup
	for i := range sockets {
		begun.Go(func() { a.watch(i, operations) })
	}
	for i := range streams {
		begun.Go(func() { a.stream(i) })
	}
	for range 50 {
		begun.Go(a.header)
	}
	largest := `{"query":"{ articles(pageSize: 100) { id title text votes score poster { name } groups { name } } }","variables":{"x":"` + strings.Repeat("x", 130_000) + `"}}`
	for _, body := range []string{
		largest, largest + strings.Repeat(" ", 2000), `{"query":"{ articles(pageSize: 100) { groups { articles(pageSize: 100) { id } } } }"}`,
		`{"query":"{ __typename ` + strings.Repeat("a:id ", 800) + ` }"}`, `{"query":"` + strings.Repeat("{", 3000) + `"}`,
	} {
		attacks.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					a.send("application/json", body)
				}
			}
		})
	}
	opened := make(chan struct{})
	go func() { begun.Wait(); close(opened) }()
	var took []time.Duration
	for i, left := 0, 50; left > 0; i++ { // others vote while the adversary opens its subscriptions, and 50 times more
		began := time.Now()
		if got := s.as(fmt.Sprint("voter", i), "", fmt.Sprintf(`mutation { vote(input: {article: %d}) { changed } }`, 1+i%100)); !strings.Contains(got, `"changed":true`) {
			t.Errorf("another user's vote: got %s, want it to count", got)
		}
		took = append(took, time.Since(began))
		if got := s.ask(`{ articles(pageSize: 1) { id } }`); !strings.Contains(got, `"article:`) {
			t.Errorf("another user's query: got %s, want an article", got)
		}
		select {
		case <-opened:
			left--
		default:
		}
	}
	// Beyond the limits.
	a.send("text/event-stream", subscription("more"))
	close(stop)
	attacks.Wait()
	after := s.rss()
	slices.Sort(took)
	t.Logf("%d votes of others: median %v, slowest %v; memory %d MB, before %d MB; refused: %v", len(took), took[len(took)/2], took[len(took)-1], after>>20, before>>20, a.codes)
	known := []string{"WATCH_LIMIT_EXCEEDED", "STREAM_LIMIT_EXCEEDED", "BODY_LIMIT_EXCEEDED", "COMPLEXITY_LIMIT_EXCEEDED", "ALIAS_LIMIT_EXCEEDED",
		"FIELD_LIMIT_EXCEEDED", "TOKEN_LIMIT_EXCEEDED", "GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED"}
	for code, n := range a.codes {
		if !slices.Contains(known, code) {
			t.Errorf("the adversary got %d times %s, want only %v", n, code, known)
		}
	}
	// The last one of a socket may be refused after the pong.
	if least := sockets*(operations-1) - allowed/100; a.codes["WATCH_LIMIT_EXCEEDED"] < least {
		t.Errorf("got %d refused subscriptions, want at least %d", a.codes["WATCH_LIMIT_EXCEEDED"], least)
	}
	if grown := after - before; grown > 100<<20 {
		t.Errorf("the server took %d MB for one address, want at most 100 MB", grown>>20)
	}
}

// rss returns the memory of the server's process, bytes, or 0 where that is not known.
func (s *server) rss() int { return s.memory("VmRSS") }

// memory returns a line of the status of the server's process: VmRSS, or its peak, VmHWM.
func (s *server) memory(name string) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, name+": %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// part sends a part of a request from the adversary's address, and returns the connection.
func (a *adversary) part(text string) net.Conn {
	a.t.Helper()
	conn := require.Value(a.dialer.DialContext(a.t.Context(), "tcp", strings.TrimPrefix(a.URL, "http://")))(a.t)
	a.t.Cleanup(func() { _ = conn.Close() })
	_, _ = io.WriteString(conn, text) // fails if it was closed
	return conn
}

// answerOn returns the status of the response on a connection, 0 if it was closed.
func answerOn(conn net.Conn) int {
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0
	}
	return res.StatusCode
}

// With GOMEMLIMIT=64MiB the connections of one address take 12 MiB, as the longest header does: 19 with 10 KB of a header that
// they have begun to send, 103 with 100 KB of a body, or 769.
const (
	littleMemory = "GOMEMLIMIT=64MiB"
	headersBegun = 19
	bodiesBegun  = 103
	allOpen      = 769
)

var (
	longHeader = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nLong: " + strings.Repeat("a", 10_000)
	longBody   = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100002\r\n\r\n" + strings.Repeat(" ", 100_000)
)

func TestUnfinishedRequestsOfAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]struct {
		begin, end    string
		begun, status int
	}{
		"headers": {longHeader, "\r\n\r\n", headersBegun, http.StatusOK},
		"bodies":  {longBody, "{}", bodiesBegun, http.StatusBadRequest},
	} {
		s := start(t, "REDIS_URL=memory://", littleMemory)
		a := newAdversary(s)
		const more = 5
		all := 2 * request.begun
		answers := make(chan int, all)
		var conns []net.Conn
		for range all {
			conn := a.part(request.begin)
			conns = append(conns, conn)
			go func() { answers <- answerOn(conn) }()
		}
		for range more {
			if status := <-answers; status != 0 && status != http.StatusServiceUnavailable {
				t.Errorf("%s: got %d before the end of a request, want those beyond %d refused", name, status, request.begun)
			}
		}
		if status := s.status("/healthz"); status != http.StatusOK {
			t.Errorf("%s: got %d for another address, want 200", name, status)
		}
		for _, conn := range conns {
			_, _ = io.WriteString(conn, request.end) // fails if it was closed
		}
		finished := 0
		for range all - more {
			if status := <-answers; status == request.status {
				finished++
			} else if status != 0 && status != http.StatusServiceUnavailable {
				t.Errorf("%s: got %d, want %d", name, status, request.status)
			}
		}
		if finished == 0 {
			t.Errorf("%s: no connection within the limit got a response", name)
		}
		if status := answerOn(a.part(request.begin + request.end)); status != request.status {
			t.Errorf("%s: got %d once the others have ended, want %d", name, status, request.status)
		}
	}
}

// Until they are refused, 400 connections of one address send 100 to 190 KB of a header each. A line of it has at least five
// bytes, and takes many more.
func TestUnfinishedHeadersTakeLittleMemory(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 16_000 {
		fmt.Fprintf(&lines, "%x:\r\n", i)
	}
	for name, header := range map[string]string{
		"one line": "Long: " + strings.Repeat("a", 190_000), "lines": strings.Repeat("Name: value\r\n", 14_000), "short lines": lines.String(),
	} {
		s := start(t, "REDIS_URL=memory://")
		a := newAdversary(s)
		require.NoError(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.Cmd.Process.Pid), []byte("5"), 0)) // the peak begins again
		before := s.memory("VmHWM")
		closed := make(chan struct{}, 400)
		for range 400 {
			conn := a.part("GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + header)
			go func() {
				_, _ = conn.Read(make([]byte, 1))
				closed <- struct{}{}
			}()
		}
		for range 350 {
			<-closed
		}
		if grown := s.memory("VmHWM") - before; grown > 50<<20 {
			t.Errorf("%s: 400 connections with unfinished headers hold %d MB, want at most 50 MB", name, grown>>20)
		}
	}
}

func TestConnectionsOfAnAddressAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://", littleMemory)
	a := newAdversary(s)
	const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for range 50 { // streams are limited by themselves
		body := `{"query":"subscription { articlePosted { node { id } } }"}`
		conn := a.part(fmt.Sprintf("POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("a stream: got %v, %v, want 200", res, err)
		}
	}
	var idle []net.Conn
	for len(idle) <= allOpen {
		conn := a.part(request)
		if answerOn(conn) == 0 {
			break
		}
		idle = append(idle, conn)
	}
	if n := len(idle); n < allOpen-2 || n > allOpen {
		t.Errorf("an address has %d idle connections, want about %d", n, allOpen)
	}
	if status := s.status("/healthz"); status != http.StatusOK {
		t.Errorf("got %d for another address, want 200", status)
	}
	for _, conn := range idle[:2] {
		_ = conn.Close()
	}
	require.Eventually(t, "a connection is accepted after others were closed", func() bool { return answerOn(a.part(request)) == http.StatusOK })
}

// A header without an end, beside an event stream on the same connection.
func TestUnfinishedHeadersBesideAStreamAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://", littleMemory, "H2C=true")
	a := newAdversary(s)
	const more = 5
	closed := make(chan struct{}, 2*headersBegun)
	for range 2 * headersBegun {
		conn := a.part(http2.ClientPreface)
		frames := http2.NewFramer(conn, conn)
		var block bytes.Buffer
		fields := hpack.NewEncoder(&block)
		header := func(pairs ...string) []byte {
			block.Reset()
			for i := 0; i < len(pairs); i += 2 {
				_ = fields.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}) // into memory
			}
			return block.Bytes()
		}
		stream := header(":method", "GET", ":scheme", "http", ":authority", "localhost",
			":path", "/query?query="+url.QueryEscape("subscription { articlePosted { node { id } } }"), "accept", "text/event-stream")
		_ = frames.WriteSettings() // these fail if the connection was closed
		_ = frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: stream, EndStream: true, EndHeaders: true})
		for begun := false; !begun; { // the response to the first request
			frame, err := frames.ReadFrame()
			_, begun = frame.(*http2.HeadersFrame)
			begun = begun || err != nil
		}
		unfinished := header(":method", "GET", ":scheme", "http", ":authority", "localhost", ":path", "/healthz", "long", strings.Repeat("~", 100_000))
		_ = frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: unfinished[:16<<10], EndStream: true})
		for rest := range slices.Chunk(unfinished[16<<10:], 16<<10) {
			_ = frames.WriteContinuation(3, false, rest)
		}
		go func() {
			for err := error(nil); err == nil; {
				_, err = frames.ReadFrame()
			}
			closed <- struct{}{}
		}()
	}
	for range more {
		select {
		case <-closed:
		case <-time.After(require.Timeout):
			t.Fatalf("%d headers without an end are held beside streams, want at most %d", 2*headersBegun, headersBegun)
		}
	}
	if status := s.status("/healthz"); status != http.StatusOK {
		t.Errorf("got %d for another address, want 200", status)
	}
}

// Requests whose bodies do not come, on one connection.
func TestUnfinishedRequestsOfAConnectionAreLimited(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://", littleMemory, "FRONTPAGE_TRUSTED_PROXIES=127.0.0.2")
	a := newAdversary(s)
	two := &http.Client{Transport: &http.Transport{DialContext: a.dialer.DialContext, Protocols: new(http.Protocols)}}
	two.Transport.(*http.Transport).Protocols.SetUnencryptedHTTP2(true)
	defer two.CloseIdleConnections()
	ask := func(address string, body io.Reader, long int) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/query", body)
		if err != nil {
			t.Error(err)
			return 0
		}
		req.ContentLength = 100_000
		for name, value := range map[string]string{"Content-Type": "application/json", "X-Forwarded-For": address, "Long": strings.Repeat("a", long)} {
			req.Header.Set(name, value)
		}
		res, err := two.Do(req)
		if err != nil {
			t.Error(err)
			return 0
		}
		defer func() { _ = res.Body.Close() }()
		return res.StatusCode
	}
	const fit, more = 61, 2 // of 12 MiB
	answers := make(chan int, fit+more)
	var bodies []*io.PipeWriter
	for range fit + more {
		body, to := io.Pipe()
		bodies = append(bodies, to)
		go func() { answers <- ask("192.0.2.1", body, 100_000) }()
	}
	for range more {
		if status := <-answers; status != http.StatusServiceUnavailable {
			t.Errorf("got %d, want 503 for requests beyond %d whose bodies are missing", status, fit)
		}
	}
	if status := ask("192.0.2.2", strings.NewReader(strings.Repeat(" ", 100_000)), 0); status != http.StatusBadRequest {
		t.Errorf("got %d for another client of the proxy, want 400 for its empty body", status)
	}
	for _, to := range bodies {
		go func() {
			_, _ = io.WriteString(to, strings.Repeat(" ", 100_000)) // fails if it was refused
			_ = to.Close()
		}()
	}
	for range fit {
		if status := <-answers; status != http.StatusBadRequest {
			t.Errorf("got %d within the limit, want 400 for an empty body", status)
		}
	}
}

func TestUnfinishedHeadersOfProxiesAreNotLimited(t *testing.T) {
	t.Parallel()
	for proxy, addr := range map[string]string{"127.0.0.2": "127.0.0.1:0", "::1": "[::1]:0"} { // ::1, not all of its /64
		s := start(t, "REDIS_URL=memory://", "FRONTPAGE_ADDR="+addr, littleMemory, "FRONTPAGE_TRUSTED_PROXIES="+proxy)
		a := newAdversary(s)
		a.dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(proxy), 0))
		conns := make([]net.Conn, headersBegun+5)
		for i := range conns {
			conns[i] = a.part(longHeader)
		}
		for i, conn := range slices.Backward(conns) { // with the response to the last one, the server has read the others
			if _, err := io.WriteString(conn, "\r\n\r\n"); err != nil {
				t.Error(err)
			}
			if status := answerOn(conn); status != http.StatusOK {
				t.Errorf("got %d on connection %d of the proxy %s, want 200", status, i, proxy)
			}
		}
	}
}
