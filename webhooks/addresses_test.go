package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
	stored "frontpage/redisrepo/webhooks"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/webhooks"
)

// hosts are forms of addresses that are not public.
var hosts = []string{
	"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "0", "0.0.0.0", "127.255.255.254",
	"10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "169.254.169.254", "0xa9fea9fe", "2852039166", "172.16.0.1", "172.31.255.255",
	"192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
	"[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:a9fe:a9fe]", "[::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]",
	"[100::1]", "[2001::1]", "[2001:db8::1]", "[2002:7f00:1::]", "[3fff::1]", "[5f00::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fe80::1%25eth0]", "[fec0::1]", "[ff02::1]",
	"localhost", "localhost.", "LOCALHOST", "ip6-localhost", "１２７.０.０.１", "①②⑦.⓪.⓪.①", "127。0。0。1", "%31%32%37.0.0.1",
}

// No form of a private address is connected to: not as it is written, and not by what its name leads to.
func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	listener := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	var connected atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connected.Add(1)
			_ = conn.Close()
		}
	}()
	w := stored.New(nil, nil, stored.Options{})
	client := webhooks.NewClient(w)
	for _, host := range hosts {
		if !refused(t, client, host) {
			t.Errorf("%s is connected to", host)
		}
	}
	// What a name leads to counts, at each try, and all of it.
	public, private := netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("127.0.0.1")
	for i, answers := range [][][]netip.Addr{
		{{private}}, {{public, private}}, {{private, public}}, {{netip.MustParseAddr("::ffff:10.0.0.1")}}, {{netip.MustParseAddr("fe80::1%eth0")}}, {{}},
	} {
		tries := 0
		client := webhooks.NewClient(stored.New(nil, nil, stored.Options{LookUp: func(context.Context, string, string) ([]netip.Addr, error) {
			tries++
			return answers[min(tries, len(answers))-1], nil
		}}))
		if !refused(t, client, fmt.Sprintf("name%d.example", i)) || tries != 1 {
			t.Errorf("a name that leads to %v is connected to, after %d look-ups", answers, tries)
		}
	}
	if n := connected.Load(); n > 0 {
		t.Errorf("%d connections were made", n)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if _, err := client.Post("http://example.org:"+port, "", nil); err == nil || !strings.Contains(err.Error(), "https only") {
		t.Errorf("http: %v", err)
	}
}

// refused reports whether the client does not connect to a host, because of its address.
func refused(t *testing.T, client *http.Client, host string) bool {
	t.Helper()
	res, err := client.Post("https://"+host+"/", "application/json", strings.NewReader("{}"))
	if err == nil {
		_ = res.Body.Close()
		return false
	}
	var dns *net.DNSError
	return strings.Contains(err.Error(), "is not a public address") || strings.Contains(err.Error(), "has no address") || errors.As(err, &dns) ||
		strings.Contains(err.Error(), "invalid URL escape") || strings.Contains(err.Error(), "lookup ")
}

// What can be seen of an address is refused when an endpoint is added.
func TestWhichAddressesEndpointsHave(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	repo := require.Value(redisrepo.New(t.Context(), server.Client, site.DefaultRules(), redisrepo.WithWebhooks(stored.Options{
		Box: require.Value(secretbox.New(password))(t), Origins: []string{"http://10.0.0.5:9000"},
		LookUp: func(ctx context.Context, network, host string) ([]netip.Addr, error) {
			switch {
			case strings.HasSuffix(host, ".internal"):
				return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("10.0.0.7")}, nil
			case strings.HasSuffix(host, ".invalid"):
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			case strings.HasSuffix(host, ".org") || strings.HasSuffix(host, ".example"):
				return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
			}
			return net.DefaultResolver.LookupNetIP(ctx, network, host)
		},
	})))(t)
	for address, ok := range map[string]bool{
		"https://example.org/events": true, "https://EXAMPLE.org:443/events?x=1": true, "http://10.0.0.5:9000/x": true, "https://bücher.example/": true, "https://93.184.215.14/": true, "https://later.invalid/": true,
		"https://a.internal/": false, "https://localhost/": false, "https://127.1/": false, "https://0x7f000001/": false, "https://[::ffff:10.0.0.1]/": false,
		"http://example.org/": false, "https://example.org:8443/": false, "https://bob:pw@example.org/": false, "https://example.org/#x": false, "https:///x": false,
		"https:example.org": false, "ftp://example.org/": false, "": false, "events": false, "https://10.0.0.5:9000/": false, "http://10.0.0.5:9001/": false, "https://[::1]/": false,
		"https://127.0.0.1/": false, "https://１２７.０.０.１/": false, "https://[fe80::1%25eth0]/": false, "https://exa mple.org/": false, "https://example.org/" + strings.Repeat("x", 2000): false,
	} {
		_, _, err := repo.Webhooks.AddWebhook(t.Context(), address, nil, moderator)
		var refusal site.Refusal
		if err != nil && (!errors.As(err, &refusal) || refusal[0].Field[0] != "url") || (err == nil) != ok {
			t.Errorf("%q: %v, want it accepted: %v", address, err, ok)
		}
	}
	if _, _, err := repo.Webhooks.AddWebhook(t.Context(), "https://example.org/events", nil, moderator); err == nil || !strings.Contains(err.Error(), "has this address") {
		t.Errorf("the same address again: %v", err)
	}
	if _, _, err := repo.Webhooks.AddWebhook(t.Context(), "https://example.com/", nil, site.Actor{Name: "alice"}); err == nil || !strings.Contains(err.Error(), "for moderators") {
		t.Errorf("by a user: %v", err)
	}
}
