package pages

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontpage/redisrepo/site"
	"frontpage/site/web"
)

// Pages of other origins show the votes of an article with a button, whose script reads them from here. Who votes does so
// in a window of this origin, which has the sign-in, and sends the outcome to the page.

var (
	//go:embed embed/vote.js
	buttonScript []byte
	//go:embed embed/window.js
	windowScript []byte
	//go:embed embed/window.html
	windowSource string

	windowPage = template.Must(template.New("window").Parse(windowSource))
	// windowPolicy allows the style and the script of the window, and no page to show it in a frame.
	windowPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src " + styleSource(windowSource) + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

const (
	embedAge      = 5  // seconds for which caches may keep votes
	scriptAge     = 60 // seconds for which caches may keep the button's script
	maxEmbedded   = 50 // articles in a request
	maxEmbedLinks = 10 // of them by link: each is a query
)

func styleSource(page string) string {
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	return web.Source([]byte(style))
}

// embed has mux serve the button and its window, if pages of other origins may have it.
func (s *server) embed(mux *http.ServeMux) {
	if len(s.EmbedOrigins) == 0 {
		return
	}
	mux.HandleFunc("GET /embed/vote.js", script(buttonScript, "*"))
	mux.HandleFunc("GET /embed/window.js", script(windowScript, ""))
	mux.HandleFunc("GET /embed/votes", s.embeddedVotes)
	mux.HandleFunc("GET /embed/vote", s.embedWindow)
	mux.HandleFunc("POST /embed/vote", s.embedVote)
}

// script serves a script, to scripts of all origins if origin is "*".
func script(content []byte, origin string) http.HandlerFunc {
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	return func(w http.ResponseWriter, req *http.Request) {
		header := w.Header()
		if origin != "" {
			openTo(header)
		}
		header.Set("Content-Type", "text/javascript; charset=utf-8")
		setMaxAge(header, scriptAge)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("ETag", tag)
		http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(content))
	}
}

// openTo lets scripts of all origins read a response, which is the same for everyone.
func openTo(header http.Header) {
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

func setMaxAge(header http.Header, seconds int) {
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(seconds))
}

// embeddedArticle is an article as buttons show it.
type embeddedArticle struct {
	ID        string `json:"id"`
	Number    int    `json:"number"`
	Title     string `json:"title"`
	Revision  int    `json:"revision"`
	Votes     int    `json:"votes"`
	Upvotes   int    `json:"upvotes"`
	Downvotes int    `json:"downvotes"`
}

// embedAnswer is the data of the queries for buttons.
type embedAnswer struct {
	Site          struct{ Rules struct{ Downvotes bool } }
	Nodes         []*embeddedArticle
	ArticleByLink *embeddedArticle
}

