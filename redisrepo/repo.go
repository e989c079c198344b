// Package redisrepo stores articles, votes and groups in Redis.
//
// # Keys
//
// Every key starts with the tag of its partition, which is empty on a single Redis. n is an article's
// number; times are Unix seconds.
//
//	article:         string  last article number given out
//	article:<n>      hash    title, link, text, poster, time, votes (net), downvotes,
//	                         groups (names separated by spaces), revision (number of changes),
//	                         uncounted (1 if the poster's own vote does not count), cast (those net votes
//	                         that are in cast:; missing if some are from a time without it);
//	                         of an edited article also edits (number of changes of the title or the
//	                         text), edited (time of the last), edition (revision that the last change
//	                         of the title, the text or the groups made); with a change feed also
//	                         milestone (the highest of Rules.Milestones that the votes have reached);
//	                         of a deleted article also deleted (time), deleted_by (user:<name>)
//	history:<n>      hash    earlier versions of the article, up to 20: number of the edit to what it
//	                         replaced: time, net votes, bytes of the title and user:<name> on a line,
//	                         title and text after it; best: see VotedVersion
//	time:            zset    article:<n> by posting time
//	score:           zset    article:<n> by posting time + what its votes are worth, see Rules.Worth
//	voted:<n>        set     user:<name> of the upvoters; expires an hour after the voting window
//	downvoted:<n>    set     user:<name> of the downvoters; expires likewise
//	group:<name>     set     article:<n> of the group's articles
//	score:<name>     zset    the group's part of score:; expires GroupCacheTTL after its last use, or is kept if the
//	                         group is large, see WithLargeGroups. One that is not complete also has a member with
//	                         the score -inf, see gather.lua
//	time:<name>      zset    the group's part of time:, likewise
//	groups:          zset    names of the non-empty groups, for listing them by name
//	sizes:           zset    the same names by negated number of articles, for listing the largest first
//	posted:<name>    zset    article:<n> of the user's articles, by posting time
//	host:<name>      zset    article:<n> of the articles with links to the host, by posting time
//	cast:<name>:<m>  zset    n, or -n for a downvote, of the articles of month m (32 days) that the user
//	                         voted on, by the time of the vote; 0 if the oldest of more than 10,000 were
//	                         dropped; expires VoteHistory after the last vote that can be cast
//	top:h:<hour>, top:d:<day>, top:m:<month>
//	                 zset    the calendar: article:<n> by net votes, of those posted in this hour, day or
//	                         32 days since 1970. Each article is in the list of its hour until the day is
//	                         folded, later in those of its day and its month. With Rules.GroupTop also one
//	                         for each group, top:d:<day>:<name>
//	clock:           hash    folded, the last folded day, missing before the first; p:<list>, the peak of
//	                         each list, such as p:d:20715: no article of it has more votes, and a list
//	                         without one is empty; front, front_since, ranked: see frontpage.go.
//	                         clock:<name> is that of a group's calendar
//	deleted:         zset    article:<n> of the deleted articles, by time of deletion; they are in
//	                         no other listing and in no group
//	front:           zset    saved front pages by full hour, hours since 1970: the hour, then number and
//	                         score of the first 100 articles, see front_page in shared.lua
//	best:            zset    article:<n> by 10,000,000 * the best rank at a full hour + that hour; entered
//	                         when best ranks are read
//	moderation:      stream  log of deletions, undeletions, and edits and regroupings by moderators:
//	                         the last 100,000 entries or slightly more
//	events:          stream  the change feed, the last Rules.Events changes or slightly more: kind, article
//	                         (number), revision, votes, downvotes, score, by (user name), to (position,
//	                         net votes of a milestone, or groups)
//	audit:<n>        hash    user:<name> to position, time and address bucket of the last
//	                         recorded vote; expires with the voters
//	post:<user>:<k>  string  article posted with idempotency key k and a digest of its draft, expires
//	                         after a day; - instead of the article if its link put it into another
//	                         partition, which has the full record
//	link:<digest>    string  newest article with a link and its posting time; 32 hex digits of the SHA-256
//	                         of the normalized link
//	query:<hhh>      string  GraphQL document whose SHA-256 starts with these hex digits, expires
//	                         30 days after its last use
//	account:<digest> string  name of an account of the provider that signs users in; digest of issuer and subject
//	name:<digest>    string  the account, by its digest, that has a name; digest of the folded name. Also the first
//	                         name of those that look alike; digest of their skeleton (UTS 39)
//	session:<digest> string  a session, encrypted; digest of its cookie; expires with it. With :renewing, one
//	                         process asks the provider whether it goes on
//	ended:<digest>   string  a random text that a session of the user has, too, or else it has ended; digest of
//	                         the name; expires MaxSession, and an hour, after the user's sessions were ended
//	rate:<rule>:<s>  string  what s, user:<name> or address:<address>, used under a rule, and when:
//	                         see rate.lua; expires a window after the last charge
//	meta:            hash    layout version, number of partitions, index of this one, the rules that
//	                         the data is ranked by, the posting time before which a changed voting
//	                         window found the voters of articles forgotten, which features the data has (see
//	                         features.go), from which posting time on all votes are in cast:, the
//	                         epoch, a random name of the data's history, the secret key of rankings'
//	                         cursors (in the first partition), and of a copy the origin:
//	                         the epoch of the site that Migrate copied, or the digest of the export
//	                         that Fill imported
//	changes:<db>     channel changes of articles, see publish in shared.lua; a sharded channel if the
//	                         partition has a tag
//
// # Legacy clients
//
// A legacy client is a program that runs the code of Redis in Action, chapter 1, on the same store.
// It knows the keys article:, article:<n>, time:, score:, voted:<n> and group:<name>, and the hash
// fields title, link, poster, time and votes. This package uses them with the same meaning, so both
// can read and write one store at the same time. An article that a legacy client posted lacks the other
// fields and indexes until the first write through this package adds them.
//
// # Writes
//
// Every change of an article is one Lua script, which takes effect completely or not at all and is safe
// to run twice.
//
// # Partitions
//
// WithPartitions spreads articles over several partitions, each of which fits on one shard of a Redis
// Cluster. Then the key meta: without a tag also exists, with the number of partitions.
package redisrepo

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/redis/go-redis/v9"
)

