package check

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// facts are what the store says about one article at one moment.
type facts struct {
	id                site.ArticleID
	hash              *redis.MapStringStringCmd
	time, score       place
	voted, downvoted  *redis.IntCmd
	votedTTL, downTTL *redis.DurationCmd
	both              []string          // users in both sets of voters
	posterVoted       *redis.BoolCmd    // read for poster
	lists             []string          // those that should have it by its time, for poster and link
	listed            []*redis.FloatCmd // its time in them
	interesting       bool
	auditTTL          *redis.DurationCmd
	voids             *redis.IntCmd
	deleted           place
	versions          *redis.StringSliceCmd
	posted            site.Hour         // of its posting time, from an earlier read
	calendars         []inCalendar      // for posted
	isSettled         bool              // the views have all entries of the log about it
	groups            []*redis.BoolCmd  // for each of GroupText
	indexed           []*redis.FloatCmd // for each of GroupText
	poster, groupText string            // from an earlier read of the hash, like link
	link              string
}

// articles checks a batch of members of a sorted set, and returns how many are articles. The keys of an
// article depend on its hash, so that is read before the transaction, and again within it: articles that
// were regrouped in between are read again.
func (c *checker) articles(ctx context.Context, p keys.Partition, where string, members []string, check func(keys.Partition, site.ArticleID, facts)) (int, error) {
	ids := make([]site.ArticleID, 0, len(members))
	for _, member := range members {
		id, err := site.ParseArticleID(member)
		if err != nil || id.String() != member {
			c.reportf("%s: is in %s, but no article can have that id", member, where)
			continue
		}
		if c.Repo.Store.Partition(id) != p {
			c.reportf("%s: belongs to another partition", p.Article(id))
		}
		c.highest = max(c.highest, id)
		ids = append(ids, id)
	}
	n := len(ids)
	for len(ids) > 0 {
		members := site.Collect(ids, site.ArticleID.String)
		before, posted := make([]*redis.SliceCmd, len(ids)), (*redis.SliceCmd)(nil)
		err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, id := range ids {
				before[i] = pipe.HMGet(ctx, p.Article(id), site.FieldGroups, site.FieldPoster, site.FieldLink)
			}
			posted = queuePlaces(ctx, pipe, p.Ranking(site.ByTime), members)
		}, wire.Atomic)
		if err != nil {
			return n, err
		}
		batch := make([]facts, len(ids))
		var times, scores, deleted *redis.SliceCmd
		var interesting *redis.BoolSliceCmd
		err = c.Store.Read(ctx, func(pipe redis.Pipeliner) {
			c.lags[p].Queue(ctx, pipe)
			times, scores = queuePlaces(ctx, pipe, p.Ranking(site.ByTime), members), queuePlaces(ctx, pipe, p.Ranking(site.ByScore), members)
			deleted = queuePlaces(ctx, pipe, p.Deleted(), members)
			interesting = pipe.SMIsMember(ctx, p.Group(site.Interesting), wire.Anys(members)...)
			for i, id := range ids {
				batch[i] = c.queue(ctx, pipe, p, id, wire.Reply(before[i].Val()))
				batch[i].posted = site.HourOf(placeIn(posted, i).score)
				batch[i].calendars = c.queueCalendars(ctx, pipe, p, id, batch[i].posted, site.GroupNames(batch[i].groupText))
			}
		}, wire.Atomic)
		if err != nil {
			return n, err
		}
		var again []site.ArticleID
		unsettled := c.lags[p].Articles()
		for i, id := range ids {
			batch[i].isSettled = !unsettled[id]
			batch[i].time, batch[i].score, batch[i].deleted = placeIn(times, i), placeIn(scores, i), placeIn(deleted, i)
			batch[i].interesting = interesting.Err() == nil && interesting.Val()[i]
			f, hash := batch[i], batch[i].hash.Val()
			if hash[site.FieldGroups] != f.groupText || hash[site.FieldPoster] != f.poster || hash[site.FieldLink] != f.link || f.time.has && site.HourOf(f.time.score) != f.posted {
				again = append(again, id)
				continue
			}
			if f.both, err = c.votedTwice(ctx, p, id, f); err != nil {
				return n, err
			}
			check(p, id, f)
		}
		if err := cmp.Or(c.links(ctx, p, batch), c.castsOf(ctx, p, batch), c.voidsOf(ctx, p, batch)); err != nil {
			return n, err
		}
		ids = again
	}
	return n, nil
}

// place says whether a sorted set has a member, and with which score.
type place struct {
	score float64
	has   bool
}

// queuePlaces queues the command that reads where a sorted set has some members: see placeIn.
func queuePlaces(ctx context.Context, pipe redis.Pipeliner, set string, members []string) *redis.SliceCmd {
	command := redis.NewSliceCmd(ctx, append([]any{"zmscore", set}, wire.Anys(members)...)...)
	_ = pipe.Process(ctx, command)
	return command
}

