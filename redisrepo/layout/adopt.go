package layout

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/wire"
)

// adopting is the step of an upgrade or a start in which Adopt runs, for the log.
const adopting = "taking over what programs of the book have written"

// Adopt takes over the articles and votes of legacy clients, see package redisrepo, and returns the number of changed
// articles. The site can be used meanwhile. It is safe to interrupt and to repeat.
func (r *Layout) Adopt(ctx context.Context) (adopted int, err error) {
	if err := r.views.CatchUp(ctx); err != nil {
		return 0, failover.Wrap(adopting, err)
	}
	for _, p := range r.store.Partitions {
		n, err := r.adoptPartition(ctx, p, false)
		adopted += n
		if err != nil {
			return adopted, failover.Wrap(adopting, err)
		}
	}
	return adopted, nil
}

// newest is the number of articles that AdoptNew looks at.
const newest = 1000

// AdoptNew calls Adopt if one of the newest articles shows that a legacy client wrote to the store while no process of
// the site ran. A key of another type is not an error here: check reports it.
func (r *Layout) AdoptNew(ctx context.Context) (err error) {
	defer func() {
		if isWrongType(err) {
			err = nil
		}
	}()
	p := r.store.Partitions[0]
	if p != keys.Untagged || r.store.KeepRules {
		return nil
	}
	n, err := r.store.Listeners(ctx)
	if err != nil || n > 0 {
		return err
	}
	found, err := r.store.Client.ZRangeArgs(ctx, redis.ZRangeArgs{Key: p.Ranking(site.ByTime), Start: 0, Stop: newest - 1, Rev: true}).Result()
	if err != nil {
		return err
	}
	a := adoption{Layout: r, p: p}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	for some := range slices.Chunk(found, wire.BatchSize) {
		changed, err := a.changed(ctx, some)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			_, err = r.Adopt(ctx)
			return err
		}
	}
	return nil
}

// adoptBook is the upgrade from layout 0, that of the programs of the book. Nothing else is in the store yet.
func (r *Layout) adoptBook(ctx context.Context, p keys.Partition) error {
	_, err := r.adoptPartition(ctx, p, true)
	return err
}

// adoptRest is the upgrade from layout 8, in which articles of the programs of the book were taken over one by one, and each vote
// was in the list of its voter at once: the lists follow the log from now on.
func (r *Layout) adoptRest(ctx context.Context, p keys.Partition) error {
	err := r.store.Write(ctx, func(pipe redis.Pipeliner) { r.views.QueueBegin(ctx, pipe, p, "cast") })
	if err == nil {
		_, err = r.adoptPartition(ctx, p, false)
	}
	return err
}

// adoption is a call of Adopt for a partition.
type adoption struct {
	*Layout
	p       keys.Partition
	isFirst bool                                // only programs of the book have used the store
	isRuled bool                                // scores follow the rules
	added   map[site.ArticleID][]site.GroupName // groups whose sets have an article, but which its hash does not list
	lag     *views.Lag
}

// found is an article that a program of the book has changed.
type found struct {
	id           site.ArticleID
	poster, link string
	time         float64
	names        []site.GroupName // that it may be in
	doubles      []string         // voters in both sets
	differs      bool             // apart from that
}

func (r *Layout) adoptPartition(ctx context.Context, p keys.Partition, isFirst bool) (adopted int, err error) {
	a := adoption{Layout: r, p: p, isFirst: isFirst}
	if err := a.prepare(ctx); err != nil {
		return 0, err
	}
	if err := a.findGroups(ctx); err != nil {
		return 0, err
	}
	total, err := r.store.Client.ZCard(ctx, p.Ranking(site.ByTime)).Result()
	if err != nil {
		return 0, err
	}
	done := 0
	handle := func(members []string) error {
		n, err := a.adopt(ctx, members)
		adopted, done = adopted+n, done+len(members)
		r.OnProgress(adopting, min(done, int(total)), int(total))
		return err
	}
	err = r.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: p.Ranking(site.ByTime), Step: 2, Handle: handle})
	if err != nil {
		return adopted, err
	}
	// What is left is of deleted articles, or of others that were deleted meanwhile.
	var members []string
	for id := range a.added {
		members = append(members, id.String())
	}
	return adopted, wire.InBatches(handle)(members)
}

