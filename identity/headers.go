package identity

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"frontpage/redisrepo"
)

const (
	authorization    = "Authorization"
	developmentName  = "X-User-ID"
	developmentRoles = "X-User-Roles"
	moderator        = "moderator" // the one role that there is
)

// FromRequest says who sent the request: nobody when it does not have the header
// that would tell, or an empty one where the header is a name. Everything else
// that is not exactly one good name or token is refused with an *Error, and so is
// the header of a proxy from another address.
func (v *Verifier) FromRequest(req *http.Request) (Person, error) {
	if v.proxied && len(req.Header.Values(v.nameHeader)) > 0 && !v.fromProxy(req.RemoteAddr) {
		return Person{}, &Error{Code: Untrusted, Message: "the header " + v.nameHeader + " is taken from the proxies of this server only"}
	}
	return v.fromHeader(req.Header)
}

// FromInit says who opened a WebSocket: payload is that of its connection_init
// message, req its handshake. What counts as a header there counts in the
// payload too, in capital or small letters, and goes first: the header is then
// not looked at. A proxy's header counts in the handshake only. null in the
// payload is the same as nothing there.
func (v *Verifier) FromInit(payload map[string]any, req *http.Request) (Person, error) {
	if v.proxied {
		return v.FromRequest(req)
	}
	main, header := v.mainHeader(), http.Header{}
	for name, value := range payload {
		if value == nil || name == "" || !strings.EqualFold(name, main) && !strings.EqualFold(name, v.rolesHeader) {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return Person{}, v.malformed(main)
		}
		header.Add(name, text)
	}
	if len(header.Values(main)) == 0 {
		return v.FromRequest(req)
	}
	return v.fromHeader(header)
}

// FromToken says whom a token names. Where tokens do not count, every one is
// refused.
func (v *Verifier) FromToken(token string) (Person, error) {
	if v.tokens == nil {
		return Person{}, &Error{Code: Invalid, Message: "this server takes no tokens"}
	}
	return v.tokens.person(token)
}

func (v *Verifier) mainHeader() string {
	if v.tokens != nil {
		return authorization
	}
	return v.nameHeader
}

func (v *Verifier) malformed(header string) *Error {
	if v.tokens != nil {
		return &Error{Code: Invalid, Message: "the header " + header + " must be sent once and look like this: Bearer TOKEN"}
	}
	return &Error{Code: NameInvalid, Message: "the header " + header + " must be sent once"}
}

func (v *Verifier) fromHeader(header http.Header) (Person, error) {
	main := v.mainHeader()
	values := header.Values(main)
	if len(values) == 0 {
		return Person{}, nil
	}
	// With two, it is unclear which one a proxy set and which one a client.
	if len(values) > 1 || v.rolesHeader != "" && len(header.Values(v.rolesHeader)) > 1 {
		return Person{}, v.malformed(main)
	}
	if v.tokens != nil {
		scheme, token, _ := strings.Cut(values[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return Person{}, v.malformed(main)
		}
		return v.tokens.person(strings.TrimLeft(token, " "))
	}
	// Some proxies cannot leave a header out when nobody is signed in.
	if values[0] == "" {
		return Person{}, nil
	}
	name, err := redisrepo.ParseUserName(values[0])
	if err != nil {
		return Person{}, &Error{Code: NameInvalid, Message: err.Error()} // the message of a Refusal may be shown
	}
	var roles []string
	if v.rolesHeader != "" {
		roles = strings.FieldsFunc(header.Get(v.rolesHeader), func(c rune) bool { return c == ' ' || c == ',' })
	}
	return Person{Name: name, Moderator: slices.Contains(roles, moderator)}, nil
}

// fromProxy reports whether a connection comes from one of the proxies. A unix
// socket has no address: it does not.
func (v *Verifier) fromProxy(remote string) bool {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	address := from.Addr().Unmap().WithZone("") // as prefixes are written
	return slices.ContainsFunc(v.proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}
