package redisrepo

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Actor is the user who performs an action reserved for an article's poster and for moderators.
type Actor struct {
	Name      UserName
	Moderator bool     // may change the articles of others
	Service   bool     // may put any article into reserved groups, and take it out
	Via       UserName // the service that acts for Name; empty: Name itself acts
}

// via returns the member of the service that acts for the actor, or an empty text.
func (a Actor) via() string {
	if a.Via == "" {
		return ""
	}
	return a.Via.member()
}

// MayDelete reports whether Delete would accept the actor. A deleted article cannot be changed.
func (a Actor) MayDelete(article *Article) bool {
	return article.DeletedAt == nil && a.Name != "" && (a.Moderator || a.Name == article.Poster.Name)
}

// MayRegroup reports whether Regroup would accept the actor, at least for reserved groups.
func (r *Repo) MayRegroup(by Actor, article *Article) bool {
	service := by.Service && by.Name != "" && article.DeletedAt == nil
	return by.MayDelete(article) || service && len(r.rules.ReservedGroups) > 0
}

// Delete removes an article from every listing and group, closes it to votes, and returns it with
// DeletedAt and DeletedBy. Its data is kept for Undelete. Its link stays reserved, unless its poster deletes it and no
// other user has a vote on it: then the link can be posted again. Deleting a deleted article is a no-op, not an error.
//
// The Refusal is NotFound if the article does not exist, and Forbidden if the actor is neither its poster
// nor a moderator. To such an actor a deleted article is NotFound.
func (r *Repo) Delete(ctx context.Context, id ArticleID, by Actor) (*Article, error) {
	return r.DeleteFor(ctx, id, by, nil)
}

// DeleteFor is Delete with a reason for the moderation log, of at most 500 characters; nil: none.
func (r *Repo) DeleteFor(ctx context.Context, id ArticleID, by Actor, reason *string) (article *Article, err error) {
	defer func() { r.stats.deletions.count(true, err) }()
	why, broken := checkReason(reason)
	if len(broken) > 0 {
		return nil, broken
	}
	p := r.partition(id)
	voters := []string{
		p.voted(id),     // KEYS[10] voted
		p.downvoted(id), // KEYS[11] downvoted
	}
	return r.moderate(ctx, "delete", deleteScript, id, by, voters, func(e expected) []any {
		return []any{
			id.String(),       // ARGV[1] member
			by.Name.member(),  // ARGV[2] by
			by.Moderator,      // ARGV[3] is_moderator
			e.groups,          // ARGV[4] expected_groups
			e.poster,          // ARGV[5] expected_poster
			moderationEntries, // ARGV[6] max_entries
			r.scriptNow(),     // ARGV[7] now
			by.via(),          // ARGV[8] via
			e.link,            // ARGV[9] expected_link
			why,               // ARGV[10] reason
			r.on,              // ARGV[11] features
		}
	})
}

// Undelete restores a deleted article to the listings and groups that it was in, with the rank that its
// votes give it, and returns it. Voting continues for what is left of its window. Undeleting an article
// that is not deleted is a no-op, not an error.
//
// The Refusal is NotFound if the article does not exist, and Forbidden if the actor is not a moderator.
func (r *Repo) Undelete(ctx context.Context, id ArticleID, by Actor) (article *Article, err error) {
	defer func() { r.stats.undeletions.count(true, err) }()
	if !by.Moderator {
		return nil, refuse(Forbidden, "article", "only moderators can undelete %v", id)
	}
	return r.moderate(ctx, "undelete", undeleteScript, id, by, nil, func(e expected) []any {
		return []any{
			id.String(),              // ARGV[1] member
			by.Name.member(),         // ARGV[2] by
			e.groups,                 // ARGV[3] expected_groups
			e.poster,                 // ARGV[4] expected_poster
			r.rules.rankingText(),    // ARGV[5] ranking
			r.rules.InterestingVotes, // ARGV[6] interesting_votes
			moderationEntries,        // ARGV[7] max_entries
			r.scriptNow(),            // ARGV[8] now
			by.via(),                 // ARGV[9] via
			e.link,                   // ARGV[10] expected_link
			r.on,                     // ARGV[11] features
		}
	})
}

// moderate calls delete.lua or undelete.lua, which take the same keys, but for those in more.
func (r *Repo) moderate(ctx context.Context, doing string, script *redis.Script, id ArticleID, by Actor, more []string, args func(expected) []any) (*Article, error) {
	p := r.partition(id)
	answer, err := r.runWithGroups(ctx, id, by.Name.member(), func(e expected) (reply, error) {
		keys := append(make([]string, 0, 32),
			p.article(id),              // KEYS[1] article
			p.ranking(ByTime),          // KEYS[2] times
			p.ranking(ByScore),         // KEYS[3] scores
			p.groups(),                 // KEYS[4] group_names
			p.posted(userOf(e.poster)), // KEYS[5] posted
			p.deleted(),                // KEYS[6] deleted
			p.moderation(),             // KEYS[7] log
			p.changes(r.database),      // KEYS[8] changes
			p.sizes(),                  // KEYS[9] sizes
		)
		keys = append(append(keys, more...), p.link(linkDigest(e.link)), p.host(HostOf(e.link))) // KEYS[10] or [12] link_record, KEYS[11] or [13] host
		keys = rankingKeys(keys, p, e.posted)                                                    // KEYS[12] to [18], or from [14]
		keys = groupKeys(groupKeys(keys, p, Interesting), p, groupNames(e.groups)...)
		keys = r.groupTopKeys(keys, p, e.posted, groupNames(e.groups)...)
		return r.write(ctx, script, keys, args(e))
	})
	if err != nil {
		return nil, storeError(fmt.Sprintf("%s %v", doing, id), err)
	}
	switch status := answer.status(); status {
	case "OK":
		return r.observeReply(id, answer)
	case "NOT_FOUND":
		return nil, noArticle(id)
	case "FORBIDDEN":
		return nil, refuse(Forbidden, "article", "only its poster and moderators can %s %v", doing, id)
	default:
		return nil, fmt.Errorf("%s %v: the script replied %q", doing, id, status)
	}
}

// Deleted reads a deleted article, for moderators. If the article does not exist or is not deleted, the
// Refusal is NotFound.
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
