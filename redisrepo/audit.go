package redisrepo

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// AuditEntry is one user's position on an article.
type AuditEntry struct {
	Voter  site.UserName
	Vote   site.Vote  // None if the vote was withdrawn, which is known only for recorded votes
	At     *time.Time // when the vote was cast, UTC, whole seconds; nil if it was not recorded
	Bucket string     // pseudonym of the voter's address; empty if the vote was not recorded
}

// Audit returns the voters of an article, deleted or not: first those whose time is unknown, then in
// the order of their votes. Time and bucket are known for votes that were cast with a bucket. An hour
// after the voting window all of it is forgotten. Imported votes have no named voters and are left out.
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
	entries := make([]AuditEntry, 0, len(voters))
	for _, entry := range voters {
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b AuditEntry) int {
		return cmp.Or(a.castAt().Compare(b.castAt()), cmp.Compare(a.Voter, b.Voter))
	})
	return entries, nil
}

// castAt is the zero time if the time is unknown.
func (e AuditEntry) castAt() time.Time {
	if e.At == nil {
		return time.Time{}
	}
	return *e.At
}

// addRecords adds the times and buckets that vote.lua recorded, as members and records in turn. A record of a position
// other than the user's current one belongs to an older vote.
func addRecords(voters map[string]AuditEntry, records []string) {
	for pair := range slices.Chunk(records, 2) {
		member, record := pair[0], strings.SplitN(pair[1], " ", 3)
		vote, ok := site.VotePositions[record[0]]
		if len(record) != 3 || !ok {
			continue // vote.lua did not write it
		}
		seconds, err := site.ParseNumber(record[1])
		entry, voted := voters[member]
		if err != nil || voted && entry.Vote != vote || !voted && vote != site.None {
			continue
		}
		at := site.UnixTime(seconds)
		voters[member] = AuditEntry{Voter: site.UserOf(member), Vote: vote, At: &at, Bucket: record[2]}
	}
}
