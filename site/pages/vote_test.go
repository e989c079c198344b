package pages_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo/site"
	"frontpage/site/pages"
	"frontpage/site/web"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// sessionSite is a site whose users sign in with it. Their cookies are their names; signIn changes who has signed in.
type sessionSite struct {
	*testSite
	signedIn sync.Map
}

func newSessionSite(t *testing.T, change ...func(*endpoint.Options)) *sessionSite {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s := &sessionSite{}
	s.signIn("alice", "bob", "carol")
	sessions := &identity.Sessions{Cookie: "test", Origin: server.URL, Find: func(_ context.Context, id string) (identity.Caller, error) {
		if _, found := s.signedIn.Load(id); !found {
			return identity.Caller{}, identity.EndedSession()
		}
		return identity.Caller{Name: id, Expires: time.Now().Add(time.Hour)}, nil
	}}
	options := endpoint.DefaultOptions()
	options.SharedAnswers, options.MaxAge = 50*time.Millisecond, time.Second
	options.Identity = require.Value(identity.New(t.Context(), identity.Options{Sessions: sessions, ValidName: endpoint.ValidName}))(t)
	for _, f := range change {
		f(&options)
	}
	redis := redistest.Start(t)
	s.testSite = &testSite{Site: sitetest.New(t, redis.Client, site.DefaultRules()), t: t, redis: redis, pages: server}
	log := s.Log.Logger(slog.LevelInfo)
	api := graph.NewHandler(s.Repo, graph.Site{Version: "test", SignIn: graph.BySession, SignInURL: new("/sign-in?return={return}")}, log, options)
	missing := pages.Handle(mux, api, s.Repo, pages.Options{PublicURL: server.URL, API: options, Log: log, Work: api.Work, Now: func() time.Time { return sitetest.Start.Add(time.Hour) }})
	mux.Handle("/", web.Handler(web.Options{Site: true, Explorer: true, Missing: missing}))
	return s
}

func (s *sessionSite) signIn(names ...string) {
	for _, name := range names {
		s.signedIn.Store(name, true)
	}
}

// reader is a browser without scripts. It follows no redirections.
type reader struct {
	*sessionSite
	client *http.Client
}