// LayoutVersion is the version of the keys above, as meta: records it. A new one needs an upgrade: see upgrades.
const LayoutVersion = "4"

// groupsCacheSize is the number of articles whose groups a Repo caches.
const groupsCacheSize = 10_000

// calendarsCacheSize is the number of calendars, of partitions and their groups, of which a Repo remembers the state.
const calendarsCacheSize = 10_000

// Repo is the articles of one site. It is safe for concurrent use. Any number of processes may use
// the same store.
type Repo struct {
	client     redis.UniversalClient
	rules      Rules
	wanted     int // partitions; 0: what the store has
	partitions []partition
	database   int              // number of the database on its server
	clock      func() time.Time // nil: the clock of Redis
	keepRules  bool
	upgrades   []upgrade
	incomplete bool // Migrate has not finished the data
	onRerank   func(changes string)
	onProgress func(step string, done, total int)
	// groups caches the groups and the posting hours of articles. A script must be given all
	// the keys that it touches, so a write to an article that is not cached may need a second call.
	// Cached values may be outdated: the scripts compare them.
	groups *lru.Cache[ArticleID, placement]
	onRead func(*Article) // is called with each state that this process reads or writes
	// finders find the groups of articles that are in no cache and whose hashes do not list them, one for
	// each partition.
	finders []groupFinder
	live    live
	version atomic.Uint64 // see Version
	// The hooks of rooms below.
	onForget     func()                                                         // messages may have been lost
	onLost       func(ctx context.Context, index int) (epoch string, err error) // a partition lost all its data
	onRightsBack func()
	rights       rights
	leases       leases

	groupCount groupCount
	kept       keptListings

	mostSmall, gatherStep int // see WithLargeGroups

	calendars  *lru.Cache[calendarKey, calendarState] // which lists they have, as far as is known
	stepLooked int                                    // stepLooked, or less in tests
	cursorKey  atomic.Pointer[string]                 // of cursors of rankings
	best       bestRanks

	voteScript, upvoteScript *redis.Script
	votingTexts              map[string]string // of both, by digest

	on        string // features: see Rules.features
	acks      int    // see WithAcks
	polls     polls
	voteCalls *voteCalls
	folds     folds

	histories []history    // by partition
	seen      []*seenPosts // by partition
	stats     stats

	// forgotten is the posting time before which the voters of articles were forgotten under an earlier, shorter
	// voting window, Unix seconds. Votes on them are refused, although voting may be open by now.
	forgotten atomic.Int64

	casts castRecord // set by New
}

// Option is an option of New.
type Option func(*Repo)

// WithClock sets the clock that decides posting times and the end of voting. The default is the clock
// of the Redis server, which all processes share.
func WithClock(now func() time.Time) Option {
	return func(r *Repo) { r.clock = now }
}

