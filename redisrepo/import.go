package redisrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// maxImportVotes is the maximum number of net votes, up or down, of an imported article. It is limited
// because a placeholder is stored for each voter while voting is open.
const maxImportVotes = 1_000_000

// maxImportID is the highest number of an imported article. Each partition gives out numbers above its highest, and
// the numbers end at 2^31-1: this leaves 2^24 of them to posts.
const maxImportID site.ArticleID = 1<<31 - 1<<24

// Imported is an article from another site, with its votes.
type Imported struct {
	ID       site.ArticleID // becomes its number on this site; at most 2,130,706,432
	Poster   site.UserName
	PostedAt time.Time  // whole seconds; not in the future
	Votes    int        // net, from -1,000,000 to 1,000,000
	Draft    site.Draft // checked like a post, except that a title alone is enough
}

// Redis serves no other client during a script, nor between commands that it has received together. So one
// round trip of Import has at most importArticles articles and adds at most importVoters voters.
const importArticles = 50

// Import stores articles, each completely or not at all, in steps between which Redis serves other clients. Both
// results have one element for each article: added reports whether it is new, and a Refusal in errs says why it was not
// stored. An article that exists already, with the same poster, title and link, stays as it is, deleted or not; this is
// not an error. Such an article is reported as added only if a lost reply means that this call may have added it. Links
// may repeat those of other articles, but are reserved like those of posts.
//
// If an article's voting window is open, its poster becomes one of the upvoters, unless the rules do not count that
// vote. The other votes belong to placeholders, so every user can still vote. Numbers of later posts continue after the
// highest ID.
//
// If Redis does not answer, errs holds that error for each article that may not have been stored. The call is safe to
// repeat, also after a kill. Placeholders of an article that was not stored are not visible, and expire.
func (r *Repo) Import(ctx context.Context, articles []Imported) (added []bool, errs []error) {
	defer func() {
		for i := range r.Store.Partitions {
			r.Store.Changed(i)
		}
	}()
	added, errs = make([]bool, len(articles)), make([]error, len(articles))
	calls := make([]importCall, 0, len(articles))
	for i, a := range articles {
		c := importCall{article: a, added: &added[i], err: &errs[i]}
		if c.submission, *c.err = r.checkImport(a); *c.err == nil {
			c.placeholders = r.placeholders(a)
			calls = append(calls, c)
		}
	}
	for len(calls) > 0 {
		batch := calls[:importedTogether(calls)]
		calls = calls[len(batch):]
		if err := cmp.Or(r.importBatch(ctx, batch), r.recordImported(ctx, batch)); err != nil {
			for _, c := range calls { // the store would fail them, too
				*c.err = err
			}
			break
		}
	}
	return added, errs
}

// importCall is an article of an import that passed the checks, and where its results go.
type importCall struct {
	article      Imported
	submission   site.Submission
	placeholders int    // number of voters that have to be added
	linkTime     string // posting time of the stored article, for the record of its link; empty: the record stays
	added        *bool
	err          *error
}

// call returns the arguments of post.lua.
func (c importCall) call(r *Repo, prepared bool) (keys []string, args []any) {
	a := c.article
	return r.postCall(a.ID, a.Poster, c.submission, postOptions{
		at: strconv.FormatInt(a.PostedAt.Unix(), 10), month: site.HourOf(float64(a.PostedAt.Unix())).Month(), votes: a.Votes, kind: site.KindImported, prepared: prepared,
	})
}

// finish interprets the reply of post.lua, before which another one may have been lost. It returns the error unless that
// is a Refusal.
func (c *importCall) finish(answer wire.Reply, lost bool, err error) error {
	if err != nil {
		*c.err = failover.Wrap("import "+c.article.ID.String(), err)
		return *c.err
	}
	*c.added, c.linkTime, *c.err = importResult(c.article, c.submission, answer)
	*c.added = *c.added || lost && *c.err == nil
	if errors.As(*c.err, new(site.Refusal)) {
		return nil
	}
	return *c.err
}

