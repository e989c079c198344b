package pages

import (
	"strings"
	"time"

	"frontpage/redisrepo/site"
)

// row is an article on a page.
type row struct {
	Article *articleData
	Page    *page
	Rank    int // 0: not numbered
}

const (
	// maxGroups is how many groups a row shows, maxBeside how many others of the same host are beside an article.
	maxGroups = 3
	maxBeside = 3
	day       = 24 * time.Hour
)

// Target is where the title leads.
func (r row) Target() string {
	if r.Article.Link != nil {
		return *r.Article.Link
	}
	return r.Article.Path()
}

// Host is the link's host.
func (r row) Host() string { return host(*r.Article.Link) }

// AfterHost is what follows the host in the link.
func (r row) AfterHost() string { return afterHost(*r.Article.Link) }

// groups are those that neither the list nor the host of the link says already.
func (r row) groups() (groups []groupData) {
	for _, group := range r.Article.Groups {
		ofList := r.Page.Kind == "group" && group.Name == r.Page.Name
		if !ofList && (r.Article.Link == nil || group.Name != r.Host()) {
			groups = append(groups, group)
		}
	}
	return groups
}

// GroupNames are the names of all groups of the article, with commas between them.
func (r row) GroupNames() string {
	return strings.Join(site.Collect(r.Article.Groups, func(g groupData) string { return g.Name }), ", ")
}

// FirstGroups are the groups that a row shows on wide screens.
func (r row) FirstGroups() []groupData {
	groups := r.groups()
	return groups[:min(len(groups), maxGroups)]
}

// MoreGroups is the number of groups that a wide screen leaves out; phones show the first only, see Others.
func (r row) MoreGroups() int { return max(len(r.groups())-maxGroups, 0) }

// Others is the number of groups after the first.
func (r row) Others() int { return max(len(r.groups())-1, 0) }

// Beside are other articles with links to the same host.
func (r row) Beside() (others []row) {
	if r.Article.From == nil {
		return nil
	}
	nodes := r.Article.From.Articles.Nodes
	for i := range nodes {
		if nodes[i].ID != r.Article.ID && len(others) < maxBeside {
			others = append(others, row{Article: &nodes[i], Page: r.Page})
		}
	}
	return others
}

// Ago says how long ago the article was posted.
func (r row) Ago() string { return r.Page.Site.Texts.Ago(r.Article.CreatedAt, r.Page.Now) }

// Age is Ago without words, such as "3 h".
func (r row) Age() string { return r.Page.Site.Texts.Age(r.Article.CreatedAt, r.Page.Now) }

// Time formats a time as the API does.
func (r row) Time(at time.Time) string { return at.UTC().Format(site.DateTime) }

// closing is when voting closes: the end of the second in which it ends.
func (r row) closing() time.Time { return r.Article.VotingEndsAt.Add(time.Second) }

// Closed reports whether the visitor cannot vote on the article.
func (r row) Closed() bool {
	return !r.Page.Now.Before(r.closing()) || r.Page.Viewer() != "" && !r.Article.ViewerCanVote
}

// LastDay reports whether less than a day is left to vote.
func (r row) LastDay() bool {
	left := r.closing().Sub(r.Page.Now)
	return left > 0 && left <= day
}

// TimeLeft says how much time is left to vote.
func (r row) TimeLeft() string {
	if !r.Page.Now.Before(r.closing()) {
		return r.Page.T("votingEnded")
	}
	return r.Page.Site.Texts.Text("timeLeft", "time", r.Page.Site.Texts.Left(r.closing(), r.Page.Now))
}

// Parts are the parts of the text.
func (r row) Parts() []site.TextPart {
	if r.Article.Text == nil || *r.Article.Text == "" {
		return nil
	}
	return site.TextParts(*r.Article.Text)
}

// Votes is the number of votes.
func (r row) Votes() string { return r.Page.Count("votes", r.Article.Votes) }

// button is a button to vote.
type button struct {
	Row                 row
	Class, Label, Shape string
	Count, Tally        string // the number of votes in a few letters, and how many are up and down; empty: it shows none
	Pressed             bool
	Value               string // in the form, if the page has one
}

// Up is the button to vote up. It shows the number of votes.
func (r row) Up() button {
	texts, votes := r.Page.Site.Texts, r.Votes()
	b := r.button("UP", "up", "M8 3l6 8H2z")
	b.Count = texts.Short(r.Article.Votes)
	b.Tally = r.Page.Count("votesUp", r.Article.Upvotes) + ", " + r.Page.Count("votesDown", r.Article.Downvotes)
	if !strings.HasPrefix(votes, b.Count) { // what is shown can be spoken to click
		votes = b.Count + " (" + votes + ")"
	}
	b.Label = texts.Text("voteUp", "votes", votes, "title", r.Article.Title)
	return b
}

// Down is the button to vote down.
func (r row) Down() button {
	b := r.button("DOWN", "down", "M8 13L2 5h12z")
	b.Label = r.Page.T("voteDown")
	return b
}

func (r row) button(direction, class, shape string) button {
	b := button{Row: r, Class: class, Shape: shape, Pressed: r.Article.ViewerVote == direction, Value: r.Article.ID + " " + direction}
	if b.Pressed {
		b.Value = r.Article.ID + " NONE"
	}
	return b
}