// reader returns a browser with the cookie of a user; without one if the name is empty.
func (s *sessionSite) reader(name string) *reader {
	r := &reader{s, &http.Client{Jar: require.Value(cookiejar.New(nil))(s.t), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if name != "" {
		r.hasCookie(name)
	}
	return r
}

func (r *reader) hasCookie(name string) {
	r.client.Jar.SetCookies(require.Value(url.Parse(r.pages.URL))(r.t), []*http.Cookie{{Name: "test", Value: name}})
}

func (r *reader) do(req *http.Request) *response {
	r.t.Helper()
	res := require.Value(r.client.Do(req))(r.t)
	return read(r.t, req.URL.Path, res)
}

func (r *reader) open(path string) *response {
	r.t.Helper()
	req := require.Value(http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.pages.URL+path, nil))(r.t)
	req.Header.Set("Accept", "text/html")
	return r.do(req)
}

// voteForm is a request with the form of a vote. header holds pairs of name and value.
func (s *testSite) voteForm(form url.Values, header ...string) *http.Request {
	s.t.Helper()
	return s.form("/vote", form, header...)
}

// form is a request with a form. header holds pairs of name and value.
func (s *testSite) form(path string, form url.Values, header ...string) *http.Request {
	s.t.Helper()
	req := require.Value(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.pages.URL+path, strings.NewReader(form.Encode())))(s.t)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for pair := range slices.Chunk(header, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	return req
}

// sendForm sends the form of a vote as a page of the site does, but for header.
func (r *reader) sendForm(form url.Values, header ...string) *response {
	r.t.Helper()
	return r.do(r.voteForm(form, append([]string{"Sec-Fetch-Site", "same-origin"}, header...)...))
}

// press presses the button of an article on a page, as a browser does.
func (r *reader) press(p *response, class string, article int, header ...string) *response {
	r.t.Helper()
	forms := p.all("form", "id", "vote", "method", "post", "action", "/vote")
	for _, button := range p.all("button", "class", class, "type", "submit", "form", "vote", "name", "vote") {
		if value := attribute(button, "value"); len(forms) == 1 && strings.HasPrefix(value, fmt.Sprintf("article:%d ", article)) {
			return r.sendForm(url.Values{"vote": {value}, "to": {p.one("value", "input", "type", "hidden", "name", "to")}}, header...)
		}
	}
	r.t.Fatalf("%s has %d forms, and no button %s for article %d", p.path, len(forms), class, article)
	return nil
}

// pressed says which buttons of an article's row are pressed, and how many votes it shows.
func (r *response) pressed(article int) (all string) {
	for _, row := range append(r.all("li", "data-id", fmt.Sprint("article:", article)), r.all("article", "data-id", fmt.Sprint("article:", article))...) {
		part := &response{t: r.t, root: row}
		for _, button := range part.all("button", "aria-pressed", "true") {
			all += attribute(button, "class") + " "
		}
		for _, count := range part.all("button", "class", "up") {
			all += attribute(count, "title")
		}
	}
	return all
}

// visitor returns the name that the header and its menu show, empty for an anonymous visitor.
func (r *response) visitor() string {
	links := r.all("a", "class", "name")
	if len(links) != 2 || textOf(links[0]) != textOf(links[1]) {
		return strings.Repeat("?", len(links))
	}
	return textOf(links[0])
}

func TestVotingWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t)
	for i := range 3 {
		s.post("alice", fmt.Sprint("Article ", i), "", "text", "c.d")
	}
	bob := s.reader("bob")
	for _, path := range []string{"/", "/new", "/g/c.d", "/u/alice", "/top/all", "/new?x=%26%22", "/a/2"} {
		for _, step := range []struct{ press, want string }{
			{"up", "up 2 votes up, 0 votes down"},
			{"down", "down 1 vote up, 1 vote down"},
			{"up", "up 2 votes up, 0 votes down"},
			{"up", "1 vote up, 0 votes down"},
			{"down", "down 1 vote up, 1 vote down"},
			{"down", "1 vote up, 0 votes down"},
		} {
			sent := bob.press(bob.open(path), step.press, 2)
			if want := path + "#article:2"; sent.status != http.StatusSeeOther || sent.header.Get("Location") != want {
				t.Fatalf("%s: got %d to %q, want %q: %s", path, sent.status, sent.header.Get("Location"), want, sent.body)
			}
			if got := sent.header.Get("Cache-Control"); got != "private, no-store" {
				t.Errorf("%s: a form has Cache-Control %q", path, got)
			}
			p := bob.open(path)
			if got := p.pressed(2); got != step.want {
				t.Errorf("%s, after %q: got %q, want %q", path, step.press, got, step.want)
			}
			if got := p.pressed(1); path != "/a/2" && got != "1 vote up, 0 votes down" {
				t.Errorf("%s: another article has %q", path, got)
			}
			if path != "/a/2" && len(p.all("li", "id", "article:2")) != 1 {
				t.Errorf("%s has no row with the id article:2", path)
			}
		}
	}
}

// Where the script signs users in, a request for a page does not say who votes.
func TestThereIsNoFormWhereTheScriptSignsIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "Here", "", "text")
	for _, path := range []string{"/", "/a/1"} {
		if n := len(s.get(path).all("form", "id", "vote")); n != 0 {
			t.Errorf("%s has %d forms", path, n)
		}
	}
}