// placeholders returns the number of voters, without the poster, that are added for an article.
func (r *Repo) placeholders(a Imported) int {
	n := max(a.Votes, -a.Votes)
	if a.Votes > 0 && r.Store.Rules.PosterVotes {
		n--
	}
	// The scripts decide by the clock of Redis. An hour is more than clocks should differ.
	if n <= layout.ImportVoters && r.Store.Now().After(a.PostedAt.Add(r.Store.Rules.VotingWindow+time.Hour)) {
		return 0
	}
	return n
}

// importedTogether returns the number of calls that the next round trip makes, at least 1.
func importedTogether(calls []importCall) int {
	voters := 0
	for i, c := range calls[:min(len(calls), importArticles)] {
		if voters += c.placeholders; voters > layout.ImportVoters {
			return max(i, 1)
		}
	}
	return min(len(calls), importArticles)
}

// importBatch makes calls that belong together. It returns an error that will fail further calls, too.
func (r *Repo) importBatch(ctx context.Context, calls []importCall) (failed error) {
	if calls[0].placeholders > layout.ImportVoters {
		return r.importInSteps(ctx, &calls[0])
	}
	commands, unsent := make([]*failover.Once, len(calls)), make([]redis.Cmder, len(calls))
	for i, c := range calls {
		keys, args := c.call(r, false)
		commands[i] = &failover.Once{Cmd: wire.ScriptCommand(ctx, wire.ScriptWords(postScript, keys, args))}
		unsent[i] = commands[i]
	}
	send := func() error {
		return r.Store.Write(ctx, func(pipe redis.Pipeliner) { _ = pipe.BatchProcess(ctx, unsent...) })
	}
	err := send()
	if failover.IsNetwork(err) && ctx.Err() == nil {
		unsent = slices.DeleteFunc(unsent, failover.HasRun)
		for _, c := range commands {
			c.Again()
		}
		err = send()
	}
	for i := range calls {
		c := &calls[i]
		answer, callErr := commands[i].Slice()
		if callErr != nil {
			callErr = errors.Join(callErr, err)
		} else if first, known := commands[i].First.([]any); known {
			answer = first
		}
		failed = cmp.Or(failed, c.finish(answer, commands[i].Lost && commands[i].First == nil, callErr))
	}
	return failed
}

// maxPrepared is how often the voters of an article are added before its import fails. They have to be added
// again if an import that was killed, or one that runs at the same time, added other voters for its number.
const maxPrepared = 3

var errOtherVoters = errors.New("another import adds other voters to the same article")

// importInSteps imports an article with more voters than one script may add: first the voters, while the
// article does not exist, then the article.
func (r *Repo) importInSteps(ctx context.Context, c *importCall) error {
	for attempt := range maxPrepared {
		if err := r.addVoters(ctx, *c, attempt > 0); err != nil {
			return c.finish(nil, false, err)
		}
		keys, args := c.call(r, true)
		answer, again, err := r.Store.CallWords(ctx, wire.ScriptWords(postScript, keys, args))
		if err != nil || answer.Status() != "UNPREPARED" {
			return c.finish(answer, again, err)
		}
	}
	return c.finish(nil, false, errOtherVoters)
}

