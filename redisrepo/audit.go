package redisrepo

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// AuditEntry is one user's position on an article.
type AuditEntry struct {
	Voter  UserName
	Vote   Vote       // None when the vote was taken back, which is known only if it was recorded
	At     *time.Time // when the vote was cast, UTC, whole seconds; nil when that was not recorded
	Bucket string     // what the voter's address is known by; empty when that was not recorded
}

// Audit tells who voted on an article, deleted or not: those of unknown time
// first, then in the order of their votes. When, and from where, is known of
// votes that came by VoteFrom with a bucket. Some time after the voting window
// all of it is forgotten. Voters of an import have no names, and are left out.
// It refuses with NotFound when there is no such article.
func (r *Repo) Audit(ctx context.Context, id ArticleID) ([]AuditEntry, error) {
	if _, errs := r.readArticles(ctx, []ArticleID{id}); errs[0] != nil {
		return nil, errs[0]
	}
	p := r.partition(id)
	// While these are read people vote: who is found in both sets has switched.
	voters := map[string]AuditEntry{}
	for set, vote := range map[string]Vote{p.voted(id): Up, p.downvoted(id): Down} {
		members := r.client.SScan(ctx, set, 0, "", batchSize).Iterator()
		for members.Next(ctx) {
			if member := members.Val(); strings.HasPrefix(member, userPrefix) {
				voters[member] = AuditEntry{Voter: userOf(member), Vote: vote}
			}
		}
		if err := members.Err(); err != nil {
			return nil, storeError("audit "+id.String(), err)
		}
	}
	records := r.client.HScan(ctx, p.audit(id), 0, "", batchSize).Iterator()
	if err := addRecords(ctx, voters, records); err != nil {
		return nil, storeError("audit "+id.String(), err)
	}
	entries := make([]AuditEntry, 0, len(voters))
	for _, entry := range voters {
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b AuditEntry) int {
		return cmp.Or(a.seconds().Compare(b.seconds()), cmp.Compare(a.Voter, b.Voter))
	})
	return entries, nil
}

// seconds is the zero time when it is not known.
func (e AuditEntry) seconds() time.Time {
	if e.At == nil {
		return time.Time{}
	}
	return *e.At
}

// addRecords adds what vote.lua recorded. A record of another position than the
// user's is of an older vote.
func addRecords(ctx context.Context, voters map[string]AuditEntry, records *redis.ScanIterator) error {
	for records.Next(ctx) {
		member := records.Val()
		if !records.Next(ctx) {
			break
		}
		record := strings.SplitN(records.Val(), " ", 3)
		vote, known := votePositions[record[0]]
		if len(record) != 3 || !known {
			continue // not of vote.lua
		}
		seconds, err := parseNumber(record[1])
		entry, voted := voters[member]
		if err != nil || voted && entry.Vote != vote || !voted && vote != None {
			continue
		}
		at := unixTime(seconds)
		voters[member] = AuditEntry{Voter: userOf(member), Vote: vote, At: &at, Bucket: record[2]}
	}
	return records.Err()
}
