package redisrepo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// MayRegroup reports whether Regroup would accept at least some change by the actor: a service may change
// reserved groups only.
func (r *Repo) MayRegroup(by site.Actor, article *site.Article) bool {
	service := by.Service && by.Name != "" && article.DeletedAt == nil
	return by.MayDelete(article) || service && len(r.Store.Rules.ReservedGroups) > 0
}

// Delete removes an article from every listing and group, closes it to votes, and returns it with DeletedAt and
// DeletedBy. Its data is kept for Undelete. Its link stays reserved, unless its poster deletes it and no other user has
// a vote on it. Deleting a deleted article is a no-op, not an error.
//
// The Refusal is NotFound if the article does not exist, and Forbidden if the actor is neither its poster nor a
// moderator. To such an actor a deleted article is NotFound. It is Invalid or TooLong for an invalid reason.
//
// The reason of a moderator is stored in the article, its event and the moderation log. A second call adds the reason
// for an article that a moderator has deleted without one.
func (r *Repo) Delete(ctx context.Context, id site.ArticleID, by site.Actor, why site.Why) (article *site.Article, err error) {
	defer func() { r.Writes.Deletions.count(true, err) }()
	why, broken := why.Check()
	if len(broken) > 0 {
		return nil, broken
	}
	answer, err := r.delete(ctx, id, by, why, r.Reports.ReportKeys(id, 0), "")
	return r.changed("delete", id, answer, err)
}

// SettleByDeleting decides the open reports of an article up to one of them, as Settle does, and deletes the
// article in the same step. If the article is deleted already, it decides the reports, and adds the reason if a
// moderator deleted the article without one.
//
// Its Refusals are those of Settle and Delete.
func (r *Repo) SettleByDeleting(ctx context.Context, id site.ArticleID, by site.Actor, s reports.Settling) (article *site.Article, err error) {
	defer func() { r.Writes.Deletions.count(true, err) }()
	answer, err := r.Reports.Decide(ctx, id, s, func(reportKeys []string, settled string) (wire.Reply, error) {
		return r.delete(ctx, id, by, s.Why, reportKeys, settled)
	})
	return r.changed("delete", id, answer, err)
}

// delete calls delete.lua, which decides reports, too, unless settled is empty.
func (r *Repo) delete(ctx context.Context, id site.ArticleID, by site.Actor, why site.Why, reportKeys []string, settled string) (wire.Reply, error) {
	p := r.Store.Partition(id)
	more := append([]string{
		p.Voted(id),     // KEYS[9] voted
		p.Downvoted(id), // KEYS[10] downvoted
	}, reportKeys...) // KEYS[11] flags, KEYS[12] flagged, KEYS[13] contacts, KEYS[14] later_contacts
	return r.moderate(ctx, deleteScript, id, by, more, func(e expected) []any {
		return []any{
			id.String(),                 // ARGV[1] member
			by.Name.Member(),            // ARGV[2] by
			by.Moderator,                // ARGV[3] is_moderator
			e.groups,                    // ARGV[4] expected_groups
			e.poster,                    // ARGV[5] expected_poster
			site.ModerationEntries,      // ARGV[6] max_entries
			r.Store.ScriptNow(),         // ARGV[7] now
			by.ViaMember(),              // ARGV[8] via
			e.link,                      // ARGV[9] expected_link
			why.Reason,                  // ARGV[10] reason
			string(why.Ground),          // ARGV[11] ground
			why.Basis,                   // ARGV[12] basis
			r.Store.Rules.RankingText(), // ARGV[13] ranking
			settled,                     // ARGV[14] settled
			r.Store.On,                  // ARGV[15] features
		}
	})
}

