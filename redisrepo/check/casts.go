package check

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/voids"
	"frontpage/redisrepo/wire"
)

// castMember is a member of cast:USER:MONTH.
type castMember struct {
	key     string
	voter   site.UserName
	month   int64
	article site.ArticleID
	vote    site.Vote // Up or Down
}

// castKeys checks the histories of votes in some keys. Most have few members and are read together; the others follow in
// parts.
func (c *checker) castKeys(ctx context.Context, p keys.Partition, names []string) error {
	members, expiries := make([]*redis.StringSliceCmd, len(names)), make([]*redis.DurationCmd, len(names))
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, key := range names {
			members[i], expiries[i] = pipe.ZRange(ctx, key, 0, wire.BatchSize-1), pipe.PTTL(ctx, key)
		}
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return err
	}
	var few []castMember
	for i, key := range names {
		colon := strings.LastIndexByte(key, ':')
		voter := strings.TrimPrefix(key[:colon], p.Key(keys.CastPrefix))
		month, err := strconv.ParseInt(key[colon+1:], 10, 64)
		switch {
		case err != nil || voter == "" || p.Cast(site.UserName(voter), month) != key:
			c.reportf("%s: is not the key of a user's votes in a month", key)
			continue
		case !c.Store.Has("cast"):
			c.reportf("%s: exists, but the site keeps no lists of votes", key)
		case members[i].Err() != nil:
			if err := c.wrongType(key, members[i].Err()); err != nil {
				return err
			}
			continue
		case expiries[i].Val() == noExpiry && c.Store.Rules.VoteHistory > 0:
			c.reportf("%s: does not expire", key)
		}
		if len(members[i].Val()) < wire.BatchSize {
			few = append(few, c.castMembers(key, site.UserName(voter), month, members[i].Val())...)
			continue
		}
		err = c.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: key, Step: 2, Handle: func(members []string) error {
			return c.castVotes(ctx, p, c.castMembers(key, site.UserName(voter), month, members))
		}})
		if err := c.wrongType(key, err); err != nil {
			return err
		}
	}
	return wire.InBatches(func(some []castMember) error { return c.castVotes(ctx, p, some) })(few)
}

// castMembers parses the members of a key.
func (c *checker) castMembers(key string, voter site.UserName, month int64, members []string) (parsed []castMember) {
	for _, member := range members {
		vote := casts.VoteOfMember(member)
		id, err := site.ParseArticleID(strings.TrimPrefix(member, "-"))
		switch {
		case member == casts.CastCut:
		case err != nil || vote.Member(id) != member:
			c.reportf("%s: has %q, which is no vote", key, member)
		default:
			parsed = append(parsed, castMember{key, voter, month, id, vote})
		}
	}
	return parsed
}

// castVotes checks votes in histories against the articles, and against the sets of voters while these are kept.
func (c *checker) castVotes(ctx context.Context, p keys.Partition, votes []castMember) error {
	votes, err := c.doubtful(ctx, p, votes)
	if err != nil || len(votes) == 0 {
		return err
	}
	type replies struct {
		hash *redis.SliceCmd
		void *redis.StringCmd
		isIn *redis.BoolCmd
		size *redis.IntCmd
	}
	read := make([]replies, len(votes))
	var times []*redis.FloatSliceCmd                     // of both members of each vote
	err = c.Store.Read(ctx, func(pipe redis.Pipeliner) { // votes may have changed since the history was read
		c.lags[p].Queue(ctx, pipe)
		for some := range layout.Runs(votes, func(v castMember) string { return v.key }) {
			var members []string
			for _, v := range some {
				members = append(members, v.vote.Member(v.article), (-v.vote).Member(v.article))
			}
			times = append(times, pipe.ZMScore(ctx, some[0].key, members...))
		}
		for i, v := range votes {
			set := articles.VoterSet{Article: v.article, Vote: v.vote}.Key(p)
			read[i].hash = pipe.HMGet(ctx, p.Article(v.article), site.FieldTime)
			read[i].void = pipe.HGet(ctx, p.Void(v.article), v.voter.Member()) // such votes stay in the history
			if c.votersMayExist(v.month) {
				read[i].isIn, read[i].size = pipe.SIsMember(ctx, set, v.voter.Member()), pipe.SCard(ctx, set)
			}
		}
	}, wire.Atomic)
	if err != nil {
		return err
	}
	unsettled := c.lags[p].Articles()
	var all []float64
	for _, some := range times {
		all = append(all, some.Val()...)
	}
	if len(all) != 2*len(votes) {
		return nil // a key has another type now
	}
	for i, v := range votes {
		member, time, set := v.vote.Member(v.article), wire.Reply(read[i].hash.Val()).Text(0), articles.VoterSet{Article: v.article, Vote: v.vote}.Key(p)
		postedAt, err := site.ParseNumber(time)
		switch {
		case all[2*i] == 0, unsettled[v.article]:
			continue // changed since, or not yet
		case c.Repo.Store.Partition(v.article) != p:
			c.reportf("%s: has %s, which belongs to another partition", v.key, member)
		case time == "":
			c.reportf("%s: has %s, but %s does not exist", v.key, member, p.Article(v.article))
		case err == nil && site.HourOf(postedAt).Month() != v.month:
			c.reportf("%s: has %s, but %s was posted in the month %d", v.key, member, p.Article(v.article), site.HourOf(postedAt).Month())
		case read[i].isIn != nil && read[i].isIn.Err() == nil && !read[i].isIn.Val() && read[i].void.Val() == "" && (read[i].size.Val() > 0 || c.votersKept(postedAt)):
			c.reportf("%s: has %s, but %s is not in %s", v.key, member, v.voter.Member(), set)
		}
		if all[2*i+1] != 0 {
			c.reportf("%s: has both %s and -%s", v.key, v.article.Number(), v.article.Number())
		}
	}
	return nil
}

