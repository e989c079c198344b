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
)

// maxImportVotes is the maximum number of net votes, up or down, of an imported article. It is limited
// because a placeholder is stored for each voter while voting is open.
const maxImportVotes = 1_000_000

// maxImportID is the highest number of an imported article. Each partition gives out numbers above its highest, and
// the numbers end at 2^31-1: this leaves 2^24 of them to posts.
const maxImportID ArticleID = 1<<31 - 1<<24

// Imported is an article from another site, with its votes.
type Imported struct {
	ID       ArticleID // becomes its number on this site; at most 2,130,706,432
	Poster   UserName
	PostedAt time.Time // whole seconds; not in the future
	Votes    int       // net, from -1,000,000 to 1,000,000
	Draft    Draft     // checked like a post, except that a title alone is enough
}

// Redis serves no other client during a script, nor between commands that it has received together. So one
// round trip of Import has at most importArticles articles and adds at most importVoters voters.
const (
	importArticles = 50
	importVoters   = 1000
)

// Import stores articles, each completely or not at all, and lets Redis serve other clients in between. Both
// results have one element for each article: added reports whether it is new, and a Refusal in errs says why
// it was not stored. An article that exists already, with the same poster, title and link, stays as it is,
// deleted or not; this is not an error. Such an article is reported as added only if a reply was lost, so that the
// first call for it may have added it. Links are not compared with those of other articles, but reserved like those of posts.
//
// If an article's voting window is open, its poster becomes one of the upvoters, unless the rules do not
// count that vote. The other votes belong to placeholders, so every user can still vote. The numbers
// that Post gives out continue after the highest ID.
//
// If Redis does not answer, errs holds that error for each article that may not have been stored. The
// call is safe to repeat, also after the program was killed. Placeholders of an article that was not stored
// are not visible, and expire.
func (r *Repo) Import(ctx context.Context, articles []Imported) (added []bool, errs []error) {
	defer r.version.Add(1)
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
	submission   submission
	placeholders int    // number of voters that have to be added
	linkTime     string // posting time of the stored article, for the record of its link; empty: the record stays
	added        *bool
	err          *error
}

// call returns the arguments of post.lua.
func (c importCall) call(r *Repo, prepared bool) (keys []string, args []any) {
	a := c.article
	return r.postCall(a.ID, a.Poster, c.submission, postOptions{
		at: strconv.FormatInt(a.PostedAt.Unix(), 10), hour: hourOf(float64(a.PostedAt.Unix())), votes: a.Votes, kind: kindImported, prepared: prepared,
	})
}

// finish interprets the reply of post.lua, before which another one may have been lost. It returns the error unless that
// is a Refusal.
func (c *importCall) finish(answer reply, lost bool, err error) error {
	if err != nil {
		*c.err = storeError("import "+c.article.ID.String(), err)
		return *c.err
	}
	*c.added, c.linkTime, *c.err = importResult(c.article, c.submission, answer)
	*c.added = *c.added || lost && *c.err == nil
	if errors.As(*c.err, new(Refusal)) {
		return nil
	}
	return *c.err
}

// placeholders returns the number of voters, without the poster, that are added for an article.
func (r *Repo) placeholders(a Imported) int {
	n := max(a.Votes, -a.Votes)
	if a.Votes > 0 && r.rules.PosterVotes {
		n--
	}
	// The scripts decide by the clock of Redis. An hour is more than clocks should differ.
	if n <= importVoters && r.now().After(a.PostedAt.Add(r.rules.VotingWindow+time.Hour)) {
		return 0
	}
	return n
}

// importedTogether returns the number of calls that the next round trip makes, at least 1.
func importedTogether(calls []importCall) int {
	voters := 0
	for i, c := range calls[:min(len(calls), importArticles)] {
		if voters += c.placeholders; voters > importVoters {
			return max(i, 1)
		}
	}
	return min(len(calls), importArticles)
}