// placeIn returns the place of a member by its number in the call of queuePlaces. A key of the wrong type has no member.
func placeIn(places *redis.SliceCmd, i int) place {
	if places.Err() != nil {
		return place{}
	}
	switch score := places.Val()[i].(type) {
	case float64:
		return place{score, true}
	case string: // RESP2
		number, err := strconv.ParseFloat(score, 64)
		return place{number, err == nil}
	}
	return place{}
}

// votedTwice returns the members of both sets of voters. SINTER would block Redis if both are large.
func (c *checker) votedTwice(ctx context.Context, p keys.Partition, id site.ArticleID, f facts) (both []string, err error) {
	small, large := p.Downvoted(id), p.Voted(id)
	if f.voted.Val() < f.downvoted.Val() {
		small, large = large, small
	}
	if min(f.voted.Val(), f.downvoted.Val()) == 0 {
		return nil, nil
	}
	begin := func() { both = nil }
	err = c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.SScan, Key: small, Step: 1, Begin: begin, Handle: func(members []string) error {
		values := wire.Anys(members)
		var inSmall, inLarge *redis.BoolSliceCmd
		err := c.Store.Read(ctx, func(pipe redis.Pipeliner) { // a voter may have switched since the scan
			inSmall, inLarge = pipe.SMIsMember(ctx, small, values...), pipe.SMIsMember(ctx, large, values...)
		}, wire.Atomic)
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
func (c *checker) queue(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, id site.ArticleID, before wire.Reply) facts {
	groups, poster, link := before.Text(0), before.Text(1), before.Text(2)
	f := facts{
		id:          id,
		hash:        pipe.HGetAll(ctx, p.Article(id)),
		voted:       pipe.SCard(ctx, p.Voted(id)),
		downvoted:   pipe.SCard(ctx, p.Downvoted(id)),
		votedTTL:    pipe.PTTL(ctx, p.Voted(id)),
		downTTL:     pipe.PTTL(ctx, p.Downvoted(id)),
		posterVoted: pipe.SIsMember(ctx, p.Voted(id), poster),
		lists:       p.Lists(site.UserOf(poster), link),
		auditTTL:    pipe.PTTL(ctx, p.Audit(id)),
		voids:       pipe.HLen(ctx, p.Void(id)),
		versions:    pipe.HKeys(ctx, p.History(id)),
		poster:      poster,
		groupText:   groups,
		link:        link,
	}
	for _, list := range f.lists {
		f.listed = append(f.listed, pipe.ZScore(ctx, list, id.String()))
	}
	for _, name := range site.GroupNames(groups) {
		f.groups = append(f.groups, pipe.SIsMember(ctx, p.Group(name), id.String()))
		f.indexed = append(f.indexed, pipe.ZScore(ctx, p.Groups(), string(name)))
	}
	return f
}

// article checks an article that is in time:.
func (c *checker) article(p keys.Partition, id site.ArticleID, f facts) {
	key := p.Article(id)
	if !f.time.has {
		return // deleted since it was listed
	}
	if f.deleted.has || f.hash.Val()[site.FieldDeleted] != "" {
		c.reportf("%s: is deleted, but in %s", key, p.Ranking(site.ByTime))
		return
	}
	a := new(articles.Decoded)
	err := c.Articles.Decode(id, articles.HashOf(f.hash.Val()), a)
	switch {
	case len(f.hash.Val()) == 0:
		c.reportf("%s: is in %s, but has no hash", key, p.Ranking(site.ByTime))
		return
	case err != nil:
		c.reportf("%s%v", p, err)
		return
	case !f.score.has:
		c.reportf("%s: is not in %s", key, p.Ranking(site.ByScore))
		return
	}
	if postedAt, _ := site.ParseNumber(f.hash.Val()[site.FieldTime]); postedAt != f.time.score {
		c.reportf("%s: time is %v, but %s says %v", key, postedAt, p.Ranking(site.ByTime), f.time.score)
	}
	if _, complete := f.hash.Val()[site.FieldGroups]; !complete {
		c.reportByBook("%s: has no groups", key)
		return
	}
	if f.time.score != math.Floor(f.time.score) {
		c.reportByBook("%s: was posted at a fraction of a second: %v", key, f.time.score)
	}
	if f.score.score != a.Score {
		c.reportByBook("%s: score is %.17g, not %.17g: time %v and %d votes", key, f.score.score, a.Score, f.time.score, a.Votes)
	}
	c.voters(p, &a.Article, f)
	c.edits(p, &a.Article, f)

	if f.isSettled {
		c.places(p, &a.Article, f)
	}
	for i, listed := range f.listed {
		if listed.Err() != nil || listed.Val() != f.time.score {
			c.reportf("%s: is not in %s with its time", key, f.lists[i])
		}
	}
	switch {
	case a.IsInteresting && !f.interesting:
		c.reportByBook("%s: is not in %s, but has %d votes", key, p.Group(site.Interesting), a.Votes)
	case !a.IsInteresting && f.interesting:
		c.reportf("%s: is in %s, but has only %d votes", key, p.Group(site.Interesting), a.Votes)
	}
	if !slices.IsSorted(a.Groups) || len(slices.Compact(slices.Clone(a.Groups))) != len(a.Groups) {
		c.reportf("%s: groups are not sorted or not unique: %v", key, a.Groups)
	}
	if both := c.Store.Rules.TwoOfOne(a.Groups); c.families && both != "" {
		c.reportf("%s: %s", key, both)
	}
	for i, name := range a.Groups {
		if !f.groups[i].Val() {
			c.reportByBook("%s: is not in %s", key, p.Group(name))
		}
		if f.indexed[i].Err() != nil {
			c.reportf("%s: its group %s is not in %s", key, name, p.Groups())
		}
	}
}

// deleted checks an article that is in the sorted set deleted:.
func (c *checker) deleted(p keys.Partition, id site.ArticleID, f facts) {
	key := p.Article(id)
	if !f.deleted.has || f.time.has {
		return // undeleted since it was listed, or reported by article
	}
	a := new(articles.Decoded)
	err := c.Articles.Decode(id, articles.HashOf(f.hash.Val()), a)
	switch {
	case len(f.hash.Val()) == 0:
		c.reportf("%s: is in %s, but has no hash", key, p.Deleted())
		return
	case err != nil:
		c.reportf("%s%v", p, err)
		return
	case a.DeletedAt == nil:
		c.reportf("%s: is in %s, but its hash does not say so", key, p.Deleted())
		return
	}
	if *a.DeletedBy == "" {
		c.reportf("%s: is deleted, but deleted_by is missing", key)
	}
	if at, _ := site.ParseNumber(f.hash.Val()[site.FieldDeleted]); at != f.deleted.score {
		c.reportf("%s: deleted is %v, but %s says %v", key, at, p.Deleted(), f.deleted.score)
	}
	for i, listed := range f.listed {
		if listed.Err() == nil {
			c.reportf("%s: is deleted, but in %s", key, f.lists[i])
		}
	}
	// If it is still in score: or in a group, the checks of those report it, as they report every article
	// that is not in time:.
	c.voters(p, &a.Article, f)
	c.edits(p, &a.Article, f)
}

// edits checks what an article says about its edits, the versions that they replaced, and its milestone.
func (c *checker) edits(p keys.Partition, a *site.Article, f facts) {
	key, h := p.Article(a.ID), articles.HashOf(f.hash.Val())
	if text, ok := f.hash.Val()[site.FieldMilestone]; ok {
		if n, err := strconv.Atoi(text); err != nil || n < 1 {
			c.reportf("%s: milestone is %q", key, text)
		}
	}
	edition, err := site.ParseNumber(h.Edition)
	if err != nil || edition < 0 || int64(edition) > a.Stored.Revision {
		c.reportf("%s: edition is %q, but revision is %d", key, h.Edition, a.Stored.Revision)
	}
	if (a.Stored.Edits > 0) != (h.Edited != "") {
		c.reportf("%s: edits are %q, but edited is %q", key, h.Edits, h.Edited)
	}
	if err := f.versions.Err(); err != nil {
		c.reportf("%s: has the wrong type", p.History(a.ID))
		return
	}
	fields := slices.DeleteFunc(f.versions.Val(), func(field string) bool { return field == redisrepo.FieldBest })
	if kept := min(a.Stored.Edits, site.MaxVersions); int64(len(fields)) != kept {
		c.reportf("%s: has %d versions, not %d: the article was edited %d times", p.History(a.ID), len(fields), kept, a.Stored.Edits)
	}
}

// voters checks the sets of an article's voters against its counts.
func (c *checker) voters(p keys.Partition, a *site.Article, f facts) {
	key := p.Article(a.ID)
	keys := []string{p.Voted(a.ID), p.Downvoted(a.ID), p.Audit(a.ID)}
	for i, ttl := range []*redis.DurationCmd{f.votedTTL, f.downTTL, f.auditTTL} {
		if ttl.Val() == noExpiry {
			c.reportf("%s: does not expire", keys[i])
		}
	}
	if len(f.both) > 0 {
		c.reportByBook("%s: %v are in both sets of voters", key, f.both)
	}
	uncounted := 0
	if !a.Stored.PosterVotes {
		uncounted = 1
	}
	open := !c.Store.Now().Truncate(time.Second).After(a.VotingEndsAt)
	exist := f.voted.Val() > 0 || f.downvoted.Val() > 0
	if !open && !exist {
		return // the voters are forgotten
	}
	// The sets expire together, after the window; but a set without members does not exist.
	if open || f.votedTTL.Val() > 0 {
		if f.voted.Val() != int64(a.Upvotes+uncounted) {
			c.reportf("%s: has %d members, not %d", p.Voted(a.ID), f.voted.Val(), a.Upvotes+uncounted)
		}
		if uncounted == 1 && !f.posterVoted.Val() {
			c.reportf("%s: lacks the poster", p.Voted(a.ID))
		}
	}
	if open || f.downTTL.Val() > 0 {
		if f.downvoted.Val() != int64(a.Downvotes) {
			c.reportf("%s: has %d members, not %d", p.Downvoted(a.ID), f.downvoted.Val(), a.Downvotes)
		}
	}
}

// noExpiry is the PTTL of a key that does not expire, as go-redis returns it.
const noExpiry = -1
