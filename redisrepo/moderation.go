package redisrepo

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Actor is who asks for what its poster may do, and moderators.
type Actor struct {
	Name      UserName
	Moderator bool
}

// Delete takes an article out of every listing and group, and out of reach of
// votes, and returns it with DeletedAt and DeletedBy. Nothing of it is lost: see
// Undelete. Its link stays reserved. To delete what is deleted changes nothing
// and is no error.
//
// It refuses with NotFound when there is no such article, and with Forbidden
// when by is neither its poster nor a moderator, who learns nothing of what is
// deleted: that is NotFound.
func (r *Repo) Delete(ctx context.Context, id ArticleID, by Actor) (*Article, error) {
	return r.moderate(ctx, "delete", deleteScript, id, by, func(known known) []any {
		return []any{id.String(), by.Name.member(), by.Moderator, known.groups, known.poster, moderationEntries, r.scriptNow()}
	})
}

// Undelete brings a deleted article back to every listing and group that it was
// in, with the rank that its votes give it, and returns it. Voting goes on for
// what is left of its window. To undelete what is not deleted changes nothing
// and is no error.
//
// It refuses with NotFound when there is no such article, and with Forbidden
// when by is not a moderator.
func (r *Repo) Undelete(ctx context.Context, id ArticleID, by Actor) (*Article, error) {
	if !by.Moderator {
		return nil, refuse(Forbidden, "article", "only moderators can undelete %v", id)
	}
	return r.moderate(ctx, "undelete", undeleteScript, id, by, func(known known) []any {
		return []any{id.String(), by.Name.member(), known.groups, known.poster, r.rules.VoteScore, r.rules.InterestingVotes, moderationEntries, r.scriptNow()}
	})
}

// moderate calls one of two scripts, which are given the same keys.
func (r *Repo) moderate(ctx context.Context, doing string, script *redis.Script, id ArticleID, by Actor, args func(known) []any) (*Article, error) {
	p := r.partition(id)
	answer, err := r.runKnowingGroups(ctx, id, by.Name.member(), func(known known) (reply, error) {
		keys := append(make([]string, 0, 16),
			p.article(id), p.ranking(ByTime), p.ranking(ByScore), p.groups(), p.posted(userOf(known.poster)),
			p.deleted(), p.moderation(), p.changes(r.database))
		keys = groupKeys(groupKeys(keys, p, Interesting), p, groupNames(known.groups)...)
		return r.run(ctx, script, keys, args(known))
	})
	if err != nil {
		return nil, storeError(fmt.Sprintf("%s %v", doing, id), err)
	}
	switch status := answer.status(); status {
	case "OK":
		return r.observeReply(id, answer, 1)
	case "NOT_FOUND":
		return nil, noArticle(id)
	case "FORBIDDEN":
		return nil, refuse(Forbidden, "article", "only its poster and moderators can %s %v", doing, id)
	default:
		return nil, fmt.Errorf("%s %v: the script replied %q", doing, id, status)
	}
}

// Deleted reads a deleted article, for moderators. It refuses with NotFound when
// there is no such article, and when it is not deleted.
func (r *Repo) Deleted(ctx context.Context, id ArticleID) (*Article, error) {
	articles, errs := r.readArticles(ctx, []ArticleID{id})
	if errs[0] != nil {
		return nil, errs[0]
	}
	if articles[0].DeletedAt == nil {
		return nil, refuse(NotFound, "article", "%v is not deleted", id)
	}
	return articles[0], nil
}