// New opens the site in the store, or creates an empty one. It returns a *RuleError for rules that are
// out of bounds, and an error for a store whose data has a newer layout. Data with an older one is
// upgraded first, in steps that an interrupted start goes on with. While the store is loading, or slow, each call waits for
// up to a minute. If the rules have changed since the store was last opened, it first re-ranks all articles; no other process
// should then be using the store under the old rules.
func New(ctx context.Context, client redis.UniversalClient, rules Rules, options ...Option) (*Repo, error) {
	ctx = starting(ctx)
	r, err := newRepo(ctx, client, rules, options...)
	if err != nil {
		return nil, err
	}
	if r.incomplete {
		return nil, ErrIncomplete
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if err := r.checkMeta(ctx); err != nil {
		return nil, err
	}
	if err := r.applyFeatures(ctx); err != nil {
		return nil, storeError("apply the rules", err)
	}
	if err := r.applyRules(ctx); err != nil {
		return nil, storeError("apply the rules", err)
	}
	if err := r.openCasts(ctx); err != nil {
		return nil, storeError("open the histories of votes", err)
	}
	return r, nil
}

// prepare makes the store ready for writes, before the first one.
func (r *Repo) prepare(ctx context.Context) error {
	if err := r.confirmWrites(ctx); err != nil {
		return fmt.Errorf("find out who confirms writes: %w", err)
	}
	if err := r.loadScripts(ctx); err != nil {
		return storeError("load scripts", err)
	}
	if err := r.checkRights(ctx); err != nil {
		return fmt.Errorf("check the rights: %w", err)
	}
	return nil
}

// newRepo returns a Repo with the partitions of the site in the store, or of a new one. It changes nothing.
func newRepo(ctx context.Context, client redis.UniversalClient, rules Rules, options ...Option) (*Repo, error) {
	if err := rules.Validate(); err != nil {
		return nil, err
	}
	groups, err := lru.New[ArticleID, placement](groupsCacheSize)
	if err != nil {
		return nil, err
	}
	calls, err := newVoteCalls()
	if err != nil {
		return nil, err
	}
	r := &Repo{client: client, mostSmall: mostSmall, gatherStep: gatherStep, stepLooked: stepLooked, rules: rules, groups: groups, voteCalls: calls, votingTexts: map[string]string{}, on: featuresOf(rules), live: live{wake: make(chan struct{}, 1), feedWake: make(chan struct{}, 1)},
		onProgress: func(string, int, int) {}, upgrades: upgrades}
	if single, ok := client.(interface{ Options() *redis.Options }); ok { // a cluster has one database
		r.database = single.Options().DB
	}
	r.live.version, r.onRead, r.onForget, r.onLost, r.onRightsBack = &r.version, r.live.observe, calls.forget, r.reopen, r.forgetAll
	r.useCursorKey(rand.Text()) // until that of the store is known
	for _, option := range options {
		option(r)
	}
	if err := r.findPartitions(ctx); err != nil {
		return nil, err
	}
	if r.kept, err = newKeptListings(rules.GroupCacheTTL); err != nil {
		return nil, err
	}
	if r.calendars, err = lru.New[calendarKey, calendarState](calendarsCacheSize); err != nil {
		return nil, err
	}
	if r.leases.all, err = simplelru.NewLRU[Subject, *lease](leaseSubjects, nil); err != nil {
		return nil, err
	}
	r.voteScript = r.votingScript("vote.lua", [2]int{firstWithout + 1, firstWith + 1})
	r.upvoteScript = r.votingScript("upvote.lua", [2]int{7, 10})
	r.groupCount.turn, r.best.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	r.finders = make([]groupFinder, len(r.partitions))
	r.histories = make([]history, len(r.partitions))
	r.live.posts, r.live.places = make([][]post, len(r.partitions)), make([]place, len(r.partitions))
	for range r.partitions {
		seen, err := newSeenPosts()
		if err != nil {
			return nil, err
		}
		r.seen = append(r.seen, seen)
	}
	return r, nil
}

// checkMeta upgrades the layout of the data to this program's, or records it in a new store.
func (r *Repo) checkMeta(ctx context.Context) error {
	if err := r.upgradeLayout(ctx); err != nil {
		return err
	}
	if err := r.recordSite(ctx); err != nil {
		return err
	}
	answers := make([]*redis.Cmd, len(r.partitions))
	err := r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			answers[i] = openScript.EvalSha(ctx, pipe, []string{p.meta()}, r.opening(i)...)
		}
	})
	if err != nil {
		return storeError("open the store", err)
	}
	for i, p := range r.partitions {
		answer, err := answers[i].Slice()
		if err != nil {
			return storeError("open "+p.meta(), err)
		}
		found, err := checkLayout(p.meta(), r.layout(i), answer)
		if err != nil {
			return err
		}
		r.histories[i].epoch = found[fieldEpoch]
		r.useCursorKey(found[fieldCursorKey])
	}
	return nil
}

