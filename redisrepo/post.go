package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Post stores a new article and returns it. It is upvoted by its poster, unless the rules do not count
// that vote.
//
// With an idempotency key, a repeat within a day returns the article of the first call. It is refused
// with Conflict if the drafts differ, and with NotFound if the article has been deleted since.
//
// The Refusal of an invalid draft lists all its errors: Invalid or TooLong. For a link that was posted
// within Rules.LinkWindow it is DuplicateLink and names the first article, which may be a deleted one. For the first post of a
// user whose name looks like another one's it is Forbidden.
// After any other error the article may or may not have been stored; only with an idempotency key is the
// call safe to repeat.
func (r *Repo) Post(ctx context.Context, poster UserName, d Draft) (*Article, error) {
	return r.PostAs(ctx, Actor{Name: poster}, d)
}

// PostAs is Post for an actor who may be a moderator or a service. Only these may put an article into reserved groups: the
// Refusal is Forbidden. It is Invalid for two groups of one family.
func (r *Repo) PostAs(ctx context.Context, by Actor, d Draft) (article *Article, err error) {
	defer func() { r.stats.posts.count(true, err) }()
	poster := by.Name
	s, err := d.check(postRules)
	if err != nil {
		return nil, err
	}
	if refusals := append(r.rules.checkReserved(by, "groups", d.Groups), r.rules.checkFamilies("groups", d.Groups)...); len(refusals) > 0 {
		return nil, refusals
	}
	o := postOptions{at: r.scriptNow(), votes: r.firstVotes(), kind: kindPosted}
	if d.IdempotencyKey != nil {
		o.key, o.digest = *d.IdempotencyKey, s.digest()
	}
	if s.link != "" {
		o.link, o.reserved = linkDigest(s.link), strconv.FormatInt(seconds(r.rules.LinkWindow), 10)
	}
	index, claim := r.choosePartition(poster, o)
	for range maxAttempts {
		article, err = r.postOnce(ctx, index, claim, poster, s, o)
		if !errors.Is(err, errNumberTaken) {
			return article, err
		}
	}
	return nil, fmt.Errorf("post: %d numbers in a row are taken: the counter was set back", maxAttempts)
}

// RepeatedPost returns the article that the poster posted before with this draft and its idempotency key, in the time
// in which Post would return it, or nil. The Refusal is that of Post if the article has been deleted since.
func (r *Repo) RepeatedPost(ctx context.Context, poster UserName, d Draft) (*Article, error) {
	s, err := d.check(postRules)
	if err != nil || d.IdempotencyKey == nil {
		return nil, nil // Post refuses an invalid draft
	}
	o := postOptions{key: *d.IdempotencyKey, digest: s.digest()}
	if s.link != "" {
		o.link = linkDigest(s.link)
	}
	index, _ := r.choosePartition(poster, o)
	record, err := r.client.Get(ctx, r.partitions[index].post(poster, o.key)).Result()
	first, digest, _ := strings.Cut(record, " ")
	switch {
	case errors.Is(err, redis.Nil), err == nil && digest != o.digest:
		return nil, nil
	case err != nil:
		return nil, storeError("read the record of an idempotency key", err)
	}
	return r.firstPost(ctx, first)
}

// maxAttempts is the maximum number of article numbers that are drawn for one post.
const maxAttempts = 100

var errNumberTaken = errors.New("the article number is taken")

// postOnce draws one number and stores the article under it. The error is errNumberTaken if another
// article has the number.
func (r *Repo) postOnce(ctx context.Context, index int, claim string, poster UserName, s submission, o postOptions) (*Article, error) {
	if err := r.mayWrite(ctx); err != nil {
		return nil, fmt.Errorf("post: %w", err)
	}
	n, namesake, record, err := r.drawNumber(ctx, index, poster, claim, o.digest)
	if err != nil {
		return nil, storeError("draw a number", err)
	}
	if namesake != poster {
		if err := r.mayLookLike(ctx, poster, namesake); err != nil {
			return nil, err
		}
	}
	if !r.histories[index].reached(n) {
		if err := r.checkHistory(ctx, index); err != nil {
			return nil, err
		}
	}
	if claim != "" {
		switch first, digest, _ := strings.Cut(record, " "); {
		case digest != o.digest:
			return nil, keyConflict()
		case first != claimedArticle:
			return r.firstPost(ctx, first)
		}
	}
	id := ArticleID(n*int64(len(r.partitions)) + int64(index))
	if id > math.MaxInt32 {
		return nil, fmt.Errorf("the article numbers are used up: %d", id)
	}
	answer, err := r.callPost(ctx, id, poster, s, o)
	if err != nil {
		return nil, storeError("post", err)
	}
	switch status := answer.status(); status {
	case "CREATED":
		if r.has("calendar") {
			r.foldPosted(r.partitions[index], s.groups, answer.text(2))
		}
		return r.observeReply(id, answer)
	case "TAKEN":
		h, err := hashIn(answer)
		if err != nil {
			return nil, err
		}
		// go-redis sends a script again if its reply was lost. Then this call itself has taken the
		// number; otherwise the counter was set back.
		if isStoredAs(s, h, poster) {
			return r.observeReply(id, answer)
		}
		return nil, errNumberTaken
	case "REPEATED":
		return r.firstPost(ctx, answer.text(1))
	case "CONFLICT":
		return nil, keyConflict()
	case "DUPLICATE":
		if claim != "" {
			_ = r.client.Del(ctx, claim).Err() // if it stays, it only refuses the key to other drafts
		}
		return nil, duplicateLink(answer.text(1))
	default:
		return nil, fmt.Errorf("post: the script replied %q", status)
	}
}