// doubtful returns those of some votes in histories that may contradict the articles: few commands tell that of most.
func (c *checker) doubtful(ctx context.Context, p keys.Partition, votes []castMember) ([]castMember, error) {
	posted, isIn := make([]*redis.SliceCmd, len(votes)), make([]*redis.BoolCmd, len(votes))
	var others []*redis.SliceCmd // where the histories have the opposite votes
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for some := range layout.Runs(votes, func(v castMember) string { return v.key }) {
			members := site.Collect(some, func(v castMember) string { return (-v.vote).Member(v.article) })
			others = append(others, queuePlaces(ctx, pipe, some[0].key, members))
		}
		for i, v := range votes {
			posted[i] = pipe.HMGet(ctx, p.Article(v.article), site.FieldTime)
			if c.votersMayExist(v.month) {
				isIn[i] = pipe.SIsMember(ctx, articles.VoterSet{Article: v.article, Vote: v.vote}.Key(p), v.voter.Member())
			}
		}
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, err
	}
	var isDouble []bool
	for _, some := range others {
		for i := range some.Val() {
			isDouble = append(isDouble, placeIn(some, i).has)
		}
	}
	if len(isDouble) != len(votes) {
		return nil, nil // a key has another type now
	}
	var doubtful []castMember
	for i, v := range votes {
		text := wire.Reply(posted[i].Val()).Text(0)
		time, err := site.ParseNumber(text)
		isRight := err == nil && text != "" && site.HourOf(time).Month() == v.month && c.Repo.Store.Partition(v.article) == p
		if !isRight || isDouble[i] || isIn[i] != nil && !isIn[i].Val() {
			doubtful = append(doubtful, v)
		}
	}
	return doubtful, nil
}

// votersMayExist reports whether articles posted in a month may still have sets of voters.
func (c *checker) votersMayExist(month int64) bool {
	return c.Store.Now().Before(time.Unix((month+1)*site.Seconds(casts.CastMonth), 0).Add(c.Store.Rules.VotingWindow + 2*site.VoterMargin))
}

// votersKept reports whether the sets of voters of an article posted at a time exist, except for an empty one.
func (c *checker) votersKept(postedAt float64) bool {
	end := site.UnixTime(postedAt).Add(c.Store.Rules.VotingWindow)
	return !c.Store.Now().Truncate(time.Second).After(end) && postedAt >= float64(c.Articles.Forgotten.Load())
}

// castsOf checks that the votes in the sets of voters of some articles are in the histories. Those from
// before the histories were kept are not: complete tells which articles have none.
func (c *checker) castsOf(ctx context.Context, p keys.Partition, batch []facts) error {
	var sets []articles.VoterSet
	months := map[site.ArticleID]int64{}
	for _, f := range batch {
		a := new(articles.Decoded)
		if c.Articles.Decode(f.id, articles.HashOf(f.hash.Val()), a) != nil || !c.Casts.Complete(&a.Article) {
			continue
		}
		month := site.HourOf(a.Stored.PostedAt).Month()
		if end := c.Casts.CastExpiry(month); !end.IsZero() && !c.Store.Now().Add(time.Minute).Before(end) {
			continue // Redis, whose clock may differ, may have forgotten the votes
		}
		months[f.id] = month
		sets = append(sets, articles.VoterSet{Article: f.id, Vote: site.Up, Size: f.voted.Val()}, articles.VoterSet{Article: f.id, Vote: site.Down, Size: f.downvoted.Val()})
	}
	err := c.Articles.EachVoter(ctx, p, sets, wire.BatchSize, func(voters []articles.Named) error { return c.areCast(ctx, p, months, voters) })
	return c.wrongType(p.Key("voted:"), err)
}