func TestPagesOfOtherSitesCannotVote(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t)
	s.post("alice", "Here", "", "text")
	form := url.Values{"vote": {"article:1 UP"}, "to": {"/"}}
	for _, name := range []string{"bob", ""} {
		for _, header := range [][]string{
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"},
			{"Sec-Fetch-Site", "", "Origin", "https://elsewhere.example"},
			{"Sec-Fetch-Site", "", "Origin", "null"},
		} {
			sent := s.reader(name).sendForm(form, header...)
			if sent.status != http.StatusForbidden || !strings.Contains(sent.one("", "main"), "A page of another site sent this form.") || len(sent.header.Values("Set-Cookie")) != 0 {
				t.Errorf("by %q with %q: got %d with %v", name, header, sent.status, sent.header)
			}
		}
	}
	// A link cannot vote either, whatever its parameters are.
	for _, name := range []string{"bob", ""} {
		if got := s.reader(name).open("/vote?" + form.Encode()); got.status != http.StatusSeeOther || got.header.Get("Location") != "/" {
			t.Errorf("a link, by %q: got %d to %q", name, got.status, got.header.Get("Location"))
		}
	}
	if got := s.reader("bob").open("/").pressed(1); got != "1 vote up, 0 votes down" {
		t.Errorf("a page of another site has voted: %s", got)
	}
	if sent := s.reader("bob").sendForm(form, "Origin", s.pages.URL); sent.status != http.StatusSeeOther {
		t.Errorf("the site's own form: got %d", sent.status)
	}
}

func TestVotingAnonymouslyLeadsToSigningIn(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t)
	s.post("alice", "First", "", "text")
	s.post("alice", "Second", "", "text")
	for _, cookie := range []string{"", "expired"} {
		name := "dave" + cookie
		r := s.reader(cookie)
		sent := r.press(r.open("/new"), "up", 2)
		const next = "/signin?to=%2Fvote"
		if sent.status != http.StatusUnauthorized || sent.one("content", "meta", "http-equiv", "refresh") != "0; url="+next || len(sent.all("a", "class", "button", "href", next)) != 1 {
			t.Fatalf("got %d: %s", sent.status, sent.body)
		}
		if n := len(sent.all("script", "type", "module")); n != 0 {
			t.Error("the script shows its own page instead")
		}
		if got := r.open("/new").pressed(2); got != "1 vote up, 0 votes down" && cookie == "" {
			t.Errorf("an anonymous visitor has voted: %q", got)
		}
		s.signIn(name)
		r.hasCookie(name)
		back := r.open("/vote")
		if back.status != http.StatusSeeOther || back.header.Get("Location") != "/new#article:2" {
			t.Errorf("after signing in, got %d to %q", back.status, back.header.Get("Location"))
		}
		if got := r.open("/new").pressed(2); !strings.HasPrefix(got, "up ") {
			t.Errorf("after signing in, the article shows %q", got)
		}
		r.press(r.open("/new"), "up", 2) // takes it back
		if again := r.open("/vote"); again.status != http.StatusSeeOther || again.header.Get("Location") != "/" {
			t.Errorf("again, got %d to %q", again.status, again.header.Get("Location"))
		}
		if got := r.open("/new").pressed(2); strings.HasPrefix(got, "up ") {
			t.Error("the vote has been cast twice")
		}
	}
	// Who does not sign in comes back to the page.
	r := s.reader("")
	r.press(r.open("/"), "down", 1)
	if back := r.open("/vote"); back.status != http.StatusSeeOther || back.header.Get("Location") != "/#article:1" {
		t.Errorf("without signing in, got %d to %q", back.status, back.header.Get("Location"))
	}
	if got := r.open("/").pressed(1); got != "1 vote up, 0 votes down" {
		t.Errorf("without signing in, the article shows %q", got)
	}
}

func TestRefusedVotesAreExplained(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t, sitetest.WithRates(endpoint.Rates{Votes: endpoint.Rate{Most: 4, Window: time.Minute}, Addresses: 1}))
	s.post("alice", "Here", "", "text")
	s.post("alice", "Gone", "", "text")
	s.Want("alice", `mutation { deleteArticle(input: {article: 2}) { deletedId } }`, `{"deleteArticle":{"deletedId":"article:2"}}`)
	bob := s.reader("bob")
	check := func(what string, sent *response, status int, want string) {
		t.Helper()
		if main := sent.one("", "main"); sent.status != status || !strings.Contains(main, want) || sent.meta("robots") != "noindex" ||
			len(sent.all("a", "class", "button", "href", "/new")) != 1 || sent.header.Get("Cache-Control") != "private, no-store" || len(sent.all("script", "type", "module")) != 0 {
			t.Errorf("%s: got %d with %v, want %d with %q: %s", what, sent.status, sent.header, status, want, main)
		}
	}
	for value, want := range map[string]int{
		"article:2 UP": 404, "article:99 UP": 404, "article:1 SIDEWAYS": 400, "article:0 UP": 400, "article:1": 400, "": 400, "UP": 400,
	} {
		check(value, bob.sendForm(url.Values{"vote": {value}, "to": {"/new"}}), want, "")
	}
	if sent := bob.sendForm(url.Values{"vote": {"article:1 UP"}, "to": {"/new"}, "more": {strings.Repeat("x", 10_000)}}); sent.status != http.StatusBadRequest {
		t.Errorf("a long form: got %d", sent.status)
	}
	up := url.Values{"vote": {"article:1 UP"}, "to": {"/new"}}
	for range 2 {
		bob.sendForm(up)
	}
	limited := bob.sendForm(up)
	check("over the limit", limited, http.StatusTooManyRequests, "try again in")
	if wait := limited.header.Get("Retry-After"); wait == "" || !strings.Contains(limited.one("", "main"), "in "+wait+" s") {
		t.Errorf("over the limit: Retry-After is %q, want what the page says", wait)
	}
	s.Advance(8 * 24 * time.Hour)
	check("too late", s.reader("carol").sendForm(up), http.StatusConflict, "is closed")
	s.redis.Kill()
	check("without the store", s.reader("alice").sendForm(up), http.StatusServiceUnavailable, "temporarily unavailable")
}

// deny has a moderator deny a user changes, until a time or for ever.
func (s *testSite) deny(user string, until *time.Time) {
	s.t.Helper()
	_, err := s.Repo.Denials.DenyUser(s.t.Context(), user, until, site.GroundRules, "Werbung", site.Actor{Name: "mod", Moderator: true})
	require.NoError(s.t, err)
}

// Who is denied changes reads in the language of the site until when, and why, whatever the form is.
func TestDeniedUsersReadWhyInTheirLanguage(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, pages.Options{Site: web.Options{Site: true, Texts: require.Value(web.ReadTexts("de"))(t)}})
	s.post("alice", "Hier", "", "Text")
	post := func() *response {
		req := s.form("/submit", url.Values{"name": {"eve"}, "title": {"T"}, "text": {"x"}}, "X-User-ID", "eve")
		return read(t, "/submit", require.Value(http.DefaultTransport.RoundTrip(req))(t))
	}
	for until, want := range map[*time.Time]string{
		new(sitetest.Start.Add(48 * time.Hour)): "Ein Moderator hat dir Änderungen bis 2026-01-04 03:04 UTC untersagt. Du kannst nur lesen. Grund: Werbung",
		nil:                                     "Dir sind Änderungen bis auf Weiteres untersagt. Du kannst nur lesen. Werbung",
	} {
		s.deny("eve", until)
		for _, sent := range []*response{s.sendVote("X-User-ID", "eve"), post()} {
			if sent.status != http.StatusForbidden || !strings.Contains(sent.one("", "main"), want) {
				t.Errorf("%s: got %d, want 403 with %q: %s", sent.path, sent.status, want, sent.one("", "main"))
			}
		}
	}
	s.deny("eve", new(sitetest.Start))
	s.Vote("eve", "article:1", "UP")
	_, _, err := s.Repo.VoidVotes(t.Context(), 1, site.Actor{Name: "mod", Moderator: true}, []string{"eve"}, true, "ein Ring")
	require.NoError(t, err)
	if main := s.sendVote("X-User-ID", "eve").one("", "main"); !strings.Contains(main, "deine Stimme für diesen Artikel aus der Zählung genommen, und dabei bleibt es. Grund: ein Ring") {
		t.Errorf("a vote that was taken out: %s", main)
	}
}

