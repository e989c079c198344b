package pages

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"frontpage/redisrepo/site"
	"frontpage/site/feeds"
)

// kinds are the kinds of pages, by the patterns of their paths, as in web/site/src/ui/router.ts. What a kind returns for a
// request has the query of the page; the error says why no page can have the path.
func (s *server) kinds() map[string]func(*http.Request) (*page, error) {
	return map[string]func(*http.Request) (*page, error){
		"/{$}":                  s.front("SCORE", ""),
		"/new":                  s.front("TIME", "/new"),
		"/g/{group}":            s.group("SCORE", ""),
		"/g/{group}/new":        s.group("TIME", "/new"),
		"/g/{group}/top/{span}": s.groupTop,
		"/u/{user}":             s.user,
		"/from/{host}":          s.host,
		"/a/{number}":           s.article,
		"/top/{span}":           s.top,
		"/groups":               s.groups,
		"/search":               s.search,
		"/past":                 s.past,
		"/past/{day}":           s.past,
		"/lab":                  s.lab,
		"/submit":               s.submit,
		"/signin":               s.script("signIn"),
		"/saved":                s.script("savedOfViewer"),
		"/following":            s.script("followedByViewer"),
		"/votes":                s.script("votesOfViewer"),
		"/votes/up":             s.script("votesOfViewer"),
		"/votes/down":           s.script("votesOfViewer"),
		"/mod":                  s.script("moderation"),
		"/mod/removed":          s.script("moderation"),
		"/mod/denied":           s.denied,
		"/mod/log":              s.script("moderation"),
		"/log":                  s.publicLog,
		"/reports":              s.script("ownReports"),
		"/notice":               s.script("noticeLink"),
	}
}

// publicLog returns the page of what moderators have done, which no script shows. Unless the site publishes it, the page is missing.
func (s *server) publicLog(req *http.Request) (*page, error) {
	return &page{
		query: "PublicLog", variables: listVariables{After: after(req)}, canonical: "/log",
		Kind: "log", Title: s.Site.Texts.Text("publicLog"), About: s.Site.Texts.Text("aboutPublicLog"), After: after(req),
		fill: func(p *page) {
			if p.Data.PublicLog == nil {
				p.Kind, p.Title, p.About, p.status = "missing", p.T("pageMissing"), "", http.StatusNotFound
				return
			}
			p.More = p.further(p.Data.PublicLog.PageInfo)
		},
	}, nil
}

// errNoPage is the error of a path that no page has, for a reason that says nothing to visitors.
var errNoPage = errors.New("no page has this path")

// listVariables are the variables of the queries of lists.
type listVariables struct {
	Name  string  `json:"name,omitempty"`
	Order string  `json:"order,omitempty"`
	Span  string  `json:"span,omitempty"`
	Text  string  `json:"text,omitempty"`
	After *string `json:"after"`
}

// groupsVariables are those of the query of the list of groups.
type groupsVariables struct {
	Contains string  `json:"contains"`
	After    *string `json:"after,omitempty"`
}

// after returns the cursor at which the page begins, if it is not the start of its list.
func after(req *http.Request) *string {
	if cursor := req.URL.Query().Get("after"); cursor != "" {
		return &cursor
	}
	return nil
}

func (s *server) front(order, path string) func(*http.Request) (*page, error) {
	p := page{
		query: "Articles", canonical: path, Kind: "front", Order: order, Feeds: path, About: s.Site.About,
		fill: func(p *page) { p.list(p.Data.Articles) },
	}
	if path == "" {
		p.canonical = "/"
	} else {
		p.Title = s.Site.Texts.Text("newArticles")
	}
	return func(req *http.Request) (*page, error) {
		this := p
		this.After = after(req)
		this.variables = listVariables{Order: order, After: this.After}
		return &this, nil
	}
}

func (s *server) group(order, more string) func(*http.Request) (*page, error) {
	return func(req *http.Request) (*page, error) {
		shown := strings.TrimSpace(req.PathValue("group"))
		name, err := site.ParseGroupName(shown)
		path := "/g/" + feeds.Segment(string(name)) + more
		return &page{
			query: "GroupArticles", variables: listVariables{Name: shown, Order: order, After: after(req)}, canonical: path,
			Kind: "group", Order: order, Name: shown, Title: shown, Feeds: path, After: after(req),
			fill: func(p *page) { p.named(p.Data.Group) },
		}, err
	}
}

