package redisrepo

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// facts are what the store says about one article at one moment.
type facts struct {
	id                ArticleID
	hash              *redis.MapStringStringCmd
	time, score       *redis.FloatCmd
	voted, downvoted  *redis.IntCmd
	votedTTL, downTTL *redis.DurationCmd
	both              []string        // users in both sets of voters
	posterVoted       *redis.BoolCmd  // read for poster
	posterTime        *redis.FloatCmd // its time among the articles of poster
	host              HostName        // of link
	hostTime          *redis.FloatCmd // its time among the articles of host
	interesting       *redis.BoolCmd
	auditTTL          *redis.DurationCmd
	deleted           *redis.FloatCmd
	versions          *redis.StringSliceCmd
	posted            hour              // of its posting time, from an earlier read
	places            []inCalendar      // in the calendars, for posted
	groups            []*redis.BoolCmd  // for each of groupText
	indexed           []*redis.FloatCmd // for each of groupText
	poster, groupText string            // from an earlier read of the hash, like link
	link              string
}

// articles checks a batch of members of a sorted set, and returns how many are articles. The keys of an
// article depend on its hash, so that is read before the transaction, and again within it: articles that
// were regrouped in between are read again.
func (c *checker) articles(ctx context.Context, p partition, where string, members []string, check func(partition, ArticleID, facts)) (int, error) {
	ids := make([]ArticleID, 0, len(members))
	for _, member := range members {
		id, err := ParseArticleID(member)
		if err != nil || id.String() != member {
			c.reportf("%s: is in %s, but no article can have that id", member, where)
			continue
		}
		if c.Repo.partition(id) != p {
			c.reportf("%s: belongs to another partition", p.article(id))
		}
		c.highest = max(c.highest, id)
		ids = append(ids, id)
	}
	n := len(ids)
	for len(ids) > 0 {
		before, times := make([]*redis.SliceCmd, len(ids)), make([]*redis.FloatCmd, len(ids))
		err := c.transaction(ctx, func(pipe redis.Pipeliner) {
			for i, id := range ids {
				before[i] = pipe.HMGet(ctx, p.article(id), fieldGroups, fieldPoster, fieldLink)
				times[i] = pipe.ZScore(ctx, p.ranking(ByTime), id.String())
			}
		})
		if err != nil {
			return n, err
		}
		batch := make([]facts, len(ids))
		err = c.transaction(ctx, func(pipe redis.Pipeliner) {
			for i, id := range ids {
				batch[i] = c.queue(ctx, pipe, p, id, reply(before[i].Val()))
				batch[i].posted = hourOf(times[i].Val())
				batch[i].places = c.queuePlaces(ctx, pipe, p, id, batch[i].posted, groupNames(batch[i].groupText))
			}
		})
		if err != nil {
			return n, err
		}
		var again []ArticleID
		for i, id := range ids {
			f, hash := batch[i], batch[i].hash.Val()
			if hash[fieldGroups] != f.groupText || hash[fieldPoster] != f.poster || hash[fieldLink] != f.link || f.time.Err() == nil && hourOf(f.time.Val()) != f.posted {
				again = append(again, id)
				continue
			}
			if f.both, err = c.votedTwice(ctx, p, id, f); err != nil {
				return n, err
			}
			c.legacyPosts = c.legacyPosts || strings.Contains(hash[fieldTime], ".")
			check(p, id, f)
		}
		if err := cmp.Or(c.links(ctx, p, batch), c.castsOf(ctx, p, batch)); err != nil {
			return n, err
		}
		ids = again
	}
	return n, nil
}

// votedTwice returns the members of both sets of voters. SINTER would block Redis if both are large.
func (c *checker) votedTwice(ctx context.Context, p partition, id ArticleID, f facts) (both []string, err error) {
	small, large := p.downvoted(id), p.voted(id)
	if f.voted.Val() < f.downvoted.Val() {
		small, large = large, small
	}
	if min(f.voted.Val(), f.downvoted.Val()) == 0 {
		return nil, nil
	}
	begin := func() { both = nil }
	err = c.scan(ctx, scan{command: redis.Cmdable.SScan, key: small, step: 1, begin: begin, handle: func(members []string) error {
		values := make([]any, len(members))
		for i, member := range members {
			values[i] = member
		}
		var inSmall, inLarge *redis.BoolSliceCmd
		err := c.transaction(ctx, func(pipe redis.Pipeliner) { // a voter may have switched since the scan
			inSmall, inLarge = pipe.SMIsMember(ctx, small, values...), pipe.SMIsMember(ctx, large, values...)
		})
		for i, member := range members {
			if err == nil && inSmall.Val()[i] && inLarge.Val()[i] {
				both = append(both, member)
			}
		}
		return err
	}})
	return both, c.wrongType(small, err)
}

