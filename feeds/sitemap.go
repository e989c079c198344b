package feeds

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"net/http"
	"strconv"
	"strings"

	"frontpage/redisrepo"
)

// partSize is how many articles one part of the sitemap has at most. The protocol allows 50,000 URLs and 50 MB.
const partSize = 10_000

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

// sitemap serves the list of the parts.
func (s *server) sitemap(w http.ResponseWriter, req *http.Request) {
	base := s.base(req)
	s.serve(w, req, "application/xml", maxSitemapAge, func(ctx context.Context) ([]byte, string, error) {
		parts, err := s.repo.Parts(ctx, partSize)
		if err != nil {
			return nil, "", err
		}
		index := sitemapIndex{Parts: []sitemapURL{{base + "/sitemap/pages.xml"}}}
		for i := range parts {
			index.Parts = append(index.Parts, sitemapURL{base + "/sitemap/" + strconv.Itoa(i) + ".xml"})
		}
		return writeSitemap(index)
	})
}

// sitemapPart serves the pages of the site that are no articles, or some of the articles, the oldest ones first.
func (s *server) sitemapPart(w http.ResponseWriter, req *http.Request) {
	base := s.base(req)
	s.serve(w, req, "application/xml", maxSitemapAge, func(ctx context.Context) ([]byte, string, error) {
		name, found := strings.CutSuffix(req.PathValue("part"), ".xml")
		var set sitemapURLs
		if name == "pages" && found {
			for _, path := range []string{"/", "/new", "/top/day", "/top/week", "/top/month", "/top/year", "/top/all", "/past", "/lab", "/groups", "/g/" + string(redisrepo.Interesting)} {
				set.URLs = append(set.URLs, sitemapURL{base + path})
			}
			return writeSitemap(set)
		}
		part, err := strconv.ParseUint(name, 10, 24)
		if err != nil || !found || strconv.FormatUint(part, 10) != name {
			return nil, "", errMissing
		}
		ids, err := s.repo.Part(ctx, int(part), partSize)
		if err != nil {
			return nil, "", err
		}
		for _, id := range ids {
			set.URLs = append(set.URLs, sitemapURL{base + "/a/" + strconv.FormatInt(int64(id), 10)})
		}
		return writeSitemap(set)
	})
}

func writeSitemap(document any) (body []byte, tag string, err error) {
	body, err = writeXML(document)
	digest := sha256.Sum256(body)
	return body, `W/"` + hex.EncodeToString(digest[:12]) + `"`, err
}
