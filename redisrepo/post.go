package redisrepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Post stores a new article and returns it. Its poster votes it up, unless the
// rules say that the vote of a poster is not counted.
//
// With an idempotency key, a repeat within a day returns the article of the
// first call; it refuses with Conflict when it is not the same draft. A draft
// that breaks rules is refused with all of them: Invalid or TooLong. With any
// other error the article may or may not have been stored; to repeat the call
// is safe with an idempotency key only.
func (r *Repo) Post(ctx context.Context, poster UserName, d Draft) (*Article, error) {
	s, err := d.check(false)
	if err != nil {
		return nil, err
	}
	key, digest, index := "", "", rand.IntN(len(r.partitions))
	if d.IdempotencyKey != nil {
		key, digest = *d.IdempotencyKey, s.digest()
		index = partitionOf(poster, key, len(r.partitions))
	}
	for range takenLimit {
		n, err := r.client.Incr(ctx, r.partitions[index].counter()).Result()
		if err != nil {
			return nil, storeError("draw a number", err)
		}
		id := ArticleID(n*int64(len(r.partitions)) + int64(index))
		if id > math.MaxInt32 {
			return nil, fmt.Errorf("the numbers of articles are used up: %d", id)
		}
		keys, args := r.postCall(id, poster, s, posted{at: r.scriptNow(), votes: r.firstVotes(), key: key, digest: digest, kind: kindPosted})
		answer, err := r.run(ctx, postScript, keys, args)
		if err != nil {
			return nil, storeError("post", err)
		}
		switch status := answer.status(); status {
		case "CREATED":
			return r.written(id, answer, 1)
		case "TAKEN":
			hash, err := answer.hash(1)
			if err != nil {
				return nil, err
			}
			// The client sends a script again when its reply was lost: then the
			// number was taken by this very call. Otherwise the counter was set back.
			if s.is(hash, poster) {
				return r.written(id, answer, 1)
			}
		case "REPEATED":
			return r.first(ctx, answer.text(1))
		case "CONFLICT":
			return nil, refuse(Conflict, "idempotencyKey", "this idempotency key was used for another post: use a new one for each post")
		default:
			return nil, fmt.Errorf("post: the script replied %q", status)
		}
	}
	return nil, fmt.Errorf("post: %d numbers in a row are taken: the counter is behind", takenLimit)
}

// takenLimit bounds how many numbers are drawn for one post.
const takenLimit = 100

// posted is what a post says beside the article itself.
type posted struct {
	at     string // posting time, Unix seconds; empty: the clock of Redis
	votes  int    // counted net votes
	key    string // idempotency key, and the digest of what it stands for; empty without one
	digest string
	kind   string // of change
}

// firstVotes is how many votes a new article starts with.
func (r *Repo) firstVotes() int {
	if r.rules.PosterVotes {
		return 1
	}
	return 0
}

// postCall makes the keys and arguments of post.lua.
func (r *Repo) postCall(id ArticleID, poster UserName, s submission, how posted) ([]string, []any) {
	p := r.partition(id)
	keys := append(make([]string, 0, 24),
		p.article(id), p.voted(id), p.downvoted(id), p.ranking(ByTime), p.ranking(ByScore), p.groups(),
		p.posted(poster), p.counter(), p.post(poster, how.key), p.changes(r.database))
	keys = groupKeys(groupKeys(keys, p, interesting), p, s.groups...)
	return keys, []any{
		id.String(), strconv.Itoa(int(id) / len(r.partitions)), poster.member(), s.title, s.link, s.text,
		how.at, how.votes, r.rules.PosterVotes,
		r.rules.VoteScore, seconds(r.rules.VotingWindow), seconds(voterMargin), r.rules.InterestingVotes,
		groupText(s.groups), r.scriptNow(), how.digest, seconds(postRecordTTL), how.kind,
	}
}

// first returns the article that an idempotency key was used for.
func (r *Repo) first(ctx context.Context, member string) (*Article, error) {
	id, err := ParseArticleID(member)
	if err != nil {
		return nil, fmt.Errorf("record of an idempotency key: %w", err)
	}
	articles, errs := r.ArticlesByID(ctx, []ArticleID{id})
	return articles[0], errs[0]
}

// digest stands for everything that is posted.
func (s submission) digest() string {
	h := sha256.New()
	for _, part := range []string{s.title, s.link, s.text, groupText(s.groups)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// is tells whether the hash is of this article by this poster.
func (s submission) is(hash map[string]string, poster UserName) bool {
	return hash[fieldPoster] == poster.member() && hash[fieldTitle] == s.title &&
		hash[fieldLink] == s.link && hash[fieldText] == s.text
}

// partitionOf finds the same partition for the same key again.
func partitionOf(poster UserName, key string, partitions int) int {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s:%s", poster, key)
	return int(h.Sum32() % uint32(partitions))
}

// window is a duration for people: 168h0m0s is 7 days.
func window(d time.Duration) string {
	if d%day == 0 && d > day {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}