func (s *server) user(req *http.Request) (*page, error) {
	shown := strings.TrimSpace(req.PathValue("user"))
	name, err := site.ParseUserName(shown)
	path := "/u/" + feeds.Segment(string(name))
	return &page{
		query: "UserArticles", variables: listVariables{Name: shown, After: after(req)}, canonical: path,
		Kind: "user", Name: shown, Title: shown, Feeds: path, After: after(req),
		fill: func(p *page) { p.named(p.Data.User) },
	}, err
}

func (s *server) host(req *http.Request) (*page, error) {
	shown := strings.TrimSpace(req.PathValue("host"))
	name, err := site.ParseHostName(shown)
	return &page{
		query: "HostArticles", variables: listVariables{Name: shown, After: after(req)}, canonical: "/from/" + feeds.Segment(string(name)), later: true,
		Kind: "host", Name: shown, Title: shown, After: after(req),
		fill: func(p *page) { p.named(p.Data.Host) },
	}, err
}

// spans are the spans of the lists of top articles. Their paths have lower case.
var spans = []string{"DAY", "WEEK", "MONTH", "YEAR", "ALL"}

func (s *server) top(req *http.Request) (*page, error) {
	path := req.PathValue("span")
	span := strings.ToUpper(path)
	if !slices.Contains(spans, span) || strings.ToLower(span) != path {
		return nil, errNoPage
	}
	title := s.Site.Texts.Text("topOf." + span)
	return &page{
		query: "Top", variables: listVariables{Span: span, After: after(req)}, canonical: "/top/" + path, later: true,
		Kind: "top", Span: span, Title: title, About: title, After: after(req),
		fill: func(p *page) { p.list(p.Data.Ranking) },
	}, nil
}

// groupTop returns the page of the top articles of a group.
func (s *server) groupTop(req *http.Request) (*page, error) {
	top, err := s.top(req)
	if err != nil || !s.Site.Has("/group-top") {
		return nil, errNoPage
	}
	p, err := s.group("", "/top/"+req.PathValue("span"))(req)
	p.query, p.variables, p.later = "GroupTop", listVariables{Name: p.Name, Span: top.Span, After: p.After}, true
	p.Span, p.Feeds = top.Span, "/g/"+feeds.Segment(p.Name)
	p.fill = func(p *page) {
		if p.Data.Group != nil {
			p.Data.Group.Articles = p.Data.Group.Ranking
		}
		p.named(p.Data.Group)
	}
	return p, err
}

func (s *server) groups(req *http.Request) (*page, error) {
	contains := strings.TrimSpace(req.URL.Query().Get("contains"))
	return &page{
		query: "Groups", variables: groupsVariables{contains, after(req)}, canonical: "/groups", later: true,
		Kind: "groups", Name: contains, Title: s.Site.Texts.Text("groups"), About: s.Site.Texts.Text("aboutGroupList"), After: after(req),
		fill: func(p *page) { p.More = p.further(p.Data.Groups.PageInfo) },
	}, nil
}

// search returns the page of what a query finds. Without a query it has only the field for one.
func (s *server) search(req *http.Request) (*page, error) {
	p := &page{
		query: "Start", variables: struct{}{}, canonical: "/search", later: true,
		Kind: "search", Name: strings.TrimSpace(req.URL.Query().Get("q")), Title: s.Site.Texts.Text("search"), About: s.Site.Texts.Text("aboutSearch"), fill: func(*page) {},
	}
	if p.Name != "" {
		p.After = after(req)
		p.query, p.variables = "Search", listVariables{Text: p.Name, After: p.After}
		p.fill = func(p *page) { p.list(&p.Data.Search.connection) }
	}
	return p, nil
}

// script returns the kind of a page for users, not for search engines, that only the second script can show.
func (s *server) script(title string) func(*http.Request) (*page, error) {
	return func(req *http.Request) (*page, error) {
		p := scriptPage(req.URL.Path, s.Site.Texts.Text(title), "")
		p.Without = title
		return p, nil
	}
}

// denied returns the page of the users who are denied changes, for moderators. Without the script it has forms that end a denial.
func (s *server) denied(req *http.Request) (*page, error) {
	p := scriptPage("/mod/denied", s.Site.Texts.Text("moderation"), "")
	p.Without, p.After = "moderation", after(req)
	p.fill = func(p *page) {
		if !p.Moderates() {
			return
		}
		got := s.api.ask(req, "DeniedUsers", listVariables{After: p.After})
		answer, err := got.read()
		var list struct {
			DeniedUsers struct {
				Nodes    []denial
				PageInfo pageInfo
			}
		}
		switch {
		case err == nil && len(answer.Errors) > 0:
			p.refused(got.status, answer.code(), answer.Errors[0].Message)
		case err != nil || json.Unmarshal(answer.Data, &list) != nil:
			p.fail(http.StatusInternalServerError, p.T("wentWrong"))
		default:
			p.Without, p.Denials, p.also = "denied", list.DeniedUsers.Nodes, got.body.Bytes()
			p.More = p.further(list.DeniedUsers.PageInfo)
		}
	}
	return p, nil
}

func scriptPage(path, title, about string) *page {
	return &page{
		query: "Start", variables: struct{}{}, canonical: path, later: true,
		Kind: "script", Title: title, About: about, private: about == "", fill: func(*page) {},
	}
}

// lab returns the page of the ranking lab. Without the script it has the top articles instead of a formula's.
func (s *server) lab(*http.Request) (*page, error) {
	p := scriptPage("/lab", s.Site.Texts.Text("lab"), s.Site.Texts.Text("aboutLab"))
	p.query, p.variables, p.Without = "Top", listVariables{Span: "WEEK"}, "lab"
	p.fill = func(p *page) { p.list(p.Data.Ranking) }
	return p, nil
}

func (s *server) article(req *http.Request) (*page, error) {
	number := strings.TrimSpace(req.PathValue("number"))
	id, err := site.ParseArticleID(number)
	if err != nil || strconv.FormatInt(int64(id), 10) != number {
		return nil, errNoPage
	}
	return &page{
		query: "Article", variables: map[string]string{"id": id.String()}, canonical: "/a/" + number, later: true,
		Kind: "article", article: id, fill: (*page).one,
	}, nil
}

// list sets the rows of a page.
func (p *page) list(c *connection) {
	if c == nil {
		return
	}
	for i := range c.Nodes {
		r := row{Article: &c.Nodes[i], Page: p}
		if p.After == nil && p.ranked() {
			r.Rank = i + 1
		}
		p.Rows = append(p.Rows, r)
	}
	p.Total, p.More = c.TotalCount, p.further(c.PageInfo)
}

// further returns the path of the next part of a list, if there is one.
func (p *page) further(info pageInfo) string {
	if !info.HasNextPage || info.EndCursor == nil {
		return ""
	}
	return p.next(*info.EndCursor)
}

// next returns the path of the part of the list that begins at a cursor.
func (p *page) next(cursor string) string {
	parameters := url.Values{"after": {cursor}}
	if p.Kind == "groups" && p.Name != "" {
		parameters.Set("contains", p.Name)
	} else if p.Kind == "search" {
		parameters.Set("q", p.Name)
	}
	return p.canonical + "?" + parameters.Encode()
}

// named sets what the page of a group, a user or a host shows. Any name could be one: without articles, the status is 404. The
// group interesting is always there. A user without articles may be one who votes, or whose articles are gone: what the page
// says is true of every name, and search engines do not list it.
func (p *page) named(l *listed) {
	if l == nil {
		return
	}
	p.list(l.Articles)
	p.About = p.Count("articles", p.Total) + " · " + p.Name
	if l.Description != nil {
		p.About = *l.Description
	}
	if p.Kind == "user" {
		p.private = p.Total == 0
	} else if p.Total == 0 && !p.IsInteresting() {
		p.status = http.StatusNotFound
	}
}

// one sets what the page of an article shows.
func (p *page) one() {
	if p.Data.Article == nil || p.Data.Article.DeletedAt != nil {
		p.Title = p.T("articleMissing")
		return
	}
	p.Article = &row{Article: p.Data.Article, Page: p}
	p.Title, p.About = p.Data.Article.Title, p.about(p.Data.Article)
}