// callPost calls post.lua for the hour that it is by this process's clock, and again if that is not the hour of Redis.
func (r *Repo) callPost(ctx context.Context, id ArticleID, poster UserName, s submission, o postOptions) (reply, error) {
	o.hour = r.thisHour()
	for range maxStaleReplies {
		keys, args := r.postCall(id, poster, s, o)
		answer, err := r.write(ctx, postScript, keys, args)
		if err != nil || answer.status() != "STALE" {
			return answer, err
		}
		o.hour = hourOfText(answer.text(4))
	}
	return nil, fmt.Errorf("%w: its clock is not steady", ErrUnavailable)
}

// postOptions are the arguments of post.lua besides the article itself.
type postOptions struct {
	at       string // posting time, Unix seconds; empty: the clock of Redis
	hour     hour   // of the posting time
	votes    int    // counted net votes
	key      string // idempotency key; empty: none
	digest   string // digest of the submission; empty without an idempotency key
	link     string // digest of the link; empty without a link
	reserved string // how long the link cannot be posted again, seconds; empty: the call does not record the link
	kind     string // of the published change
	prepared bool   // whether addVoters has added the voters of an import
}

// choosePartition returns the index of the partition to post to. The same link always goes to the same
// partition; without a link, so does the same idempotency key. If the key's partition differs from the
// link's, claim is the record in the key's partition, which the post must write first.
func (r *Repo) choosePartition(poster UserName, o postOptions) (index int, claim string) {
	n := len(r.partitions)
	keyed := keyIndex(n, poster, o.key)
	switch {
	case o.link == "" && o.key == "":
		return rand.IntN(n), "" // #nosec G404 -- spreads articles, hides nothing
	case o.link == "":
		return keyed, ""
	}
	index = linkIndex(n, o.link)
	if o.key != "" && keyed != index {
		claim = r.partitions[keyed].post(poster, o.key)
	}
	return index, claim
}

// claimedArticle stands for the article in the record of a claim: its number is not known yet.
const claimedArticle = "-"

// drawNumber draws an article number. In the same round trip it claims the look of the poster's name, and returns the first
// name that claimed it, and if there is a claim to make, the idempotency key for the digest, and returns the record of the
// first claim.
func (r *Repo) drawNumber(ctx context.Context, index int, poster UserName, claim, digest string) (n int64, namesake UserName, record string, err error) {
	ctx = r.confirmed(ctx) // a number that was seen is never drawn again
	look := r.look(poster)
	var number *redis.IntCmd
	var name, claimed *redis.StringCmd
	_, err = r.pipelined(ctx, func(pipe redis.Pipeliner) {
		pipe.SetNX(ctx, look, string(poster), 0)
		name = pipe.Get(ctx, look)
		if claim != "" {
			pipe.SetNX(ctx, claim, claimedArticle+" "+digest, postRecordTTL)
			claimed = pipe.Get(ctx, claim)
		}
		number = pipe.IncrBy(ctx, r.partitions[index].counter(), 1)
	})
	if err != nil {
		return 0, "", "", err
	}
	if claimed != nil {
		record = claimed.Val()
	}
	return number.Val(), UserName(name.Val()), record, nil
}

func keyConflict() Refusal {
	return refuse(Conflict, "idempotencyKey", "this idempotency key was used for another post: use a new one for each post")
}

