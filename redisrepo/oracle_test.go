package redisrepo_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"frontpage/redisrepo"
)

// oracle implements the rules of a site as simply as possible: it computes every answer from all votes.
type oracle struct {
	now       int64 // Unix seconds
	window    int64
	worth     int64 // of a vote
	famous    int   // votes that make an article interesting
	byPosters bool  // whether a poster's own vote counts
	reserved  int64 // how long a link cannot be posted again
	articles  []*article
}

// article is an article as the oracle knows it.
type article struct {
	id      redisrepo.ArticleID
	poster  redisrepo.UserName
	at      int64
	counted bool
	votes   map[redisrepo.UserName]redisrepo.Vote
	groups  map[string]bool
	link    string
	deleted redisrepo.UserName // the actor; empty: not deleted
}

func (o *oracle) post(id redisrepo.ArticleID, poster redisrepo.UserName, groups []string) *article {
	t := &article{
		id: id, poster: poster, at: o.now, counted: o.byPosters,
		votes: map[redisrepo.UserName]redisrepo.Vote{poster: redisrepo.Up}, groups: map[string]bool{},
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
		if t.link == link && o.now < t.at+o.reserved {
			return t
		}
	}
	return nil
}

// newest returns the id of the newest article with a link, or 0.
func (o *oracle) newest(link string) (id redisrepo.ArticleID) {
	for _, t := range o.articles {
		if t.link == link {
			id = t.id
		}
	}
	return id
}

func (o *oracle) delete(t *article, by redisrepo.Actor) (refused string) {
	may := by.Moderator || by.Name == t.poster
	switch {
	case t.deleted != "" && !may:
		return "NOT_FOUND article"
	case !may:
		return "FORBIDDEN article"
	case t.deleted == "":
		t.deleted = by.Name
	}
	return ""
}

func (o *oracle) undelete(t *article, by redisrepo.Actor) (refused string) {
	if !by.Moderator {
		return "FORBIDDEN article"
	}
	t.deleted = ""
	return ""
}

// vote returns the position before, and the code of a refusal.
func (o *oracle) vote(t *article, voter redisrepo.UserName, vote redisrepo.Vote) (before redisrepo.Vote, refused string) {
	before = t.votes[voter]
	switch {
	case t.deleted != "":
		return 0, "NOT_FOUND article"
	case o.now-t.at > o.window:
		return 0, "VOTING_CLOSED article"
	case voter == t.poster && !t.counted && vote != redisrepo.Up:
		return 0, "FORBIDDEN article"
	}
	t.votes[voter] = vote
	return before, ""
}

// reservedFor returns the code of the refusal of the first name that is of a reserved group.
func reservedFor(by redisrepo.Actor, field string, names []string) (refused string) {
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "is.") })
	if i < 0 || by.Moderator || by.Service {
		return ""
	}
	return fmt.Sprintf("FORBIDDEN %s.%d", field, i)
}

func (o *oracle) regroup(t *article, by redisrepo.Actor, add, remove []string) (refused string) {
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
	return ""
}

func (t *article) count() (ups, downs int) {
	for voter, vote := range t.votes {
		switch {
		case voter == t.poster && !t.counted:
		case vote == redisrepo.Up:
			ups++
		case vote == redisrepo.Down:
			downs++
		}
	}
	return ups, downs
}

func (o *oracle) score(t *article) int64 {
	ups, downs := t.count()
	return t.at + o.worth*int64(ups-downs)
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
func (o *oracle) list(order redisrepo.Order, direction redisrepo.Direction, belongs func(*article) bool) []redisrepo.ArticleID {
	var found []*article
	for _, t := range o.articles {
		if t.deleted == "" && belongs(t) {
			found = append(found, t)
		}
	}
	key := func(t *article) int64 {
		if order == redisrepo.ByTime {
			return t.at
		}
		return o.score(t)
	}
	slices.SortFunc(found, func(a, b *article) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(fmt.Sprintf("article:%d", a.id), fmt.Sprintf("article:%d", b.id)))
	})
	if direction == redisrepo.Descending {
		slices.Reverse(found)
	}
	ids := make([]redisrepo.ArticleID, len(found))
	for i, t := range found {
		ids[i] = t.id
	}
	return ids
}
