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
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Post stores a new article and returns it. Its poster votes it up, unless the
// rules say that the vote of a poster is not counted.
//
// With an idempotency key, a repeat within a day returns the article of the
// first call; it refuses with Conflict when it is not the same draft, and with
// NotFound when the article was deleted since. A draft that breaks rules is
// refused with all of them: Invalid or TooLong. A link that was posted within
// the rules' LinkWindow is refused with DuplicateLink and the first article,
// which may be a deleted one. With any other error the article may or may not
// have been stored; to repeat the call is safe with an idempotency key only.
func (r *Repo) Post(ctx context.Context, poster UserName, d Draft) (*Article, error) {
	s, err := d.check(postRules)
	if err != nil {
		return nil, err
	}
	how := posted{at: r.scriptNow(), votes: r.firstVotes(), kind: kindPosted}
	if d.IdempotencyKey != nil {
		how.key, how.digest = *d.IdempotencyKey, s.digest()
	}
	if s.link != "" {
		how.link, how.reserved = linkDigest(s.link), r.rules.LinkWindow
	}
	index, claim := r.choosePartition(poster, how)
	for range takenLimit {
		n, claimed, err := r.draw(ctx, index, claim, how.digest)
		if err != nil {
			return nil, storeError("draw a number", err)
		}
		switch first, digest, _ := strings.Cut(claimed, " "); {
		case digest != how.digest && claim != "":
			return nil, keyConflict()
		case first != noFirst && claim != "":
			return r.first(ctx, first)
		}
		id := ArticleID(n*int64(len(r.partitions)) + int64(index))
		if id > math.MaxInt32 {
			return nil, fmt.Errorf("the numbers of articles are used up: %d", id)
		}
		keys, args := r.postCall(id, poster, s, how)
		answer, err := r.run(ctx, postScript, keys, args)
		if err != nil {
			return nil, storeError("post", err)
		}
		switch status := answer.status(); status {
		case "CREATED":
			return r.observeReply(id, answer, 1)
		case "TAKEN":
			hash, err := answer.hash(1)
			if err != nil {
				return nil, err
			}
			// The client sends a script again when its reply was lost: then the
			// number was taken by this very call. Otherwise the counter was set back.
			if s.is(hash, poster) {
				return r.observeReply(id, answer, 1)
			}
		case "REPEATED":
			return r.first(ctx, answer.text(1))
		case "CONFLICT":
			return nil, keyConflict()
		case "DUPLICATE":
			if claim != "" {
				_ = r.client.Del(ctx, claim).Err() // left, it would only keep the key from another draft
			}
			return nil, duplicateLink(answer.text(1))
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
	at       string // posting time, Unix seconds; empty: the clock of Redis
	votes    int    // counted net votes
	key      string // idempotency key, and the digest of what it stands for; empty without one
	digest   string
	link     string        // digest of the link; empty without one
	reserved time.Duration // how long the link is refused to others; 0: not at all
	kind     string        // of change
}

// choosePartition says where an article is posted. One link is always posted into
// the same partition, and without a link one idempotency key is. A key that
// belongs to another partition than the link is first claimed there.
func (r *Repo) choosePartition(poster UserName, how posted) (index int, claim string) {
	n := len(r.partitions)
	keyed := partitionOf(n, "%s:%s", poster, how.key)
	switch {
	case how.link == "" && how.key == "":
		return rand.IntN(n), "" // #nosec G404 -- spreads articles, hides nothing
	case how.link == "":
		return keyed, ""
	}
	index = partitionOf(n, "%s", how.link)
	if how.key != "" && keyed != index {
		claim = r.partitions[keyed].post(poster, how.key)
	}
	return index, claim
}

// noFirst stands in a claim for the article, whose number is not known by then.
const noFirst = "-"

// draw gives out a number. In the same round trip it claims an idempotency key
// for a digest, when there is a claim to make, and returns the record of whoever
// was first.
func (r *Repo) draw(ctx context.Context, index int, claim, digest string) (n int64, claimed string, err error) {
	if claim == "" {
		n, err = r.client.Incr(ctx, r.partitions[index].counter()).Result()
		return n, "", err
	}
	var number *redis.IntCmd
	var record *redis.StringCmd
	_, err = r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.SetNX(ctx, claim, noFirst+" "+digest, postRecordTTL)
		record = pipe.Get(ctx, claim)
		number = pipe.Incr(ctx, r.partitions[index].counter())
		return nil
	})
	if err != nil {
		return 0, "", err
	}
	return number.Val(), record.Val(), nil
}

func keyConflict() Refusal {
	return refuse(Conflict, "idempotencyKey", "this idempotency key was used for another post: use a new one for each post")
}

// duplicateLink names the article that has the link.
func duplicateLink(member string) error {
	first, err := ParseArticleID(member)
	if err != nil {
		return fmt.Errorf("record of a link: %w", err)
	}
	refusal := refuse(DuplicateLink, "link", "this link was posted a short time ago: it is %v", first)
	refusal[0].Article = &first
	return refusal
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
		p.posted(poster), p.counter(), p.post(poster, how.key), p.changes(r.database), p.link(how.link))
	keys = groupKeys(groupKeys(keys, p, Interesting), p, s.groups...)
	return keys, []any{
		id.String(), strconv.Itoa(int(id) / len(r.partitions)), poster.member(), s.title, s.link, s.text,
		how.at, how.votes, r.rules.PosterVotes,
		r.rules.VoteScore, seconds(r.rules.VotingWindow), seconds(voterMargin), r.rules.InterestingVotes,
		groupText(s.groups), r.scriptNow(), how.digest, seconds(postRecordTTL), how.kind, seconds(how.reserved),
	}
}

// first returns the article that an idempotency key was used for.
func (r *Repo) first(ctx context.Context, member string) (*Article, error) {
	id, err := ParseArticleID(member)
	if err != nil {
		return nil, fmt.Errorf("record of an idempotency key: %w", err)
	}
	articles, errs := r.readArticles(ctx, []ArticleID{id})
	if a := articles[0]; a != nil && a.DeletedAt != nil {
		return nil, refuse(NotFound, "idempotencyKey", "what was posted with this idempotency key is deleted: it was %v", id)
	}
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

// partitionOf finds the same partition for the same text again.
func partitionOf(partitions int, format string, args ...any) int {
	h := fnv.New32a()
	fmt.Fprintf(h, format, args...)
	return int(h.Sum32() % uint32(partitions)) // #nosec G115 -- few and positive
}

// window is a duration for people: 168h0m0s is 7 days.
func window(d time.Duration) string {
	if d%day == 0 && d > day {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}