// embeddedVotes responds with the votes of articles, in the order of the parameters: null for what is not there. It knows no
// caller, so that every page may read it.
func (s *server) embeddedVotes(w http.ResponseWriter, req *http.Request) {
	openTo(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	of := req.URL.Query()["of"]
	ids := make([]string, 0, len(of))
	for _, key := range of {
		if isArticle(key) {
			ids = append(ids, key)
		}
	}
	if len(of) == 0 || len(of) > maxEmbedded || len(of)-len(ids) > maxEmbedLinks {
		http.Error(w, `{"error":"ask for 1 to 50 articles, at most 10 of them by link"}`, http.StatusBadRequest)
		return
	}
	votes := make([]*embeddedArticle, len(of))
	byID := map[string]*embeddedArticle{}
	if len(ids) > 0 {
		answer, ok := s.askEmbedded(w, req, "EmbedVotes", map[string]any{"ids": ids})
		if !ok {
			return
		}
		for i, article := range answer.Nodes {
			byID[ids[i]] = article
		}
	}
	for i, key := range of {
		if isArticle(key) {
			votes[i] = byID[key]
			continue
		}
		answer, ok := s.askEmbedded(w, req, "EmbedLink", map[string]any{"link": key})
		if !ok {
			return
		}
		votes[i] = answer.ArticleByLink
	}
	setMaxAge(w.Header(), embedAge)
	_ = json.NewEncoder(w).Encode(map[string]any{"votes": votes}) // fails only if the client is gone
}

// isArticle reports whether a key is the id of an article, and not a link.
func isArticle(key string) bool {
	number, found := strings.CutPrefix(key, "article:")
	_, err := site.ParseArticleID(number)
	return found && err == nil
}

// askEmbedded executes a query for an anonymous caller. If it is refused, it responds with that and returns false.
func (s *server) askEmbedded(w http.ResponseWriter, req *http.Request, name string, variables any) (data embedAnswer, ok bool) {
	got := s.api.anonymous().ask(req, name, variables)
	answer, err := got.read()
	code := answer.code()
	if err == nil && (code == "" || code == "BAD_USER_INPUT" && len(answer.Data) > 0) { // what is not a link has no article
		if err = json.Unmarshal(answer.Data, &data); err == nil {
			return data, true
		}
	}
	got.passHeaders(w.Header())
	status := got.status
	switch {
	case code == "UNAVAILABLE":
		status = http.StatusServiceUnavailable
	case err != nil || status < http.StatusBadRequest:
		s.Log.ErrorContext(req.Context(), "embedded votes", "status", status, "code", code, "err", err)
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	return data, false
}

// embedWindow shows the window in which a visitor of another site votes. Only pages of the origins in the settings get the
// outcome.
func (s *server) embedWindow(w http.ResponseWriter, req *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "private, no-store")
	header.Set("Content-Security-Policy", windowPolicy)
	header.Set("Referrer-Policy", "no-referrer")
	origin, article := req.FormValue("origin"), req.FormValue("article")
	if !slices.Contains(s.EmbedOrigins, origin) {
		http.Error(w, "Pages of this origin may not have this button.", http.StatusForbidden)
		return
	}
	answer, ok := embedAnswer{}, true
	if isArticle(article) {
		answer, ok = s.askEmbedded(w, req, "EmbedVotes", map[string]any{"ids": []string{article}})
	}
	if !ok {
		return
	}
	if len(answer.Nodes) == 0 || answer.Nodes[0] == nil {
		http.Error(w, s.Site.Texts.Text("pageMissing"), http.StatusNotFound)
		return
	}
	shown, t := answer.Nodes[0], s.Site.Texts
	page := map[string]any{
		"Language": t.Language(), "Name": s.Site.Name, "Origin": origin, "Article": shown.ID, "Title": shown.Title, "Votes": shown.Votes,
		"Up": t.Text("up"), "UpLabel": t.Text("voteUpOn", "title", shown.Title), "DownLabel": t.Text("voteDownOn", "title", shown.Title),
		"Close": t.Text("close"), "SignIn": t.Text("signInToVote"), "Failed": t.Text("voteInDoubt"), "Down": "",
	}
	if answer.Site.Rules.Downvotes {
		page["Down"] = t.Text("down")
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	// Without a policy for openers: with the one of the site's other pages, the window could not reach the page that opened it.
	if err := windowPage.Execute(w, page); err != nil {
		s.Log.DebugContext(req.Context(), "embedded window", "err", err)
	}
}

// embedVote casts a vote that the window sends, and responds with the answer of the API.
func (s *server) embedVote(w http.ResponseWriter, req *http.Request) {
	if s.API.Identity.FromForeignPage(req) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	req.Body = http.MaxBytesReader(w, req.Body, maxForm)
	err := req.ParseForm()
	b, invalid := readBallot(req.PostForm)
	if err != nil || invalid != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	got := s.api.change(req, "Vote", map[string]any{"input": b.input()})
	got.passHeaders(w.Header())
	w.Header()["Set-Cookie"] = got.header["Set-Cookie"]
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "private, no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(got.status)
	_, _ = w.Write(got.body.Bytes()) // fails only if the client is gone
}
