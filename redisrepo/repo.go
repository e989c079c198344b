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
//	                         score of the first 100 articles, see front_page in front.lua
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
//	changes:<db>     channel changes of articles, see publish in publish.lua; a sharded channel if the
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
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/sessions"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Repo is the articles of one site: its rooms, and the writes of articles. It is safe for concurrent use. Any number of
// processes may use the same store.
type Repo struct {
	*wire.Store
	*rates.Rates
	*sessions.Sessions
	*articles.Articles
	*events.Log
	*lists.Lists
	*rankings.Rankings
	*casts.Casts
	*live.Live
	Layout *layout.Layout

	voting *voting
	stats  stats
}

// New opens the site in the store, or creates an empty one. It returns a *RuleError for rules that are
// out of bounds, and an error for a store whose data has a newer layout. Data with an older one is
// upgraded first, in steps that an interrupted start goes on with. While the store is loading, or slow, each call waits for
// up to a minute. If the rules have changed since the store was last opened, it first re-ranks all articles; no other process
// should then be using the store under the old rules.
func New(ctx context.Context, client redis.UniversalClient, rules site.Rules, options ...Option) (*Repo, error) {
	ctx = failover.Starting(ctx)
	r, err := Find(ctx, client, rules, options...)
	if err != nil {
		return nil, err
	}
	if r.Store.Incomplete {
		return nil, layout.ErrIncomplete
	}
	if err := r.Prepare(ctx); err != nil {
		return nil, err
	}
	if err := r.checkMeta(ctx); err != nil {
		return nil, err
	}
	if err := r.Layout.ApplyFeatures(ctx); err != nil {
		return nil, failover.Wrap("apply the rules", err)
	}
	if err := r.Layout.ApplyRules(ctx); err != nil {
		return nil, failover.Wrap("apply the rules", err)
	}
	if err := r.Casts.OpenCasts(ctx); err != nil {
		return nil, failover.Wrap("open the histories of votes", err)
	}
	return r, nil
}

// Prepare makes the store ready for writes, before the first one.
func (r *Repo) Prepare(ctx context.Context) error {
	if err := r.Store.ConfirmWrites(ctx); err != nil {
		return fmt.Errorf("find out who confirms writes: %w", err)
	}
	if err := r.loadScripts(ctx); err != nil {
		return failover.Wrap("load scripts", err)
	}
	if err := r.Store.CheckRights(ctx); err != nil {
		return fmt.Errorf("check the rights: %w", err)
	}
	return nil
}

// Find returns a Repo with the partitions of the site in the store, or of a new one. It changes nothing.
func Find(ctx context.Context, client redis.UniversalClient, rules site.Rules, options ...Option) (*Repo, error) {
	if err := rules.Validate(); err != nil {
		return nil, err
	}
	o := opening{Options: layout.Options{OnProgress: func(string, int, int) {}}}
	for _, option := range options {
		option(&o)
	}
	store, err := wire.Open(ctx, client, rules, layout.FeaturesOf(rules), o.store)
	if err != nil {
		return nil, err
	}
	return assemble(store, o)
}

// assemble makes the rooms of a site, each with those that it uses.
func assemble(store *wire.Store, o opening) (*Repo, error) {
	r := &Repo{Store: store, Sessions: sessions.New(store), Log: events.New(store)}
	var errs [6]error
	r.Rates, errs[0] = rates.New(store)
	r.Articles, errs[1] = articles.New(store)
	r.Lists, errs[2] = lists.New(store, r.Articles, o.mostSmall, o.gatherStep)
	r.Rankings, errs[3] = rankings.New(store, r.Lists, o.stepLooked)
	r.Casts = casts.New(store, r.Articles)
	r.Layout = layout.New(store, r.Articles, r.Lists, r.Rankings, r.Casts, o.Options)
	r.voting, errs[4] = newVoting(store)
	r.Live, errs[5] = live.New(store, r.Articles, r.Lists, r.Casts, r.Log, live.Hooks{OnForget: r.voting.calls.forget, Reopen: r.reopen})
	return r, errors.Join(errs[:]...)
}

// checkMeta upgrades the layout of the data to this program's, or records it in a new store.
func (r *Repo) checkMeta(ctx context.Context) error {
	if err := r.Layout.UpgradeLayout(ctx); err != nil {
		return err
	}
	if err := r.Layout.RecordSite(ctx); err != nil {
		return err
	}
	answers := make([]*redis.Cmd, len(r.Store.Partitions))
	err := r.Store.Pipeline(r.Store.Confirmed(ctx), func(pipe redis.Pipeliner) {
		for i, p := range r.Store.Partitions {
			answers[i] = layout.OpenScript.EvalSha(ctx, pipe, []string{p.Meta()}, r.Layout.Opening(i)...)
		}
	})
	if err != nil {
		return failover.Wrap("open the store", err)
	}
	for i, p := range r.Store.Partitions {
		answer, err := answers[i].Slice()
		if err != nil {
			return failover.Wrap("open "+p.Meta(), err)
		}
		found, err := layout.CheckLayout(p.Meta(), r.Layout.Layout(i), answer)
		if err != nil {
			return err
		}
		r.Live.Histories[i].Epoch = found[keys.FieldEpoch]
		r.Store.UseCursorKey(found[keys.FieldCursorKey])
	}
	return nil
}

// reopen gives a partition that lost all its data what New gives a new one, and returns its epoch.
func (r *Repo) reopen(ctx context.Context, index int) (epoch string, err error) {
	if err := r.Layout.RecordSite(ctx); err != nil { // it may have been lost, too
		return "", err
	}
	meta := r.Store.Partitions[index].Meta()
	answer, err := r.Store.Run(ctx, layout.OpenScript, []string{meta}, r.Layout.Opening(index))
	if err != nil {
		return "", failover.Wrap("open "+meta, err)
	}
	found, err := layout.CheckLayout(meta, r.Layout.Layout(index), answer)
	if err != nil {
		return "", err
	}
	if err := r.Layout.ApplyFeatures(ctx); err != nil { // writes them
		return "", failover.Wrap("apply the rules", err)
	}
	if err := r.Layout.ApplyRules(ctx); err != nil {
		return "", failover.Wrap("apply the rules", err)
	}
	r.Store.UseCursorKey(found[keys.FieldCursorKey])
	return found[keys.FieldEpoch], nil
}

// Ready returns ErrReadOnly if the store refuses writes, and another error, usually ErrUnavailable, if it does
// not answer. While a shard of a cluster is gone, the others serve: the store is ready.
func (r *Repo) Ready(ctx context.Context) error {
	writes, err := r.Store.TryWrites(ctx)
	if !slices.ContainsFunc(writes, func(c redis.Cmder) bool { return c.Err() == nil }) {
		return failover.Wrap("write", err)
	}
	return r.Store.MayWrite(ctx)
}

// Serves returns an error as Ready does, but also if only some partitions do not answer or refuse writes.
func (r *Repo) Serves(ctx context.Context) error {
	if _, err := r.Store.TryWrites(ctx); err != nil {
		return failover.Wrap("write", err)
	}
	return r.Store.MayWrite(ctx)
}