// Moderators, and no other visitors, see without scripts who is denied changes, and end that.
func TestModeratorsEndDenialsWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.deny("dave", nil)
	s.deny("eve", new(sitetest.Start.Add(48*time.Hour)))
	mod := []string{"X-User-ID", "mod", "X-User-Roles", "moderator", "Sec-Fetch-Site", "same-origin"}
	end := func(user string, header ...string) *response {
		req := s.form("/act", url.Values{"act": {"endDenial"}, "user": {user}, "to": {"/mod/denied"}}, header...)
		return read(t, "/act", require.Value(http.DefaultTransport.RoundTrip(req))(t))
	}
	list := func(header ...string) string { return s.get("/mod/denied", header...).one("", "noscript") }
	if got := list(mod...); !strings.Contains(got, "until 2026-01-04 03:04 UTC · since 2026-01-02 03:04 UTC, by mod · Against the rules of this site: Werbung") ||
		!strings.Contains(got, "permanently · since") || strings.Count(got, `value="endDenial"`) != 2 {
		t.Errorf("moderators see %s", got)
	}
	for _, header := range [][]string{nil, {"X-User-ID", "eve"}} {
		if got := list(header...); strings.Contains(got, "dave") {
			t.Errorf("%v: %s", header, got)
		}
	}
	for what, sent := range map[string]*response{
		"401": end("eve"), "403": end("eve", "X-User-ID", "eve"), "400": end("", mod...),
		"403 ": end("eve", append([]string{"Sec-Fetch-Site", "cross-site"}, mod[:4]...)...),
	} {
		if got := fmt.Sprint(sent.status); got != strings.TrimSpace(what) {
			t.Errorf("got %s, want %s: %s", got, what, sent.one("", "main"))
		}
	}
	if sent := end("eve", mod...); sent.status != http.StatusSeeOther || sent.header.Get("Location") != "/mod/denied" {
		t.Errorf("got %d to %q", sent.status, sent.header.Get("Location"))
	}
	if got := list(mod...); strings.Contains(got, "eve") || !strings.Contains(got, "dave") {
		t.Errorf("after the end of one of two denials, moderators see %s", got)
	}
	require.NoError(t, s.Repo.Denials.MayChange(site.Actor{Name: "eve"}))
}

// sendVote sends the form of a vote without following redirections. header holds pairs of name and value.
func (s *testSite) sendVote(header ...string) *response {
	s.t.Helper()
	req := s.voteForm(url.Values{"vote": {"article:1 UP"}, "to": {"/"}}, header...)
	return read(s.t, "/vote", require.Value(http.DefaultTransport.RoundTrip(req))(s.T))
}

func TestVoteOfServiceCountsForUser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.post("alice", "Here", "", "text")
	if sent := s.sendVote("X-User-ID", "bot", "X-User-Roles", "service", "X-On-Behalf-Of", "bob"); sent.status != http.StatusSeeOther {
		t.Fatalf("got %d: %s", sent.status, sent.body)
	}
	for user, want := range map[string]string{"bot": "NONE", "bob": "UP"} {
		s.Want(user, `{ article(id: 1) { viewerVote } }`, `{"article":{"viewerVote":"`+want+`"}}`)
	}
	if sent := s.sendVote("X-User-ID", "carol", "X-On-Behalf-Of", "dave"); sent.status != http.StatusForbidden {
		t.Errorf("of a user for another one: got %d", sent.status)
	}
}

// A page of another host of the domain cannot set a cookie whose name begins with __Host-, and so cannot choose the vote.
func TestCookieOfWaitingVoteIsForOneHost(t *testing.T) {
	t.Parallel()
	for isSecure, want := range map[bool]string{
		false: "frontpage-vote=%s; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax",
		true:  "__Host-frontpage-vote=%s; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Lax",
	} {
		s := newSiteWith(t, pages.Options{Secure: isSecure})
		s.post("alice", "Here", "", "text")
		sent := s.sendVote()
		if got := sent.header.Get("Set-Cookie"); sent.status != http.StatusUnauthorized || got != fmt.Sprintf(want, "to=%2F&vote=article%3A1+UP") {
			t.Errorf("secure %t: got %d with the cookie %s", isSecure, sent.status, got)
		}
	}
}

