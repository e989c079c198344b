package feeds

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/idna"

	"frontpage/redisrepo/site"
)

// format is a format of feeds.
type format struct {
	path      string // after the list's
	mediaType string
	write     func(channel) ([]byte, error)
}

var formats = []format{
	{"/feed.atom", "application/atom+xml", channel.atom},
	{"/feed.json", "application/feed+json", channel.json},
}

// channel is what a feed says.
type channel struct {
	uuid             uuid.UUID // of the site
	site, title      string
	path             string // of the page with the same list
	self, page, base string // URLs: of the feed, of the page with the same list, and of the site without a slash
	articles         []*site.Article
}

// The elements of RFC 4287.
type (
	atomFeed struct {
		XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string      `xml:"id"`
		Title   string      `xml:"title"`
		Updated string      `xml:"updated"`
		Links   []atomLink  `xml:"link"`
		Icon    string      `xml:"icon"`
		By      string      `xml:"generator"`
		Entries []atomEntry `xml:"entry"`
	}
	atomEntry struct {
		ID         string         `xml:"id"`
		Title      string         `xml:"title"`
		Published  string         `xml:"published"`
		Updated    string         `xml:"updated"`
		Links      []atomLink     `xml:"link"`
		Author     atomAuthor     `xml:"author"`
		Categories []atomCategory `xml:"category"`
		Content    atomText       `xml:"content"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr,omitempty"`
		Href string `xml:"href,attr"`
	}
	atomAuthor struct {
		Name string `xml:"name"`
		URI  string `xml:"uri,omitempty"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
	atomText struct {
		Type string `xml:"type,attr"`
		Text string `xml:",chardata"`
	}
)

// atom writes the feed by RFC 4287. An entry's alternate link is what its title leads to on the site: the article's link,
// if it has one.
func (c channel) atom() ([]byte, error) {
	f := atomFeed{
		ID: c.id(c.path), Title: c.title, Updated: atomTime(c.updated()), Icon: c.base + "/icon.svg", By: "Frontpage",
		// Some readers take the first link as the page's.
		Links: []atomLink{{Rel: "alternate", Type: "text/html", Href: c.page}, {Rel: "self", Type: "application/atom+xml", Href: c.self}},
	}
	for _, a := range c.articles {
		e := atomEntry{
			ID: c.id(a.ID.String()), Title: a.Title, Published: atomTime(a.CreatedAt), Updated: atomTime(updated(a)),
			Links:   []atomLink{{Rel: "alternate", Type: "text/html", Href: c.pageOf(a)}},
			Author:  atomAuthor{Name: a.Poster.Name.Shown(), URI: c.userPage(a.Poster.Name)},
			Content: atomText{Type: "html", Text: c.content(a)},
		}
		if a.Link != nil {
			e.Links = []atomLink{{Rel: "alternate", Href: uri(*a.Link)}, {Rel: "related", Type: "text/html", Href: c.pageOf(a)}}
		}
		for _, name := range a.Groups {
			e.Categories = append(e.Categories, atomCategory{string(name)})
		}
		f.Entries = append(f.Entries, e)
	}
	return writeXML(f)
}

// writeXML writes an XML document. Characters that XML does not allow, which articles of legacy clients may have, are
// replaced by U+FFFD.
func writeXML(document any) ([]byte, error) {
	out := bytes.NewBufferString(xml.Header)
	err := xml.NewEncoder(out).Encode(document)
	out.WriteByte('\n')
	return out.Bytes(), err
}

// The objects of JSON Feed 1.1.
type (
	jsonFeed struct {
		Version string     `json:"version"`
		Title   string     `json:"title"`
		Home    string     `json:"home_page_url"`
		Self    string     `json:"feed_url"`
		Icon    string     `json:"favicon"`
		Items   []jsonItem `json:"items"`
	}
	jsonItem struct {
		ID        string       `json:"id"`
		URL       string       `json:"url"`
		External  string       `json:"external_url,omitempty"`
		Title     string       `json:"title"`
		Content   string       `json:"content_html"`
		Published string       `json:"date_published"`
		Modified  string       `json:"date_modified,omitempty"`
		Authors   []jsonAuthor `json:"authors"`
		Tags      []string     `json:"tags,omitempty"`
	}
	jsonAuthor struct {
		Name string `json:"name"`
		URL  string `json:"url,omitempty"`
	}
)

// userPage is the page of a user, empty for erased ones.
func (c channel) userPage(name site.UserName) string {
	if name == site.ErasedUser {
		return ""
	}
	return c.base + "/u/" + Segment(string(name))
}

// json writes the feed by https://www.jsonfeed.org/version/1.1/.
func (c channel) json() ([]byte, error) {
	f := jsonFeed{
		Version: "https://jsonfeed.org/version/1.1", Title: c.title, Home: c.page, Self: c.self,
		Icon: c.base + "/icon.svg", Items: []jsonItem{},
	}
	for _, a := range c.articles {
		item := jsonItem{
			ID: c.id(a.ID.String()), URL: c.pageOf(a), Title: a.Title, Content: c.content(a), Published: atomTime(a.CreatedAt),
			Authors: []jsonAuthor{{a.Poster.Name.Shown(), c.userPage(a.Poster.Name)}},
		}
		if at := updated(a); at.After(a.CreatedAt) {
			item.Modified = atomTime(at)
		}
		if a.Link != nil {
			item.External = uri(*a.Link)
		}
		for _, name := range a.Groups {
			item.Tags = append(item.Tags, string(name))
		}
		f.Items = append(f.Items, item)
	}
	body, err := json.Marshal(f)
	return append(body, '\n'), err
}

// id returns the URN of something on the site. It is the same at any address of the site.
func (c channel) id(name string) string { return uuid.NewSHA1(c.uuid, []byte(name)).URN() }

// pageOf is the URL of an article's page.
func (c channel) pageOf(a *site.Article) string {
	return c.base + "/a/" + strconv.Itoa(a.Number())
}

// uri writes a link by RFC 3986: articles have links as their posters wrote them.
func uri(link string) string {
	if u, err := url.Parse(link); err == nil {
		if host, err := idna.Lookup.ToASCII(u.Hostname()); err == nil {
			link = strings.Replace(link, u.Hostname(), host, 1)
		}
	}
	var b strings.Builder
	for _, c := range []byte(link) {
		if c <= ' ' || c > '~' || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// content is the article as HTML: its text, its link, and where it can be voted on.
func (c channel) content(a *site.Article) string {
	var b strings.Builder
	if a.Text != nil {
		text := strings.ReplaceAll(strings.TrimSpace(*a.Text), "\r\n", "\n")
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			if paragraph = strings.Trim(paragraph, "\n"); paragraph != "" {
				b.WriteString("<p>")
				for _, part := range site.TextParts(paragraph) {
					if part.Link {
						b.WriteString(anchor(part.Text, part.Text))
					} else {
						b.WriteString(strings.ReplaceAll(html.EscapeString(part.Text), "\n", "<br>"))
					}
				}
				b.WriteString("</p>")
			}
		}
	}
	if a.Link != nil {
		b.WriteString("<p>" + anchor(*a.Link, *a.Link) + "</p>")
	}
	b.WriteString("<p>" + anchor(c.pageOf(a), "Vote on "+c.site) + "</p>")
	return b.String()
}

func anchor(link, text string) string {
	return `<a href="` + html.EscapeString(link) + `">` + html.EscapeString(text) + `</a>`
}

// updated is the time of the latest change of an article that a feed shows.
func (c channel) updated() (latest time.Time) {
	latest = time.Unix(0, 0) // of an empty feed
	for _, a := range c.articles {
		if at := updated(a); at.After(latest) {
			latest = at
		}
	}
	return latest
}

// updated is when the title or the text of an article was last changed. Times of posts and edits may be of different
// clocks: no article is changed before it is posted.
func updated(a *site.Article) time.Time {
	if a.EditedAt == nil || a.EditedAt.Before(a.CreatedAt) {
		return a.CreatedAt
	}
	return *a.EditedAt
}

func atomTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }
