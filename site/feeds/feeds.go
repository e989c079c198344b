// Package feeds serves the lists of articles as Atom (RFC 4287) and JSON Feed (version 1.1), and a sitemap.
//
// A feed has the articles that the page of the same path shows first, the newest one first. It shows no votes, so it
// changes only when the set of its articles does, or one of them.
package feeds

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"frontpage/endpoint/sharing"
	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
)

// Options say what feeds are made of.
type Options struct {
	Name      string                 // of the site; empty: Frontpage
	PublicURL string                 // of the site, such as https://news.example.org; empty: the address of each request
	PageSize  int                    // articles in a feed
	Timeout   time.Duration          // of a request
	Has       func(path string) bool // whether the site has a page; nil: all of them
	Log       *slog.Logger
	// Work is the method of endpoint.Handler. nil: requests are not charged.
	Work func(req *http.Request, points int, work func()) (wait time.Duration, err error)
}

const (
	// atWork is how many feeds are made at the same time.
	atWork = 8
	// shared is for how long a feed serves other requests.
	shared = 50 * time.Millisecond
	// sharedBytes is how many bytes of feeds are kept for that.
	sharedBytes = 16 << 20
	// maxAge and maxSitemapAge are for how long caches may keep a feed, and a part of the sitemap, seconds.
	maxAge, maxSitemapAge = 60, 3600
	// perArticle and perName are what an article of a feed costs, about as in a query for its fields, and an address in
	// the sitemap, points.
	perArticle, perName = 40, 1
)

// server serves feeds.
type server struct {
	Options
	repo   *redisrepo.Repo
	work   chan struct{}
	recent *sharing.Results[string, made]
}

// made is a feed or a part of the sitemap, or why it could not be made.
type made struct {
	body []byte
	tag  string // ETag
	err  error
}

// errMissing is the error of a path that nothing can have.
var errMissing = errors.New("no page has this path")

// Handle has mux serve feeds, the sitemap and robots.txt, by GET and HEAD.
func Handle(mux *http.ServeMux, repo *redisrepo.Repo, o Options) {
	o.Name = cmp.Or(o.Name, "Frontpage")
	if o.Work == nil {
		o.Work = func(_ *http.Request, _ int, work func()) (time.Duration, error) { work(); return 0, nil }
	}
	s := &server{Options: o, repo: repo, work: make(chan struct{}, atWork),
		recent: sharing.New[string, made](shared, sharedBytes, repo.Store.Version)}
	handle := func(path string, handler http.HandlerFunc) { mux.Handle("GET "+path, gzhttp.GzipHandler(handler)) }
	for path, list := range listOf {
		for _, f := range formats {
			handle(path+f.path, s.feed(list, f))
		}
	}
	handle("/sitemap.xml", s.sitemap)
	handle("/sitemap/{part}", s.sitemapPart)
	handle("/robots.txt", s.robots)
}

// list is a list of articles that has feeds.
type list struct {
	title   string // what follows the name of the site, with the name of the group or user in it
	page    string // path of the page that shows it
	listing lists.Listing
}

// lists are the lists with feeds, by the paths before their feeds.
var listOf = map[string]func(*http.Request) (list, error){
	"": func(*http.Request) (list, error) {
		return list{"", "/", lists.AllArticles(site.ByScore, site.Descending)}, nil
	},
	"/new": func(*http.Request) (list, error) {
		return list{": new", "/new", lists.AllArticles(site.ByTime, site.Descending)}, nil
	},
	"/interesting": func(*http.Request) (list, error) {
		return groupList(string(site.Interesting), site.ByScore, "")
	},
	"/g/{group}": func(req *http.Request) (list, error) {
		return groupList(req.PathValue("group"), site.ByScore, "")
	},
	"/g/{group}/new": func(req *http.Request) (list, error) {
		return groupList(req.PathValue("group"), site.ByTime, "/new")
	},
	"/u/{user}": func(req *http.Request) (list, error) {
		name, err := site.ParseUserName(strings.TrimSpace(req.PathValue("user")))
		return list{": articles of " + string(name), "/u/" + Segment(string(name)), lists.PostedBy(name)}, err
	},
}

func groupList(name string, order site.Order, more string) (list, error) {
	group, err := site.ParseGroupName(strings.TrimSpace(name))
	title := ": " + string(group)
	if more != "" {
		title += ", new"
	}
	return list{title, "/g/" + Segment(string(group)) + more, lists.InGroup(group, order, site.Descending)}, err
}

// Segment escapes a name as a segment of a path. Clients resolve "." and "..": a trailing space, which no name has,
// prevents that.
func Segment(name string) string {
	if name == "." || name == ".." {
		name += " "
	}
	return url.PathEscape(name)
}

