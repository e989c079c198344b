package graph_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// believed is what a site should be by the calls that it was sent.
type believed struct {
	articles map[string]*believedArticle
	links    map[string]string // the article that was there first
	entries  []string          // of the moderation log, oldest first
}

type believedArticle struct {
	id, poster string
	groups     map[string]bool
	votes      map[string]int
	deleted    bool
}

func (a *believedArticle) net() (net int) {
	for _, vote := range a.votes {
		net += vote
	}
	return net
}

var directions = map[int]string{1: "UP", -1: "DOWN", 0: "NONE"}

// shown is an article as card asks for it, as the user sees it.
func (a *believedArticle) shown(user string) string {
	own := `null`
	if user != "" {
		own = fmt.Sprintf("%q", directions[a.votes[user]])
	}
	var groups []string
	for _, name := range slices.Sorted(maps.Keys(a.groups)) {
		groups = append(groups, fmt.Sprintf(`{"name":%q}`, name))
	}
	return fmt.Sprintf(`{"id":%q,"poster":{"name":%q},"votes":%d,"isInteresting":%v,"groups":[%s],"viewerVote":%s,"viewerCanVote":%v,"deletedAt":null}`,
		a.id, a.poster, a.net(), a.net() >= walkInteresting, strings.Join(groups, ","), own, user != "")
}

const card = `{ id poster { name } votes isInteresting groups { name } viewerVote viewerCanVote deletedAt }`

func refusal(member, code string) string {
	return fmt.Sprintf(`{"data":{%q:{"article":null,"userErrors":[{"code":%q}]}}}`, member, code)
}

func (b *believed) vote(user, id string, vote int) string {
	a := b.articles[id]
	switch {
	case user == "":
		return refusal("vote", "UNAUTHENTICATED")
	case a == nil || a.deleted:
		return refusal("vote", "NOT_FOUND")
	}
	a.votes[user] = vote
	return fmt.Sprintf(`{"data":{"vote":{"article":%s,"userErrors":[]}}}`, a.shown(user))
}

func (b *believed) regroup(user string, moderator bool, id, add, remove string) string {
	a := b.articles[id]
	switch {
	case user == "":
		return refusal("regroup", "UNAUTHENTICATED")
	case a == nil || a.deleted:
		return refusal("regroup", "NOT_FOUND")
	case a.poster != user && !moderator:
		return refusal("regroup", "FORBIDDEN")
	}
	if changes := !a.groups[add] || a.groups[remove]; changes && a.poster != user {
		b.entries = append(b.entries, "REGROUPED "+id+" by "+user)
	}
	a.groups[add] = true
	delete(a.groups, remove)
	return fmt.Sprintf(`{"data":{"regroup":{"article":%s,"userErrors":[]}}}`, a.shown(user))
}

func (b *believed) delete(user string, moderator bool, id string) string {
	a := b.articles[id]
	own := a != nil && (a.poster == user || moderator)
	switch {
	case user == "":
		return refusal("deleteArticle", "UNAUTHENTICATED")
	case a == nil || a.deleted && !own:
		return refusal("deleteArticle", "NOT_FOUND")
	case !own:
		return refusal("deleteArticle", "FORBIDDEN")
	}
	if !a.deleted {
		b.entries = append(b.entries, "DELETED "+id+" by "+user)
	}
	a.deleted = true
	return fmt.Sprintf(`{"data":{"deleteArticle":{"article":%q,"userErrors":[]}}}`, id)
}

// post takes the answer, which alone knows the new id.
func (b *believed) post(user, link, group, answered string) string {
	if user == "" {
		return refusal("post", "UNAUTHENTICATED")
	}
	if first := b.links[link]; first != "" {
		article := "null"
		if !b.articles[first].deleted {
			article = fmt.Sprintf(`{"id":%q}`, first)
		}
		return fmt.Sprintf(`{"data":{"post":{"article":null,"userErrors":[{"code":"DUPLICATE_LINK","articleId":%q,"article":%s}]}}}`, first, article)
	}
	_, rest, _ := strings.Cut(answered, `"article":{"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if b.articles[id] != nil {
		return "an id that is new, and not " + id
	}
	a := &believedArticle{id: id, poster: user, groups: map[string]bool{group: true}, votes: map[string]int{user: 1}}
	b.articles[id], b.links[link] = a, id
	return fmt.Sprintf(`{"data":{"post":{"article":%s,"userErrors":[]}}}`, a.shown(user))
}

// list is what a user sees of all, by id.
func (b *believed) list(user string) map[string]string {
	list := map[string]string{}
	for id, a := range b.articles {
		if !a.deleted {
			list[id] = a.shown(user)
		}
	}
	return list
}
