package redisrepo

import (
	"errors"
	"fmt"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// expected is what the caller of a script expects to be in the article's hash: the script must be given
// all keys that it touches, and these depend on the article's groups, posting time, poster and link.
type expected struct {
	groups, poster, link string
	time                 string // of posting, as a reply told it; empty otherwise
}

// maxStaleReplies is how often a script is called for an article whose groups have changed since they were
// read or found. Each time, another client must have regrouped it in between.
const maxStaleReplies = 32

var errGroupsKeepChanging = errors.New("the article's groups change faster than they can be read")

// runWithGroups calls a script with the article's cached groups and an expected poster. While it replies
// STALE, it is called again with the groups and the poster of the reply.
func (r *Repo) runWithGroups(id site.ArticleID, poster string, call func(expected) (wire.Reply, error)) (wire.Reply, error) {
	e := expected{poster: poster}
	e.groups, _ = r.Articles.GroupTexts.Get(id)
	for range maxStaleReplies {
		answer, err := call(e)
		if err != nil {
			return nil, err
		}
		if answer.Status() != "STALE" {
			return answer, nil
		}
		e = expected{answer.Text(1), answer.Text(2), answer.Text(3), answer.Text(4)}
	}
	return nil, fmt.Errorf("%w: %w", failover.ErrUnavailable, errGroupsKeepChanging)
}
