package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/sessions"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Post stores a new article and returns it. It is upvoted by its poster, unless the rules do not count
// that vote.
//
// With an idempotency key, a repeat within a day returns the article of the first call. It is refused
// with Conflict if the drafts differ, and with NotFound if the article has been deleted since.
//
// The Refusal of an invalid draft lists all its errors: Invalid or TooLong. For a link that was posted within
// Rules.LinkWindow it is DuplicateLink and names the first article, which may be a deleted one. For a link to a denied
// host, also in the text, it is HostDenied. For the first post of a user whose name looks like another user's it is
// Forbidden. After any other error the article may or may not have been stored; the call is safe to repeat only with an
// idempotency key.
func (r *Repo) Post(ctx context.Context, poster site.UserName, d site.Draft) (*site.Article, error) {
	return r.PostAs(ctx, site.Actor{Name: poster}, d)
}

// PostAs is Post for an actor who may be a moderator or a service. Only they may put an article into reserved
// groups: for others the Refusal is Forbidden. It is Invalid for two groups of one family.
func (r *Repo) PostAs(ctx context.Context, by site.Actor, d site.Draft) (article *site.Article, err error) {
	defer func() { r.Writes.Posts.count(true, err) }()
	poster := by.Name
	s, err := d.Check(site.PostRules)
	if err != nil {
		return nil, err
	}
	if refusals := append(r.Store.Rules.CheckReserved(by, "groups", d.Groups), r.Store.Rules.CheckFamilies("groups", d.Groups)...); len(refusals) > 0 {
		return nil, refusals
	}
	if refusals := r.Denials.CheckLinks(s.Link, s.Text); len(refusals) > 0 {
		return nil, refusals
	}
	o := postOptions{at: r.Store.ScriptNow(), kind: site.KindPosted}
	if r.Store.Rules.PosterVotes {
		o.votes = 1
	}
	if d.IdempotencyKey != nil {
		o.key, o.digest = *d.IdempotencyKey, s.Digest()
	}
	if s.Link != "" {
		o.link, o.reserved = site.LinkDigest(s.Link), strconv.FormatInt(site.Seconds(r.Store.Rules.LinkWindow), 10)
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

// RepeatedPost returns the article that Post would return for a repeated draft with its idempotency key, or nil if the
// draft is not a repeat. If the article has been deleted since, it returns Post's Refusal.
func (r *Repo) RepeatedPost(ctx context.Context, poster site.UserName, d site.Draft) (*site.Article, error) {
	s, err := d.Check(site.PostRules)
	if err != nil || d.IdempotencyKey == nil {
		return nil, nil // Post refuses an invalid draft
	}
	o := postOptions{key: *d.IdempotencyKey, digest: s.Digest()}
	if s.Link != "" {
		o.link = site.LinkDigest(s.Link)
	}
	index, _ := r.choosePartition(poster, o)
	record, err := r.Store.Client.Get(ctx, r.Store.Partitions[index].Post(poster, o.key)).Result()
	first, digest, _ := strings.Cut(record, " ")
	switch {
	case errors.Is(err, redis.Nil), err == nil && digest != o.digest:
		return nil, nil
	case err != nil:
		return nil, failover.Wrap("read the record of an idempotency key", err)
	}
	return r.firstPost(ctx, first)
}

// maxAttempts is the maximum number of article numbers that are drawn for one post.
const maxAttempts = 100

var errNumberTaken = errors.New("the article number is taken")

// postOnce draws one number and stores the article under it. The error is errNumberTaken if another
// article has the number.
func (r *Repo) postOnce(ctx context.Context, index int, claim string, poster site.UserName, s site.Submission, o postOptions) (*site.Article, error) {
	if err := r.Store.MayWrite(ctx); err != nil {
		return nil, fmt.Errorf("post: %w", err)
	}
	n, namesake, record, err := r.drawNumber(ctx, index, poster, claim, o)
	if err != nil {
		r.unclaim(ctx, claim, err)
		return nil, failover.Wrap("draw a number", err)
	}
	if namesake != poster {
		if err := r.Sessions.MayLookLike(ctx, poster, namesake); err != nil {
			r.unclaim(ctx, claim, err)
			return nil, err
		}
	}
	if !r.Live.Histories[index].Reached(n) {
		if err := r.Live.CheckHistory(ctx, index); err != nil {
			return nil, err
		}
	}
	if claim != "" {
		switch first, digest, _ := strings.Cut(record, " "); {
		case digest != o.digest:
			return nil, keyConflict()
		case first != ClaimedArticle:
			return r.firstPost(ctx, first)
		}
	}
	id := site.ArticleID(n*int64(len(r.Store.Partitions)) + int64(index))
	if id > math.MaxInt32 {
		return nil, fmt.Errorf("the article numbers are used up: %d", id)
	}
	answer, err := r.callPost(ctx, id, poster, s, o)
	if err != nil {
		return nil, failover.Wrap("post", err)
	}
	switch status := answer.Status(); status {
	case "CREATED":
		return r.Articles.ObserveReply(id, answer)
	case "TAKEN":
		h, err := articles.HashIn(answer)
		if err != nil {
			return nil, err
		}
		// go-redis sends a script again if its reply was lost. Then this call itself has taken the
		// number; otherwise the counter was set back.
		if isStoredAs(s, h, poster) {
			return r.Articles.ObserveReply(id, answer)
		}
		return nil, errNumberTaken
	case "REPEATED":
		return r.firstPost(ctx, answer.Text(1))
	case "CONFLICT":
		return nil, keyConflict()
	case "DUPLICATE":
		err := duplicateLink(answer.Text(1))
		r.unclaim(ctx, claim, err)
		return nil, err
	default:
		return nil, fmt.Errorf("post: the script replied %q", status)
	}
}

// callPost calls post.lua for the month that it is by this process's clock, and again if that is not the month of Redis.
func (r *Repo) callPost(ctx context.Context, id site.ArticleID, poster site.UserName, s site.Submission, o postOptions) (wire.Reply, error) {
	o.month = r.Store.ThisHour().Month()
	for range maxStaleReplies {
		keys, args := r.postCall(id, poster, s, o)
		answer, err := r.Store.Call(ctx, postScript, keys, args)
		if err != nil || answer.Status() != "STALE" {
			return answer, err
		}
		o.month = site.HourOfText(answer.Text(1)).Month()
	}
	return nil, fmt.Errorf("%w: its clock is not steady", failover.ErrUnavailable)
}

// postOptions are the arguments of post.lua besides the article itself.
type postOptions struct {
	at       string // posting time, Unix seconds; empty: the clock of Redis
	month    int64  // of the posting time
	votes    int    // counted net votes
	key      string // idempotency key; empty: none
	digest   string // digest of the submission; empty without an idempotency key
	link     string // digest of the link; empty without a link
	reserved string // how long the link cannot be posted again, seconds; empty: the call does not record the link
	kind     string // of its entry in the log
	prepared bool   // whether addVoters has added the voters of an import
}

// choosePartition returns the index of the partition to post to. The same link always goes to the same
// partition; without a link, so does the same idempotency key. If the key's partition differs from the
// link's, claim is the record in the key's partition, which the post must write first.
func (r *Repo) choosePartition(poster site.UserName, o postOptions) (index int, claim string) {
	n := len(r.Store.Partitions)
	keyed := keys.KeyIndex(n, poster, o.key)
	switch {
	case o.link == "" && o.key == "":
		return rand.IntN(n), "" // #nosec G404 -- spreads articles, hides nothing
	case o.link == "":
		return keyed, ""
	}
	index = keys.LinkIndex(n, o.link)
	if o.key != "" && keyed != index {
		claim = r.Store.Partitions[keyed].Post(poster, o.key)
	}
	return index, claim
}

// ClaimedArticle stands for the article in the record of a claim, before its number is known.
const ClaimedArticle = "-"

// unclaim removes the claim of a post that is refused with err. If it stays, it only refuses the key to other drafts.
func (r *Repo) unclaim(ctx context.Context, claim string, err error) {
	if claim != "" && errors.As(err, new(site.Refusal)) {
		_ = r.Store.Client.Del(ctx, claim).Err()
	}
}

// drawNumber draws an article number. In the same round trip it reads the first name that claimed the look of the poster's name,
// and if there is a claim to make, claims the idempotency key for the digest, and returns the record of the first claim. The first
// post of a user claims the look in a further round trip.
func (r *Repo) drawNumber(ctx context.Context, index int, poster site.UserName, claim string, o postOptions) (n int64, namesake site.UserName, record string, err error) {
	var number *redis.IntCmd
	var name *redis.StringCmd
	var claimed *redis.Cmd
	err = r.Store.Write(ctx, func(pipe redis.Pipeliner) {
		name = pipe.Get(ctx, r.Sessions.Look(poster))
		if claim != "" {
			claimed = sessions.QueueClaim(ctx, pipe, claim, ClaimedArticle+" "+o.digest, site.PostRecordTTL)
		}
		number = pipe.IncrBy(ctx, r.Store.Partitions[index].Counter(), 1)
	})
	if err == nil && claimed != nil {
		record, err = sessions.FirstOf(claimed)
	}
	namesake = site.UserName(name.Val())
	if err == nil && namesake == "" {
		namesake, err = r.claimLook(ctx, index, poster, o)
	}
	return number.Val(), namesake, record, err
}

// claimLook claims the look of the poster's name, and returns the first name that claimed it. If the link is reserved, post.lua would
// refuse the post: so does claimLook, which then claims nothing.
func (r *Repo) claimLook(ctx context.Context, index int, poster site.UserName, o postOptions) (namesake site.UserName, err error) {
	reserved, err := r.checkReserved(ctx, index, o)
	if err != nil {
		return "", err
	}
	look := r.Sessions.Look(poster)
	if reserved != nil {
		// The same post, sent at the same time, may have reserved the link. It has claimed the look before that.
		first, err := r.Store.Client.Get(ctx, look).Result()
		if errors.Is(err, redis.Nil) {
			return "", reserved
		}
		return site.UserName(first), err
	}
	first, err := r.Sessions.ClaimLook(ctx, poster)
	return site.UserName(first), err
}

// checkReserved returns the Refusal of post.lua for a link that is reserved, or nil.
func (r *Repo) checkReserved(ctx context.Context, index int, o postOptions) (refusal, err error) {
	if o.link == "" {
		return nil, nil
	}
	record, err := r.Store.Client.Get(ctx, r.Store.Partitions[index].Link(o.link)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	first, since, _ := strings.Cut(record, " ")
	if at, err := site.ParseNumber(since); err == nil && r.Store.Now().Before(site.UnixTime(at).Add(r.Store.Rules.LinkWindow)) {
		return duplicateLink(first), nil
	}
	return nil, nil
}

func keyConflict() site.Refusal {
	return site.Refuse(site.Conflict, "idempotencyKey", "this idempotency key was used for another post: use a new one for each post")
}

// duplicateLink returns the refusal that names the first article with the link.
func duplicateLink(member string) error {
	first, err := site.ParseArticleID(member)
	if err != nil {
		return fmt.Errorf("record of a link: %w", err)
	}
	refusal := site.Refuse(site.DuplicateLink, "link", "this link was posted recently: see %v", first)
	refusal[0].Article = &first
	return refusal
}

// postCall returns the keys and arguments of post.lua.
func (r *Repo) postCall(id site.ArticleID, poster site.UserName, s site.Submission, o postOptions) (scriptKeys []string, args []any) {
	p := r.Store.Partition(id)
	scriptKeys = append(make([]string, 0, 32),
		p.Article(id),           // KEYS[1] article
		p.Voted(id),             // KEYS[2] voted
		p.Downvoted(id),         // KEYS[3] downvoted
		p.Ranking(site.ByTime),  // KEYS[4] times
		p.Ranking(site.ByScore), // KEYS[5] scores
		p.Groups(),              // KEYS[6] group_names
		p.Counter(),             // KEYS[7] counter
		p.Post(poster, o.key),   // KEYS[8] record
		p.Link(o.link),          // KEYS[9] link_record
		p.Sizes(),               // KEYS[10] sizes
		p.Clock(""),             // KEYS[11] clock
		p.Front(),               // KEYS[12] pages
		p.Events(),              // KEYS[13] events
		p.Views(),               // KEYS[14] views
	)
	own := p.Lists(poster, s.Link)
	scriptKeys = append(scriptKeys, own...) // KEYS[15...] list
	scriptKeys = lists.GroupKeys(lists.GroupKeys(scriptKeys, p, site.Interesting), p, s.Groups...)
	if r.Store.Has("cast") {
		scriptKeys = append(scriptKeys, p.Cast(poster, o.month))
	}
	return scriptKeys, []any{
		id.String(), // ARGV[1] member
		strconv.Itoa(int(id) / len(r.Store.Partitions)), // ARGV[2] number
		poster.Member(),                          // ARGV[3] poster
		s.Title,                                  // ARGV[4] title
		s.Link,                                   // ARGV[5] link
		s.Text,                                   // ARGV[6] text
		o.at,                                     // ARGV[7] posted_at
		o.votes,                                  // ARGV[8] votes
		r.Store.Rules.PosterVotes,                // ARGV[9] counted
		r.Store.Rules.RankingText(),              // ARGV[10] ranking
		site.Seconds(r.Store.Rules.VotingWindow), // ARGV[11] window
		site.Seconds(site.VoterMargin),           // ARGV[12] margin
		r.Store.Rules.InterestingVotes,           // ARGV[13] interesting_votes
		site.GroupText(s.Groups),                 // ARGV[14] group_text
		r.Store.ScriptNow(),                      // ARGV[15] now
		o.digest,                                 // ARGV[16] digest
		site.Seconds(site.PostRecordTTL),         // ARGV[17] record_ttl
		o.kind,                                   // ARGV[18] kind
		o.reserved,                               // ARGV[19] reserved
		o.prepared,                               // ARGV[20] prepared
		r.Store.On,                               // ARGV[21] features
		len(own),                                 // ARGV[22] list_count
	}
}

// firstPost returns the article that an idempotency key was first used for.
func (r *Repo) firstPost(ctx context.Context, member string) (*site.Article, error) {
	id, err := site.ParseArticleID(member)
	if err != nil {
		return nil, fmt.Errorf("record of an idempotency key: %w", err)
	}
	articles, errs := r.Articles.ReadArticles(ctx, []site.ArticleID{id})
	if a := articles[0]; a != nil && a.DeletedAt != nil {
		return nil, site.Refuse(site.NotFound, "idempotencyKey", "the article posted with this idempotency key was deleted: it was %v", id)
	}
	return articles[0], errs[0]
}

// isStoredAs reports whether the hash has this submission by this poster.
func isStoredAs(s site.Submission, h articles.Hash, poster site.UserName) bool {
	return h.Poster == poster.Member() && h.Title == s.Title && h.Link == s.Link && h.Text == s.Text
}

// formatWindow formats a duration for a message: 168h0m0s as 7 days.
func formatWindow(d time.Duration) string {
	if d%site.Day == 0 && d > site.Day {
		return fmt.Sprintf("%d days", d/site.Day)
	}
	return d.String()
}
