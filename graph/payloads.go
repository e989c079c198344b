package graph

import "frontpage/redisrepo"

// Node is anything that has an id: an article, a group or a user.
type Node any

// VoteInput is a vote.
type VoteInput struct {
	Article   redisrepo.ArticleID
	Direction redisrepo.Vote
}

// RegroupInput is a change of groups.
type RegroupInput struct {
	Article     redisrepo.ArticleID
	Add, Remove []string
}

// PostPayload is the result of a post.
type PostPayload struct {
	Article    *redisrepo.Article
	UserErrors []UserError
}

// VotePayload is the result of a vote.
type VotePayload struct {
	Article    *redisrepo.Article
	Previous   *redisrepo.Vote
	Changed    bool
	UserErrors []UserError
}

// RegroupPayload is the result of a change of groups.
type RegroupPayload struct {
	Article    *redisrepo.Article
	UserErrors []UserError
}

// DeleteArticleInput names the article to delete.
type DeleteArticleInput struct{ Article redisrepo.ArticleID }

// DeleteArticlePayload is the result of a deletion.
type DeleteArticlePayload struct {
	DeletedID  *redisrepo.ArticleID
	UserErrors []UserError
}
