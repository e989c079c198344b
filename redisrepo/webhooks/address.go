package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"frontpage/redisrepo/site"
)

const (
	maxURL      = 2000 // bytes
	resolveTime = 2 * time.Second
)

// checkURL returns the address as it is kept. Its name must not lead to an address that is not public; one that leads to none
// is accepted, since it may later. Each try checks that again.
func (w *Webhooks) checkURL(ctx context.Context, text string) (string, error) {
	invalid := func(format string, args ...any) error { return site.Refuse(site.Invalid, "url", format, args...) }
	if len(text) > maxURL {
		return "", site.Refuse(site.TooLong, "url", "the address has more than %d bytes", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" {
		return "", invalid("%s is not an address such as https://example.org/events", site.Shown(text))
	}
	host, err := idna.Lookup.ToASCII(u.Hostname())
	if ip, isIP := netip.ParseAddr(u.Hostname()); isIP == nil {
		host, err = ip.String(), nil
	} else if _, isName := strconv.ParseUint(host[strings.LastIndexByte(host, '.')+1:], 0, 64); isName == nil {
		err = errors.New("another form of an IPv4 address, such as 127.1")
	}
	switch {
	case err != nil:
		return "", invalid("%s is not the name of a host", site.Shown(u.Hostname()))
	case u.User != nil || u.Fragment != "":
		return "", invalid("the address has a user or a fragment, which are not sent")
	case w.Allowed(u.Scheme + "://" + u.Host):
	case u.Scheme != "https" || u.Port() != "" && u.Port() != "443":
		return "", invalid("events are only sent by https to port 443: the operator can allow %s by FRONTPAGE_WEBHOOK_ORIGINS", site.Shown(u.Scheme+"://"+u.Host))
	default:
		ctx, stop := context.WithTimeout(ctx, resolveTime)
		defer stop()
		if _, err := w.Resolve(ctx, host, false); errors.Is(err, errNotPublic) {
			return "", invalid("%v", err)
		}
	}
	return u.String(), nil
}

var errNotPublic = errors.New("is not a public address, and FRONTPAGE_WEBHOOK_ORIGINS does not allow it")

// notPublic is the error of a host that has an address that is not public.
func notPublic(host string, ip netip.Addr) error {
	if host == ip.String() {
		return fmt.Errorf("%s %w", ip, errNotPublic)
	}
	return fmt.Errorf("an address of %s, %s, %w", host, ip, errNotPublic)
}

// Resolve returns the addresses of a host. All must be public, unless the operator allows the origin: otherwise it is
// an error.
func (w *Webhooks) Resolve(ctx context.Context, host string, isAllowed bool) ([]netip.Addr, error) {
	lookUp := w.o.LookUp
	if lookUp == nil {
		lookUp = net.DefaultResolver.LookupNetIP
	}
	addresses, err := lookUp(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	for _, ip := range addresses {
		if !isAllowed && !public(ip) {
			return nil, notPublic(host, ip.Unmap())
		}
	}
	return addresses, nil
}

// Allowed reports whether the operator allows an origin, such as http://10.0.0.5:9000, whatever its address.
func (w *Webhooks) Allowed(origin string) bool { return slices.Contains(w.o.Origins, origin) }

// special are the addresses that are not those of one machine on the Internet: the special-purpose registries of IANA
// (RFC 6890 and what was added since), with the forms of IPv6 that contain an address of IPv4.
var special = site.Collect([]string{
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
}, netip.MustParsePrefix)

// public reports whether an address belongs to a machine on the Internet.
func public(address netip.Addr) bool {
	address = address.Unmap()
	if !address.IsValid() || address.Zone() != "" {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(address) })
}
