package endpoint

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"frontpage/identity"
	"frontpage/redisrepo/site"
)

// viewerContext is the context of a caller's operations.
type viewerContext struct {
	context.Context
	viewer Viewer
}

type viewerKey struct{}

// Value implements context.Context.
func (c *viewerContext) Value(key any) any {
	if key == (viewerKey{}) {
		return &c.viewer
	}
	return c.Context.Value(key)
}

// Viewer is the caller of an operation.
type Viewer struct {
	Name      site.UserName // empty for anonymous callers
	Moderator bool
	Service   bool          // a program that may act for users
	Via       site.UserName // the service that acts for Name; empty: Name itself acts
	Created   time.Time     // when the account was created, as a claim says; else zero
	Expires   time.Time     // when the token expires, or the session has to be read again; else zero
	Address   netip.Addr    // of the client

	caller identity.Caller // as it was authenticated
	isNew  bool            // whether Rates.New apply; only while the viewer is charged
}

// ViewerOf returns the caller of the operation that ctx belongs to.
func ViewerOf(ctx context.Context) Viewer {
	if v, ok := ctx.Value(viewerKey{}).(*Viewer); ok {
		return *v
	}
	return Viewer{}
}

// ValidName returns an error if name is not a valid name of a user. It is meant for identity.Options.
func ValidName(name string) error {
	if _, err := site.ParseUserName(name); err != nil {
		return err
	}
	if !site.Displayable(name) {
		return errors.New("the user name looks empty, or contains a character that is invisible or reverses the line")
	}
	if site.UserName(name).Reserved() {
		return errors.New("the user name stands for the operator's commands, or for erased users")
	}
	return nil
}

// withCaller returns the viewer with the identity of a caller.
func (v Viewer) withCaller(c identity.Caller) Viewer {
	v.Name, v.Moderator, v.Expires = site.UserName(c.Name), c.Moderator, c.Expires
	v.Service, v.Via, v.Created, v.caller = c.Service, site.UserName(c.Via), c.Created, c
	return v
}

// MayBeNew reports whether the limits of new users apply to the viewer: to neither moderators nor services.
func (v Viewer) MayBeNew() bool {
	return v.Name != "" && !v.Moderator && (!v.Service || v.Via != "")
}

// Network returns the address that limits apply to: the client's, or its /64 for IPv6, since providers assign a whole
// /64 to each customer.
func (v Viewer) Network() netip.Addr {
	if !v.Address.Is6() {
		return v.Address
	}
	network, _ := v.Address.Prefix(64) // which only IPv4 has not
	return network.Addr()
}

// NetworkOf is Viewer.Network for a request that is not an operation. proxies are those of Options.
func NetworkOf(req *http.Request, proxies []netip.Prefix) netip.Addr {
	return Viewer{Address: clientAddress(req, proxies)}.Network()
}

// signIn authenticates the request. Invalid credentials are rejected even where anonymous access is allowed.
// next gets the context for the caller's operations.
func signIn(exec *executor, by *identity.Verifier, proxies []netip.Prefix, log *slog.Logger, next func(context.Context, http.ResponseWriter, *http.Request)) http.Handler {
	var warning sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !by.NamedByHeader() && fromUnnamedProxy(req, proxies) {
			warning.Do(func() {
				log.WarnContext(req.Context(), "a proxy or a client that FRONTPAGE_TRUSTED_PROXIES does not name sent X-Forwarded-For or Forwarded: "+
					"if it is a proxy, all visitors share one address's limits; name the proxy in FRONTPAGE_TRUSTED_PROXIES")
			})
		}
		caller, err := by.FromRequest(req)
		if err != nil {
			refused := notAuthenticated(req.Context(), log, err)
			switch {
			case refused.code == string(identity.SessionEnded):
				by.Forget(w)
			case refused.status == http.StatusUnauthorized:
				w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			}
			op := exec.receive(req.Context(), OverHTTP)
			write(w, req, negotiate(req.Header.Values("Accept")).media, op, refused.alone())
			return
		}
		v := Viewer{Address: clientAddress(req, proxies)}.withCaller(caller)
		next(&viewerContext{req.Context(), v}, w, req)
	})
}

// notAuthenticated returns the refusal of invalid credentials, and logs its code.
func notAuthenticated(ctx context.Context, log *slog.Logger, err error) *refusal {
	var shown *identity.Refusal
	if !errors.As(err, &shown) {
		shown = &identity.Refusal{Code: identity.Invalid, Message: "the credentials are invalid"}
	}
	message := shown.Message
	if shown.Code == identity.NameInvalid {
		message = "" // it quotes what was sent
	}
	refused := &refusal{code: string(shown.Code), message: shown.Message, status: http.StatusUnauthorized}
	switch {
	case shown.Code == identity.NotService || shown.Code == identity.ForeignPage: // the caller is known
		refused.status = http.StatusForbidden
	case shown.Code == identity.Unavailable:
		refused.status, refused.wait = http.StatusServiceUnavailable, retryAfter
		log.WarnContext(ctx, "the user of a session or token cannot be read", "err", shown.Unwrap()) // a line of an outage
	}
	log.DebugContext(ctx, "not authenticated", "code", shown.Code, "reason", message)
	return refused
}

// again authenticates the viewer of a stream again, when Expires has come. It returns how long that holds, or why the
// stream has to end: its client may then connect again.
func (v Viewer) again(ctx context.Context, by *identity.Verifier, log *slog.Logger) (time.Duration, *refusal) {
	caller, err := by.Again(ctx, v.caller)
	if ctx.Err() != nil {
		return unreadSession, nil // the stream has ended
	}
	if err != nil {
		refused := notAuthenticated(ctx, log, err)
		if refused.code == codeUnavailable {
			return unreadSession, nil // without the store, the stream does nothing
		}
		return 0, refused
	}
	if caller.Name != v.caller.Name || caller.Moderator != v.caller.Moderator {
		return 0, &refusal{code: codeUnavailable, message: "the rights of the user have changed: connect again"}
	}
	return max(time.Until(caller.Expires), 0), nil
}

// unreadSession is after how long a session is read again that could not be read.
const unreadSession = 5 * time.Second

// clientAddress returns the address that a request comes from. Each proxy appends the address that connected
// to it to X-Forwarded-For, so the client's is the last one there that is not a proxy's: the client itself
// may have written anything before it.
func clientAddress(req *http.Request, proxies []netip.Prefix) netip.Addr {
	at, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address := plain(at.Addr())
	if len(proxies) == 0 {
		return address
	}
	forwarded := strings.Split(strings.Join(req.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(forwarded) {
		if !isProxy(address, proxies) {
			break
		}
		before, ok := parseHop(hop)
		if !ok {
			break
		}
		address = before
	}
	return address
}

// fromUnnamedProxy reports whether a request claims to be forwarded, but comes from an address that is not one
// of the proxies. Any client can send such a request.
func fromUnnamedProxy(req *http.Request, proxies []netip.Prefix) bool {
	if len(req.Header["X-Forwarded-For"]) == 0 && len(req.Header["Forwarded"]) == 0 {
		return false
	}
	from, err := netip.ParseAddrPort(req.RemoteAddr)
	return err == nil && !isProxy(plain(from.Addr()), proxies)
}

func isProxy(address netip.Addr, proxies []netip.Prefix) bool {
	return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseHop parses one address of X-Forwarded-For. Some proxies add the port.
func parseHop(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if with, err := netip.ParseAddrPort(hop); err == nil {
		return plain(with.Addr()), true
	}
	address, err := netip.ParseAddr(hop)
	return plain(address), err == nil
}

// plain returns the address in the one form that is compared and counted.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }
