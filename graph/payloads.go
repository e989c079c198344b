package graph

import (
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

// Node is anything that has an id: an article, a group or a user.
type Node any

// VoteInput is a vote.
type VoteInput struct {
	Article   site.ArticleID
	Direction site.Vote
}

// RegroupInput is a change of groups.
type RegroupInput struct {
	Article     site.ArticleID
	Add, Remove []string
}

// PostPayload is the result of a post.
type PostPayload struct {
	Article    *site.Article
	UserErrors []UserError
}

// VotePayload is the result of a vote.
type VotePayload struct {
	Article    *site.Article
	Previous   *site.Vote
	Changed    bool
	UserErrors []UserError
}

// RegroupPayload is the result of a change of groups.
type RegroupPayload struct {
	Article    *site.Article
	UserErrors []UserError
}

// EditArticleInput is a change of an article.
type EditArticleInput struct {
	Article     site.ArticleID
	Title, Text *string
	Groups      []string
	IfRevision  *int
	Reason      *string
}

func (i EditArticleInput) edit() redisrepo.Edit {
	e := redisrepo.Edit{Title: i.Title, Text: i.Text, Groups: i.Groups, Reason: i.Reason}
	if i.IfRevision != nil {
		e.IfRevision = new(int64(*i.IfRevision))
	}
	return e
}

// EditArticlePayload is the result of an edit.
type EditArticlePayload struct {
	Article    *site.Article
	UserErrors []UserError
}

// DeleteArticleInput names the article to delete.
type DeleteArticleInput struct {
	Article site.ArticleID
	Reason  *string
}

// DeleteArticlePayload is the result of a deletion.
type DeleteArticlePayload struct {
	DeletedID  *site.ArticleID
	UserErrors []UserError
}

// EndSessionsInput names the user whose sessions end.
type EndSessionsInput struct{ Name string }

// EndSessionsPayload is the result of ending a user's sessions.
type EndSessionsPayload struct {
	User       *site.User
	UserErrors []UserError
}