// queue queues the commands that read the facts of one article. before are groups, poster and link from an earlier read.
func (c *checker) queue(ctx context.Context, pipe redis.Pipeliner, p partition, id ArticleID, before reply) facts {
	groups, poster, link := before.text(0), before.text(1), before.text(2)
	host := HostOf(link)
	f := facts{
		id:          id,
		hash:        pipe.HGetAll(ctx, p.article(id)),
		time:        pipe.ZScore(ctx, p.ranking(ByTime), id.String()),
		score:       pipe.ZScore(ctx, p.ranking(ByScore), id.String()),
		voted:       pipe.SCard(ctx, p.voted(id)),
		downvoted:   pipe.SCard(ctx, p.downvoted(id)),
		votedTTL:    pipe.PTTL(ctx, p.voted(id)),
		downTTL:     pipe.PTTL(ctx, p.downvoted(id)),
		posterVoted: pipe.SIsMember(ctx, p.voted(id), poster),
		posterTime:  pipe.ZScore(ctx, p.posted(userOf(poster)), id.String()),
		host:        host,
		hostTime:    pipe.ZScore(ctx, p.host(host), id.String()),
		interesting: pipe.SIsMember(ctx, p.group(Interesting), id.String()),
		auditTTL:    pipe.PTTL(ctx, p.audit(id)),
		deleted:     pipe.ZScore(ctx, p.deleted(), id.String()),
		versions:    pipe.HKeys(ctx, p.history(id)),
		poster:      poster,
		groupText:   groups,
		link:        link,
	}
	for _, name := range groupNames(groups) {
		f.groups = append(f.groups, pipe.SIsMember(ctx, p.group(name), id.String()))
		f.indexed = append(f.indexed, pipe.ZScore(ctx, p.groups(), string(name)))
	}
	return f
}

// article checks an article that is in time:.
func (c *checker) article(p partition, id ArticleID, f facts) {
	key := p.article(id)
	if f.time.Err() != nil {
		return // deleted since it was listed
	}
	if f.deleted.Err() == nil || f.hash.Val()[fieldDeleted] != "" {
		c.reportf("%s: is deleted, but in %s", key, p.ranking(ByTime))
		return
	}
	a := new(decoded)
	err := c.decode(id, hashOf(f.hash.Val()), a)
	switch {
	case len(f.hash.Val()) == 0:
		c.reportf("%s: is in %s, but has no hash", key, p.ranking(ByTime))
		return
	case err != nil:
		c.reportf("%s%v", p, err)
		return
	case f.score.Err() != nil:
		c.reportf("%s: is not in %s", key, p.ranking(ByScore))
		return
	}
	if postedAt, _ := parseNumber(f.hash.Val()[fieldTime]); postedAt != f.time.Val() {
		c.reportf("%s: time is %v, but %s says %v", key, postedAt, p.ranking(ByTime), f.time.Val())
	}
	if f.score.Val() != a.Score {
		c.reportf("%s: score is %.17g, not %.17g: time %v and %d votes", key, f.score.Val(), a.Score, f.time.Val(), a.Votes)
	}
	c.voters(p, &a.Article, f)
	c.edits(p, &a.Article, f)

	_, complete := f.hash.Val()[fieldGroups]
	c.places(p, &a.Article, f, !complete)
	if !complete {
		return // only legacy clients wrote it
	}
	if f.posterTime.Err() != nil || f.posterTime.Val() != f.time.Val() {
		c.reportf("%s: is not in %s with its time", key, p.posted(a.Poster.Name))
	}
	if f.host != "" && (f.hostTime.Err() != nil || f.hostTime.Val() != f.time.Val()) {
		c.reportf("%s: is not in %s with its time", key, p.host(f.host))
	}
	switch {
	case a.IsInteresting && !f.interesting.Val():
		c.reportf("%s: is not in %s, but has %d votes", key, p.group(Interesting), a.Votes)
	case !a.IsInteresting && f.interesting.Val():
		c.reportf("%s: is in %s, but has only %d votes", key, p.group(Interesting), a.Votes)
	}
	if !slices.IsSorted(a.Groups) || len(slices.Compact(slices.Clone(a.Groups))) != len(a.Groups) {
		c.reportf("%s: groups are not sorted or not unique: %v", key, a.Groups)
	}
	if both := c.rules.twoOfOne(a.Groups); c.families && both != "" {
		c.reportf("%s: %s", key, both)
	}
	for i, name := range a.Groups {
		if !f.groups[i].Val() {
			c.reportf("%s: is not in %s", key, p.group(name))
		}
		if f.indexed[i].Err() != nil {
			c.reportf("%s: its group %s is not in %s", key, name, p.groups())
		}
	}
}

