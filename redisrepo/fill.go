package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Source is an export that fills a store.
type Source struct {
	Digest string            // identifies it, so that an interrupted import can go on
	Rules  map[string]string // RankingRules of the site that it is from
	Last   ArticleID         // highest number that has been given out
}

// Filling is an import of an export into a store that was empty.
type Filling struct {
	r      *Repo
	source Source

	// Entries of the moderation log, by partition: the last that was stored before, and the last that PutLog got.
	stored, last map[int]logCursor
}

// Fill begins an import, or goes on with one that was interrupted. Until Finish, no program opens the store as a site.
// The rules must be those of the source, the options are those of New. A store that holds anything but a site without
// articles, or an interrupted import of the same source, is an error, and is not changed.
func Fill(ctx context.Context, client redis.UniversalClient, rules Rules, source Source, options ...Option) (*Filling, error) {
	r, err := newRepo(ctx, client, rules, options...)
	if err != nil {
		return nil, err
	}
	f := &Filling{r: r, source: source, last: map[int]logCursor{}}
	if err := f.claim(ctx); err != nil {
		return nil, err
	}
	last, err := r.LastNumber(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := r.setNumbers(ctx, max(last, source.Last)); err != nil { // posts of a server that runs get higher ones
		return nil, err
	}
	f.stored, err = r.lastEntries(ctx, 0, 1)
	return f, err
}

// claim marks the store as incomplete.
func (f *Filling) claim(ctx context.Context) error {
	r := f.r
	for rule, value := range r.RankingRules() {
		if was := recordedRule(f.source.Rules, rule); was != value {
			return fmt.Errorf("%s is %s in the file and %s in the settings: use the same settings", rule, was, value)
		}
	}
	record, err := r.client.HGetAll(ctx, untagged.meta()).Result()
	if err != nil {
		return storeError("read meta:", err)
	}
	articles, err := r.stored(ctx)
	if err != nil {
		return err
	}
	keys, err := r.client.DBSize(ctx).Result()
	ours := record[fieldOrigin] == f.source.Digest
	switch {
	case err != nil:
		return storeError("count the keys", err)
	case ours && articles > 0 && record[fieldLayout] == LayoutVersion:
		return errors.New("this file has been imported already, and nothing was changed")
	case r.incomplete && !ours:
		return ErrIncomplete
	case articles > 0 && !ours:
		return fmt.Errorf("the store is not empty: it has %d articles; an export is imported into an empty store only", articles)
	case len(record) == 0 && keys > 0:
		return fmt.Errorf("the store is not empty: it has %d keys, and no site; empty it, or use another store", keys)
	}
	for rule, value := range r.RankingRules() {
		if was := recordedRule(record, rule); was != "" && was != value {
			return fmt.Errorf("%s is %s in the store and %s in the settings: use the same settings", rule, was, value)
		}
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if err := r.markIncomplete(ctx, f.source.Digest); err != nil || !r.rules.Calendar {
		return err
	}
	return r.exchange(r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for _, p := range r.partitions {
			r.beginCalendar(ctx, pipe, p)
		}
	})
}

// Put stores up to batchSize articles that are not there yet.
func (f *Filling) Put(ctx context.Context, records []*Record) error {
	defer f.r.live.version.Add(1)
	exist := make([]*redis.IntCmd, len(records))
	err := f.r.exchange(ctx, func(pipe redis.Pipeliner) {
		for i, rec := range records {
			exist[i] = pipe.Exists(ctx, f.r.partition(rec.ID).article(rec.ID))
		}
	})
	if err != nil {
		return err
	}
	var missing []*Record
	for i, rec := range records {
		if exist[i].Val() == 0 {
			missing = append(missing, rec)
			if err := errors.Join(f.putVoters(ctx, rec), f.putVersions(ctx, rec)); err != nil {
				return err
			}
		}
	}
	err = f.r.pipeline(f.r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for _, rec := range missing {
			keys, args := f.putCall(rec)
			putScript.EvalSha(ctx, pipe, keys, args...)
		}
	})
	var links []linked
	for _, rec := range records { // also of those that an import that was killed has stored
		if rec.Link != "" && (rec.Reserved || rec.Deleted == nil) {
			links = append(links, linked{rec.ID, rec.Link, number(rec.Time)})
		}
	}
	if err == nil {
		err = f.r.recordLinks(ctx, links)
	}
	if err != nil {
		return storeError("import", err)
	}
	return nil
}