func TestVotesLeadBackToPagesOfTheSite(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t)
	s.post("alice", "Here", "", "text")
	bob := s.reader("bob")
	for to, want := range map[string]string{
		"":                              "/",
		"/new":                          "/new",
		"/g/a%2Fb?after=x%26y":          "/g/a%2Fb?after=x%26y",
		"/g/..%20":                      "/g/..%20",
		"https://elsewhere.example":     "/",
		"//elsewhere.example/x":         "/",
		`/\elsewhere.example`:           "/",
		`\\elsewhere.example`:           "/",
		"javascript:alert(1)":           "/",
		"new":                           "/",
		"/vote":                         "/",
		"/%zz":                          "/",
		"/x\r\nSet-Cookie: a=b":         "/",
		"/" + strings.Repeat("x", 2000): "/",
	} {
		sent := bob.sendForm(url.Values{"vote": {"article:1 NONE"}, "to": {to}})
		if got := sent.header.Get("Location"); sent.status != http.StatusSeeOther || got != want+"#article:1" {
			t.Errorf("%q: got %d to %q, want %q", to, sent.status, got, want)
		}
	}
}

// A page for one user is never served to another one.
func TestPagesOfUsersWithSessions(t *testing.T) {
	t.Parallel()
	s := newSessionSite(t)
	s.post("alice", "First", "", "text", "go")
	s.post("alice", "Second", "", "text", "go")
	bob, carol, anonymous := s.reader("bob"), s.reader("carol"), s.reader("")
	bob.press(bob.open("/"), "up", 1)
	carol.press(carol.open("/"), "down", 1)
	for _, path := range []string{"/", "/new", "/g/go", "/u/alice", "/top/all", "/a/1"} {
		tags := map[string]string{}
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 5 { // of which some are at the same time
			for name, r := range map[string]*reader{"bob": bob, "carol": carol, "": anonymous} {
				all.Go(func() {
					p := r.open(path)
					own := map[string]string{"bob": "up ", "carol": "down ", "": ""}[name]
					if got := p.pressed(1); got != own+"2 votes up, 1 vote down" {
						t.Errorf("%s by %q shows %q", path, name, got)
					}
					if got := p.visitor(); got != name {
						t.Errorf("%s by %q names %q", path, name, got)
					}
					for _, other := range []string{"bob", "carol"} {
						if other != name && strings.Contains(p.body, other) {
							t.Errorf("%s by %q has the name %s", path, name, other)
						}
					}
					cached := map[bool]string{true: "public, max-age=1", false: "private, no-cache"}[name == ""]
					if p.status != 200 || p.header.Get("Cache-Control") != cached || !strings.Contains(p.header.Get("Vary"), "Cookie") || p.header.Get("Set-Cookie") != "" {
						t.Errorf("%s by %q: got %d with %v", path, name, p.status, p.header)
					}
					if out := len(p.all("form", "action", "/sign-out")); out != map[bool]int{true: 0, false: 1}[name == ""] {
						t.Errorf("%s by %q has %d forms to sign out", path, name, out)
					}
					mu.Lock()
					defer mu.Unlock()
					tags[name] = p.header.Get("ETag")
				})
			}
		}
		all.Wait()
		if tags[""] == "" || tags["bob"] == tags["carol"] || tags[""] == tags["bob"] {
			t.Errorf("%s has the ETags %v", path, tags)
		}
		req := require.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, s.pages.URL+path, nil))(t)
		req.Header.Set("If-None-Match", tags[""])
		if again := anonymous.do(req); again.status != http.StatusNotModified {
			t.Errorf("%s: got %d for the same ETag", path, again.status)
		}
		req = req.Clone(t.Context())
		if other := bob.do(req); other.status != 200 {
			t.Errorf("%s: a user got %d for the ETag of the anonymous page", path, other.status)
		}
	}
	ended := s.reader("expired").open("/")
	if ended.status != 200 || ended.visitor() != "" || !strings.HasPrefix(ended.header.Get("Set-Cookie"), "test=;") {
		t.Errorf("with an ended session, got %d with %v", ended.status, ended.header)
	}
}
