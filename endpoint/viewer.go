package endpoint

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/identity"
	"frontpage/redisrepo"
)

type viewerKey struct{}

// Viewer is the caller of an operation.
type Viewer struct {
	Name      redisrepo.UserName // empty for anonymous callers
	Moderator bool
	Expires   time.Time  // of the token; zero when none was sent
	Address   netip.Addr // of the client
}

// ViewerOf returns the caller of the operation that ctx belongs to.
func ViewerOf(ctx context.Context) Viewer {
	v, _ := ctx.Value(viewerKey{}).(Viewer)
	return v
}

// ValidName is the rule for the names of users, for identity.Options.
func ValidName(name string) error {
	_, err := redisrepo.ParseUserName(name)
	return err
}

// withCaller returns the viewer with another identity.
func (v Viewer) withCaller(c identity.Caller) Viewer {
	v.Name, v.Moderator, v.Expires = redisrepo.UserName(c.Name), c.Moderator, c.Expires
	return v
}

// signIn finds out who is asking. Whoever shows something that does not hold is
// refused, also where nobody needs to be anybody.
func signIn(by *identity.Verifier, proxies []netip.Prefix, log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		caller, err := by.FromRequest(req)
		if err != nil {
			why := notRecognised(req.Context(), log, err)
			w.Header().Add("Vary", "Accept")
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			refusal := &gqlerror.Error{Message: why.message, Extensions: map[string]any{"code": why.code}}
			write(w, negotiate(req.Header.Values("Accept")).media, why, &graphql.Response{Errors: gqlerror.List{refusal}})
			return
		}
		v := Viewer{Address: clientAddress(req, proxies)}.withCaller(caller)
		next.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), viewerKey{}, v)))
	})
}

// notRecognised is the refusal of somebody whose token or name does not hold.
func notRecognised(ctx context.Context, log *slog.Logger, err error) *refused {
	var shown *identity.Refusal
	if !errors.As(err, &shown) {
		shown = &identity.Refusal{Code: identity.Invalid, Message: "who you are cannot be made out"}
	}
	message := shown.Message
	if shown.Code == identity.NameInvalid {
		message = "" // it quotes what was sent
	}
	log.DebugContext(ctx, "not recognised", "code", shown.Code, "why", message)
	return &refused{code: string(shown.Code), message: shown.Message, status: http.StatusUnauthorized}
}

// clientAddress is where a request comes from. Behind proxies, each of which
// adds who connected to it to X-Forwarded-For, it is the last address there that
// is not a proxy's: what stands before it, anybody can have written.
func clientAddress(req *http.Request, proxies []netip.Prefix) netip.Addr {
	at, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address := at.Addr().Unmap().WithZone("")
	forwarded := strings.Split(strings.Join(req.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(forwarded) {
		if !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(address) }) {
			break
		}
		hop = strings.TrimSpace(hop)
		before, err := netip.ParseAddr(hop)
		if with, portErr := netip.ParseAddrPort(hop); portErr == nil {
			before, err = with.Addr(), nil
		}
		if err != nil {
			break
		}
		address = before.Unmap().WithZone("")
	}
	return address
}

// Network is what counts as one client: the address, or its /64 for IPv6, since
// providers assign a whole /64 to each customer.
func (v Viewer) Network() netip.Addr {
	if network, err := v.Address.Prefix(64); v.Address.Is6() && err == nil {
		return network.Addr()
	}
	return v.Address
}