// kept is how long the voters of an article are still kept.
func (f *Filling) kept(rec *Record) time.Duration {
	posted := unixTime(rec.Time)
	return posted.Add(f.r.rules.VotingWindow + voterMargin).Sub(f.r.now()).Truncate(time.Second)
}

// withVoters returns the record, with voters without names if its voters are not known: while voting is open, the store
// needs one for each vote.
func (rec *Record) withVoters() *Record {
	if len(rec.Up)+rec.UnnamedUp+len(rec.Down)+rec.UnnamedDown > 0 {
		return rec
	}
	filled := *rec
	filled.UnnamedUp, filled.UnnamedDown = int(rec.Votes+rec.Downvotes), int(rec.Downvotes)
	if rec.Uncounted {
		filled.Up = []UserName{rec.Poster}
	}
	return &filled
}

// putVoters adds the voters of an article that does not exist yet, importVoters at a time.
func (f *Filling) putVoters(ctx context.Context, rec *Record) error {
	kept, p := f.kept(rec), f.r.partition(rec.ID)
	if kept >= voterMargin {
		rec = rec.withVoters()
	}
	if kept <= 0 || len(rec.Up)+rec.UnnamedUp+len(rec.Down)+rec.UnnamedDown == 0 {
		return nil
	}
	var audit []any
	for _, name := range slices.Sorted(maps.Keys(rec.Audit)) {
		audit = append(audit, name.member(), rec.Audit[name])
	}
	keys := []string{p.voted(rec.ID), p.downvoted(rec.ID), p.audit(rec.ID)}
	elements := [][]any{voterMembers(rec.Up, 0, rec.UnnamedUp), voterMembers(rec.Down, rec.UnnamedUp, rec.UnnamedDown), audit}
	err := f.r.exchange(f.r.confirmed(ctx), func(pipe redis.Pipeliner) { pipe.Unlink(ctx, keys...) }) // of an import that was killed
	for i, key := range keys {
		for some := range slices.Chunk(elements[i], importVoters) {
			if err != nil {
				return err
			}
			err = f.r.exchange(f.r.confirmed(ctx), func(pipe redis.Pipeliner) {
				if i == 2 {
					pipe.HSet(ctx, key, some...)
				} else {
					pipe.SAdd(ctx, key, some...)
				}
				pipe.Expire(ctx, key, kept)
			})
		}
	}
	return err
}

// putVersions stores the earlier versions of an article that does not exist yet.
func (f *Filling) putVersions(ctx context.Context, rec *Record) error {
	if rec.Edits == nil || len(rec.Edits.Versions) == 0 {
		return nil
	}
	var fields []any
	for i, v := range rec.Edits.Versions {
		fields = append(fields, rec.Edits.number(i), v.format())
	}
	if best := rec.Edits.Best; best != nil {
		fields = append(fields, fieldBest, best.format())
	}
	return f.r.exchange(f.r.confirmed(ctx), func(pipe redis.Pipeliner) {
		pipe.HSet(ctx, f.r.partition(rec.ID).history(rec.ID), fields...)
	})
}

// voterMembers are the members of a set of voters. Those without names are placeholders, as add_placeholders in
// shared.lua makes them, with numbers after those of the other set: no voter is in both.
func voterMembers(named []UserName, other, unnamed int) []any {
	members := make([]any, 0, len(named)+unnamed)
	for _, name := range named {
		members = append(members, name.member())
	}
	for i := range unnamed {
		members = append(members, "import:"+strconv.Itoa(other+i+1))
	}
	return members
}

