package redisrepo

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// castMember is a member of cast:USER:MONTH.
type castMember struct {
	key     string
	voter   UserName
	month   int64
	article ArticleID
	vote    Vote // Up or Down
}

// member is how cast:USER:MONTH has a vote on an article.
func (v Vote) member(id ArticleID) string {
	if v == Down {
		return "-" + id.number()
	}
	return id.number()
}

// castKeys checks the histories of votes in some keys. Most have few members and are read together; the others follow in
// parts.
func (c *checker) castKeys(ctx context.Context, p partition, keys []string) error {
	members, expiries := make([]*redis.StringSliceCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	_, err := c.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, key := range keys {
			members[i], expiries[i] = pipe.ZRange(ctx, key, 0, batchSize-1), pipe.PTTL(ctx, key)
		}
	})
	if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return err
	}
	var few []castMember
	for i, key := range keys {
		colon := strings.LastIndexByte(key, ':')
		voter := strings.TrimPrefix(key[:colon], p.key(castPrefix))
		month, err := strconv.ParseInt(key[colon+1:], 10, 64)
		switch {
		case err != nil || voter == "" || p.cast(UserName(voter), month) != key:
			c.reportf("%s: is not the key of a user's votes in a month", key)
			continue
		case !c.has("cast"):
			c.reportf("%s: exists, but the site keeps no lists of votes", key)
		case members[i].Err() != nil:
			if err := c.wrongType(key, members[i].Err()); err != nil {
				return err
			}
			continue
		case expiries[i].Val() == noExpiry && c.rules.VoteHistory > 0:
			c.reportf("%s: does not expire", key)
		}
		if len(members[i].Val()) < batchSize {
			few = append(few, c.castMembers(key, UserName(voter), month, members[i].Val())...)
			continue
		}
		err = c.scan(ctx, scan{command: redis.Cmdable.ZScan, key: key, step: 2, handle: func(members []string) error {
			return c.castVotes(ctx, p, c.castMembers(key, UserName(voter), month, members))
		}})
		if err := c.wrongType(key, err); err != nil {
			return err
		}
	}
	for len(few) > 0 {
		n := min(batchSize, len(few))
		if err := c.castVotes(ctx, p, few[:n]); err != nil {
			return err
		}
		few = few[n:]
	}
	return nil
}

// castMembers parses the members of a key.
func (c *checker) castMembers(key string, voter UserName, month int64, members []string) (parsed []castMember) {
	for _, member := range members {
		vote := voteOfMember(member)
		id, err := ParseArticleID(strings.TrimPrefix(member, "-"))
		switch {
		case member == castCut:
		case err != nil || vote.member(id) != member:
			c.reportf("%s: has %q, which is no vote", key, member)
		default:
			parsed = append(parsed, castMember{key, voter, month, id, vote})
		}
	}
	return parsed
}

// castVotes checks votes in histories against the articles, and against the sets of voters while these are kept.
func (c *checker) castVotes(ctx context.Context, p partition, votes []castMember) error {
	type replies struct {
		hash *redis.SliceCmd
		isIn *redis.BoolCmd
		size *redis.IntCmd
	}
	read := make([]replies, len(votes))
	var times []*redis.FloatSliceCmd                       // of both members of each vote
	err := c.transaction(ctx, func(pipe redis.Pipeliner) { // votes may have changed since the history was read
		for some := range runs(votes, func(v castMember) string { return v.key }) {
			var members []string
			for _, v := range some {
				members = append(members, v.vote.member(v.article), (-v.vote).member(v.article))
			}
			times = append(times, pipe.ZMScore(ctx, some[0].key, members...))
		}
		for i, v := range votes {
			set := voterSet{article: v.article, vote: v.vote}.key(p)
			read[i].hash = pipe.HMGet(ctx, p.article(v.article), fieldTime)
			if c.votersMayExist(v.month) {
				read[i].isIn, read[i].size = pipe.SIsMember(ctx, set, v.voter.member()), pipe.SCard(ctx, set)
			}
		}
	})
	if err != nil {
		return err
	}
	var all []float64
	for _, some := range times {
		all = append(all, some.Val()...)
	}
	if len(all) != 2*len(votes) {
		return nil // a key has another type now
	}
	for i, v := range votes {
		member, time, set := v.vote.member(v.article), reply(read[i].hash.Val()).text(0), voterSet{article: v.article, vote: v.vote}.key(p)
		postedAt, err := parseNumber(time)
		switch {
		case all[2*i] == 0:
			continue // changed since
		case c.Repo.partition(v.article) != p:
			c.reportf("%s: has %s, which belongs to another partition", v.key, member)
		case time == "":
			c.reportf("%s: has %s, but %s does not exist", v.key, member, p.article(v.article))
		case err == nil && hourOf(postedAt).month() != v.month:
			c.reportf("%s: has %s, but %s was posted in the month %d", v.key, member, p.article(v.article), hourOf(postedAt).month())
		case read[i].isIn != nil && read[i].isIn.Err() == nil && !read[i].isIn.Val() && (read[i].size.Val() > 0 || c.votersKept(postedAt)):
			c.reportf("%s: has %s, but %s is not in %s", v.key, member, v.voter.member(), set)
		}
		if all[2*i+1] != 0 {
			c.reportf("%s: has both %s and -%s", v.key, v.article.number(), v.article.number())
		}
	}
	return nil
}

// votersMayExist reports whether articles posted in a month may still have sets of voters.
func (c *checker) votersMayExist(month int64) bool {
	return c.now().Before(time.Unix((month+1)*seconds(castMonth), 0).Add(c.rules.VotingWindow + 2*voterMargin))
}

// votersKept reports whether the sets of voters of an article posted at a time exist, except for an empty one.
func (c *checker) votersKept(postedAt float64) bool {
	end := unixTime(postedAt).Add(c.rules.VotingWindow)
	return !c.now().Truncate(time.Second).After(end) && postedAt >= float64(c.forgotten.Load())
}

// castsOf checks that the votes in the sets of voters of some articles are in the histories. Votes of legacy clients are not,
// nor those from before the histories were kept: complete tells which articles have none.
func (c *checker) castsOf(ctx context.Context, p partition, batch []facts) error {
	var sets []voterSet
	months := map[ArticleID]int64{}
	for _, f := range batch {
		a := new(decoded)
		if c.decode(f.id, hashOf(f.hash.Val()), a) != nil || !c.complete(&a.Article) {
			continue
		}
		month := hourOf(a.postedAt).month()
		if end := c.castExpiry(month); !end.IsZero() && !c.now().Add(time.Minute).Before(end) {
			continue // Redis, whose clock may differ, may have forgotten the votes
		}
		months[f.id] = month
		sets = append(sets, voterSet{f.id, Up, f.voted.Val()}, voterSet{f.id, Down, f.downvoted.Val()})
	}
	err := c.eachVoter(ctx, p, sets, batchSize, func(voters []named) error { return c.areCast(ctx, p, months, voters) })
	return c.wrongType(p.key("voted:"), err)
}

// areCast reports voters whose history lacks their vote on an article.
func (c *checker) areCast(ctx context.Context, p partition, months map[ArticleID]int64, voters []named) error {
	hashes := map[ArticleID]*redis.SliceCmd{}
	var isIn, isInOther []*redis.BoolSliceCmd
	times := make([]*redis.FloatSliceCmd, len(voters))
	err := c.transaction(ctx, func(pipe redis.Pipeliner) { // votes may have changed since the set was read
		for some := range runs(voters, func(v named) voterSet { return v.voterSet }) {
			set := some[0].voterSet
			if hashes[set.article] == nil {
				hashes[set.article] = pipe.HMGet(ctx, p.article(set.article), fieldVotes, fieldCast)
			}
			members := make([]any, len(some))
			for i, v := range some {
				members[i] = v.voter.member()
			}
			other := voterSet{article: set.article, vote: -set.vote}
			isIn, isInOther = append(isIn, pipe.SMIsMember(ctx, set.key(p), members...)), append(isInOther, pipe.SMIsMember(ctx, other.key(p), members...))
		}
		for i, v := range voters {
			times[i] = pipe.ZMScore(ctx, p.cast(v.voter, months[v.article]), v.vote.member(v.article), castCut)
		}
	})
	if err != nil {
		return err
	}
	var still, inOther []bool
	for i := range isIn {
		still, inOther = append(still, isIn[i].Val()...), append(inOther, isInOther[i].Val()...)
	}
	if len(still) != len(voters) || len(inOther) != len(voters) {
		return nil // a set has another type, which is reported
	}
	for i, v := range voters {
		hash, found := reply(hashes[v.article].Val()), times[i].Val()
		changed := hash.text(0) != hash.text(1) || !still[i] || inOther[i] // or in both sets, which is reported
		if changed || len(found) != 2 || found[0] != 0 || found[1] != 0 {
			continue // without two times, the history has another type, which castKeys reports
		}
		c.reportf("%s: lacks %s, but %s is in %s", p.cast(v.voter, months[v.article]), v.vote.member(v.article), v.voter.member(), v.key(p))
	}
	return nil
}

// runs yields the parts of a list whose elements have the same key.
func runs[T any, K comparable](list []T, key func(T) K) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for first := 0; first < len(list); {
			next := first + 1
			for next < len(list) && key(list[next]) == key(list[first]) {
				next++
			}
			if !yield(list[first:next]) {
				return
			}
			first = next
		}
	}
}
