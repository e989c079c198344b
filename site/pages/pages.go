// Package pages renders the lists, articles, users and groups of the site, so that browsers without JavaScript, search
// engines and programs that preview links can read them.
//
// A page shows the answer to the query that the site's script would send for it. The handler of the API executes it, so
// that a page has the same rules, limits and refusals. The answer is embedded in the page: the script takes over what is
// rendered without asking again.
package pages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"frontpage/endpoint"
	"frontpage/endpoint/sharing"
	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
	"frontpage/site/cards"
	"frontpage/site/feeds"
	"frontpage/site/web"
)

// Options say how pages are rendered.
type Options struct {
	Site      web.Options
	PublicURL string           // of the site, such as https://news.example.org; empty: the address of each request
	Secure    bool             // whether browsers reach the site by https
	API       endpoint.Options // of the handler that executes the queries
	Now       func() time.Time // if nil, time.Now
	Log       *slog.Logger
	// Work is the method of endpoint.Handler. nil: requests are not charged.
	Work func(req *http.Request, points int, work func()) (wait time.Duration, err error)

	EmbedOrigins []string // whose pages may have the vote button, such as https://example.org; none: there is no button
}

const (
	// shared is for how long a rendered page is used again, while the answer that it shows is the same.
	shared = time.Second
	// sharedBytes is how many bytes of rendered pages are kept for that.
	sharedBytes = 16 << 20
	// frameCost is what rendering a page costs besides its query, points. The queries of long lists pay for these, too.
	frameCost = 50
)

// server serves pages.
type server struct {
	Options
	api    api
	repo   *redisrepo.Repo
	layout *layout
	known  *http.ServeMux // the pages
	recent *sharing.Results[renderedKey, *rendered]
	cards  *sharing.Results[cards.Card, []byte]
}

// Handle has mux serve the pages by GET and HEAD, and what their forms send by POST. The handler of the API executes the
// queries, and the mutations. The result serves the page of paths that the site does not have, with status 404.
func Handle(mux *http.ServeMux, handler http.Handler, repo *redisrepo.Repo, o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Work == nil {
		o.Work = func(_ *http.Request, _ int, work func()) (time.Duration, error) { work(); return 0, nil }
	}
	o.Site = o.Site.WithDefaults()
	s := &server{
		Options: o, api: newAPI(handler, o.API.Identity.Headers()), repo: repo, layout: newLayout(o.Site), known: http.NewServeMux(),
		recent: sharing.New[renderedKey, *rendered](shared, sharedBytes, func() uint64 { return 0 }),
		cards:  sharing.New[cards.Card, []byte](cardKept, cardBytes, func() uint64 { return 0 }),
	}
	for pattern, of := range s.kinds() {
		if s.Site.Has(pattern) {
			page := s.page(of)
			mux.Handle("GET "+pattern, page)
			s.known.Handle("GET "+pattern, page)
		}
	}
	mux.HandleFunc("GET /a/{number}/card.png", s.card)
	mux.HandleFunc("POST /submit", s.post)
	mux.HandleFunc("POST /vote", s.vote)
	mux.HandleFunc("POST /act", s.act)
	mux.HandleFunc("GET /vote", s.voteAfterSignIn)
	if s.Site.Has("/search") {
		mux.HandleFunc("GET /opensearch.xml", s.openSearch)
	}
	s.embed(mux)
	return s.unknown()
}

// unknown returns a handler of paths that the site does not have. It leads to the page that the visitor means, if there is one.
func (s *server) unknown() http.HandlerFunc {
	missing := s.page(func(*http.Request) (*page, error) { return nil, errNoPage })
	return func(w http.ResponseWriter, req *http.Request) {
		to := s.guess(req.URL.Path)
		if to == "" {
			missing(w, req)
			return
		}
		// A local path: guess has begun it with one slash.
		http.Redirect(w, req, (&url.URL{Path: to, RawQuery: req.URL.RawQuery}).String(), http.StatusFound) // #nosec G710
	}
}

// page returns a handler of pages of a kind.
func (s *server) page(of func(*http.Request) (*page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		p, err := of(req)
		if err != nil {
			p = scriptPage("", s.Site.Texts.Text("pageMissing"), "")
			p.Kind, p.later, p.status = "missing", false, http.StatusNotFound
			if !errors.Is(err, errNoPage) {
				p.Missing = sentence(err.Error())
			}
		}
		s.describe(p, req)
		if errors.Is(err, errNoPage) {
			p.Path, p.Here = "", "/" // one page for all such paths: it is rendered once
		}
		var answer []byte
		if p.moved == "" {
			answer = s.ask(w, req, p)
		}
		if p.moved != "" && p.status == 0 {
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, req, p.moved, http.StatusSeeOther)
			return
		}
		p.About = cmp.Or(p.About, s.Site.About)
		s.show(w, req, p, answer)
	}
}

// describe sets what a page shows of the site and of its request.
func (s *server) describe(p *page, req *http.Request) {
	p.Site, p.Base, p.Path, p.Here, p.Now = s.Site, feeds.Address(s.PublicURL, req), req.URL.EscapedPath(), req.URL.RequestURI(), s.Now()
}

// ask executes the query of a page and sets what it shows. It returns the answer as it was received.
func (s *server) ask(w http.ResponseWriter, req *http.Request, p *page) []byte {
	p.charged = true
	req = req.WithContext(endpoint.Besides(req.Context(), frameCost))
	got := s.api.ask(req, p.query, p.variables)
	answer, err := got.read()
	if answer.code() == string(identity.SessionEnded) {
		w.Header()["Set-Cookie"] = got.header["Set-Cookie"]
		got = s.api.anonymous().ask(req, p.query, p.variables)
		answer, err = got.read()
	}
	if err == nil && len(answer.Errors) > 0 {
		p.refused(got.status, answer.code(), answer.Errors[0].Message)
		got.passHeaders(w.Header())
		if p.status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
			w.Header().Set("Retry-After", "1")
		}
		return nil
	}
	if err == nil {
		err = json.Unmarshal(answer.Data, &p.Data)
	}
	if err != nil {
		s.Log.ErrorContext(req.Context(), "page", "err", err)
		p.fail(http.StatusInternalServerError, p.T("wentWrong"))
		return nil
	}
	a := p.Data.Article
	p.Answer = &embedded{Request: s.api.request(p.query, p.variables), Data: answer.Data, Later: p.later}
	p.fill(p)
	if p.article != 0 && (a == nil || a.DeletedAt != nil) {
		s.missing(req.Context(), p)
	}
	return append(got.body.Bytes(), p.also...)
}

// missing sets what the page of an article shows that is not there: if it was deleted, the status 410, by whom and when.
func (s *server) missing(ctx context.Context, p *page) {
	article, err := s.repo.Deleted(failover.FailFast(ctx), p.article)
	switch {
	case err == nil:
		by := "deletedByModerator"
		if *article.DeletedBy == article.Poster.Name {
			by = "deletedByPoster"
		}
		p.Restores = p.ActsByForm() && p.Data.Article != nil && (p.Moderates() || by == "deletedByPoster")
		p.status, p.Title, p.Gone = http.StatusGone, p.T("articleDeleted"), s.Site.Texts.Text(by, "date", article.DeletedAt.Format(time.DateOnly))
		p.Answer.Gone = p.Gone
	case errors.As(err, new(site.Refusal)):
		p.status = http.StatusNotFound
	default:
		s.Log.WarnContext(ctx, "page", "err", err) // a line of an outage
		p.fail(http.StatusServiceUnavailable, p.T("unavailable"))
	}
}