// Undelete restores a deleted article to its listings and groups, with the rank of its votes, and returns it. Voting
// continues for the rest of its window. Undeleting an article that is not deleted is a no-op, not an error.
//
// The Refusal is NotFound if the article does not exist, and Forbidden if the article has been emptied, or if
// the actor is neither a moderator nor its poster, who can undo their own deletion for UndoWindow.
func (r *Repo) Undelete(ctx context.Context, id site.ArticleID, by site.Actor) (*site.Article, error) {
	return r.UndeleteFor(ctx, id, by, "")
}

// UndoWindow is how long posters can restore an article that they have deleted.
const UndoWindow = time.Minute

// UndeleteFor is Undelete with a reason for the moderation log, of at most 500 characters. The Refusal for an invalid
// reason is Invalid or TooLong.
func (r *Repo) UndeleteFor(ctx context.Context, id site.ArticleID, by site.Actor, reason string) (article *site.Article, err error) {
	defer func() { r.Writes.Undeletions.count(true, err) }()
	why, broken := site.Why{Reason: reason}.Check()
	if len(broken) > 0 {
		return nil, broken
	}
	answer, err := r.moderate(ctx, undeleteScript, id, by, nil, func(e expected) []any {
		return []any{
			id.String(),                    // ARGV[1] member
			by.Name.Member(),               // ARGV[2] by
			by.Moderator,                   // ARGV[3] is_moderator
			site.Seconds(UndoWindow),       // ARGV[4] undo
			e.groups,                       // ARGV[5] expected_groups
			e.poster,                       // ARGV[6] expected_poster
			r.Store.Rules.RankingText(),    // ARGV[7] ranking
			r.Store.Rules.InterestingVotes, // ARGV[8] interesting_votes
			site.ModerationEntries,         // ARGV[9] max_entries
			r.Store.ScriptNow(),            // ARGV[10] now
			by.ViaMember(),                 // ARGV[11] via
			e.link,                         // ARGV[12] expected_link
			why.Reason,                     // ARGV[13] reason
			r.Store.On,                     // ARGV[14] features
		}
	})
	return r.changed("undelete", id, answer, err)
}

// moderate calls delete.lua or undelete.lua, which take the same keys, but for those in more.
func (r *Repo) moderate(ctx context.Context, script *redis.Script, id site.ArticleID, by site.Actor, more []string, args func(expected) []any) (wire.Reply, error) {
	p := r.Store.Partition(id)
	return r.runWithGroups(id, by.Name.Member(), func(e expected) (wire.Reply, error) {
		scriptKeys := append(make([]string, 0, 32),
			p.Article(id),           // KEYS[1] article
			p.Ranking(site.ByTime),  // KEYS[2] times
			p.Ranking(site.ByScore), // KEYS[3] scores
			p.Groups(),              // KEYS[4] group_names
			p.Deleted(),             // KEYS[5] deleted
			p.Moderation(),          // KEYS[6] log
			p.Sizes(),               // KEYS[7] sizes
			p.Unexplained(),         // KEYS[8] unexplained
		)
		scriptKeys = append(append(scriptKeys, more...), p.Link(site.LinkDigest(e.link))) // KEYS[9] or [15] link_record
		own := p.Lists(site.UserOf(e.poster), e.link)
		scriptKeys = append(scriptKeys,
			p.Clock(""), // KEYS[10] or [16] clock
			p.Front(),   // KEYS[11] or [17] pages
			p.Events(),  // KEYS[12] or [18] events
		)
		scriptKeys = append(scriptKeys, own...) // KEYS[13...] or [19...] list
		scriptKeys = lists.GroupKeys(lists.GroupKeys(scriptKeys, p, site.Interesting), p, site.GroupNames(e.groups)...)
		return r.Store.Call(ctx, script, scriptKeys, append(args(e), len(own))) // ARGV[15] or [16] list_count
	})
}

// changed returns the article in the reply of a script that changes it, or what refuses the change, or the error of the call.
func (r *Repo) changed(doing string, id site.ArticleID, answer wire.Reply, err error) (*site.Article, error) {
	if err != nil {
		return nil, failover.Wrap(doing+" "+id.String(), err)
	}
	switch status := answer.Status(); status {
	case "OK":
		return r.Articles.ObserveReply(id, answer)
	case "NOT_FOUND":
		return nil, site.NoArticle(id)
	case "EMPTIED":
		return nil, site.Refuse(site.Forbidden, "article", "%v was deleted so long ago that its title and text have been erased: it cannot be restored", id)
	case "FORBIDDEN":
		return nil, site.Refuse(site.Forbidden, "article", "only its poster and moderators can %s %v", doing, id)
	default:
		return nil, fmt.Errorf("%s %v: the script replied %q", doing, id, status)
	}
}

// Deleted reads a deleted article, for moderators. If the article does not exist or is not deleted, the
// Refusal is NotFound.
func (r *Repo) Deleted(ctx context.Context, id site.ArticleID) (*site.Article, error) {
	articles, errs := r.Articles.ReadArticles(ctx, []site.ArticleID{id})
	if errs[0] != nil {
		return nil, errs[0]
	}
	if articles[0].DeletedAt == nil {
		return nil, site.Refuse(site.NotFound, "article", "%v is not deleted", id)
	}
	return articles[0], nil
}

// AuditEntry is one user's position on an article.
type AuditEntry struct {
	Voter  site.UserName
	Vote   site.Vote  // None if the vote was withdrawn, which is known only for recorded votes
	At     *time.Time // when the vote was cast, UTC, whole seconds; nil if it was not recorded
	Bucket string     // pseudonym of the voter's address; empty if the vote was not recorded
}

// Audit returns the voters of an article, deleted or not: first those whose time is unknown, then the others in the
// order of their votes. Time and bucket are known for votes that were cast with a bucket. All of this is deleted an
// hour after the voting window. Imported votes have no named voters and are left out.
//
// If the article does not exist, the Refusal is NotFound.
func (r *Repo) Audit(ctx context.Context, id site.ArticleID) ([]AuditEntry, error) {
	if _, errs := r.Articles.ReadArticles(ctx, []site.ArticleID{id}); errs[0] != nil {
		return nil, errs[0]
	}
	p := r.Store.Partition(id)
	// Votes may be cast between these reads: a voter who is found in both sets has switched.
	voters := map[string]AuditEntry{}
	for set, vote := range map[string]site.Vote{p.Voted(id): site.Up, p.Downvoted(id): site.Down} {
		err := r.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.SScan, Key: set, Step: 1, Handle: func(members []string) error {
			for _, member := range members {
				if strings.HasPrefix(member, site.UserPrefix) {
					voters[member] = AuditEntry{Voter: site.UserOf(member), Vote: vote}
				}
			}
			return nil
		}})
		if err != nil {
			return nil, failover.Wrap("audit "+id.String(), err)
		}
	}
	err := r.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.HScan, Key: p.Audit(id), Step: 1, Handle: func(records []string) error {
		addRecords(voters, records)
		return nil
	}})
	if err != nil {
		return nil, failover.Wrap("audit "+id.String(), err)
	}
	return slices.SortedFunc(maps.Values(voters), func(a, b AuditEntry) int {
		return cmp.Or(site.Value(a.At).Compare(site.Value(b.At)), cmp.Compare(a.Voter, b.Voter))
	}), nil
}

// addRecords adds the times and buckets that vote.lua recorded, as members and records in turn. A record of a position
// other than the user's current one belongs to an older vote.
func addRecords(voters map[string]AuditEntry, records []string) {
	for pair := range slices.Chunk(records, 2) {
		member := pair[0]
		last, ok := articles.ParseAudited(pair[1])
		entry, voted := voters[member]
		if !ok || voted && entry.Vote != last.Vote || !voted && last.Vote != site.None {
			continue
		}
		voters[member] = AuditEntry{Voter: site.UserOf(member), Vote: last.Vote, At: new(site.UnixTime(last.Seconds)), Bucket: last.Bucket}
	}
}