func (f *Filling) putCall(rec *Record) (keys []string, args []any) {
	p := f.r.partition(rec.ID)
	keys = append(make([]string, 0, 32),
		p.article(rec.ID),        // KEYS[1] article
		p.ranking(ByTime),        // KEYS[2] times
		p.ranking(ByScore),       // KEYS[3] scores
		p.groups(),               // KEYS[4] group_names
		p.posted(rec.Poster),     // KEYS[5] posted
		p.deleted(),              // KEYS[6] deleted
		p.changes(f.r.database),  // KEYS[7] changes
		p.sizes(),                // KEYS[8] sizes
		p.host(HostOf(rec.Link)), // KEYS[9] host
	)
	posted := hourOf(rec.Time)
	keys = rankingKeys(keys, p, posted) // KEYS[10] to [16]
	keys = groupKeys(groupKeys(keys, p, Interesting), p, rec.Groups...)
	keys = f.r.groupTopKeys(keys, p, posted, rec.Groups...)
	deleted := ""
	if rec.Deleted != nil {
		deleted = number(rec.Deleted.At)
	}
	args = []any{
		rec.ID.String(),                                                                                           // ARGV[1] member
		number(rec.Time),                                                                                          // ARGV[2] time
		rec.Votes,                                                                                                 // ARGV[3] votes
		rec.Downvotes,                                                                                             // ARGV[4] downvotes
		rec.Revision,                                                                                              // ARGV[5] revision
		f.r.rules.rankingText(),                                                                                   // ARGV[6] ranking
		f.r.rules.InterestingVotes,                                                                                // ARGV[7] interesting_votes
		groupText(rec.Groups),                                                                                     // ARGV[8] group_text
		deleted,                                                                                                   // ARGV[9] deleted_at
		f.r.on,                                                                                                    // ARGV[10] features
		f.r.scriptNow(),                                                                                           // ARGV[11] now
		fieldTitle, rec.Title, fieldLink, rec.Link, fieldPoster, rec.Poster.member(), fieldTime, number(rec.Time), // ARGV[12...]
		fieldVotes, rec.Votes, fieldDownvotes, rec.Downvotes, fieldGroups, groupText(rec.Groups), fieldRevision, rec.Revision,
	}
	if rec.Text != "" {
		args = append(args, fieldText, rec.Text)
	}
	if rec.Uncounted {
		args = append(args, fieldUncounted, "1")
	}
	if e := rec.Edits; e != nil {
		args = append(args, fieldEdition, e.Edition)
		if e.Count > 0 {
			args = append(args, fieldEdits, e.Count, fieldEdited, number(e.Last))
		}
	}
	if rec.Deleted != nil {
		args = append(args, fieldDeleted, deleted, fieldDeletedBy, rec.Deleted.By.member())
	}
	return keys, args
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// PutLog appends entries to the moderation log, in the order of LogRecords, that are not there yet. They come before the
// articles: a moderator whom a server serves meanwhile can only add later ones. An entry whose id another one has, which
// was in another partition, gets the next id.
func (f *Filling) PutLog(ctx context.Context, entries []LogRecord) error {
	return f.r.exchange(f.r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for _, e := range entries {
			index := f.r.index(e.Article)
			at := newLogCursor(e.ID, 0)
			if last := f.last[index]; at.compare(last) <= 0 {
				at = last
				at.sequence++
			}
			f.last[index] = at
			if at.compare(f.stored[index]) <= 0 {
				continue
			}
			values := []any{"xadd", f.r.partitions[index].moderation(), at.id(),
				"kind", string(e.Kind), "article", e.Article.String(), "by", e.By.member(), "at", number(e.At)}
			if e.For != nil {
				values = append(values, "on_behalf_of", e.For.member())
			}
			if e.Kind == LogRegrouped || len(e.Before)+len(e.After) > 0 {
				values = append(values, "before", groupText(e.Before), "after", groupText(e.After))
			}
			for _, pair := range [][2]string{{"title", e.Title}, {"link", e.Link}, {"reason", e.Reason}} {
				if pair[1] != "" {
					values = append(values, pair[0], pair[1])
				}
			}
			pipe.Do(ctx, values...)
		}
	})
}

// Finish checks the store and makes it a site. report is called with each inconsistency: then the import has failed.
func (f *Filling) Finish(ctx context.Context, report func(violation string)) (Checked, error) {
	if err := f.fillCasts(ctx); err != nil {
		return Checked{}, storeError("list the votes of users", err)
	}
	violations := 0
	checked, err := f.r.check(ctx, false, func(violation string) {
		violations++
		report(violation)
	})
	if err != nil {
		return checked, err
	}
	if violations > 0 {
		return checked, fmt.Errorf("the import has %d inconsistencies: empty the store", violations)
	}
	return checked, f.r.markComplete(ctx)
}

// fillCasts enters the votes on articles whose voters are known into the histories.
func (f *Filling) fillCasts(ctx context.Context) error {
	for _, feature := range features() {
		for _, p := range f.r.partitions {
			if feature.name == "cast" && feature.on(f.r.rules) {
				if err := feature.build(f.r, ctx, &building{feature: feature, p: p}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