// refused shows why there is no answer.
func (p *page) refused(status int, code, message string) {
	switch {
	case code == "BAD_USER_INPUT", code == "CURSOR_EXPIRED":
		p.Kind, p.Title, p.Missing, p.status = "missing", p.T("pageMissing"), sentence(message), http.StatusNotFound
	case code == "SEARCH_NOT_READY":
		p.fail(http.StatusServiceUnavailable, p.T("searchNotReady"))
	case code == "UNAVAILABLE", code == "TIMEOUT":
		p.fail(http.StatusServiceUnavailable, p.T("unavailable"))
	case code == "RATE_LIMITED":
		p.fail(http.StatusTooManyRequests, p.T("tooMany"))
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		p.fail(status, sentence(message))
	default:
		p.fail(http.StatusInternalServerError, p.T("wentWrong"))
	}
}

// fail shows an error instead of the content.
func (p *page) fail(status int, problem string) { p.status, p.Problem = status, problem }

// show sends a page. Pages that show an answer are shared; a refusal is for this request alone.
func (s *server) show(w http.ResponseWriter, req *http.Request, p *page, answered []byte) {
	r, err := s.rendered(req, p, answered)
	if err != nil {
		return // the client did not wait
	}
	s.setHeader(w.Header())
	header := w.Header()
	switch {
	case answered == nil, r.status >= http.StatusInternalServerError, r.status == http.StatusTooManyRequests:
		header.Set("Cache-Control", "no-store")
	case s.API.MaxAge > 0 && p.anonymous():
		header.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(s.API.MaxAge.Seconds())))
	default:
		header.Set("Cache-Control", "private, no-cache")
	}
	if r.wait > 0 {
		header.Set("Retry-After", strconv.Itoa(rates.Seconds(r.wait)))
	}
	if p.later && r.status != http.StatusTooManyRequests {
		header.Set("Link", "<"+web.SecondScript()+">; rel=modulepreload")
	}
	r.serve(w, req)
}

// rendered renders a page, unless equal requests have just done so.
func (s *server) rendered(req *http.Request, p *page, answered []byte) (*rendered, error) {
	if answered == nil {
		return s.render(req, p)
	}
	key := renderedKey{url: p.Base + p.Here, answer: string(answered), status: p.status}
	var failed error
	r, err := s.recent.Do(req.Context(), key, func(context.Context) (r *rendered, size int) {
		if r, failed = s.render(req, p); failed != nil || r.status >= http.StatusInternalServerError || r.wait > 0 {
			return r, -1
		}
		return r, 2*len(r.plain) + len(answered)
	})
	if err == nil && r == nil { // another request rendered it, whose client has left
		return s.render(req, p)
	}
	return r, cmp.Or(err, failed)
}

// render renders a page in the client's turn. If its query has not been charged, the page is; while the store does not answer,
// it is free.
func (s *server) render(req *http.Request, p *page) (r *rendered, err error) {
	if p.status == http.StatusTooManyRequests {
		return s.layout.render(p), nil
	}
	points := frameCost
	if p.charged {
		points = 0
	}
	wait, _ := s.Work(req, points, func() {
		r = s.layout.render(p)
		if web.AcceptsGzip(req) {
			r.zipped()
		}
	})
	if r != nil || req.Context().Err() != nil {
		return r, req.Context().Err()
	}
	if wait > 0 {
		p.fail(http.StatusTooManyRequests, p.T("tooMany"))
	}
	r = s.layout.render(p)
	r.wait = wait
	return r, nil
}

// setHeader sets the headers of all pages.
func (s *server) setHeader(header http.Header) {
	maps.Copy(header, s.layout.header)
	header["Vary"] = []string{strings.Join(append(s.API.Identity.Headers(), "Accept-Encoding"), ", ")} // of several lines, nginx 1.22 knows the last one only
}

// anonymous reports whether all visitors who are not signed in get the same page. Where a proxy signs visitors in, a
// cache before it does not know who they are.
func (p *page) anonymous() bool {
	return p.Data.Viewer == nil && p.Data.Site.SignIn != "PROXY"
}
