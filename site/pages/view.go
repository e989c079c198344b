package pages

import (
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"frontpage/redisrepo/site"
	"frontpage/site/feeds"
	"frontpage/site/web"
)

// page is what a page shows.
type page struct {
	query     string // name of its operation
	variables any
	fill      func(*page)    // sets what follows from the answer
	article   site.ArticleID // that it is about; 0: none
	canonical string         // path
	later     bool           // whether it is a page of the second script
	private   bool           // whether search engines are asked not to list it
	status    int            // if not 200
	moved     string         // path of the page that is shown instead
	also      []byte         // what the page shows besides the answer: it is shared only with the same
	charged   bool           // whether the cost of its query includes the page's

	Site     web.Options
	Base     string // URL of the site, without a final slash
	Path     string // of the request
	Here     string // path and query of the request
	Now      time.Time
	Kind     string
	Title    string // empty: the name of the site
	About    string // description
	Order    string // of a list
	Name     string // of a group, a user or a host, or the beginning of those in the list of groups
	Span     string
	Feeds    string // path before the feeds
	After    *string
	Rows     []row
	Total    int    // articles in the list
	More     string // path of the next part
	Article  *row
	Past     *pastHour
	Without  string // what a page of the script has for browsers without one
	Draft    *draft // what the form to post has; nil: the page has no form
	Missing  string // why there is no such page
	Gone     string // who deleted the article, and when
	Denials  []denial
	Restores bool   // whether the visitor may restore it
	Problem  string // why its content cannot be shown
	Data     data
	Answer   *embedded

	Next, Link string // where a visitor goes on after a form that was refused, and the text of the link
	Leaves     bool   // whether the browser goes there by itself
}

// embedded is an answer for the site's script, with the request that it would have sent.
type embedded struct {
	Request request         `json:"request"`
	Data    json.RawMessage `json:"data"`
	Later   bool            `json:"later,omitempty"` // whether the second script shows it
	Gone    string          `json:"gone,omitempty"`
}

// data is the data of an answer.
type data struct {
	Site struct {
		Rules struct {
			VoteScore  float64
			Downvotes  bool
			Ranking    string
			RankCap    int
			HalfLife   int
			EditWindow int // seconds
		}
		SignIn    string
		SignInURL *string
		Explorer  bool
	}
	Viewer *struct {
		Name        string
		IsModerator bool
	}
	Articles *connection `json:"articlesConnection"`
	Group    *listed
	User     *listed
	Host     *listed
	Ranking  *connection
	Search   struct {
		connection
		IsPartial  bool
		Suggestion *string
	}
	FrontPage *struct {
		Edges []struct {
			Rank int
			Node *articleData
		}
	}
	Groups struct {
		Nodes []struct {
			Name         string
			ArticleCount int
		}
		PageInfo pageInfo
	}
	Article   *articleData
	PublicLog *struct {
		Nodes    []logEntry
		PageInfo pageInfo
	}
}

// denial says that a user may change nothing.
type denial struct {
	User, By struct{ Name string }
	Until    *time.Time
	At       time.Time
	Ground   string
	Reason   string
}

// Denied says until when, since when, by whom and why a user may change nothing.
func (p *page) Denied(d denial) string {
	end := p.T("deniedForGood")
	if d.Until != nil {
		end = p.Site.Texts.Text("deniedUntil", "date", dateAndTime(*d.Until))
	}
	since := p.Site.Texts.Text("deniedSince", "date", dateAndTime(d.At), "user", d.By.Name)
	return end + " · " + since + " · " + p.Why(&removal{Ground: d.Ground, Reason: d.Reason})
}

// EndDenial is the text of the button that ends a denial; empty if it is of an erased user.
func (p *page) EndDenial(d denial) string {
	if d.User.Name == site.ErasedUser.Shown() {
		return ""
	}
	return p.Site.Texts.Text("endDenial", "user", d.User.Name)
}

// logEntry is an entry of the public log.
type logEntry struct {
	Kind          string
	At            time.Time
	Ground        *string
	Reason, Title *string
}

// WhyLogged says in words why a moderator did it, as far as that was said.
func (p *page) WhyLogged(e logEntry) string {
	if e.Ground != nil {
		return p.Why(&removal{Ground: *e.Ground, Reason: site.Value(e.Reason)})
	}
	return site.Value(e.Reason)
}

// ISO is when it happened, for programs.
func (e logEntry) ISO() string { return e.At.UTC().Format(time.RFC3339) }

// Date is the day and the time of an entry, in UTC.
func (e logEntry) Date() string { return dateAndTime(e.At) }

func dateAndTime(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 MST") }

// listed is a group, a user or a host.
type listed struct {
	ID            string
	ViewerFollows *bool       // of a group or a user
	Articles      *connection `json:"articlesConnection"`
	Ranking       *connection // of a group
	Description   *string     // of a group
	Rules         []string
}

type connection struct {
	Nodes      []articleData
	PageInfo   pageInfo
	TotalCount int
}

type pageInfo struct {
	HasNextPage bool
	EndCursor   *string
}

type articleData struct {
	ID              string
	Number          int
	Title           string
	Link            *string
	Text            *string
	Poster          struct{ Name string }
	CreatedAt       time.Time
	Votes           int
	Upvotes         int
	Downvotes       int
	IsInteresting   bool
	Groups          []groupData
	VotingEndsAt    time.Time
	ViewerVote      string
	ViewerCanVote   bool
	ViewerCanEdit   bool
	ViewerCanDelete bool
	ViewerHasSaved  bool
	EditedAt        *time.Time
	DeletedAt       *time.Time
	Removal         *removal
	From            *hostData `json:"host"`
}

// removal is why a moderator deleted or changed the article, for its poster and moderators.
type removal struct {
	Ground, Reason string
	Basis          *string
	Redress        *string
}

// URL is the address of a contact to object to, if it has one.
func (r *removal) URL() string { return web.ContactURL(site.Value(r.Redress)) }

// Why says in words why a moderator deleted or changed the article.
func (p *page) Why(r *removal) string {
	why := p.T("grounds." + r.Ground)
	if r.Basis != nil {
		why += " (" + *r.Basis + ")"
	}
	if r.Reason != "" {
		why += ": " + r.Reason
	}
	return why
}

// hostData is the host of an article's link.
type hostData struct {
	Name     string
	Articles connection `json:"articlesConnection"`
}

type groupData struct{ Name string }

// tab is a link of a navigation.
type tab struct{ Path, Text, Current string }

// T returns a text of the site.
func (p *page) T(key string) string { return p.Site.Texts.Text(key) }

// Count returns a text of the site with a number.
func (p *page) Count(key string, n int) string { return p.Site.Texts.Count(key, n) }

// Pieces splits a text of the site at the names in braces.
func (p *page) Pieces(key string) []piece { return pieces(p.T(key)) }

// WindowTitle is the title of the window.
func (p *page) WindowTitle() string {
	if p.Title == "" {
		return p.Site.Name
	}
	return p.Site.Texts.Text("titleOf", "title", p.Title, "site", p.Site.Name)
}

// Canonical is the URL of the page; empty if there is no such page.
func (p *page) Canonical() string {
	switch {
	case p.status != 0, p.private:
		return ""
	case p.After != nil:
		return p.Base + p.next(*p.After)
	default:
		return p.Base + p.canonical
	}
}

// Hidden reports whether search engines are asked not to list the page: what is further down a list changes all the time.
func (p *page) Hidden() bool {
	return p.private || p.After != nil || p.Kind == "groups" && p.Name != "" || p.Kind == "search" || p.status != 0
}

// Picture is the URL of the picture in previews: the site's logo or, without one, Frontpage's; empty for an SVG logo.
func (p *page) Picture() string {
	switch p.Site.Logo.Extension {
	case "":
		return p.Base + "/icon-512.png"
	case ".png":
		return p.Base + p.Site.Logo.Path()
	default:
		return "" // they do not show SVG
	}
}

// Viewer is the name of the visitor, empty if anonymous.
func (p *page) Viewer() string {
	if p.Data.Viewer == nil {
		return ""
	}
	return p.Data.Viewer.Name
}

// Moderates reports whether the visitor is a moderator.
func (p *page) Moderates() bool { return p.Data.Viewer != nil && p.Data.Viewer.IsModerator }

// VotesByForm reports whether the server knows from a request who votes: the page then has a form for votes.
func (p *page) VotesByForm() bool {
	return p.Data.Site.SignIn == "SESSION" || p.Data.Site.SignIn == "PROXY"
}

// SignsIn reports whether a visitor who is not signed in can do so without the script.
func (p *page) SignsIn() bool { return p.Viewer() == "" && p.Data.Site.SignIn == "SESSION" }

// SignsOutByForm reports whether the visitor is known by a cookie.
func (p *page) SignsOutByForm() bool { return p.Viewer() != "" && p.Data.Site.SignIn == "SESSION" }

// FoundBySpelling is the query in the spelling that was found instead, with the path of its results; nothing if it is the same.
func (p *page) FoundBySpelling() *tab {
	if p.Data.Search.Suggestion == nil {
		return nil
	}
	text := *p.Data.Search.Suggestion
	return &tab{Path: "/search?" + url.Values{"q": {text}}.Encode(), Text: text}
}

// Start is the path of the first part of the list.
func (p *page) Start() string {
	if p.Kind == "search" {
		return p.Path + "?" + url.Values{"q": {p.Name}}.Encode()
	}
	return p.Path
}

// Cursor is where the list begins, empty for its start.
func (p *page) Cursor() string { return site.Value(p.After) }

// Tabs are the links of the site's navigation.
func (p *page) Tabs() (tabs []tab) {
	for _, each := range []struct{ path, text, under string }{
		{"/", "hot", ""}, {"/new", "new", ""}, {"/top/day", "top", "/top/"}, {"/past", "past", "/past/"},
		{"/groups", "groups", ""},
	} {
		if !p.Site.Has(each.path) {
			continue
		}
		t := tab{Path: each.path, Text: p.T(each.text)}
		switch {
		case p.Path == each.path:
			t.Current = "page"
		case each.under != "" && strings.HasPrefix(p.Path, each.under):
			t.Current = "true"
		}
		tabs = append(tabs, t)
	}
	return tabs
}

// Orders are the links between the orders of a group's articles.
func (p *page) Orders() []tab {
	path := p.GroupPath(p.Name)
	tabs := []tab{{Path: path, Text: p.T("hot")}, {Path: path + "/new", Text: p.T("new")}, {Path: path + "/top/week", Text: p.T("top")}}
	tabs[map[string]int{"SCORE": 0, "TIME": 1, "": 2}[p.Order]].Current = "page"
	if !p.Site.Has("/group-top") {
		tabs = tabs[:2]
	}
	return tabs
}

// Spans are the links between the spans of the lists of top articles.
func (p *page) Spans() (tabs []tab) {
	for _, span := range spans {
		t := tab{Path: p.SpanPath(span), Text: p.T("spans." + span)}
		if span == p.Span {
			t.Current = "page"
		}
		tabs = append(tabs, t)
	}
	return tabs
}

// ranked reports whether the rows of the list have ranks: by score or by votes, not by time.
func (p *page) ranked() bool { return p.Order == "SCORE" || p.Span != "" }

// SpanPath is the path of the top articles of a span, of the page's group or of the site.
func (p *page) SpanPath(span string) string {
	path := "/top/" + strings.ToLower(span)
	if p.Kind == "group" {
		path = p.GroupPath(p.Name) + path
	}
	return path
}

// IsInteresting reports whether the page shows the group interesting.
func (p *page) IsInteresting() bool {
	return p.Kind == "group" && p.Name == string(site.Interesting)
}

// Rule says how votes change the rank.
func (p *page) Rule() string {
	rules := p.Data.Site.Rules
	minutes := p.Site.Texts.Decimal(math.Round(rules.VoteScore/6) / 10)
	switch rules.Ranking {
	case "HALF_LIFE":
		return p.Site.Texts.Text("ruleHalfLife", "time", p.duration(rules.HalfLife))
	case "CAPPED":
		return p.Site.Texts.Text("ruleCapped", "minutes", minutes, "cap", p.duration(rules.RankCap))
	default:
		return p.Site.Texts.Text("ruleVote", "minutes", minutes)
	}
}

// duration formats seconds in all units: "1 d 15 h 21 min".
func (p *page) duration(seconds int) string {
	var parts []string
	for _, unit := range []struct {
		name string
		size int
	}{{"d", 86_400}, {"h", 3600}, {"min", 60}, {"s", 1}} {
		if n := seconds / unit.size; n > 0 || unit.size == 1 && parts == nil {
			parts = append(parts, p.Site.Texts.Text("units."+unit.name, "n", p.Site.Texts.Number(n)))
		}
		seconds %= unit.size
	}
	return strings.Join(parts, " ")
}

// GroupPath is the path of a group's page.
func (p *page) GroupPath(name string) string { return "/g/" + feeds.Segment(name) }

// UserPath is the path of a user's page.
func (p *page) UserPath(name string) string { return "/u/" + feeds.Segment(name) }

// HostPath is the path of the page of a host.
func (p *page) HostPath(name string) string { return "/from/" + feeds.Segment(name) }

// Path is the path of an article's page.
func (a *articleData) Path() string { return "/a/" + strconv.Itoa(a.Number) }

// about describes an article in one line.
func (p *page) about(a *articleData) string {
	if a.Text != nil && strings.TrimSpace(*a.Text) != "" {
		return summary(*a.Text)
	}
	parts := []string{p.Count("votes", a.Votes), a.Poster.Name}
	if a.Link != nil && host(*a.Link) != "" {
		parts = append([]string{host(*a.Link)}, parts...)
	}
	for _, group := range a.Groups {
		parts = append(parts, group.Name)
	}
	return strings.Join(parts, " · ")
}
