package pages

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"frontpage/identity"
	"frontpage/redisrepo/site"
)

const (
	maxForm   = 8 << 10 // bytes of a form
	maxReturn = 1000    // bytes of a path to come back to
	// signInSeconds is how long a visitor may take to sign in, so that the vote is then cast.
	signInSeconds = 60 * 60
)

// ballot is what the form for votes sends: the article, the direction, and the path of the page.
type ballot struct {
	article   site.ArticleID
	direction string
	to        string
}

var errNoBallot = errors.New("not a vote")

// readBallot parses a form. Its path is one of this site: another becomes /.
func readBallot(form url.Values) (ballot, error) {
	b := ballot{to: localPath(form.Get("to"))}
	number, direction, _ := strings.Cut(strings.TrimPrefix(form.Get("vote"), "article:"), " ")
	id, err := site.ParseArticleID(number)
	if err != nil || direction != "UP" && direction != "DOWN" && direction != "NONE" {
		return b, errNoBallot
	}
	b.article, b.direction = id, direction
	return b, nil
}

func (b ballot) form() url.Values {
	return url.Values{"vote": {b.article.String() + " " + b.direction}, "to": {b.to}}
}

// input is the input of the mutation.
func (b ballot) input() map[string]string {
	return map[string]string{"article": b.article.String(), "direction": b.direction}
}

// back is the address of the article's row on the page.
func (b ballot) back() string { return b.to + "#" + b.article.String() }

// localPath returns the path and query of a page of this site; / for anything else.
func localPath(to string) string {
	u := identity.LocalPath(to, maxReturn)
	if u.Path == "/vote" {
		return "/"
	}
	return u.String()
}

// vote casts, changes or takes back the vote of the visitor who sent a form, as the API's mutation does, and leads back to
// the page. An anonymous visitor signs in before.
func (s *server) vote(w http.ResponseWriter, req *http.Request) {
	p := s.formPage(req)
	if !s.readForm(w, req, p, maxForm) {
		s.refuse(w, req, p)
		return
	}
	b, err := readBallot(req.PostForm)
	p.Next = b.to
	if err != nil {
		p.status, p.Missing = http.StatusBadRequest, p.T("unknownForm")
		s.refuse(w, req, p)
		return
	}
	s.change(w, req, p, "VoteByForm", b.input())
	if p.status == http.StatusUnauthorized {
		// A policy of form-action 'self' also forbids to redirect a form to another origin, such as the OIDC provider's.
		p.Title, p.Missing, p.Next, p.Link, p.Leaves = p.T("signInToVote"), p.T("thenCounted"), "/signin?to=%2Fvote", p.T("signIn"), true
		http.SetCookie(w, s.pending(b.form().Encode(), signInSeconds))
	}
	s.voted(w, req, b, p)
}

// voteAfterSignIn casts the vote that a visitor has signed in for. A cookie has it, which only vote sets: so a link of
// another site cannot vote.
func (s *server) voteAfterSignIn(w http.ResponseWriter, req *http.Request) {
	cookie, err := req.Cookie(s.pending("", 0).Name)
	if err != nil || req.Method != http.MethodGet {
		http.Redirect(w, req, "/", http.StatusSeeOther)
		return
	}
	http.SetCookie(w, s.pending("", -1))
	form, _ := url.ParseQuery(cookie.Value) // an invalid one has no vote
	b, err := readBallot(form)
	p := s.formPage(req)
	p.Next = b.to
	if err == nil {
		s.change(w, req, p, "VoteByForm", b.input())
	}
	if p.status == http.StatusUnauthorized {
		p.status = 0 // the visitor has not signed in
	}
	s.voted(w, req, b, p)
}

// voted leads back to the page, or shows why the vote was not accepted.
func (s *server) voted(w http.ResponseWriter, req *http.Request, b ballot, p *page) {
	if p.status >= http.StatusInternalServerError {
		p.Title = p.T("voteInDoubt")
	}
	if p.status != 0 {
		s.refuse(w, req, p)
		return
	}
	w.Header().Set("Cache-Control", "private, no-store")
	http.Redirect(w, req, b.back(), http.StatusSeeOther) // #nosec G710 -- localPath has checked it
}

