package endpoint_test

import (
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func TestUserHeaderIsAcceptedFromProxiesOnly(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sitetest.WithIdentity(t, identity.Options{
		ProxyHeader: "X-Forwarded-User", RolesHeader: "X-Forwarded-Groups", Proxies: prefixes("127.0.0.8/31")}))
	proxy, other := sitetest.ClientFrom(t, "127.0.0.9"), sitetest.ClientFrom(t, "127.0.0.10")
	const log = `{ moderationLog { nodes { by } } }`
	for name, tt := range map[string]struct {
		client *http.Client
		query  string
		header []string
		want   string
	}{
		"a proxy":                    {proxy, whoAmI, []string{"X-Forwarded-User", "bob"}, "bob"},
		"a proxy, anonymous":         {proxy, whoAmI, nil, "anonymous"},
		"a proxy, a bad name":        {proxy, whoAmI, []string{"X-Forwarded-User", strings.Repeat("u", 65)}, "USER_NAME_INVALID"},
		"a proxy, a moderator":       {proxy, log, []string{"X-Forwarded-User", "bob", "X-Forwarded-Groups", "staff,moderator"}, "anonymous"},
		"another address, anonymous": {other, whoAmI, nil, "anonymous"},
		"another address":            {other, whoAmI, []string{"X-Forwarded-User", "bob"}, "PROXY_UNTRUSTED"},
	} {
		res, body, err := s.AskBy(tt.client, tt.query, tt.header...)
		require.NoError(t, err)
		got := sitetest.CodeOf(t, body)
		if got == "" {
			got = nameIn(t, body)
		}
		if unauthorized := tt.want == "PROXY_UNTRUSTED" || tt.want == "USER_NAME_INVALID"; got != tt.want || unauthorized != (res.StatusCode == 401) {
			t.Errorf("%s: got %d %s, want %s", name, res.StatusCode, body, tt.want)
		}
	}
	socket := func(client *http.Client, header http.Header) (*websocket.Conn, *http.Response, error) {
		return websocket.Dial(t.Context(), s.URL, &websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}, HTTPClient: client, HTTPHeader: header})
	}
	if _, res, err := socket(other, http.Header{"X-Forwarded-User": {"bob"}}); err == nil || res == nil || res.StatusCode != 401 {
		t.Errorf("a socket from another address: got %v, %v, want 401", res, err)
	}
	for name, tt := range map[string]struct {
		client *http.Client
		header http.Header
		want   string
	}{
		"a proxy's socket":                        {proxy, http.Header{"X-Forwarded-User": {"bob"}}, `{"data":{"viewer":{"name":"bob"}}}`},
		"another address's socket without a name": {other, nil, `{"data":{"viewer":null}}`},
	} {
		conn, _, err := socket(tt.client, tt.header)
		if err != nil {
			t.Errorf("%s: got %v, want an open socket", name, err)
			continue
		}
		w := s.SocketOver(conn)
		w.Begin(`{"X-Forwarded-User":"eve","X-User-ID":"eve","Authorization":"Bearer x"}`) // ignored: no proxy has sent it
		w.Subscribe("a", whoAmI, "")
		w.Want("next", "a", tt.want)
	}
}

// forwarded holds values of X-Forwarded-For, and the address of the client for a server whose proxies are
// 127.0.0.1 and 10.0.0.0/8.
var forwarded = map[string]struct {
	from  string
	chain []string
	want  string
}{
	"no header":                       {"127.0.0.1", nil, "127.0.0.1"},
	"an empty header":                 {"127.0.0.1", []string{""}, "127.0.0.1"},
	"one address":                     {"127.0.0.1", []string{"203.0.113.9"}, "203.0.113.9"},
	"a spoofed address before":        {"127.0.0.1", []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9"},
	"many spoofed addresses":          {"127.0.0.1", []string{"10.0.0.1, 127.0.0.1,198.51.100.1,198.51.100.2 , 203.0.113.9"}, "203.0.113.9"},
	"spoofed in another header":       {"127.0.0.1", []string{"198.51.100.1", "203.0.113.9"}, "203.0.113.9"},
	"two proxies":                     {"127.0.0.1", []string{"198.51.100.1, 203.0.113.9, 10.1.2.3"}, "203.0.113.9"},
	"three proxies":                   {"127.0.0.1", []string{"198.51.100.1, 203.0.113.9, 10.1.2.3", "10.200.0.1"}, "203.0.113.9"},
	"a proxy alone":                   {"127.0.0.1", []string{"10.1.2.3"}, "10.1.2.3"},
	"nonsense before a proxy":         {"127.0.0.1", []string{"198.51.100.1, unknown, 10.1.2.3"}, "10.1.2.3"},
	"nonsense last":                   {"127.0.0.1", []string{"203.0.113.9, unknown"}, "127.0.0.1"},
	"IPv6 as /64":                     {"127.0.0.1", []string{"2001:db8:1:2:3:4:5:6"}, "2001:db8:1:2::"},
	"another IPv6 of the same /64":    {"127.0.0.1", []string{"2001:db8:1:2:ffff::1"}, "2001:db8:1:2::"},
	"IPv4 as IPv6":                    {"127.0.0.1", []string{"198.51.100.1, ::ffff:203.0.113.9"}, "203.0.113.9"},
	"a proxy as IPv6":                 {"127.0.0.1", []string{"203.0.113.9, ::ffff:10.1.2.3"}, "203.0.113.9"},
	"a zone":                          {"127.0.0.1", []string{"fe80::1%eth0"}, "fe80::"},
	"no proxy":                        {"127.0.0.77", nil, "127.0.0.77"},
	"no proxy, a header":              {"127.0.0.77", []string{"203.0.113.9"}, "127.0.0.77"},
	"no proxy, a header with proxies": {"127.0.0.77", []string{"203.0.113.9, 10.1.2.3, 127.0.0.1"}, "127.0.0.77"},
}

func TestClientAddressIsTheLastUntrustedHop(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 1000, Window: time.Minute}, Addresses: 1}),
		func(o *endpoint.Options) { o.Proxies = prefixes("127.0.0.1/32", "10.0.0.0/8") })
	for name, tt := range forwarded {
		client.FlushDB(t.Context())
		var header []string
		for _, hops := range tt.chain {
			header = append(header, "X-Forwarded-For", hops)
		}
		if _, body, err := s.AskBy(sitetest.ClientFrom(t, tt.from), whoAmI, header...); err != nil || sitetest.CodeOf(t, body) != "" {
			t.Errorf("%s: got %s, %v, want data", name, body, err)
		}
		if got, want := sitetest.RateKeys(t, client), []string{"cost:address:" + tt.want}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got the counters %v, want %v", name, got, want)
		}
	}
}