// areCast reports voters whose history lacks their vote on an article.
func (c *checker) areCast(ctx context.Context, p keys.Partition, months map[site.ArticleID]int64, voters []articles.Named) error {
	cast, err := wire.ReadEach(ctx, c.Store, voters, func(pipe redis.Pipeliner, v articles.Named) *redis.FloatCmd {
		return pipe.ZScore(ctx, p.Cast(v.Voter, months[v.Article]), v.Vote.Member(v.Article))
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return err
	}
	var lacking []articles.Named // as it seems
	for i, v := range voters {
		if cast[i].Err() != nil {
			lacking = append(lacking, v)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	voters = lacking
	hashes := map[site.ArticleID]*redis.SliceCmd{}
	var isIn, isInOther []*redis.BoolSliceCmd
	times := make([]*redis.FloatSliceCmd, len(voters))
	err = c.Store.Read(ctx, func(pipe redis.Pipeliner) { // votes may have changed since the set was read
		c.lags[p].Queue(ctx, pipe)
		for some := range layout.Runs(voters, func(v articles.Named) articles.VoterSet { return v.VoterSet }) {
			set := some[0].VoterSet
			if hashes[set.Article] == nil {
				hashes[set.Article] = pipe.HMGet(ctx, p.Article(set.Article), site.FieldVotes, site.FieldCast)
			}
			members := site.Collect(some, func(v articles.Named) any { return v.Voter.Member() })
			other := articles.VoterSet{Article: set.Article, Vote: -set.Vote}
			isIn, isInOther = append(isIn, pipe.SMIsMember(ctx, set.Key(p), members...)), append(isInOther, pipe.SMIsMember(ctx, other.Key(p), members...))
		}
		for i, v := range voters {
			times[i] = pipe.ZMScore(ctx, p.Cast(v.Voter, months[v.Article]), v.Vote.Member(v.Article), casts.CastCut)
		}
	}, wire.Atomic)
	if err != nil {
		return err
	}
	unsettled := c.lags[p].Articles()
	var still, inOther []bool
	for i := range isIn {
		still, inOther = append(still, isIn[i].Val()...), append(inOther, isInOther[i].Val()...)
	}
	if len(still) != len(voters) || len(inOther) != len(voters) {
		return nil // a set has another type, which is reported
	}
	for i, v := range voters {
		hash, found := wire.Reply(hashes[v.Article].Val()), times[i].Val()
		changed := hash.Text(0) != hash.Text(1) || !still[i] || unsettled[v.Article] || inOther[i] // or in both sets, which is reported
		if changed || len(found) != 2 || found[0] != 0 || found[1] != 0 {
			continue // without two times, the history has another type, which castKeys reports
		}
		c.reportf("%s: lacks %s, but %s is in %s", p.Cast(v.Voter, months[v.Article]), v.Vote.Member(v.Article), v.Voter.Member(), v.Key(p))
	}
	return nil
}

// voidsOf checks the votes on some articles that do not count: as many as the hashes say, and none of them counted.
func (c *checker) voidsOf(ctx context.Context, p keys.Partition, batch []facts) error {
	for _, f := range batch {
		key, stored := p.Void(f.id), f.hash.Val()[site.FieldVoided]
		if err := c.wrongType(key, f.voids.Err()); err != nil {
			return err
		}
		if n, err := strconv.Atoi(stored); stored != "" && (err != nil || n < 1) || n != int(f.voids.Val()) {
			c.reportf("%s: voided is %q, but %s has %d votes", p.Article(f.id), stored, key, f.voids.Val())
		}
		if f.voids.Val() == 0 {
			continue
		}
		all, err := c.Voids.Voided(ctx, f.id)
		if errors.Is(err, voids.ErrMalformed) {
			c.reportf("%s: %v", key, err)
			continue
		}
		if err != nil {
			return err
		}
		err = wire.InBatches(func(some []*voids.Void) error { return c.uncounted(ctx, p, f.id, some) })(all)
		if err != nil {
			return err
		}
	}
	return nil
}

// uncounted reports votes that do not count of users who are in the sets of voters.
func (c *checker) uncounted(ctx context.Context, p keys.Partition, id site.ArticleID, some []*voids.Void) error {
	members := site.Collect(some, func(v *voids.Void) string { return v.Voter.Member() })
	sets := []string{p.Voted(id), p.Downvoted(id)}
	are, still := make([]*redis.BoolSliceCmd, len(sets)), (*redis.SliceCmd)(nil)
	err := c.Store.Read(ctx, func(pipe redis.Pipeliner) { // they may have been put back since
		still = pipe.HMGet(ctx, p.Void(id), members...)
		for i, set := range sets {
			are[i] = pipe.SMIsMember(ctx, set, wire.Anys(members)...)
		}
	}, wire.Atomic)
	if err != nil {
		return err
	}
	for i, member := range members {
		for j, set := range sets {
			if are[j].Err() == nil && are[j].Val()[i] && still.Val()[i] != nil {
				c.reportf("%s: has %s, but a moderator took this vote out: void it again", set, member)
			}
		}
	}
	return nil
}