// addVoters adds the placeholders of an article that is about to be imported. If restart is set, it first
// removes those that are there.
func (r *Repo) addVoters(ctx context.Context, c importCall, restart bool) error {
	a, p := c.article, r.Store.Partition(c.article.ID)
	for first := 1; first <= c.placeholders; first += layout.ImportVoters {
		answer, err := r.Store.Call(ctx, articles.VotersScript, []string{
			p.Article(a.ID),   // KEYS[1] article
			p.Voted(a.ID),     // KEYS[2] voted
			p.Downvoted(a.ID), // KEYS[3] downvoted
		}, []any{
			cmp.Compare(a.Votes, 0), // ARGV[1] upvoters or downvoters
			first,                   // ARGV[2] first
			min(first+layout.ImportVoters-1, c.placeholders), // ARGV[3] last
			restart && first == 1,                            // ARGV[4] restart
			a.PostedAt.Unix(),                                // ARGV[5] time
			site.Seconds(r.Store.Rules.VotingWindow),         // ARGV[6] window
			site.Seconds(site.VoterMargin),                   // ARGV[7] margin
			r.Store.ScriptNow(),                              // ARGV[8] now
		})
		if err != nil || answer.Status() == "DONE" {
			return err
		}
	}
	return nil
}

// recordImported records the links and the posters of articles that were imported, by these calls or before: an import that was
// interrupted may not have recorded them.
func (r *Repo) recordImported(ctx context.Context, calls []importCall) error {
	var links []articles.Linked
	var posters []site.UserName
	for _, c := range calls {
		if *c.err != nil {
			continue
		}
		posters = append(posters, c.article.Poster)
		if c.submission.Link != "" && c.linkTime != "" {
			links = append(links, articles.Linked{ID: c.article.ID, Link: c.submission.Link, Time: c.linkTime})
		}
	}
	err := cmp.Or(r.Layout.RecordLinks(ctx, links), r.Sessions.RecordSkeletons(ctx, posters))
	for _, c := range calls {
		if err != nil && *c.err == nil {
			*c.err = failover.Wrap("record the link and the poster of "+c.article.ID.String(), err)
		}
	}
	return err
}

// importResult interprets the reply of post.lua.
func importResult(a Imported, s site.Submission, answer wire.Reply) (added bool, linkTime string, err error) {
	switch status := answer.Status(); status {
	case "CREATED":
		return true, strconv.FormatInt(a.PostedAt.Unix(), 10), nil
	case "TAKEN":
		h, err := articles.HashIn(answer)
		if err != nil {
			return false, "", err
		}
		edited := h.Edits != "" && h.Poster == a.Poster.Member() && h.Link == s.Link
		if !edited && !isStoredAs(s, h, a.Poster) {
			return false, "", site.Refuse(site.Conflict, "id", "%v is another article: %s by %s", a.ID, site.Shown(h.Title), site.UserOf(h.Poster))
		}
		if h.Deleted != "" {
			return false, "", nil
		}
		return false, cmp.Or(h.Time, "0"), nil // a.PostedAt may differ
	default:
		return false, "", fmt.Errorf("import %v: the script replied %q", a.ID, status)
	}
}

func (r *Repo) checkImport(a Imported) (site.Submission, error) {
	s, err := a.Draft.Check(site.ImportRules)
	var broken site.Refusal
	errors.As(err, &broken)
	broken = append(broken, r.Store.Rules.CheckFamilies("groups", a.Draft.Groups)...)
	if _, err := site.ParseArticleID(a.ID.String()); err != nil {
		broken = append(broken, site.Refuse(site.Invalid, "id", "%d is not an article number", a.ID)...)
	} else if a.ID > maxImportID {
		broken = append(broken, site.Refuse(site.Invalid, "id", "%d is above %d: the numbers after that are for posts", a.ID, maxImportID)...)
	}
	if a.Votes < -maxImportVotes || a.Votes > maxImportVotes {
		broken = append(broken, site.Refuse(site.Invalid, "votes", "votes are between %d and %d, not %d", -maxImportVotes, maxImportVotes, a.Votes)...)
	}
	if a.PostedAt.After(r.Store.Now()) {
		broken = append(broken, site.Refuse(site.Invalid, "posted_at", "it was posted in the future: %s", a.PostedAt.UTC().Format(time.RFC3339))...)
	}
	if len(broken) > 0 {
		return site.Submission{}, broken
	}
	return s, nil
}
