package graph

import "frontpage/redisrepo"

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

// PostPayload is what became of a post.
type PostPayload struct {
	Article    *redisrepo.Article
	UserErrors []UserError
}

// VotePayload is what became of a vote.
type VotePayload struct {
	Article    *redisrepo.Article
	Previous   *redisrepo.Vote
	Changed    bool
	UserErrors []UserError
}

// RegroupPayload is what became of a change of groups.
type RegroupPayload struct {
	Article    *redisrepo.Article
	UserErrors []UserError
}

// DeleteArticleInput is a deletion.
type DeleteArticleInput struct{ Article redisrepo.ArticleID }

// DeleteArticlePayload is what became of a deletion.
type DeleteArticlePayload struct {
	DeletedID  *redisrepo.ArticleID
	UserErrors []UserError
}
