package graph_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// model is the expected state of a site after the operations that were sent to it.
type model struct {
	articles map[string]*modelArticle
	links    map[string]string // id of the first article with the link
	entries  []string          // of the moderation log, oldest first
}

type modelArticle struct {
	id, poster string
	groups     map[string]bool
	votes      map[string]int
	deleted    bool
	link       string
	title      string
	text       *string
	versions   []string // what edits replaced, newest first, as shown
}

func (a *modelArticle) net() (net int) {
	for _, vote := range a.votes {
		net += vote
	}
	return net
}

var directions = map[int]string{1: "UP", -1: "DOWN", 0: "NONE"}

// shown returns an article as user sees it, with the fields of card.
func (a *modelArticle) shown(user string) string {
	own := `null`
	if user != "" {
		own = fmt.Sprintf("%q", directions[a.votes[user]])
	}
	var groups []string
	for _, name := range slices.Sorted(maps.Keys(a.groups)) {
		groups = append(groups, fmt.Sprintf(`{"name":%q}`, name))
	}
	text := "null"
	if a.text != nil {
		text = fmt.Sprintf("%q", *a.text)
	}
	deletedAt := "null"
	if a.deleted {
		deletedAt = `"2026-01-02T03:04:05.000Z"`
	}
	return fmt.Sprintf(`{"id":%q,"title":%q,"text":%s,"history":[%s],"poster":{"name":%q},"votes":%d,"isInteresting":%v,"groups":[%s],"viewerVote":%s,"viewerCanVote":%v,"viewerCanDelete":%v,"deletedAt":%s}`,
		a.id, a.title, text, strings.Join(a.versions[:min(len(a.versions), 1)], ","), a.poster, a.net(), a.net() >= walkInteresting, strings.Join(groups, ","), own,
		user != "" && !a.deleted, (user == a.poster || user == "mod") && !a.deleted, deletedAt)
}

const card = `{ id title text history(first: 1) { title by { name } votesThen } poster { name } votes isInteresting groups { name } viewerVote viewerCanVote viewerCanDelete deletedAt }`

func refusal(member, code string) string {
	return fmt.Sprintf(`{"data":{%q:{"article":null,"userErrors":[{"code":%q}]}}}`, member, code)
}

// vote applies a vote and returns the expected response.
func (b *model) vote(user, id string, vote int) string {
	a := b.articles[id]
	missing := a == nil || a.deleted
	switch {
	case user == "" && !missing:
		return fmt.Sprintf(`{"data":{"vote":{"article":%s,"userErrors":[{"code":"UNAUTHENTICATED"}]}}}`, a.shown(user))
	case user == "":
		return refusal("vote", "UNAUTHENTICATED")
	case missing:
		return refusal("vote", "NOT_FOUND")
	}
	a.votes[user] = vote
	return fmt.Sprintf(`{"data":{"vote":{"article":%s,"userErrors":[]}}}`, a.shown(user))
}

// refuses returns the code of a change by user that is refused, or "". A nil article is missing.
func (a *modelArticle) refuses(user string, moderator bool) string {
	switch {
	case user == "":
		return "UNAUTHENTICATED"
	case a == nil || a.deleted:
		return "NOT_FOUND"
	case a.poster != user && !moderator:
		return "FORBIDDEN"
	}
	return ""
}

// regroup applies a change of groups and returns the expected response.
func (b *model) regroup(user string, moderator bool, id, add, remove string) string {
	a := b.articles[id]
	if code := a.refuses(user, moderator); code != "" {
		return refusal("regroup", code)
	}
	if changes := !a.groups[add] || a.groups[remove]; changes && a.poster != user {
		b.entries = append(b.entries, "REGROUPED "+id+" by "+user+" of "+a.link)
	}
	a.groups[add] = true
	delete(a.groups, remove)
	return fmt.Sprintf(`{"data":{"regroup":{"article":%s,"userErrors":[]}}}`, a.shown(user))
}

// edit applies an edit and returns the expected response.
func (b *model) edit(user string, moderator bool, id, title, text string) string {
	a := b.articles[id]
	if code := a.refuses(user, moderator); code != "" {
		return refusal("editArticle", code)
	}
	before := "null"
	if a.text != nil {
		before = fmt.Sprintf("%q", *a.text)
	}
	if a.title != title || before != fmt.Sprintf("%q", text) {
		if a.poster != user {
			b.entries = append(b.entries, "EDITED "+id+" by "+user+" of "+a.link)
		}
		version := fmt.Sprintf(`{"title":%q,"by":{"name":%q},"votesThen":%d}`, a.title, user, a.net())
		a.versions = append([]string{version}, a.versions...)
	}
	a.title, a.text = title, &text
	return fmt.Sprintf(`{"data":{"editArticle":{"article":%s,"userErrors":[]}}}`, a.shown(user))
}

// delete applies a deletion and returns the expected response.
func (b *model) delete(user string, moderator bool, id string) string {
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
		b.entries = append(b.entries, "DELETED "+id+" by "+user+" of "+a.link)
	}
	others := slices.ContainsFunc(slices.Collect(maps.Keys(a.votes)), func(voter string) bool { return voter != a.poster && a.votes[voter] != 0 })
	if !a.deleted && a.poster == user && !others && b.links[a.link] == id {
		delete(b.links, a.link) // the link can be posted again
	}
	a.deleted = true
	return fmt.Sprintf(`{"data":{"deleteArticle":{"article":%q,"userErrors":[]}}}`, id)
}

// post applies a post and returns the expected response. The id of a new article is taken from the actual one.
func (b *model) post(user, link, group, answered string) string {
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
		return "a new id instead of " + id
	}
	a := &modelArticle{id: id, poster: user, groups: map[string]bool{group: true}, votes: map[string]int{user: 1}, link: link, title: "t"}
	b.articles[id], b.links[link] = a, id
	return fmt.Sprintf(`{"data":{"post":{"article":%s,"userErrors":[]}}}`, a.shown(user))
}

// list returns all articles as user sees them, by id.
func (b *model) list(user string) map[string]string {
	list := map[string]string{}
	for id, a := range b.articles {
		if !a.deleted {
			list[id] = a.shown(user)
		}
	}
	return list
}
