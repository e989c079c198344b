package identity

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Sessions are the sessions of users who signed in on the site. A cookie identifies each.
type Sessions struct {
	// Cookie is the name of the cookie, see CookieName.
	Cookie string
	// Origin is the origin of the site's pages, as in https://news.example.org.
	Origin string
	// Find returns the user of a session. Caller.Expires is when Find has to be called again. The error is a *Refusal
	// with SessionEnded if there is no such session; any other error means that the session cannot be read now.
	Find func(ctx context.Context, id string) (Caller, error)
}

// Mode says in a few words how users sign in, for String.
func (s *Sessions) mode() string {
	return "users sign in with the site, and are known by the cookie " + s.Cookie
}

// Clear returns a cookie that makes the browser forget the session.
func (s *Sessions) Clear() *http.Cookie { return s.Set("", -1) }

// Set returns the cookie of a session, which the browser keeps for this many seconds.
func (s *Sessions) Set(id string, seconds int) *http.Cookie { return Cookie(s.Cookie, id, seconds) }

// Again re-authenticates the caller of a stream, at the time Expires. A token has then expired. A session may continue;
// if it cannot be read now, the error is a *Refusal with Unavailable.
func (v *Verifier) Again(ctx context.Context, c Caller) (Caller, error) {
	if c.session == "" {
		return Caller{}, &Refusal{Code: Expired, Message: "the token has expired"}
	}
	caller, err := v.fromSession(ctx, c.session)
	return v.promote(caller), err
}

// Forget makes the browser forget a session that has ended.
func (v *Verifier) Forget(w http.ResponseWriter) {
	if v.sessions != nil {
		http.SetCookie(w, v.sessions.Clear())
	}
}

// FromForeignPage reports whether a page of another origin made the browser send a request that may change something.
// Requests by GET, HEAD and OPTIONS are taken to change nothing.
func (v *Verifier) FromForeignPage(req *http.Request) bool { return v.protection.Check(req) != nil }

// fromCookie returns the user of the session that the request's cookie names. Without a cookie, the caller is
// anonymous. A page of another origin cannot use the cookie: what it sends by POST is rejected. A WebSocket of a page
// that may connect without it is anonymous.
func (v *Verifier) fromCookie(req *http.Request) (Caller, error) {
	if v.sessions == nil {
		return Caller{}, nil
	}
	cookies := req.CookiesNamed(v.sessions.Cookie)
	if len(cookies) == 0 {
		return Caller{}, nil
	}
	if v.FromForeignPage(req) {
		return Caller{}, &Refusal{Code: ForeignPage, Message: "a page of another origin sent the request: it cannot act for the user who is signed in"}
	}
	if strings.EqualFold(req.Header.Get("Upgrade"), "websocket") && v.FromForeignPage(&http.Request{Method: http.MethodPost, Host: req.Host, Header: req.Header}) {
		return Caller{}, nil
	}
	if len(cookies) > 1 { // of two, one may be from another host of the domain
		return Caller{}, EndedSession()
	}
	return v.fromSession(req.Context(), cookies[0].Value)
}

func (v *Verifier) fromSession(ctx context.Context, id string) (Caller, error) {
	caller, err := v.sessions.Find(ctx, id)
	var refused *Refusal
	switch {
	case errors.As(err, &refused):
		return Caller{}, refused
	case err != nil:
		return Caller{}, &Refusal{Code: Unavailable, Message: "the session cannot be read now: try again", cause: err}
	case v.validName(caller.Name) != nil:
		return Caller{}, EndedSession()
	}
	caller.session = id
	return caller, nil
}

// EndedSession returns the error of Sessions.Find for a session that has ended or never existed.
func EndedSession() *Refusal {
	return &Refusal{Code: SessionEnded, Message: "the session has ended: sign in again"}
}
