package endpoint_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const (
	typeJSON    = "application/json; charset=utf-8"
	typeGraphQL = "application/graphql-response+json; charset=utf-8"
)

// A response whose body is longer than the buffer of net/http is one write. Each is whole.
func TestLongResponsesAreSentAtOnce(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	listener := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &http.Server{Handler: s.Handler, ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	receiver := endpoint.Receive(server, listener.(*net.TCPListener), 1<<30, endpoint.DefaultOptions())
	go func() { _ = server.Serve(receiver) }()
	conn := require.Value(net.Dial("tcp", listener.Addr().String()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	raw := require.Value(conn.(*net.TCPConn).SyscallConn())(t)
	segments := func() (n uint32) {
		err := raw.Control(func(fd uintptr) {
			n = require.Value(unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO))(t).Data_segs_in
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	reader := bufio.NewReader(conn)
	for _, length := range []int{10, 3600, 3700, 3800, 4000, 4063, 4064, 4065, 4100, 8000, 8190, 8200, 10_000} {
		text := strings.Repeat("a", length)
		a := require.Value(s.Repo.Post(t.Context(), "alice", site.Draft{Title: "Long", Text: &text}))(t)
		query := fmt.Sprintf(`{"query":"{ article(id: %d) { text } }"}`, a.ID)
		before := segments()
		_, _ = fmt.Fprintf(conn, "POST /query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(query), query)
		response := require.Value(http.ReadResponse(reader, nil))(t)
		body := require.Value(io.ReadAll(response.Body))(t)
		if want := fmt.Sprintf(`{"data":{"article":{"text":"%s"}}}`, text); string(body) != want {
			t.Errorf("text of %d bytes: got %.200s", length, body)
		}
		if n := segments() - before; n != 1 && len(body) >= 4096 {
			t.Errorf("response of %d bytes: %d segments, want 1", len(body), n)
		}
	}
}

func TestAcceptDecidesStatusAndContentType(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	accepts := []struct{ accept, media string }{
		{"", typeJSON},
		{"*/*", typeJSON},
		{"application/*", typeJSON},
		{"application/json", typeJSON},
		{"application/json; charset=utf-8", typeJSON},
		{"application/graphql-response+json", typeGraphQL},
		{"application/graphql-response+json, application/json", typeGraphQL},
		{"application/json, application/graphql-response+json", typeJSON},
		{"application/json;q=0.1, application/graphql-response+json", typeGraphQL},
		{"application/json;q=0.5, application/graphql-response+json;q=0.4", typeJSON},
		{"text/html, */*;q=0.1", typeJSON},
		{"application/json;q=0, */*", typeGraphQL},
		// What urql and Apollo Client send.
		{"application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed", typeGraphQL},
		{"multipart/mixed;deferSpec=20220824, application/graphql-response+json, application/json;q=0.9", typeGraphQL},
		{"text/html", ""},
		{"application/json;q=0", ""},
		{"application/json;q=nonsense", ""},
		{";;;", ""},
	}
	documents := []struct {
		query  string
		status int // for graphql-response+json
		body   string
	}{
		{`{ viewer { id } }`, 200, `{"data":{"viewer":null}}`},
		{`{ articles(page: 0) { id } }`, 294, `{"errors":[{"message":"pages are counted from 1: there is no page 0","path":["articles"],"locations":[{"line":1,"column":3}],"extensions":{"code":"BAD_USER_INPUT"}}],"data":{"articles":null}}`},
		{`{ nothing }`, 422, `"code":"GRAPHQL_VALIDATION_FAILED"`},
		{`{ `, 400, `"code":"GRAPHQL_PARSE_FAILED"`},
	}
	for _, a := range accepts {
		header := []string{"Accept", a.accept}
		if a.accept == "" {
			header = nil
		}
		for _, d := range documents {
			want := d.status
			if a.media == typeJSON {
				want = 200
			}
			media := a.media
			if media == "" {
				want, media = 406, typeJSON
			}
			got, getBody := s.Get(d.query, header...)
			posted, body := s.PostJSON(fmt.Sprintf(`{"query": %q}`, d.query), header...)
			head, empty := s.Send(http.MethodHead, "?query="+url.QueryEscape(d.query), "", header...)
			for _, res := range []*http.Response{got, posted, head} {
				if res.StatusCode != want || res.Header.Get("Content-Type") != media || res.Header.Get("Content-Length") != fmt.Sprint(len(body)) {
					t.Errorf("Accept %q, %s %s: got %d %v, want %d %s", a.accept, res.Request.Method, d.query, res.StatusCode, res.Header, want, media)
				}
				if vary := strings.Join(res.Header.Values("Vary"), ", "); vary != "Accept, X-User-ID, X-User-Roles, X-On-Behalf-Of, Accept-Encoding" {
					t.Errorf("got Vary %q", vary)
				}
			}
			if getBody != body || empty != "" {
				t.Errorf("got %s by GET, %s by POST and %q by HEAD, want equal bodies, and none by HEAD", getBody, body, empty)
			}
			if want == 406 {
				d.body = `"code":"NOT_ACCEPTABLE"`
			}
			if !strings.Contains(body, d.body) || want >= 300 && strings.Contains(body, `"data"`) {
				t.Errorf("%s: got %s, want %s", d.query, body, d.body)
			}
		}
	}
}

func TestInvalidHTTPRequestsAreRejected(t *testing.T) {
	t.Parallel()
	limit := endpoint.DefaultOptions().BodyLimit
	s := sitetest.Open(t)
	const secret = "secret-in-the-body"
	padding := strings.Repeat(" ", int(limit))
	tests := []struct {
		name, method, target, body, contentType string
		status                                  int
		code                                    string
	}{
		{"a form", "POST", "", "query={__typename}", "application/x-www-form-urlencoded", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"multipart", "POST", "", "--x--", "multipart/form-data; boundary=x", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"text/plain, which a form can send", "POST", "", `{"query":"{__typename}"}`, "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"no content type", "POST", "", `{"query":"{__typename}"}`, "", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"another charset", "POST", "", `{"query":"{__typename}"}`, "application/json; charset=latin1", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"UTF-8 as charset", "POST", "", `{"query":"{__typename}"}`, "application/json; charset=UTF-8", 200, ""},
		{"not JSON", "POST", "", secret, "application/json", 400, "BAD_REQUEST"},
		{"truncated JSON", "POST", "", `{"query":"` + secret, "application/json", 400, "BAD_REQUEST"},
		{"an empty body", "POST", "", "", "application/json", 400, "BAD_REQUEST"},
		{"null", "POST", "", "null", "application/json", 400, "BAD_REQUEST"},
		{"a batch", "POST", "", `[{"query":"{__typename}"}]`, "application/json", 400, "BAD_REQUEST"},
		{"text after the JSON", "POST", "", `{"query":"{__typename}"} x`, "application/json", 400, "BAD_REQUEST"},
		{"two JSON values", "POST", "", `{"query":"{__typename}"}{}`, "application/json", 400, "BAD_REQUEST"},
		{"blanks after the JSON", "POST", "", `{"query":"{__typename}"}` + "\r\n ", "application/json", 200, ""},
		{"no query", "POST", "", `{"variables":{}}`, "application/json", 400, "BAD_REQUEST"},
		{"a query of another type", "POST", "", `{"query":{"a":"` + secret + `"}}`, "application/json", 400, "BAD_REQUEST"},
		{"variables of another type", "POST", "", `{"query":"{__typename}","variables":["` + secret + `"]}`, "application/json", 400, "BAD_REQUEST"},
		{"too deep for JSON", "POST", "", `{"query":"{__typename}","variables":{"a":` + strings.Repeat("[", 20_000) + `}}`, "application/json", 400, "BAD_REQUEST"},
		{"too large", "POST", "", `{"query":"{__typename}"}` + padding, "application/json", 413, "BODY_LIMIT_EXCEEDED"},
		{"no query by GET", "GET", "?variables={}", "", "", 400, "BAD_REQUEST"},
		{"variables by GET", "GET", "?query={__typename}&variables=5", "", "", 400, "BAD_REQUEST"},
		{"a malformed URL", "GET", "?query=%zz", "", "", 400, "BAD_REQUEST"},
		{"a long URL", "GET", "?query={__typename}&x=" + strings.Repeat("x", int(limit)), "", "", 414, "BODY_LIMIT_EXCEEDED"},
		{"a mutation by GET", "GET", "?query=" + url.QueryEscape(`mutation { vote(input: {article: 1}) { changed } }`), "", "", 405, "METHOD_NOT_ALLOWED"},
		{"QUERY", "QUERY", "", `{"query":"{__typename}"}`, "application/json", 200, ""},
		{"QUERY with a query in the URL alone", "QUERY", "?query={__typename}", "", "application/json", 400, "BAD_REQUEST"},
		{"QUERY of a form", "QUERY", "", "query={__typename}", "application/x-www-form-urlencoded", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"QUERY without a content type", "QUERY", "", `{"query":"{__typename}"}`, "", 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"QUERY of no JSON", "QUERY", "", secret, "application/json", 400, "BAD_REQUEST"},
		{"too large by QUERY", "QUERY", "", `{"query":"{__typename}"}` + padding, "application/json", 413, "BODY_LIMIT_EXCEEDED"},
		{"a mutation by QUERY", "QUERY", "", `{"query":"mutation { vote(input: {article: 1}) { changed } }"}`, "application/json", 405, "METHOD_NOT_ALLOWED"},
		{"query in small letters", "query", "", `{"query":"{__typename}"}`, "application/json", 405, "METHOD_NOT_ALLOWED"},
		{"PUT", "PUT", "", `{"query":"{__typename}"}`, "application/json", 405, "METHOD_NOT_ALLOWED"},
		{"DELETE", "DELETE", "", "", "", 405, "METHOD_NOT_ALLOWED"},
		{"OPTIONS", "OPTIONS", "", "", "", 204, ""},
	}
	for _, tt := range tests {
		header := []string{"X-User-ID", "alice"}
		if tt.contentType != "" {
			header = append(header, "Content-Type", tt.contentType)
		}
		s.Trips.Reset()
		res, body := s.Send(tt.method, tt.target, tt.body, header...)
		if res.StatusCode != tt.status {
			t.Errorf("%s: got %d, want %d: %s", tt.name, res.StatusCode, tt.status, body)
		}
		if accepts := res.Header.Get("Accept-Query"); (accepts == "application/json") != (tt.method != "POST") {
			t.Errorf("%s: got Accept-Query %q, want application/json for all methods but POST", tt.name, accepts)
		}
		if tt.status == 204 {
			if body != "" || res.Header.Get("Allow") != "GET, HEAD, POST, QUERY, OPTIONS" {
				t.Errorf("%s: got %q %v, want no body, and Allow", tt.name, body, res.Header)
			}
			continue
		}
		if got := sitetest.CodeOf(t, body); got != tt.code {
			t.Errorf("%s: got %s, want %s", tt.name, body, tt.code)
		}
		if res.Header.Get("Content-Type") != typeJSON || strings.Contains(body, secret) || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got %v %s, want JSON that quotes nothing of the body", tt.name, res.Header, body)
		}
		allow := map[string]string{"PUT": "GET, HEAD, POST, QUERY, OPTIONS", "DELETE": "GET, HEAD, POST, QUERY, OPTIONS", "query in small letters": "GET, HEAD, POST, QUERY, OPTIONS", "a mutation by GET": "POST", "a mutation by QUERY": "POST"}[tt.name]
		if res.Header.Get("Allow") != allow {
			t.Errorf("%s: got Allow %q, want %q", tt.name, res.Header.Get("Allow"), allow)
		}
		if n, commands := s.Trips.Read(); n != 0 {
			t.Errorf("%s: got commands %v, want none", tt.name, commands)
		}
	}
	s.WantNoLog()
}

func TestChunkedBodyOverTheLimitIsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	limit := endpoint.DefaultOptions().BodyLimit
	body := io.MultiReader(strings.NewReader(`{"query":"{__typename}"}`), strings.NewReader(strings.Repeat(" ", int(limit))))
	req := require.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body))(t)
	req.Header.Set("Content-Type", "application/json")
	res := require.Value(http.DefaultClient.Do(req))(t)
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(res.Body)
	want := fmt.Sprintf(`{"errors":[{"message":"the request is too large","extensions":{"allowed":%d,"asked":%d,"code":"BODY_LIMIT_EXCEEDED"}}]}`, limit, limit+1)
	if res.StatusCode != http.StatusRequestEntityTooLarge || string(text) != want {
		t.Errorf("got %d %s, want 413 %s", res.StatusCode, text, want)
	}
}

func TestBodyThatDoesNotComeInTimeIs408(t *testing.T) {
	t.Parallel()
	s := sitetest.NewOn(t, func(server *http.Server) { server.ReadTimeout = 100 * time.Millisecond }, redistest.Start(t).Client, site.DefaultRules())
	for _, method := range []string{"POST", "QUERY"} {
		conn := require.Value(net.Dial("tcp", strings.TrimPrefix(s.URL, "http://")))(t)
		defer func() { _ = conn.Close() }()
		require.Value(fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", method))(t)
		res := require.Value(http.ReadResponse(bufio.NewReader(conn), nil))(t)
		defer func() { _ = res.Body.Close() }()
		if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusRequestTimeout || sitetest.CodeOf(t, string(body)) != "BAD_REQUEST" {
			t.Errorf("%s: got %d %s, want 408", method, res.StatusCode, body)
		}
	}
}

func TestVariablesAndOperationNameWorkByGETAndPOST(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "one")
	const query = `query A($n: Int) { articles(pageSize: $n) { id } } query B { viewer { id } }`
	const want = `{"data":{"articles":[{"id":"article:1"}]}}`
	if _, body := s.PostJSON(fmt.Sprintf(`{"query":%q,"operationName":"A","variables":{"n":5},"extensions":null}`, query)); body != want {
		t.Errorf("by POST: got %s, want %s", body, want)
	}
	if _, body := s.Send("QUERY", "", fmt.Sprintf(`{"query":%q,"operationName":"A","variables":{"n":5}}`, query), "Content-Type", "application/json"); body != want {
		t.Errorf("by QUERY: got %s, want %s", body, want)
	}
	if _, body := s.Send("GET", "?operationName=A&variables="+url.QueryEscape(`{"n":5}`)+"&query="+url.QueryEscape(query), ""); body != want {
		t.Errorf("by GET: got %s, want %s", body, want)
	}
	if _, body := s.Get(query); sitetest.CodeOf(t, body) != "GRAPHQL_VALIDATION_FAILED" {
		t.Errorf("without operationName: got %s, want GRAPHQL_VALIDATION_FAILED", body)
	}
}

func TestOnlyAllowedOriginsGetCORSHeaders(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	closed := sitetest.New(t, client, site.DefaultRules())
	open := sitetest.New(t, client, site.DefaultRules(), func(o *endpoint.Options) { o.Origins = []string{"https://friend.example"} })
	ask := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type"}
	for origin, allowed := range map[string]string{"https://friend.example": "https://friend.example", "https://foe.example": ""} {
		res, _ := open.Send("OPTIONS", "", "", append(ask, "Origin", origin)...)
		if got := res.Header.Get("Access-Control-Allow-Origin"); res.StatusCode != 204 || got != allowed {
			t.Errorf("preflight from %s: got %d %v, want 204 and the allowed origin %q", origin, res.StatusCode, res.Header, allowed)
		}
		res, body := open.PostJSON(`{"query":"{__typename}"}`, "Origin", origin)
		if got := res.Header.Get("Access-Control-Allow-Origin"); got != allowed || body == "" || res.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("from %s: got %v, want the allowed origin %q and no credentials", origin, res.Header, allowed)
		}
		if vary := strings.Join(res.Header.Values("Vary"), ", "); vary != "Accept, X-User-ID, X-User-Roles, X-On-Behalf-Of, Accept-Encoding, Origin" {
			t.Errorf("got Vary %q", vary)
		}
		res, _ = open.Send("OPTIONS", "", "", "Access-Control-Request-Method", "QUERY", "Access-Control-Request-Headers", "content-type", "Origin", origin)
		if got := res.Header.Get("Access-Control-Allow-Origin"); got != allowed || (res.Header.Get("Access-Control-Allow-Methods") == "QUERY") != (allowed != "") {
			t.Errorf("preflight of a QUERY from %s: got %v, want the allowed origin %q", origin, res.Header, allowed)
		}
		res, _ = open.Send("QUERY", "", `{"query":"{__typename}"}`, "Content-Type", "application/json", "Origin", origin)
		if got := res.Header.Get("Access-Control-Allow-Origin"); got != allowed {
			t.Errorf("a QUERY from %s: got %v, want the allowed origin %q", origin, res.Header, allowed)
		}
		res, _ = closed.Send("OPTIONS", "", "", append(ask, "Origin", origin)...)
		if got := res.Header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("without allowed origins, from %s: got the allowed origin %q, want none", origin, got)
		}
	}
}

// No cache may keep a response with a field that depends on the caller, even if this caller is anonymous, or one to an
// authenticated caller, or an error: in any mode of authentication.
func TestOnlyAnswersForAllAreCacheable(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	with := func(o identity.Options) *sitetest.Site {
		return sitetest.New(t, client, site.DefaultRules(), sitetest.WithIdentity(t, o), func(o *endpoint.Options) {
			o.Origins = []string{"https://friend.example"}
		})
	}
	key := sitetest.NewKeyring(t)
	for mode, tt := range map[string]struct {
		s           *sitetest.Site
		vary        string
		credentials []string // a header of alice
	}{
		"development": {with(identity.Options{Development: true}), "X-User-ID, X-User-Roles", []string{"X-User-ID", "alice"}},
		"secret":      {with(identity.Options{Secret: sitetest.TokenSecret}), "Authorization", []string{"Authorization", "Bearer " + sitetest.Token()}},
		"keys":        {with(identity.Options{JWKS: key.File(t), Issuer: sitetest.TokenIssuer, Audience: []string{sitetest.TokenAudience}}), "Authorization", []string{"Authorization", "Bearer " + sitetest.SignToken(`{"alg":"RS256","kid":"rsa"}`, sitetest.Claims(), key.RSA)}},
		"proxy": {with(identity.Options{ProxyHeader: "X-Forwarded-User", RolesHeader: "X-Forwarded-Groups", Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}),
			"X-Forwarded-User, X-Forwarded-Groups", []string{"X-Forwarded-User", "alice"}},
	} {
		viewer, same := "?query="+url.QueryEscape(`{ viewer { name } }`), "?query="+url.QueryEscape(`{ articles { id } }`)
		for name, send := range map[string]struct {
			status         int
			method, target string
			header         []string
		}{
			"anonymous":        {200, http.MethodGet, viewer, nil},
			"signed in":        {200, http.MethodGet, viewer, tt.credentials},
			"same for all":     {200, http.MethodGet, same, tt.credentials},
			"with an error":    {200, http.MethodGet, "?query=" + url.QueryEscape(`{ articles(page: 0) { id } }`), nil},
			"unknown hash":     {200, http.MethodGet, "?extensions=" + url.QueryEscape(`{"persistedQuery":{"version":1,"sha256Hash":"00"}}`), nil},
			"POST":             {415, http.MethodPost, same, nil},
			"HEAD":             {200, http.MethodHead, viewer, tt.credentials},
			"invalid document": {400, http.MethodGet, "?query={", []string{"Accept", "application/graphql-response+json"}},
			"no document":      {400, http.MethodGet, "", nil},
			"mutation by GET":  {405, http.MethodGet, "?query=" + url.QueryEscape(`mutation { vote(input: {article: 1}) { changed } }`), nil},
			"OPTIONS":          {204, http.MethodOptions, "", nil},
			"preflight":        {204, http.MethodOptions, "", []string{"Origin", "https://friend.example", "Access-Control-Request-Method", "GET"}},
			"from a friend":    {200, http.MethodGet, viewer, []string{"Origin", "https://friend.example"}},
			"bad credentials":  {401, http.MethodGet, viewer, []string{strings.Split(tt.vary, ",")[0], "\u00a0"}},
			"event stream":     {200, http.MethodGet, viewer, append([]string{"Accept", "text/event-stream"}, tt.credentials...)},
			"compressed":       {200, http.MethodGet, viewer, []string{"Accept-Encoding", "gzip"}},
			"socket of a foe":  {403, http.MethodGet, "", []string{"Upgrade", "websocket", "Connection", "Upgrade", "Origin", "https://foe.example"}},
		} {
			res, body := tt.s.Send(send.method, send.target, "", send.header...)
			cached, vary := res.Header.Get("Cache-Control"), strings.Join(res.Header.Values("Vary"), ", ")
			if res.StatusCode != send.status || !strings.HasPrefix(cached, "private, no-store") || !strings.HasPrefix(vary, "Accept, "+tt.vary+", ") {
				t.Errorf("%s, %s: got %d, Cache-Control %q and Vary %q, want %d, private, no-store and Accept, %s: %s", mode, name, res.StatusCode, cached, vary, send.status, tt.vary, body)
			}
		}
	}
}

func TestLongResponsesAreCompressed(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.PostMany("alice", 10)
	long := `{ articles { id title text createdAt score votes upvotes downvotes poster { id name } } }`
	_, plain := s.Get(long)
	for accepts, want := range map[string]string{"": "", "gzip": "gzip", "zstd": "zstd", "zstd, gzip": "gzip", "zstd, gzip;q=0.9": "zstd", "br": "", "identity": ""} {
		res, body := s.Get(long, "Accept-Encoding", accepts)
		if got := res.Header.Get("Content-Encoding"); got != want || want != "" && (len(body) >= len(plain)/2 || body == "") || want == "" && body != plain {
			t.Errorf("Accept-Encoding %q: got %q and %d of %d bytes, want %q", accepts, got, len(body), len(plain), want)
		}
		if vary := strings.Join(res.Header.Values("Vary"), ", "); vary != "Accept, X-User-ID, X-User-Roles, X-On-Behalf-Of, Accept-Encoding" {
			t.Errorf("got Vary %q", vary)
		}
		if res, _ := s.Get(`{ __typename }`, "Accept-Encoding", accepts); res.Header.Get("Content-Encoding") != "" || res.Header.Get("Content-Length") != "31" {
			t.Errorf("a short response: got %v, want it uncompressed", res.Header)
		}
		if res, _ := s.Get(`{ nothing }`, "Accept-Encoding", accepts, "Accept", "application/graphql-response+json"); res.StatusCode != 422 {
			t.Errorf("an error: got %d, want 422", res.StatusCode)
		}
	}
}

func TestTimeoutEndsRedisCommands(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t).Own() // it is still paused at the end
	sitetest.New(t, server.Client, site.DefaultRules()).Post("alice", "one")
	s := sitetest.New(t, server.Client, site.DefaultRules(), func(o *endpoint.Options) { o.Timeout = 50 * time.Millisecond })
	require.NoError(t, server.Client.Do(t.Context(), "CLIENT", "PAUSE", "60000", "ALL").Err())
	for _, query := range []string{`query Slow { articles { id } }`, `mutation Slow { vote(input: {article: 1}) { changed } }`} {
		body := s.AskText("bob", query)
		if sitetest.CodeOf(t, body) != "TIMEOUT" || strings.Contains(body, server.Socket()) {
			t.Errorf("%s: got %s, want TIMEOUT without the address of Redis", query, body)
		}
	}
	if log := s.Log.String(); strings.Count(log, "\n") != 2 || strings.Count(log, "operation=Slow") != 2 || strings.Contains(log, "level=ERROR") {
		t.Errorf("got log %s, want one warning for each operation", log)
	}
}