// feed returns a handler for the feed of a list in a format.
func (s *server) feed(listOf func(*http.Request) (list, error), f format) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		l, err := listOf(req)
		if err != nil {
			http.Error(w, "404 "+err.Error(), http.StatusNotFound)
			return
		}
		base := Address(s.PublicURL, req)
		known := knownOf(req.Header.Values("If-None-Match"))
		s.serve(w, req, f.mediaType, maxAge, perArticle*s.PageSize, func(ctx context.Context) ([]byte, string, error) {
			articles, err := s.repo.Lists.FirstArticles(ctx, l.listing, s.PageSize, known)
			if err != nil {
				return nil, "", err
			}
			slices.SortStableFunc(articles, func(a, b *site.Article) int { return b.CreatedAt.Compare(a.CreatedAt) })
			body, err := f.write(channel{
				uuid: *s.repo.Store.UUID.Load(), site: s.Name, title: s.Name + l.title, path: l.page, self: base + strings.TrimSuffix(l.page, "/") + f.path, page: base + l.page, base: base, articles: articles,
			})
			return body, tagOf(body, articles), err
		})
	}
}

// serve serves what read returns, for points. Equal requests at one moment share it.
func (s *server) serve(w http.ResponseWriter, req *http.Request, mediaType string, age, points int, read func(context.Context) (body []byte, tag string, err error)) {
	ctx, cancel := context.WithTimeout(failover.FailFast(req.Context()), s.Timeout)
	defer cancel()
	var result made
	var failed error
	wait, err := s.Work(req.WithContext(ctx), points, func() { result, failed = s.make(ctx, Address(s.PublicURL, req)+req.URL.EscapedPath(), read) })
	switch err = errors.Join(err, failed, result.err); {
	case err != nil:
		s.fail(w, req, err)
		return
	case wait > 0:
		seconds := strconv.Itoa(rates.Seconds(wait))
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Retry-After", seconds)
		http.Error(w, "too many requests: try again in "+seconds+" s", http.StatusTooManyRequests)
		return
	}
	header := w.Header()
	header.Set("Content-Type", mediaType+"; charset=utf-8")
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(age))
	header.Set("ETag", result.tag)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if strings.Contains(req.Header.Get("Range"), ",") {
		req.Header.Del("Range") // each of thousands of ranges would get a part with a header of its own
	}
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(result.body))
}

// make returns what read returns, or returned to an equal request of this moment.
func (s *server) make(ctx context.Context, key string, read func(context.Context) (body []byte, tag string, err error)) (made, error) {
	return s.recent.Do(ctx, key, func(ctx context.Context) (m made, size int) {
		select {
		case s.work <- struct{}{}:
			defer func() { <-s.work }()
		case <-ctx.Done():
			return made{err: ctx.Err()}, -1
		}
		if m.body, m.tag, m.err = read(ctx); m.err != nil {
			return m, -1
		}
		return m, len(m.body)
	})
}

// fail responds to a request for which nothing could be made.
func (s *server) fail(w http.ResponseWriter, req *http.Request, err error) {
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case errors.Is(err, errMissing):
		http.Error(w, "404 "+errMissing.Error(), http.StatusNotFound)
	case req.Context().Err() != nil: // the client did not wait
	case errors.Is(err, failover.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		s.Log.WarnContext(req.Context(), "feed", "err", err) // a line of an outage
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the store does not reply: try again in a moment", http.StatusServiceUnavailable)
	default:
		s.Log.ErrorContext(req.Context(), "feed", "err", err)
		http.Error(w, "this feed cannot be made: the log of the server says why", http.StatusInternalServerError)
	}
}

// Address returns the URL of the site without a final slash: publicURL or, if that is empty, the address of a request.
func Address(publicURL string, req *http.Request) string {
	if publicURL != "" {
		return strings.TrimSuffix(publicURL, "/")
	}
	site := url.URL{Scheme: "http", Host: req.Host}
	if req.TLS != nil {
		site.Scheme = "https"
	}
	return site.String()
}

// tagOf returns an ETag of a feed. It has the ids of the articles, so that every process can read them together with the
// list, and needs one round trip to find out that the feed has not changed. It is weak: each encoding has the same.
func tagOf(body []byte, articles []*site.Article) string {
	digest := sha256.Sum256(body)
	tag := []byte(`W/"` + hex.EncodeToString(digest[:12]))
	for _, a := range articles {
		tag = append(tag, '.')
		tag = strconv.AppendInt(tag, int64(a.ID), 36)
	}
	return string(append(tag, '"'))
}

// knownOf returns the ids in the first ETag of a request. Clients can send any.
func knownOf(tags []string) (ids []site.ArticleID) {
	first, _, _ := strings.Cut(strings.Join(tags, ","), ",")
	parts := strings.Split(strings.TrimSuffix(strings.TrimSpace(first), `"`), ".")
	for _, part := range parts[1:min(len(parts), site.MaxPageSize+1)] {
		if n, err := strconv.ParseInt(part, 36, 64); err == nil {
			if id, err := site.ParseArticleID(strconv.FormatInt(n, 10)); err == nil && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// robots tells crawlers where the sitemap is.
func (s *server) robots(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprintf(w, "User-agent: *\nDisallow: /graphiql\nSitemap: %s/sitemap.xml\n", Address(s.PublicURL, req))
}
