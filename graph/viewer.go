package graph

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/identity"
	"frontpage/redisrepo"
)

type viewerKey struct{}

// viewer is who is asking, and from where.
type viewer struct {
	identity.Person
	address netip.Addr
}

// viewerOf is who asks for what ctx belongs to.
func viewerOf(ctx context.Context) viewer {
	v, _ := ctx.Value(viewerKey{}).(viewer)
	return v
}

// actor is the viewer as one who changes articles.
func (v viewer) actor() redisrepo.Actor {
	return redisrepo.Actor{Name: v.Name, Moderator: v.Moderator}
}

// signIn finds out who is asking. Whoever shows something that does not hold is
// refused, also where nobody needs to be anybody.
func signIn(by *identity.Verifier, proxies []netip.Prefix, log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		v := viewer{address: clientAddress(req, proxies)}
		var err error
		if v.Person, err = by.FromRequest(req); err != nil {
			why := notRecognised(req.Context(), log, err)
			w.Header().Add("Vary", "Accept")
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			refusal := &gqlerror.Error{Message: why.message, Extensions: map[string]any{"code": why.code}}
			write(w, negotiate(req.Header.Values("Accept")).media, why, &graphql.Response{Errors: gqlerror.List{refusal}})
			return
		}
		next.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), viewerKey{}, v)))
	})
}

// notRecognised is the refusal of somebody whose token or name does not hold.
func notRecognised(ctx context.Context, log *slog.Logger, err error) *refused {
	var shown *identity.Error
	if !errors.As(err, &shown) {
		shown = &identity.Error{Code: identity.Invalid, Message: "who you are cannot be made out"}
	}
	message := shown.Message
	if shown.Code == identity.NameInvalid {
		message = "" // it quotes what was sent
	}
	log.DebugContext(ctx, "not recognised", "code", shown.Code, "why", message)
	return &refused{code: string(shown.Code), message: shown.Message, status: http.StatusUnauthorized}
}

// requireViewer refuses whoever is not signed in, or has done too much by a rule.
func requireViewer(ctx context.Context, rule string) (viewer, error) {
	v := viewerOf(ctx)
	if v.Name == "" {
		return v, redisrepo.Refusal{{Code: unauthenticated, Message: "sign in first"}}
	}
	return v, withinRate(ctx, rule)
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

// site is what counts as one client: of IPv6, providers give everybody a /64.
func (v viewer) site() netip.Addr {
	if network, err := v.address.Prefix(64); v.address.Is6() && err == nil {
		return network.Addr()
	}
	return v.address
}
