package feeds

import (
	"context"
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"frontpage/redisrepo/site"
)

// The protocol allows 50,000 URLs and 50 MB in a file, and 50,000 files. No file may be empty: so a file of articles also has
// the users who began with them.
const (
	articlesSize = 2000 // in a file: Redis is asked for the poster of each
	groupsSize   = 10_000
)

// The elements of https://www.sitemaps.org/protocol.html.
type (
	sitemapIndex struct {
		XMLName xml.Name     `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 sitemapindex"`
		Parts   []sitemapURL `xml:"sitemap"`
	}
	sitemapURLs struct {
		XMLName xml.Name     `xml:"http://www.sitemaps.org/schemas/sitemap/0.9 urlset"`
		URLs    []sitemapURL `xml:"url"`
	}
	sitemapURL struct {
		At string `xml:"loc"`
	}
)

// part is a kind of the parts of the sitemap, besides the one of pages.
type part struct {
	prefix string // of the file's name, before the number of the part
	size   int
	parts  func(ctx context.Context, size int) ([]int, error)
	paths  func(ctx context.Context, part, size int) ([]string, error)
}

func (s *server) parts() []part {
	return []part{
		{"", articlesSize, s.repo.Lists.Parts, func(ctx context.Context, part, size int) ([]string, error) {
			ids, err := s.repo.Lists.Part(ctx, part, size)
			if err != nil {
				return nil, err
			}
			users, err := s.repo.Lists.Posters(ctx, ids)
			return append(
				pathsOf("/a/", ids, func(id site.ArticleID) string { return strconv.FormatInt(int64(id), 10) }),
				pathsOf("/u/", users, func(name site.UserName) string { return Segment(string(name)) })...,
			), err
		}},
		{"groups-", groupsSize, s.repo.Lists.GroupParts, func(ctx context.Context, part, size int) ([]string, error) {
			names, err := s.repo.Lists.GroupPart(ctx, part, size)
			return pathsOf("/g/", names, func(name site.GroupName) string { return Segment(string(name)) }), err
		}},
	}
}

// pathsOf returns the paths of pages.
func pathsOf[T any](prefix string, pages []T, segment func(T) string) (paths []string) {
	for _, page := range pages {
		paths = append(paths, prefix+segment(page))
	}
	return paths
}

// sitemap serves the list of the parts.
func (s *server) sitemap(w http.ResponseWriter, req *http.Request) {
	base := Address(s.PublicURL, req)
	s.serve(w, req, "application/xml", maxSitemapAge, perName, func(ctx context.Context) ([]byte, string, error) {
		index := sitemapIndex{Parts: []sitemapURL{{base + "/sitemap/pages.xml"}}}
		for _, p := range s.parts() {
			numbers, err := p.parts(ctx, p.size)
			if err != nil {
				return nil, "", err
			}
			for _, i := range numbers {
				index.Parts = append(index.Parts, sitemapURL{base + "/sitemap/" + p.prefix + strconv.Itoa(i) + ".xml"})
			}
		}
		return writeSitemap(index)
	})
}

// sitemapPart serves the lists of the site, or some of the articles and users, or of the groups. There is no empty file.
func (s *server) sitemapPart(w http.ResponseWriter, req *http.Request) {
	base := Address(s.PublicURL, req)
	p, number, err := s.partOf(req.PathValue("part"))
	if err != nil {
		s.fail(w, req, err)
		return
	}
	s.serve(w, req, "application/xml", maxSitemapAge, perName*p.size, func(ctx context.Context) ([]byte, string, error) {
		paths, err := p.paths(ctx, number, p.size)
		if err == nil && paths == nil {
			err = errMissing
		}
		if err != nil {
			return nil, "", err
		}
		var set sitemapURLs
		for _, path := range paths {
			set.URLs = append(set.URLs, sitemapURL{base + path})
		}
		return writeSitemap(set)
	})
}

// partOf returns what is in the file of a part, such as groups-0.xml, and its number.
func (s *server) partOf(file string) (p part, n int, err error) {
	name, found := strings.CutSuffix(file, ".xml")
	if name == "pages" && found {
		paths := []string{"/", "/new", "/top/day", "/top/week", "/top/month", "/top/year", "/top/all", "/past", "/lab", "/groups", "/g/" + string(site.Interesting)}
		paths = slices.DeleteFunc(paths, func(path string) bool { return s.Has != nil && !s.Has(path) })
		return part{size: len(paths), paths: func(context.Context, int, int) ([]string, error) { return paths, nil }}, 0, nil
	}
	number := name[strings.LastIndexByte(name, '-')+1:]
	parsed, err := strconv.ParseUint(number, 10, 24)
	if err != nil || !found || strconv.FormatUint(parsed, 10) != number {
		return part{}, 0, errMissing
	}
	for _, p := range s.parts() {
		if p.prefix+number == name {
			return p, int(parsed), nil
		}
	}
	return part{}, 0, errMissing
}

func writeSitemap(document any) (body []byte, tag string, err error) {
	body, err = writeXML(document)
	return body, tagOf(body, nil), err
}