// A client that forges addresses counts as one client, for rate limits and for streams.
func TestForgedAddressesCountAsOneClient(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 10, Window: time.Minute}, Addresses: 1}),
		func(o *endpoint.Options) { o.Proxies, o.Streams.PerAddress = prefixes("127.0.0.1/32"), 2 })
	here := sitetest.ClientFrom(t, "127.0.0.1")
	statuses := map[int]int{}
	for i := range 9 {
		made := netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}).String()
		res, body, err := s.AskBy(here, whoAmI, "X-Forwarded-For", made+", 203.0.113.9", "X-Real-IP", made, "Forwarded", "for="+made, "CF-Connecting-IP", made)
		require.NoError(t, err)
		if statuses[res.StatusCode]++; res.StatusCode != 200 && sitetest.CodeOf(t, body) != "RATE_LIMITED" {
			t.Errorf("got %s, want RATE_LIMITED", body)
		}
	}
	if want := map[int]int{200: 5, 429: 4}; !reflect.DeepEqual(statuses, want) {
		t.Errorf("got statuses %v, want %v", statuses, want)
	}
	if res, _, err := s.AskBy(here, whoAmI, "X-Forwarded-For", "203.0.113.10"); err != nil || res.StatusCode != 200 {
		t.Errorf("another client of the same proxy: got %v, %v, want 200", res, err)
	}
	for i, want := range []int{200, 200, 429} {
		e := s.Stream(watchAll, "X-Forwarded-For", netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}).String()+", 203.0.113.20")
		if e.Res.StatusCode != want {
			t.Errorf("stream %d of an address: got %d, want %d", i, e.Res.StatusCode, want)
		}
	}
	if e := s.Stream(watchAll, "X-Forwarded-For", "203.0.113.21"); e.Res.StatusCode != 200 {
		t.Errorf("a stream of another address: got %d, want 200", e.Res.StatusCode)
	}
}

func TestUnnamedProxyIsLoggedOnceWithoutItsAddress(t *testing.T) {
	t.Parallel()
	const warning = "name the proxy in FRONTPAGE_TRUSTED_PROXIES"
	for name, tt := range map[string]struct {
		identity func(*testing.T) func(*endpoint.Options) // nil: development mode
		from     string
		header   []string
		want     int
	}{
		"X-Forwarded-For":  {sitetest.WithSecret, "127.0.0.77", []string{"X-Forwarded-For", "203.0.113.9"}, 1},
		"Forwarded":        {sitetest.WithSecret, "127.0.0.77", []string{"Forwarded", "for=203.0.113.9"}, 1},
		"neither":          {sitetest.WithSecret, "127.0.0.77", nil, 0},
		"a named proxy":    {sitetest.WithSecret, "127.0.0.1", []string{"X-Forwarded-For", "203.0.113.9"}, 0},
		"development mode": {nil, "127.0.0.77", []string{"X-Forwarded-For", "203.0.113.9"}, 0},
	} {
		options := []func(*endpoint.Options){func(o *endpoint.Options) { o.Proxies = prefixes("127.0.0.1/32") }}
		if tt.identity != nil {
			options = append(options, tt.identity(t))
		}
		s := sitetest.Open(t, options...)
		for range 3 {
			if _, body, err := s.AskBy(sitetest.ClientFrom(t, tt.from), whoAmI, tt.header...); err != nil || nameIn(t, body) != "anonymous" {
				t.Errorf("%s: got %s, %v, want an answer", name, body, err)
			}
		}
		log := s.Log.String()
		if got := strings.Count(log, warning); got != tt.want {
			t.Errorf("%s: got %d warnings, want %d:\n%s", name, got, tt.want, log)
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, warning) && (!strings.Contains(line, "level=WARN") || strings.Contains(line, "127.0.0.77") || strings.Contains(line, "203.0.113.9")) {
				t.Errorf("%s: got %q, want a warning without an address", name, line)
			}
		}
	}
}