// duplicateLink returns the refusal that names the first article with the link.
func duplicateLink(member string) error {
	first, err := ParseArticleID(member)
	if err != nil {
		return fmt.Errorf("record of a link: %w", err)
	}
	refusal := refuse(DuplicateLink, "link", "this link was posted recently: see %v", first)
	refusal[0].Article = &first
	return refusal
}

// firstVotes is the number of votes of a new article.
func (r *Repo) firstVotes() int {
	if r.rules.PosterVotes {
		return 1
	}
	return 0
}

// postCall returns the keys and arguments of post.lua.
func (r *Repo) postCall(id ArticleID, poster UserName, s submission, o postOptions) (keys []string, args []any) {
	p := r.partition(id)
	keys = append(make([]string, 0, 32),
		p.article(id),          // KEYS[1] article
		p.voted(id),            // KEYS[2] voted
		p.downvoted(id),        // KEYS[3] downvoted
		p.ranking(ByTime),      // KEYS[4] times
		p.ranking(ByScore),     // KEYS[5] scores
		p.groups(),             // KEYS[6] group_names
		p.posted(poster),       // KEYS[7] posted
		p.counter(),            // KEYS[8] counter
		p.post(poster, o.key),  // KEYS[9] record
		p.changes(r.database),  // KEYS[10] changes
		p.link(o.link),         // KEYS[11] link_record
		p.sizes(),              // KEYS[12] sizes
		p.host(HostOf(s.link)), // KEYS[13] host
	)
	keys = rankingKeys(keys, p, o.hour) // KEYS[14] to [20]
	keys = groupKeys(groupKeys(keys, p, Interesting), p, s.groups...)
	keys = r.groupTopKeys(keys, p, o.hour, s.groups...)
	if r.has("cast") {
		keys = append(keys, p.cast(poster, o.hour.month()))
	}
	return keys, []any{
		id.String(), // ARGV[1] member
		strconv.Itoa(int(id) / len(r.partitions)), // ARGV[2] number
		poster.member(),               // ARGV[3] poster
		s.title,                       // ARGV[4] title
		s.link,                        // ARGV[5] link
		s.text,                        // ARGV[6] text
		o.at,                          // ARGV[7] posted_at
		o.votes,                       // ARGV[8] votes
		r.rules.PosterVotes,           // ARGV[9] counted
		r.rules.rankingText(),         // ARGV[10] ranking
		seconds(r.rules.VotingWindow), // ARGV[11] window
		seconds(voterMargin),          // ARGV[12] margin
		r.rules.InterestingVotes,      // ARGV[13] interesting_votes
		groupText(s.groups),           // ARGV[14] group_text
		r.scriptNow(),                 // ARGV[15] now
		o.digest,                      // ARGV[16] digest
		seconds(postRecordTTL),        // ARGV[17] record_ttl
		o.kind,                        // ARGV[18] kind
		o.reserved,                    // ARGV[19] reserved
		o.prepared,                    // ARGV[20] prepared
		r.on,                          // ARGV[21] features
	}
}

// firstPost returns the article that an idempotency key was first used for.
func (r *Repo) firstPost(ctx context.Context, member string) (*Article, error) {
	id, err := ParseArticleID(member)
	if err != nil {
		return nil, fmt.Errorf("record of an idempotency key: %w", err)
	}
	articles, errs := r.readArticles(ctx, []ArticleID{id})
	if a := articles[0]; a != nil && a.DeletedAt != nil {
		return nil, refuse(NotFound, "idempotencyKey", "the article posted with this idempotency key was deleted: it was %v", id)
	}
	return articles[0], errs[0]
}

// isStoredAs reports whether the hash is that of this submission by this poster.
func isStoredAs(s submission, h hash, poster UserName) bool {
	return h.poster == poster.member() && h.title == s.title && h.link == s.link && h.text == s.text
}

// keyIndex is the partition, of n, of an idempotency key, and linkIndex that of the digest of a link.
func keyIndex(n int, poster UserName, key string) int { return partitionOf(n, "%s:%s", poster, key) }
func linkIndex(n int, digest string) int              { return partitionOf(n, "%s", digest) }

// partitionOf returns the index of a partition, always the same for the same text.
func partitionOf(partitions int, format string, args ...any) int {
	h := fnv.New32a()
	fmt.Fprintf(h, format, args...)
	return int(h.Sum32() % uint32(partitions)) // #nosec G115 -- few and positive
}

// formatWindow formats a duration for a message: 168h0m0s as 7 days.
func formatWindow(d time.Duration) string {
	if d%day == 0 && d > day {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}