// pending is the cookie of a vote that is cast when the visitor has signed in. The browser sends it with the link by which
// the visitor comes back, which is one of another site.
func (s *server) pending(value string, seconds int) *http.Cookie {
	return identity.Cookie(identity.CookieName("vote", s.Secure), value, seconds)
}

// formStatus maps codes of user errors to statuses. The status of others is 400.
var formStatus = map[string]int{
	"UNAUTHENTICATED": http.StatusUnauthorized, "FORBIDDEN": http.StatusForbidden, "DENIED": http.StatusForbidden, "NOT_FOUND": http.StatusNotFound,
	"VOTING_CLOSED": http.StatusConflict, "DUPLICATE_LINK": http.StatusConflict, "RATE_LIMITED": http.StatusTooManyRequests,
}

// userError says why a mutation was refused.
type userError struct {
	Code, Message string
	Field         []string
	RetryAfter    int // seconds
	Until         *time.Time
	Reason        string // of a moderator; empty: none was given
}

// payload is what a mutation returns.
type payload struct {
	Article    *articleData
	UserErrors []userError
}

// change executes a mutation, and returns its payload and the status of the API's response. If it is refused, p says why: its
// status is 401 for an anonymous visitor, or if a session has ended.
func (s *server) change(w http.ResponseWriter, req *http.Request, p *page, mutation string, input any) (changed payload, status int) {
	got := s.api.change(req, mutation, map[string]any{"input": input})
	answer, err := got.read()
	var data map[string]*payload // of one mutation
	if err == nil && len(answer.Errors) == 0 {
		err = json.Unmarshal(answer.Data, &data)
	}
	switch {
	case err == nil && answer.code() == string(identity.SessionEnded):
		w.Header()["Set-Cookie"] = got.header["Set-Cookie"]
		p.status = http.StatusUnauthorized
	case err == nil && len(answer.Errors) > 0:
		got.passHeaders(w.Header())
		p.refused(got.status, answer.code(), answer.Errors[0].Message)
		p.Kind, p.Missing, p.Problem = "refused", cmp.Or(p.Problem, p.Missing), "" // reading the page again does not help
	case err != nil:
		s.Log.ErrorContext(req.Context(), "form", "status", got.status, "err", err)
		p.status, p.Missing = http.StatusInternalServerError, p.T("wentWrong")
	}
	for _, one := range data {
		switch {
		case one == nil:
			p.status, p.Missing = http.StatusInternalServerError, p.T("wentWrong")
		case len(one.UserErrors) > 0:
			s.refusal(w, p, got, one.UserErrors[0])
		default:
			changed = *one
		}
	}
	return changed, got.status
}

// refusal sets why a mutation was refused.
func (s *server) refusal(w http.ResponseWriter, p *page, got *response, e userError) {
	got.passHeaders(w.Header())
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	p.status, p.Missing = cmp.Or(formStatus[e.Code], http.StatusBadRequest), sentence(e.Message)
	field, pairs := e.Field, []any{"reason", e.Reason}
	if len(field) == 0 && e.Until != nil {
		field, pairs = []string{"until"}, append(pairs, "until", dateAndTime(*e.Until))
	}
	if text, found := p.Site.Texts.Refusal(e.Code, field, pairs...); found {
		p.Missing = text
	}
}

// formPage returns the page that is shown if a form is refused.
func (s *server) formPage(req *http.Request) *page {
	p := &page{Kind: "refused", Next: "/"}
	s.describe(p, req)
	p.Title, p.About, p.Link = p.T("notVoted"), p.Site.About, p.T("goBack")
	return p
}

// refuse sends the page that says why a form is refused.
func (s *server) refuse(w http.ResponseWriter, req *http.Request, p *page) {
	s.setHeader(w.Header())
	w.Header().Set("Cache-Control", "private, no-store")
	s.layout.render(p).serve(w, req)
}