// importBatch makes calls that belong together. It returns an error that will fail further calls, too.
func (r *Repo) importBatch(ctx context.Context, calls []importCall) (failed error) {
	if calls[0].placeholders > importVoters {
		return r.importInSteps(ctx, &calls[0])
	}
	commands, unsent := make([]*once, len(calls)), make([]redis.Cmder, len(calls))
	for i, c := range calls {
		keys, args := c.call(r, false)
		commands[i] = &once{Cmd: scriptCommand(ctx, scriptWords(postScript, keys, args))}
		unsent[i] = commands[i]
	}
	send := func() error {
		return r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) { _ = pipe.BatchProcess(ctx, unsent...) })
	}
	err := send()
	if isNetwork(err) && ctx.Err() == nil {
		unsent = slices.DeleteFunc(unsent, hasRun)
		for _, c := range commands {
			c.again()
		}
		err = send()
	}
	for i := range calls {
		c := &calls[i]
		answer, callErr := commands[i].Slice()
		if callErr != nil {
			callErr = errors.Join(callErr, err)
		} else if first, known := commands[i].first.([]any); known {
			answer = first
		}
		failed = cmp.Or(failed, c.finish(answer, commands[i].lost && commands[i].first == nil, callErr))
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
		answer, again, err := r.runKnowing(ctx, scriptWords(postScript, keys, args))
		if err != nil || answer.status() != "UNPREPARED" {
			return c.finish(answer, again, err)
		}
	}
	return c.finish(nil, false, errOtherVoters)
}

// addVoters adds the placeholders of an article that is about to be imported. If restart is set, it first
// removes those that are there.
func (r *Repo) addVoters(ctx context.Context, c importCall, restart bool) error {
	a, p := c.article, r.partition(c.article.ID)
	for first := 1; first <= c.placeholders; first += importVoters {
		answer, err := r.run(ctx, votersScript, []string{
			p.article(a.ID),   // KEYS[1] article
			p.voted(a.ID),     // KEYS[2] voted
			p.downvoted(a.ID), // KEYS[3] downvoted
		}, []any{
			cmp.Compare(a.Votes, 0), // ARGV[1] upvoters or downvoters
			first,                   // ARGV[2] first
			min(first+importVoters-1, c.placeholders), // ARGV[3] last
			restart && first == 1,                     // ARGV[4] restart
			a.PostedAt.Unix(),                         // ARGV[5] time
			seconds(r.rules.VotingWindow),             // ARGV[6] window
			seconds(voterMargin),                      // ARGV[7] margin
			r.scriptNow(),                             // ARGV[8] now
		})
		if err != nil || answer.status() == "DONE" {
			return err
		}
	}
	return nil
}

// recordImported records the links of articles that were imported, by these calls or before: an import that was
// interrupted may not have recorded them.
func (r *Repo) recordImported(ctx context.Context, calls []importCall) error {
	var links []linked
	for _, c := range calls {
		if *c.err == nil && c.submission.link != "" && c.linkTime != "" {
			links = append(links, linked{c.article.ID, c.submission.link, c.linkTime})
		}
	}
	err := r.recordLinks(ctx, links)
	for _, c := range calls {
		if err != nil && *c.err == nil {
			*c.err = storeError("record the link of "+c.article.ID.String(), err)
		}
	}
	return err
}

// importResult interprets the reply of post.lua.
func importResult(a Imported, s submission, answer reply) (added bool, linkTime string, err error) {
	switch status := answer.status(); status {
	case "CREATED":
		return true, strconv.FormatInt(a.PostedAt.Unix(), 10), nil
	case "TAKEN":
		h, err := hashIn(answer)
		if err != nil {
			return false, "", err
		}
		edited := h.edits != "" && h.poster == a.Poster.member() && h.link == s.link
		if !edited && !isStoredAs(s, h, a.Poster) {
			return false, "", refuse(Conflict, "id", "%v is another article: %s by %s", a.ID, shown(h.title), userOf(h.poster))
		}
		if h.deleted != "" {
			return false, "", nil
		}
		return false, cmp.Or(h.time, "0"), nil // a.PostedAt may differ
	default:
		return false, "", fmt.Errorf("import %v: the script replied %q", a.ID, status)
	}
}

func (r *Repo) checkImport(a Imported) (submission, error) {
	s, err := a.Draft.check(importRules)
	var broken Refusal
	errors.As(err, &broken)
	broken = append(broken, r.rules.checkFamilies("groups", a.Draft.Groups)...)
	if _, err := ParseArticleID(a.ID.String()); err != nil {
		broken = append(broken, refuse(Invalid, "id", "%d is not an article number", a.ID)...)
	} else if a.ID > maxImportID {
		broken = append(broken, refuse(Invalid, "id", "%d is above %d: the numbers after that are for posts", a.ID, maxImportID)...)
	}
	if a.Votes < -maxImportVotes || a.Votes > maxImportVotes {
		broken = append(broken, refuse(Invalid, "votes", "votes are between %d and %d, not %d", -maxImportVotes, maxImportVotes, a.Votes)...)
	}
	if a.PostedAt.After(r.now()) {
		broken = append(broken, refuse(Invalid, "posted_at", "it was posted in the future: %s", a.PostedAt.UTC().Format(time.RFC3339))...)
	}
	if len(broken) > 0 {
		return submission{}, broken
	}
	return s, nil
}
