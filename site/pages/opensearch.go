package pages

import (
	"bytes"
	"encoding/xml"
	"net/http"

	"frontpage/site/feeds"
)

// openSearch describes the search of the site to browsers, in the format OpenSearch 1.1.
type openSearch struct {
	XMLName     xml.Name `xml:"http://a9.com/-/spec/opensearch/1.1/ OpenSearchDescription"`
	ShortName   string
	Description string
	Encoding    string `xml:"InputEncoding"`
	URL         struct {
		Type     string `xml:"type,attr"`
		Template string `xml:"template,attr"`
	} `xml:"Url"`
}

// maxShortName is the maximum length of a name in that format, in characters.
const maxShortName = 16

// openSearch serves the description.
func (s *server) openSearch(w http.ResponseWriter, req *http.Request) {
	name := []rune(s.Site.Name)
	d := openSearch{ShortName: string(name[:min(len(name), maxShortName)]), Description: s.Site.Texts.Text("searchOf", "site", s.Site.Name), Encoding: "UTF-8"}
	d.URL.Type, d.URL.Template = "text/html", feeds.Address(s.PublicURL, req)+"/search?q={searchTerms}"
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if err := xml.NewEncoder(&out).Encode(d); err != nil {
		panic(err) // impossible: it is text
	}
	w.Header().Set("Content-Type", "application/opensearchdescription+xml")
	_, _ = w.Write(out.Bytes()) // fails only if the client is gone
}