// prepare reads what changed compares articles with.
func (a *adoption) prepare(ctx context.Context) error {
	outdated, _, err := a.Outdated(ctx)
	a.isRuled = err == nil && len(outdated) == 0
	if err == nil && !a.isFirst {
		a.lag, err = a.views.NewLag(ctx, a.p)
	}
	return err
}

// findGroups finds the groups whose sets have articles that do not list them. It looks at all keys of the server, since
// no index has a group that only programs of the book know.
func (a *adoption) findGroups(ctx context.Context) error {
	a.added = map[site.ArticleID][]site.GroupName{}
	total, err := a.store.Client.DBSize(ctx).Result()
	if err != nil || total == 0 {
		return err
	}
	var names []site.GroupName
	done := 0
	err = a.store.At(ctx, a.p.Groups(), func(ctx context.Context, server redis.Cmdable) error {
		names, done = nil, 0
		return wire.Walk(1, func(found []string) error {
			for _, key := range found {
				name, err := site.ParseGroupName(strings.TrimPrefix(key, a.p.Group("")))
				if err == nil && a.p.Group(name) == key && name != site.Interesting { // the canonical name of a group
					names = append(names, name)
				}
			}
			return nil
		}, func(cursor uint64) *redis.ScanCmd {
			a.OnProgress("looking for the groups of programs of the book", min(done, int(total)), int(total))
			done += wire.ScanBatch
			return server.ScanType(failover.Impatient(ctx), cursor, a.p.Group("*"), wire.ScanBatch, "set")
		})
	})
	if err != nil {
		return err
	}
	slices.Sort(names) // a walk may meet a key twice
	for _, name := range slices.Compact(names) {
		err := a.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.SScan, Key: a.p.Group(name), Step: 1, Handle: func(members []string) error {
			return a.findMembers(ctx, name, members)
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// findMembers notes those of a group's members that do not list the group, or are deleted.
func (a *adoption) findMembers(ctx context.Context, name site.GroupName, members []string) error {
	hashes, err := wire.ReadEach(ctx, a.store, members, func(pipe redis.Pipeliner, member string) *redis.SliceCmd {
		return pipe.HMGet(ctx, a.p.Key(member), site.FieldGroups, site.FieldDeleted)
	})
	if err != nil {
		return err
	}
	for i, member := range members {
		id, ok := lists.ArticleOfMember(member)
		hash := wire.Reply(hashes[i].Val())
		isListed := slices.Contains(site.GroupNames(hash.Text(0)), name) && hash.Text(1) == ""
		if ok && !isListed && !slices.Contains(a.added[id], name) {
			a.added[id] = append(a.added[id], name)
		}
	}
	return nil
}

// adopt takes over those of some articles that a program of the book has changed, and returns their number.
func (a *adoption) adopt(ctx context.Context, members []string) (adopted int, err error) {
	for range 3 { // a process of the site may change an article after it was read
		n, stale, err := a.adoptOnce(ctx, members)
		adopted += n
		if err != nil || len(stale) == 0 {
			return adopted, err
		}
		members = stale
	}
	return adopted, nil // check reports what is left
}

// adoptOnce returns the articles that have changed since they were read, too.
func (a *adoption) adoptOnce(ctx context.Context, members []string) (adopted int, stale []string, err error) {
	changed, err := a.changed(ctx, members)
	if err != nil || len(changed) == 0 {
		return 0, nil, err
	}
	// The script comes last: what it changes shows the next call that an article is still to be taken over.
	var links []articles.Linked
	var young []redis.Z
	var posters []site.UserName
	for _, f := range changed {
		if f.poster != "" {
			posters = append(posters, site.UserOf(f.poster))
		}
		if f.link != "" && f.time >= 0 {
			links = append(links, articles.Linked{ID: f.id, Link: f.link, Time: site.Number(math.Floor(f.time))})
		}
		if f.time >= a.casts.OldestVoters() && a.store.Has("cast") {
			young = append(young, redis.Z{Score: f.time, Member: f.id.String()})
		}
	}
	if err := cmp.Or(a.RecordLinks(ctx, links), a.sessions.RecordSkeletons(ctx, posters)); err != nil {
		return 0, nil, err
	}
	if !a.isFirst { // else the feature is built when all is adopted
		if err := a.fillCasts(ctx, &building{p: a.p}, young); err != nil {
			return 0, nil, err
		}
	}
	answers := make([]*redis.Cmd, len(changed))
	err = a.store.Write(ctx, func(pipe redis.Pipeliner) {
		for i, f := range changed {
			answers[i] = a.queue(ctx, pipe, f)
		}
	})
	if err != nil && !isCorrupt(err) {
		return 0, nil, err
	}
	for i, f := range changed {
		answer, err := wire.StatusReply(answers[i])
		switch {
		case err != nil && !isCorrupt(err):
			return adopted, nil, err
		case err != nil:
			delete(a.added, f.id) // check reports it
		case answer.Status() != "OK":
			stale = append(stale, f.id.String())
		default:
			delete(a.added, f.id)
			adopted++
		}
	}
	return adopted, stale, nil
}

// queue queues the call of adopt.lua for an article.
func (a *adoption) queue(ctx context.Context, pipe redis.Pipeliner, f found) *redis.Cmd {
	p := a.p
	scriptKeys := append(make([]string, 0, 32),
		p.Article(f.id),         // KEYS[1] article
		p.Voted(f.id),           // KEYS[2] voted
		p.Downvoted(f.id),       // KEYS[3] downvoted
		p.Ranking(site.ByTime),  // KEYS[4] times
		p.Ranking(site.ByScore), // KEYS[5] scores
		p.Groups(),              // KEYS[6] group_names
		p.Sizes(),               // KEYS[7] sizes
		p.Clock(""),             // KEYS[8] clock
		p.Front(),               // KEYS[9] pages
		p.Events(),              // KEYS[10] events
		p.Views(),               // KEYS[11] views
	)
	own := p.Lists(site.UserOf(f.poster), f.link)
	scriptKeys = lists.GroupKeys(append(scriptKeys, own...), p, site.Interesting) // KEYS[12...] list
	features := a.store.On
	if a.isFirst {
		features = ""
	}
	args := []any{
		f.id.String(),                            // ARGV[1] member
		site.GroupText(f.names),                  // ARGV[2] names_text
		f.poster,                                 // ARGV[3] expected_poster
		f.link,                                   // ARGV[4] expected_link
		a.store.Rules.RankingText(),              // ARGV[5] ranking
		site.Seconds(a.store.Rules.VotingWindow), // ARGV[6] window
		site.Seconds(site.VoterMargin),           // ARGV[7] margin
		a.store.Rules.InterestingVotes,           // ARGV[8] interesting_votes
		features,                                 // ARGV[9] features
		a.store.ScriptNow(),                      // ARGV[10] now
		len(own),                                 // ARGV[11] list_count
	}
	args = append(args, wire.Anys(f.doubles)...) // ARGV[12...] voter
	return adoptScript.EvalSha(ctx, pipe, lists.GroupKeys(scriptKeys, p, f.names...), args...)
}

// facts are what the store says about one article at one moment.
type facts struct {
	hash             *redis.SliceCmd
	time, score      *redis.FloatCmd
	hour, day        *redis.FloatCmd // its votes in the calendar
	interesting      *redis.BoolCmd
	voted, downvoted *redis.IntCmd
	isIn             []*redis.BoolCmd // of the groups that it listed before
}

// changed returns those of some articles that a program of the book has changed, and not only read.
func (a *adoption) changed(ctx context.Context, members []string) ([]found, error) {
	before, err := wire.ReadEach(ctx, a.store, members, func(pipe redis.Pipeliner, member string) *redis.SliceCmd {
		return pipe.HMGet(ctx, a.p.Key(member), site.FieldGroups, site.FieldTime)
	})
	if err != nil && !isWrongType(err) {
		return nil, err
	}
	read := make([]facts, len(members))
	err = a.store.Read(ctx, func(pipe redis.Pipeliner) {
		if a.lag != nil {
			a.lag.Queue(ctx, pipe)
		}
		for i, member := range members {
			read[i] = a.queueFacts(ctx, pipe, member, wire.Reply(before[i].Val()))
		}
	}, wire.Atomic)
	if err != nil && !isWrongType(err) {
		return nil, err
	}
	unsettled := map[site.ArticleID]bool{}
	if a.lag != nil {
		unsettled = a.lag.Articles()
	}
	var all []found
	var sets []articles.VoterSet
	for i, member := range members {
		id, ok := lists.ArticleOfMember(member)
		if !ok || read[i].hash.Err() != nil {
			continue // check reports it
		}
		hash := wire.Reply(read[i].hash.Val())
		f := found{id: id, poster: hash.Text(1), link: hash.Text(2), time: read[i].time.Val(), names: site.GroupNames(hash.Text(0))}
		f.names = append(f.names, a.added[id]...)
		slices.Sort(f.names)
		f.names = slices.Compact(f.names)
		f.differs = len(a.added[id]) > 0 || read[i].time.Err() == nil && a.differs(read[i], hash, unsettled[id])
		all = append(all, f)
		if min(read[i].voted.Val(), read[i].downvoted.Val()) > 0 {
			sets = append(sets, articles.VoterSet{Article: id, Vote: site.Down, Size: read[i].downvoted.Val()})
		}
	}
	doubles, err := a.votedTwice(ctx, sets)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].doubles = doubles[all[i].id]
	}
	return slices.DeleteFunc(all, func(f found) bool { return !f.differs && len(f.doubles) == 0 }), nil
}

// queueFacts queues the commands that read the facts of an article. before are groups and time from an earlier read.
func (a *adoption) queueFacts(ctx context.Context, pipe redis.Pipeliner, member string, before wire.Reply) facts {
	id, _ := lists.ArticleOfMember(member)
	posted := site.HourOfText(before.Text(1))
	f := facts{
		hash:        pipe.HMGet(ctx, a.p.Key(member), site.FieldGroups, site.FieldPoster, site.FieldLink, site.FieldVotes, site.FieldTime),
		time:        pipe.ZScore(ctx, a.p.Ranking(site.ByTime), member),
		score:       pipe.ZScore(ctx, a.p.Ranking(site.ByScore), member),
		hour:        pipe.ZScore(ctx, a.p.Top("h", int64(posted), ""), member),
		day:         pipe.ZScore(ctx, a.p.Top("d", posted.Day(), ""), member),
		interesting: pipe.SIsMember(ctx, a.p.Group(site.Interesting), member),
		voted:       pipe.SCard(ctx, a.p.Voted(id)),
		downvoted:   pipe.SCard(ctx, a.p.Downvoted(id)),
	}
	for _, name := range site.GroupNames(before.Text(0)) {
		f.isIn = append(f.isIn, pipe.SIsMember(ctx, a.p.Group(name), member))
	}
	return f
}

// differs reports whether an article is not as this package leaves it.
func (a *adoption) differs(f facts, hash wire.Reply, isUnsettled bool) bool {
	votes, err := site.ParseNumber(hash.Text(3))
	rules := a.store.Rules
	listed := f.hour
	if listed.Err() != nil {
		listed = f.day
	}
	switch {
	case err != nil, !site.IsTime(f.time.Val()):
		return false // check reports it
	case hash[0] == nil, f.time.Val() != math.Floor(f.time.Val()), hash.Text(4) != site.Number(f.time.Val()):
		return true
	case slices.ContainsFunc(f.isIn, func(in *redis.BoolCmd) bool { return in.Err() == nil && !in.Val() }):
		return true
	case a.isRuled && f.score.Val() != f.time.Val()+rules.Worth(votes):
		return true
	case a.isRuled && f.interesting.Val() != (int(votes) >= rules.InterestingVotes):
		return true
	default:
		return !a.isFirst && !isUnsettled && listed.Err() == nil && listed.Val() != votes
	}
}

// votedTwice returns the voters who are in some sets of downvoters, and in those of upvoters.
func (a *adoption) votedTwice(ctx context.Context, sets []articles.VoterSet) (map[site.ArticleID][]string, error) {
	doubles := map[site.ArticleID][]string{}
	err := a.articles.EachVoter(ctx, a.p, sets, wire.BatchSize, func(voters []articles.Named) error {
		both, err := wire.ReadEach(ctx, a.store, voters, func(pipe redis.Pipeliner, v articles.Named) *redis.BoolCmd {
			return pipe.SIsMember(ctx, a.p.Voted(v.Article), v.Voter.Member())
		})
		for i, v := range voters {
			if both[i].Val() && !slices.Contains(doubles[v.Article], v.Voter.Member()) {
				doubles[v.Article] = append(doubles[v.Article], v.Voter.Member())
			}
		}
		return err
	})
	return doubles, err
}

func isWrongType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE") }

// isCorrupt reports whether adopt.lua has refused an article whose keys no program of the book leaves like that.
func isCorrupt(err error) bool { return isWrongType(err) || redis.HasErrorPrefix(err, "CORRUPT") }