// deleted checks an article that is in the sorted set deleted:.
func (c *checker) deleted(p partition, id ArticleID, f facts) {
	key := p.article(id)
	if f.deleted.Err() != nil || f.time.Err() == nil {
		return // undeleted since it was listed, or reported by article
	}
	a := new(decoded)
	err := c.decode(id, hashOf(f.hash.Val()), a)
	switch {
	case len(f.hash.Val()) == 0:
		c.reportf("%s: is in %s, but has no hash", key, p.deleted())
		return
	case err != nil:
		c.reportf("%s%v", p, err)
		return
	case a.DeletedAt == nil:
		c.reportf("%s: is in %s, but its hash does not say so", key, p.deleted())
		return
	}
	if *a.DeletedBy == "" {
		c.reportf("%s: is deleted, but deleted_by is missing", key)
	}
	if at, _ := parseNumber(f.hash.Val()[fieldDeleted]); at != f.deleted.Val() {
		c.reportf("%s: deleted is %v, but %s says %v", key, at, p.deleted(), f.deleted.Val())
	}
	if f.posterTime.Err() == nil {
		c.reportf("%s: is deleted, but in %s", key, p.posted(a.Poster.Name))
	}
	if f.host != "" && f.hostTime.Err() == nil {
		c.reportf("%s: is deleted, but in %s", key, p.host(f.host))
	}
	// If it is still in score: or in a group, the checks of those report it, as they report every article
	// that is not in time:.
	c.voters(p, &a.Article, f)
	c.edits(p, &a.Article, f)
}

// edits checks what an article says about its edits, the versions that they replaced, and its milestone.
func (c *checker) edits(p partition, a *Article, f facts) {
	key, h := p.article(a.ID), hashOf(f.hash.Val())
	if text, ok := f.hash.Val()[fieldMilestone]; ok {
		if n, err := strconv.Atoi(text); err != nil || n < 1 {
			c.reportf("%s: milestone is %q", key, text)
		}
	}
	edition, err := parseNumber(h.edition)
	if err != nil || edition < 0 || int64(edition) > a.revision {
		c.reportf("%s: edition is %q, but revision is %d", key, h.edition, a.revision)
	}
	if (a.edits > 0) != (h.edited != "") {
		c.reportf("%s: edits are %q, but edited is %q", key, h.edits, h.edited)
	}
	if err := f.versions.Err(); err != nil {
		c.reportf("%s: has the wrong type", p.history(a.ID))
		return
	}
	fields := slices.DeleteFunc(f.versions.Val(), func(field string) bool { return field == fieldBest })
	if kept := min(a.edits, MaxVersions); int64(len(fields)) != kept {
		c.reportf("%s: has %d versions, not %d: the article was edited %d times", p.history(a.ID), len(fields), kept, a.edits)
	}
}

// voters checks the sets of an article's voters against its counts.
func (c *checker) voters(p partition, a *Article, f facts) {
	key := p.article(a.ID)
	if f.votedTTL.Val() == noExpiry {
		c.reportf("%s: does not expire", p.voted(a.ID))
	}
	if f.downTTL.Val() == noExpiry {
		c.reportf("%s: does not expire", p.downvoted(a.ID))
	}
	if f.auditTTL.Val() == noExpiry {
		c.reportf("%s: does not expire", p.audit(a.ID))
	}
	if len(f.both) > 0 {
		c.reportf("%s: %v are in both sets of voters", key, f.both)
	}
	uncounted := 0
	if !a.posterVotes {
		uncounted = 1
	}
	open := !c.now().Truncate(time.Second).After(a.VotingEndsAt)
	exist := f.voted.Val() > 0 || f.downvoted.Val() > 0
	if !open && !exist {
		return // the voters are forgotten
	}
	// The sets expire together, after the window; but a set without members does not exist.
	if open || f.votedTTL.Val() > 0 {
		if f.voted.Val() != int64(a.Upvotes+uncounted) {
			c.reportf("%s: has %d members, not %d", p.voted(a.ID), f.voted.Val(), a.Upvotes+uncounted)
		}
		if uncounted == 1 && !f.posterVoted.Val() {
			c.reportf("%s: lacks the poster", p.voted(a.ID))
		}
	}
	if open || f.downTTL.Val() > 0 {
		if f.downvoted.Val() != int64(a.Downvotes) {
			c.reportf("%s: has %d members, not %d", p.downvoted(a.ID), f.downvoted.Val(), a.Downvotes)
		}
	}
}

// noExpiry is the PTTL of a key that does not expire, as go-redis returns it.
const noExpiry = -1
