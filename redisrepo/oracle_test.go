package redisrepo_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

// oracle implements the rules of a site as simply as possible: it computes every answer from all votes.
type oracle struct {
	now       int64 // Unix seconds
	window    int64
	ranking   site.Ranking
	worth     int64 // of a vote
	decay     int64 // the cap or the half-life
	famous    int   // votes that make an article interesting
	byPosters bool  // whether a poster's own vote counts
	reserved  int64 // how long a link cannot be posted again
	editable  int64 // how long a poster may change a title
	articles  []*article
}

// article is an article as the oracle knows it.
type article struct {
	id      site.ArticleID
	poster  site.UserName
	at      int64
	counted bool
	votes   map[site.UserName]site.Vote
	void    map[site.UserName]site.Vote // those that moderators took out of votes
	groups  map[string]bool
	link    string
	freed   bool // whether the link can be posted again, since its poster deleted the article
	title   string
	text    string
	older   []replaced // oldest first

	revision int64
	edition  int64 // revision of the last change of the title, the text or the groups

	deleted site.UserName // the actor; empty: not deleted
	ended   int64         // when it was deleted
}

// replaced is what an edit replaced.
type replaced struct {
	text          string // as versionText writes it
	votes, gained int    // in all, and while it was shown
}

// versions returns the texts of the earlier versions that are kept, newest first.
func (t *article) versions() (texts []string) {
	best, most := 0, 0 // best: 0 for none but the first
	for i, v := range t.older {
		if i > 0 && v.gained > most {
			best, most = i, v.gained
		}
	}
	room := site.MaxVersions
	for i, v := range slices.Backward(t.older) {
		waiting := 0 // of the two that stay, those that are older
		if i > best && best > 0 {
			waiting++
		}
		if i > 0 {
			waiting++
		}
		if i == 0 || i == best || room > waiting {
			texts = append(texts, v.text)
			room--
		}
	}
	return texts
}

func (o *oracle) post(id site.ArticleID, poster site.UserName, groups []string) *article {
	t := &article{
		id: id, poster: poster, at: o.now, counted: o.byPosters,
		votes: map[site.UserName]site.Vote{poster: site.Up}, void: map[site.UserName]site.Vote{}, groups: map[string]bool{}, title: "title", revision: 1,
	}
	for _, group := range groups {
		t.groups[group] = true
	}
	o.articles = append(o.articles, t)
	return t
}

// first returns the article that a link is reserved for, or nil.
func (o *oracle) first(link string) *article {
	for _, t := range o.articles {
		if t.link == link && o.now < t.at+o.reserved && !t.freed {
			return t
		}
	}
	return nil
}

// newest returns the id of the newest article with a link, or 0.
func (o *oracle) newest(link string) (id site.ArticleID) {
	for _, t := range o.articles {
		if t.link == link {
			id = t.id
		}
	}
	return id
}

func (o *oracle) delete(t *article, by site.Actor) (refused string) {
	may := by.Moderator || by.Name == t.poster
	switch {
	case t.deleted != "" && !may:
		return "NOT_FOUND article"
	case !may:
		return "FORBIDDEN article"
	case t.deleted == "":
		t.deleted, t.ended = by.Name, o.now
		t.revision++
		if by.Name == t.poster && o.newest(t.link) == t.id {
			t.freed = true
			for voter, vote := range t.votes {
				t.freed = t.freed && (voter == t.poster || vote == site.None)
			}
		}
	}
	return ""
}

// edit changes what is not nil.
func (o *oracle) edit(t *article, by site.Actor, e redisrepo.Edit) (refused string) {
	retitled, rewritten := e.Title != nil && *e.Title != t.title, e.Text != nil && *e.Text != t.text
	regrouped := e.Groups != nil && !slices.Equal(slices.Sorted(maps.Keys(t.groups)), slices.Sorted(slices.Values(e.Groups)))
	age := o.now - t.at
	switch {
	case t.deleted != "":
		return "NOT_FOUND article"
	case by.Name != t.poster && !by.Moderator:
		return "FORBIDDEN article"
	case !retitled && !rewritten && !regrouped:
		return ""
	case e.IfRevision != nil && t.edition > *e.IfRevision:
		return "CONFLICT ifRevision"
	case !by.Moderator && retitled && age > o.editable:
		return "EDIT_CLOSED title"
	case !by.Moderator && rewritten && age > o.window:
		return "EDIT_CLOSED text"
	}
	if regrouped && !by.Moderator && !by.Service {
		for i, name := range e.Groups {
			if slices.Contains(states, name) && !t.groups[name] {
				return fmt.Sprintf("FORBIDDEN groups.%d", i)
			}
		}
		for _, state := range states {
			if t.groups[state] && !slices.Contains(e.Groups, state) {
				return "FORBIDDEN groups"
			}
		}
	}
	if retitled || rewritten {
		ups, downs := t.count()
		v := replaced{text: versionText(t.title, t.text, by.Name, o.now, ups-downs), votes: ups - downs, gained: ups - downs}
		if n := len(t.older); n > 0 {
			v.gained -= t.older[n-1].votes
		}
		t.older = append(t.older, v)
	}
	if retitled {
		t.title = *e.Title
	}
	if rewritten {
		t.text = *e.Text
	}
	if regrouped {
		clear(t.groups)
		for _, group := range e.Groups {
			t.groups[group] = true
		}
	}
	t.revision++
	t.edition = t.revision
	return ""
}

func versionText(title, text string, by site.UserName, until int64, votes int) string {
	return fmt.Sprintf("%q %q by %s until %d with %d", title, text, by, until, votes)
}

func (o *oracle) undelete(t *article, by site.Actor) (refused string) {
	undoes := by.Name == t.poster && (t.deleted == "" || t.deleted == by.Name && o.now-t.ended <= 60)
	if !by.Moderator && !undoes {
		return "FORBIDDEN article"
	}
	if t.deleted != "" {
		t.deleted = ""
		t.revision++
		t.freed = t.freed && o.newest(t.link) != t.id
	}
	return ""
}

func (o *oracle) isVoid(t *article, voter site.UserName) bool {
	_, void := t.void[voter]
	return void
}

// voidVotes takes votes out or puts them back, and returns how many of the users have one that does not count.
func (o *oracle) voidVotes(t *article, by site.Actor, voters []site.UserName, takesOut bool) (n int, refused string) {
	if !by.Moderator {
		return 0, "FORBIDDEN users"
	}
	changed := false
	for _, voter := range voters {
		from, to := t.void, t.votes
		if takesOut {
			from, to = t.votes, t.void
		}
		if vote, has := from[voter]; has && (!takesOut || vote != site.None && (t.counted || voter != t.poster)) {
			to[voter] = vote
			delete(from, voter)
			changed = true
		}
		if o.isVoid(t, voter) {
			n++
		}
	}
	if changed && t.deleted == "" {
		t.revision++
	}
	return n, ""
}

// vote returns the position before, and the code of a refusal.
func (o *oracle) vote(t *article, voter site.UserName, vote site.Vote) (before site.Vote, refused string) {
	before = t.votes[voter]
	switch {
	case t.deleted != "":
		return 0, "NOT_FOUND article"
	case o.now-t.at > o.window:
		return 0, "VOTING_CLOSED article"
	case o.isVoid(t, voter):
		return 0, "DENIED article"
	case voter == t.poster && !t.counted && vote != site.Up:
		return 0, "FORBIDDEN article"
	}
	t.votes[voter] = vote
	if before != vote {
		t.revision++
	}
	return before, ""
}

// reservedFor returns the code of the refusal of the first name that is of a reserved group.
func reservedFor(by site.Actor, field string, names []string) (refused string) {
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "is.") })
	if i < 0 || by.Moderator || by.Service {
		return ""
	}
	return fmt.Sprintf("FORBIDDEN %s.%d", field, i)
}

func (o *oracle) regroup(t *article, by site.Actor, add, remove []string) (refused string) {
	inAdd, inRemove := reservedFor(by, "add", add), reservedFor(by, "remove", remove)
	if inAdd != "" || inRemove != "" {
		return strings.TrimSpace(inAdd + "\n" + inRemove)
	}
	if t.deleted != "" {
		return "NOT_FOUND article"
	}
	others := slices.ContainsFunc(slices.Concat(add, remove), func(name string) bool { return !strings.HasPrefix(name, "is.") })
	if by.Name != t.poster && !by.Moderator && (!by.Service || others) {
		return "FORBIDDEN article"
	}
	before := maps.Clone(t.groups)
	for _, group := range add {
		if strings.HasPrefix(group, "is.") {
			delete(t.groups, "is.open")
			delete(t.groups, "is.done")
		}
		t.groups[group] = true
	}
	for _, group := range remove {
		delete(t.groups, group)
	}
	if !maps.Equal(before, t.groups) {
		t.revision++
		t.edition = t.revision
	}
	return ""
}

func (t *article) count() (ups, downs int) {
	for voter, vote := range t.votes {
		switch {
		case voter == t.poster && !t.counted:
		case vote == site.Up:
			ups++
		case vote == site.Down:
			downs++
		}
	}
	return ups, downs
}

func (o *oracle) score(t *article) int64 {
	ups, downs := t.count()
	votes := int64(ups - downs)
	switch o.ranking {
	case site.Capped:
		return t.at + min(max(o.worth*votes, -o.decay/2), o.decay)
	case site.HalfLifeRanking:
		worth := int64(math.Round(float64(o.decay) * math.Log2(1+math.Abs(float64(votes)))))
		if votes < 0 {
			worth = -worth
		}
		return t.at + worth
	case site.Linear:
	}
	return t.at + o.worth*votes
}

func (o *oracle) interesting(t *article) bool {
	ups, downs := t.count()
	return ups-downs >= o.famous
}

// in reports whether the article is in the group. Every article is in the group with the empty name.
func (o *oracle) in(t *article, group string) bool {
	return group == "" || t.groups[group] || group == "interesting" && o.interesting(t)
}

// list returns the articles that belong, in order.
func (o *oracle) list(order site.Order, direction site.Direction, belongs func(*article) bool) []site.ArticleID {
	var found []*article
	for _, t := range o.articles {
		if t.deleted == "" && belongs(t) {
			found = append(found, t)
		}
	}
	key := func(t *article) int64 {
		if order == site.ByTime {
			return t.at
		}
		return o.score(t)
	}
	slices.SortFunc(found, func(a, b *article) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(fmt.Sprintf("article:%d", a.id), fmt.Sprintf("article:%d", b.id)))
	})
	if direction == site.Descending {
		slices.Reverse(found)
	}
	ids := make([]site.ArticleID, len(found))
	for i, t := range found {
		ids[i] = t.id
	}
	return ids
}