// Names that stand for users who have none are no user's.
func TestNobodyHasAReservedName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"command line", "deleted user", "Deleted User", "a moderator", " deleted user"} {
		if endpoint.ValidName(name) == nil {
			t.Errorf("%q is a valid name", name)
		}
	}
	for _, name := range []string{"deleted", "deleted users", "moderator"} {
		if err := endpoint.ValidName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// gqlparser itself accepts an object as a value of a scalar or an enum.
func TestObjectAsScalarOrEnumIsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for _, query := range []string{
		`{ viewer @skip(if: {}) { id } }`,
		`{ node(id: {}) { id } }`,
		`{ nodes(ids: [{}]) { id } }`,
		`{ user(name: {a: 1}) { id } }`,
		`{ articlesConnection(first: {}) { totalCount } }`,
		`{ articles(order: {}) { id } }`,
		`mutation { post(input: {title: {}, text: "x"}) { userErrors { code } } }`,
		`mutation { post(input: {title: "t", link: {}}) { userErrors { code } } }`,
	} {
		a := s.Ask("alice", query)
		if len(a.Errors) == 0 || a.Errors[0].Extensions.Code != "GRAPHQL_VALIDATION_FAILED" {
			t.Errorf("%s: got %v, want GRAPHQL_VALIDATION_FAILED", query, a)
		}
	}
	s.WantNoLog()
}

