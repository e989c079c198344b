package pages

import (
	"net/http"
	"net/url"
	"strings"
)

// guesses are paths that visitors type because other sites have them, and the pages that they mean.
var guesses = map[string]string{
	"/home": "/", "/hot": "/", "/index": "/", "/index.html": "/", "/best": "/top/week", "/popular": "/top/week", "/top": "/top/week",
	"/latest": "/new", "/newest": "/new", "/recent": "/new", "/g": "/groups", "/tags": "/groups", "/post": "/submit",
	"/login": "/signin", "/log-in": "/signin", "/sign-in": "/signin", "/register": "/signin", "/signup": "/signin", "/sign-up": "/signin",
	"/moderation": "/mod", "/feed": "/feed.atom", "/feed.xml": "/feed.atom", "/atom.xml": "/feed.atom", "/rss": "/feed.atom", "/rss.xml": "/feed.atom",
	"/api": "/graphiql", "/altair": "/graphiql", "/docs": "/graphiql",
}

// guessedParts are first segments that visitors type before a name or a number, and those of the site.
var guessedParts = map[string]string{
	"article": "a", "articles": "a", "item": "a", "group": "g", "groups": "g", "tag": "g", "user": "u", "users": "u", "host": "from",
}

// guess returns the path of the page that a visitor means by a path which the site does not have; empty if it has no guess.
func (s *server) guess(path string) string {
	plain := strings.TrimRight(path, "/")
	to, found := guesses[strings.ToLower(plain)]
	first, rest, _ := strings.Cut(strings.TrimPrefix(plain, "/"), "/")
	part, isPart := guessedParts[strings.ToLower(first)]
	switch {
	case found && (to != "/graphiql" || s.Site.Explorer):
	case isPart && rest != "":
		to = "/" + part + "/" + rest
	case plain != path && plain != "":
		to = "/" + strings.TrimLeft(plain, "/")
	default:
		return ""
	}
	if to == "/graphiql" || strings.HasPrefix(to, "/feed.") {
		return to
	}
	if _, pattern := s.known.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: to}}); pattern == "" {
		return ""
	}
	return to
}
