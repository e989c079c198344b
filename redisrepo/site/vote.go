package site

import (
	"fmt"
)

// Member is how cast:USER:MONTH has a vote on an article.
func (v Vote) Member(id ArticleID) string {
	if v == Down {
		return "-" + id.Number()
	}
	return id.Number()
}

// VotePositions are the positions by their text in a message.
var VotePositions = map[string]Vote{"1": Up, "-1": Down, "0": None}

// Vote is a user's position on one article. Its value is what it adds to the article's net votes.
type Vote int

// The positions.
const (
	Down Vote = iota - 1
	None
	Up
)

// String returns "down", "none" or "up".
func (v Vote) String() string {
	switch v {
	case Down:
		return "down"
	case None:
		return "none"
	case Up:
		return "up"
	default:
		return fmt.Sprintf("Vote(%d)", int(v))
	}
}