func TestInvalidUTF8IsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	res, body := s.PostJSON("{\"query\": \"{ user(name: \\\"caf\xe9\\\") { id } }\"}")
	if res.StatusCode != 415 || sitetest.CodeOf(t, body) != "UNSUPPORTED_MEDIA_TYPE" {
		t.Errorf("in a body: got %d %s, want 415 UNSUPPORTED_MEDIA_TYPE", res.StatusCode, body)
	}
	res, body = s.Send(http.MethodGet, "?query=%7Buser(name:%22caf%e9%22)%7Bid%7D%7D", "")
	if res.StatusCode != 400 || sitetest.CodeOf(t, body) != "BAD_REQUEST" {
		t.Errorf("in a query string: got %d %s, want 400 BAD_REQUEST", res.StatusCode, body)
	}
}

func TestPathsInErrorsAreCut(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	body := s.AskText("alice", `mutation($i: PostInput!) { post(input: $i) { userErrors { code } } }`, "i", map[string]any{"title": "t", strings.Repeat("f", 60_000): 1})
	if len(body) > 2_000 {
		t.Errorf("got a response of %d bytes, want at most 2000", len(body))
	}
}

func TestVariablesHaveTheTypesOfTheirDefinitions(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	const (
		page  = `query($v: Int) { articles(page: $v) { id } }`
		name  = `query($v: String!) { user(name: $v) { id } }`
		id    = `query($v: ID!) { article(id: $v) { id } }`
		ids   = `query($v: [ID!]!) { nodes(ids: $v) { id } }`
		order = `query($v: ArticleOrder!) { articles(order: $v) { id } }`
		skip  = `query($v: Boolean!) { articles { id title @skip(if: $v) } }`
		post  = `mutation($v: PostInput!) { post(input: $v) { article { id } } }`
		named = `mutation($v: [String!]) { post(input: {title: "t", text: "x", groups: $v}) { article { id } } }`
	)
	for _, tt := range []struct{ query, value, want string }{
		{page, `1`, ""},
		{page, `1.0`, ""},
		{page, `1e2`, ""},
		{page, `"1"`, `\"1\" is not of type Int: give a whole number of 32 bits`},
		{page, `1.5`, `1.5 is not of type Int: give a whole number of 32 bits`},
		{page, `1e308`, `1e308 is not of type Int`},
		{page, `1e999`, `1e999 is not of type Int`},
		{page, `3000000000`, `3000000000 is not of type Int`},
		{page, `true`, `true is not of type Int`},
		{page, `[1]`, `a list is not of type Int`},
		{page, `{"a": 1}`, `an object is not of type Int`},
		{name, `"5"`, ""},
		{name, `5`, `5 is not of type String: give a text in quotes`},
		{name, `true`, `true is not of type String`},
		{name, `["5"]`, `a list is not of type String`},
		{id, `5`, ""},
		{id, `5.0`, ""},
		{id, `"5"`, ""},
		{id, `5.5`, `5.5 is not of type ID: give a text in quotes or a whole number`},
		{id, `false`, `false is not of type ID`},
		{ids, `[5, "5"]`, ""},
		{ids, `5`, ""},
		{ids, `["5", true]`, `element 1: true is not of type ID`},
		{order, `"TIME"`, ""},
		{order, `"time"`, `\"time\" is not of type ArticleOrder: give one of its values, in upper case`},
		{order, `1`, `1 is not of type ArticleOrder`},
		{skip, `true`, ""},
		{skip, `"true"`, `\"true\" is not of type Boolean: give true or false`},
		{skip, `0`, `0 is not of type Boolean`},
		{post, `{"title": "t", "text": "x"}`, ""},
		{post, `{"title": 5, "text": "x"}`, `\"title\": 5 is not of type String`},
		{post, `{"title": "t", "text": "x", "groups": ["a", 5]}`, `\"groups\": element 1: 5 is not of type String`},
		{post, `"t"`, `\"t\" is not of type PostInput: give an object with its fields`},
		{named, `[5]`, `element 0: 5 is not of type String`},
		{named, `"go"`, ""},
	} {
		_, body := s.PostJSON(`{"query":"`+strings.ReplaceAll(tt.query, `"`, `\"`)+`","variables":{"v":`+tt.value+`}}`, "X-User-ID", "alice")
		if (tt.want == "") == strings.Contains(body, `"errors"`) || tt.want != "" && !strings.Contains(body, `"variable \"v\": `+tt.want) {
			t.Errorf("%s with %s: got %s, want %q", tt.query, tt.value, body, tt.want)
		}
	}
}