// Fields of meta:.
const (
	fieldLayout     = "layout"
	fieldPartitions = "partitions"
	fieldIndex      = "index"
	fieldEpoch      = "epoch"     // a random name that a store gets when it is created
	fieldForgotten  = "forgotten" // see Repo.forgotten, and the voting window under which that was found out
)

// layout is what meta: of a partition must say, fields and values in turn.
func (r *Repo) layout(index int) []any {
	return []any{fieldLayout, strconv.Itoa(r.lastLayout()), fieldPartitions, strconv.Itoa(len(r.partitions)), fieldIndex, strconv.Itoa(index)}
}

// opening is the arguments of open.lua for a partition: the layout, and an epoch and, for the first one, a key of cursors
// in case it has none.
func (r *Repo) opening(index int) []any {
	wanted := append(r.layout(index), fieldEpoch, rand.Text())
	if index == 0 {
		wanted = append(wanted, fieldCursorKey, rand.Text())
	}
	return wanted
}

// checkLayout returns the fields in the reply of open.lua, and an error if they have another layout.
func checkLayout(meta string, layout []any, answer reply) (map[string]string, error) {
	found := map[string]string{}
	if err := answer.fields(1, func(field, value string) { found[field] = value }); err != nil {
		return nil, err
	}
	for pair := range slices.Chunk(layout, 2) {
		field, want := pair[0].(string), pair[1]
		if found[field] != want {
			return nil, fmt.Errorf("%s: the data has %s %s, this program needs %s", meta, field, found[field], want)
		}
	}
	return found, nil
}

// reopen gives a partition that lost all its data what New gives a new one, and returns its epoch.
func (r *Repo) reopen(ctx context.Context, index int) (epoch string, err error) {
	if err := r.recordSite(ctx); err != nil { // it may have been lost, too
		return "", err
	}
	meta := r.partitions[index].meta()
	answer, err := r.run(ctx, openScript, []string{meta}, r.opening(index))
	if err != nil {
		return "", storeError("open "+meta, err)
	}
	found, err := checkLayout(meta, r.layout(index), answer)
	if err != nil {
		return "", err
	}
	if err := r.applyFeatures(ctx); err != nil { // writes them
		return "", storeError("apply the rules", err)
	}
	if err := r.applyRules(ctx); err != nil {
		return "", storeError("apply the rules", err)
	}
	r.useCursorKey(found[fieldCursorKey])
	return found[fieldEpoch], nil
}

// Ready returns ErrReadOnly if the store refuses writes, and another error, usually ErrUnavailable, if it does
// not answer. While a shard of a cluster is gone, the others serve: the store is ready.
func (r *Repo) Ready(ctx context.Context) error {
	writes, err := r.tryWrites(ctx)
	if !slices.ContainsFunc(writes, func(c redis.Cmder) bool { return c.Err() == nil }) {
		return storeError("write", err)
	}
	return r.mayWrite(ctx)
}

// Serves returns an error as Ready does, but also if only some partitions do not answer or refuse writes.
func (r *Repo) Serves(ctx context.Context) error {
	if _, err := r.tryWrites(ctx); err != nil {
		return storeError("write", err)
	}
	return r.mayWrite(ctx)
}

// tryWrites sends each partition a write, which Redis may refuse, but without effect: there is no such member.
func (r *Repo) tryWrites(ctx context.Context) ([]redis.Cmder, error) {
	return r.pipelined(impatient(ctx), func(pipe redis.Pipeliner) {
		for _, p := range r.partitions {
			pipe.ZAddXX(ctx, p.ranking(ByTime), redis.Z{Member: reserved})
		}
	})
}

// index is the number of the article's partition.
func (r *Repo) index(id ArticleID) int { return int(id) % len(r.partitions) }

func (r *Repo) partition(id ArticleID) partition { return r.partitions[r.index(id)] }

// now is this process's time, good enough for values that are shown. Scripts decide by scriptNow.
func (r *Repo) now() time.Time {
	if r.clock != nil {
		return r.clock()
	}
	return time.Now()
}

// scriptNow is the argument now of a script: empty stands for the clock of Redis.
func (r *Repo) scriptNow() string {
	if r.clock == nil {
		return ""
	}
	return strconv.FormatInt(r.clock().Unix(), 10)
}

// seconds is a duration as an argument of a script, in whole seconds.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }
