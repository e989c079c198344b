package identity

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	authorization    = "Authorization"
	developmentName  = "X-User-ID"
	developmentRoles = "X-User-Roles"
	onBehalfOf       = "X-On-Behalf-Of" // the user for whom a service acts
)

// The roles.
const (
	moderator = "moderator"
	service   = "service"
)

// FromRequest authenticates the sender of a request. The caller is anonymous if the header with the token or
// the name is missing, or if the header with the name is empty, and there is no cookie of a session. Anything else that
// is not exactly one valid name or token is rejected with a *Refusal. So are a proxy's header from any other address,
// and the cookie of a session if the session has ended, or if a page of another origin sent it.
//
// A caller with the role service may act for the user whom the header X-On-Behalf-Of names. It then has that user's
// name, and is no moderator. From any other caller the header is rejected.
func (v *Verifier) FromRequest(req *http.Request) (Caller, error) {
	return v.fromRequest(req, req.Header[onBehalfOf])
}

func (v *Verifier) fromRequest(req *http.Request, behalf []string) (Caller, error) {
	if v.proxied && len(req.Header[v.nameKey]) > 0 && !v.fromProxy(req.RemoteAddr) {
		return Caller{}, &Refusal{Code: Untrusted, Message: "the header " + v.nameHeader + " is accepted from this server's proxies only"}
	}
	caller, err := v.fromHeader(req.Context(), req.Header)
	if err == nil && len(req.Header[v.nameKey]) == 0 {
		caller, err = v.fromCookie(req)
	}
	return v.actingFor(behalf, caller, err)
}

// actingFor returns the caller, or the user for whom it acts. behalf is the value of X-On-Behalf-Of, if there is any.
func (v *Verifier) actingFor(behalf []string, caller Caller, err error) (Caller, error) {
	if err != nil || len(behalf) == 0 {
		return v.promote(caller), err
	}
	if !caller.Service {
		return Caller{}, &Refusal{Code: NotService, Message: "only a caller with the role service may act for a user, by the header " + onBehalfOf}
	}
	if len(behalf) > 1 {
		return Caller{}, &Refusal{Code: NameInvalid, Message: "send the header " + onBehalfOf + " once"}
	}
	if err := validSubject(behalf[0], v.validName); err != nil {
		return Caller{}, &Refusal{Code: NameInvalid, Message: "the header " + onBehalfOf + " is not a user name: " + err.Error()}
	}
	caller.Name, caller.Via, caller.Moderator, caller.Created = behalf[0], caller.Name, false, time.Time{}
	return caller, nil
}

// FromInit authenticates the client of a WebSocket. payload is the payload of its connection_init message, req its
// handshake. The payload may hold the same header as the request, its name in any case. It then takes precedence: the
// header of the handshake is ignored. A proxy's header is accepted in the handshake only. null in the payload stands
// for a missing header. X-On-Behalf-Of is read from the payload or else from the handshake, independently of the
// credential.
func (v *Verifier) FromInit(payload map[string]any, req *http.Request) (Caller, error) {
	header := http.Header{}
	for name, value := range payload {
		if value == nil || name == "" || !strings.EqualFold(name, onBehalfOf) &&
			(v.proxied || !strings.EqualFold(name, v.nameHeader) && !strings.EqualFold(name, v.rolesHeader)) {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return Caller{}, v.malformed()
		}
		header.Add(name, text)
	}
	behalf, found := header[onBehalfOf]
	if !found {
		behalf = req.Header[onBehalfOf]
	}
	if len(header[v.nameKey]) > 0 {
		caller, err := v.fromHeader(req.Context(), header)
		return v.actingFor(behalf, caller, err)
	}
	return v.fromRequest(req, behalf)
}

// InDevelopment reports whether any client can claim any name.
func (v *Verifier) InDevelopment() bool { return v.nameHeader == developmentName && !v.proxied }

// ActAs sets the user of a request in development mode, for forms, which cannot send headers. In other modes it is a
// no-op.
func (v *Verifier) ActAs(req *http.Request, name string) {
	if v.InDevelopment() && name != "" {
		req.Header.Set(developmentName, name)
	}
}

// Headers returns the names of the headers that may identify a caller, for Vary.
func (v *Verifier) Headers() []string {
	headers := []string{v.nameHeader}
	if v.rolesHeader != "" {
		headers = append(headers, v.rolesHeader)
	}
	if v.sessions != nil {
		headers = append(headers, "Cookie")
	}
	return append(headers, onBehalfOf)
}

func (v *Verifier) malformed() *Refusal {
	if !v.NamedByHeader() {
		return &Refusal{Code: Invalid, Message: "send the header " + v.nameHeader + " once, in the form: Bearer TOKEN"}
	}
	return &Refusal{Code: NameInvalid, Message: "send the header " + v.nameHeader + " once"}
}

func (v *Verifier) fromHeader(ctx context.Context, header http.Header) (Caller, error) {
	values := header[v.nameKey]
	if len(values) == 0 {
		return Caller{}, nil
	}
	// Of two, one may be the proxy's and the other the client's.
	if len(values) > 1 || v.rolesHeader != "" && len(header.Values(v.rolesHeader)) > 1 {
		return Caller{}, v.malformed()
	}
	if !v.NamedByHeader() {
		if v.tokens == nil {
			return Caller{}, &Refusal{Code: Invalid, Message: "this server accepts no tokens: users sign in with the site"}
		}
		scheme, token, _ := strings.Cut(values[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return Caller{}, v.malformed()
		}
		return v.fromToken(ctx, strings.TrimLeft(token, " "))
	}
	name := values[0]
	if name == "" { // some proxies cannot omit the header of an anonymous caller
		return Caller{}, nil
	}
	if err := v.validName(name); err != nil {
		return Caller{}, &Refusal{Code: NameInvalid, Message: err.Error()}
	}
	var roles []string
	if v.rolesHeader != "" {
		roles = splitRoles(header.Get(v.rolesHeader))
	}
	return Caller{Name: name, Moderator: slices.Contains(roles, v.moderatorRole), Service: slices.Contains(roles, service)}, nil
}

// fromProxy reports whether a connection comes from one of the proxies. A connection over a unix socket has
// no address and is not one of theirs.
func (v *Verifier) fromProxy(remote string) bool {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	address := from.Addr().Unmap().WithZone("") // prefixes have no zone
	return slices.ContainsFunc(v.proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// hostPrefix begins names of cookies that browsers send by https only, and that other hosts of the domain cannot set.
const hostPrefix = "__Host-"

// CookieName returns the name of the site's cookie for a purpose. isSecure reports whether browsers reach the site by
// https.
func CookieName(purpose string, isSecure bool) string {
	if isSecure {
		return hostPrefix + "frontpage-" + purpose
	}
	return "frontpage-" + purpose
}

// Cookie returns a cookie of the site. Scripts cannot read it, and browsers do not send it with requests from other
// sites' pages, except for links to this site. A name with the prefix __Host- makes it Secure. The browser keeps it for
// seconds; if that is negative, it deletes the cookie.
func Cookie(name, value string, seconds int) *http.Cookie {
	return &http.Cookie{ // #nosec G124 -- on http, which is for this machine only, Secure would hide it
		Name: name, Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: strings.HasPrefix(name, hostPrefix), SameSite: http.SameSiteLaxMode,
	}
}

// LocalPath returns the path and query of a page of this site, or / for anything else and for texts of more than most
// bytes. It is safe to redirect to the result.
func LocalPath(to string, most int) *url.URL {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || len(to) > most || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsRune(to, '\\') {
		return &url.URL{Path: "/"}
	}
	return &url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
}
