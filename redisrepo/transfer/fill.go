package transfer

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var putScript = wire.Script(luaFiles, "put.lua")

// Source identifies an export that fills a store.
type Source struct {
	Meta
	Digest string            // identifies it, so that an interrupted import can go on
	Rules  map[string]string // RankingRules of its site
	Whole  bool              // whether it has the lists of votes, front pages and accounts; files of versions before 0.10 have none
}

// Filling is an import of an export into an empty store.
type Filling struct {
	*redisrepo.Repo // the site, which is not complete yet
	source          Source

	front site.Hour // of the last page of PutFront

	// lacking has the articles all of whose votes the lists of their voters should have, while these are known, and how many
	// the lists that were put do not have yet.
	lacking map[site.ArticleID]int

	// Entries of the moderation log, by partition: the last that was stored before, and the last that PutLog got.
	stored, last map[int]events.LogCursor
}

// Fill begins an import, or continues an interrupted one. Until Finish, no program opens the store as a site. The rules
// must be those of the source, the options are those of New. The store must have a site without articles, nothing, or
// an interrupted import of the same source: otherwise Fill returns an error and changes nothing.
func Fill(ctx context.Context, client redis.UniversalClient, rules site.Rules, source Source, options ...redisrepo.Option) (*Filling, error) {
	r, err := redisrepo.Find(ctx, client, rules, options...)
	if err != nil {
		return nil, err
	}
	f := &Filling{Repo: r, source: source, lacking: map[site.ArticleID]int{}, last: map[int]events.LogCursor{}}
	if err := f.claim(ctx); err != nil {
		return nil, err
	}
	last, err := LastNumber(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := r.Layout.SetNumbers(ctx, max(last, source.Last)); err != nil { // posts of a server that runs get higher ones
		return nil, err
	}
	f.stored, err = r.Layout.LastEntries(ctx)
	return f, err
}

// claim marks the store as incomplete.
func (f *Filling) claim(ctx context.Context) error {
	r := f.Repo
	for rule, value := range r.Layout.RankingRules() {
		if was := layout.RecordedRule(f.source.Rules, rule); was != value {
			return fmt.Errorf("%s is %s in the file and %s in the settings: use the same settings", rule, was, value)
		}
	}
	record, err := r.Store.Client.HGetAll(ctx, keys.Untagged.Meta()).Result()
	if err != nil {
		return failover.Wrap("read meta:", err)
	}
	articles, err := CountStored(ctx, r)
	if err != nil {
		return err
	}
	size, err := r.Store.Client.DBSize(ctx).Result()
	ours := record[keys.FieldOrigin] == f.source.Digest
	switch {
	case err != nil:
		return failover.Wrap("count the keys", err)
	case ours && articles > 0 && record[keys.FieldLayout] == layout.LayoutVersion:
		return errors.New("this file has been imported already, and nothing was changed")
	case r.Store.Incomplete && !ours:
		return layout.ErrIncomplete
	case articles > 0 && !ours:
		return fmt.Errorf("the store is not empty: it has %d articles; an export is imported into an empty store only", articles)
	case len(record) == 0 && size > 0:
		return fmt.Errorf("the store is not empty: it has %d keys, and no site; empty it, or use another store", size)
	}
	for rule, value := range r.Layout.RankingRules() {
		if was := layout.RecordedRule(record, rule); was != "" && was != value {
			return fmt.Errorf("%s is %s in the store and %s in the settings: use the same settings", rule, was, value)
		}
	}
	if err := r.Prepare(ctx); err != nil {
		return err
	}
	if err := r.Layout.MarkIncomplete(ctx, f.source.Digest); err != nil {
		return err
	}
	return r.Store.Write(ctx, func(pipe redis.Pipeliner) {
		for field, value := range map[string]string{keys.FieldUUID: f.source.UUID, keys.FieldCursorKey: f.source.CursorKey, keys.FieldCastSince: f.source.CastSince} {
			if value != "" && (field != keys.FieldCastSince || r.Store.Has("cast")) {
				pipe.HSet(ctx, r.Store.Partitions[0].Meta(), field, value)
			}
		}
		for _, p := range r.Store.Partitions {
			if r.Store.Rules.Calendar {
				r.Layout.BeginCalendar(ctx, pipe, p)
			}
			if r.Store.Rules.FrontPages > 0 {
				r.Rankings.BeginFront(ctx, pipe, p)
			}
		}
	})
}

// putTogether is the number of articles that one call of put.lua stores. Redis serves no other client meanwhile.
const putTogether = 50

// Put stores articles that are not there yet.
func (f *Filling) Put(ctx context.Context, records []*Record) error {
	exist, err := wire.ReadEach(ctx, f.Store, records, func(pipe redis.Pipeliner, rec *Record) *redis.IntCmd {
		return pipe.Exists(ctx, f.Store.Partition(rec.ID).Article(rec.ID))
	})
	if err != nil {
		return err
	}
	var missing []*Record
	var links []articles.Linked
	for i, rec := range records { // also those that an import that was killed has stored
		if exist[i].Val() == 0 {
			missing = append(missing, rec)
		}
		if rec.Cast != nil && *rec.Cast == rec.Votes && f.kept(rec) > 0 {
			f.lacking[rec.ID] = len(rec.Up) + len(rec.Down)
		}
		if rec.Link != "" && (rec.Reserved || rec.Deleted == nil) {
			links = append(links, articles.Linked{ID: rec.ID, Link: rec.Link, Time: site.Number(rec.Time)})
		}
	}
	for _, put := range []func() error{
		func() error { return f.putVoters(ctx, missing) },
		func() error { return f.putParts(ctx, missing) },
		func() error { return f.putArticles(ctx, missing) },
		func() error { return f.Layout.RecordLinks(ctx, links) },
		func() error { return f.Views.CatchUp(ctx) },
	} {
		if err == nil {
			err = put()
		}
	}
	return failover.Wrap("import", err)
}

// kept is how long the voters of an article are still kept.
func (f *Filling) kept(rec *Record) time.Duration {
	posted := site.UnixTime(rec.Time)
	return posted.Add(f.Store.Rules.VotingWindow + site.VoterMargin).Sub(f.Store.Now()).Truncate(time.Second)
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
		filled.Up = []site.UserName{rec.Poster}
	}
	return &filled
}

// putVoters adds the voters of articles that do not exist yet, about ImportVoters in one round trip.
func (f *Filling) putVoters(ctx context.Context, records []*Record) error {
	var pending []redis.Cmder
	voters := 0
	send := func() error {
		all := pending
		pending, voters = nil, 0
		return f.Store.Write(ctx, func(pipe redis.Pipeliner) { _ = pipe.BatchProcess(ctx, all...) })
	}
	for _, rec := range records {
		kept, p := f.kept(rec), f.Store.Partition(rec.ID)
		if kept >= site.VoterMargin {
			rec = rec.withVoters()
		}
		if kept <= 0 || len(rec.Up)+rec.UnnamedUp+len(rec.Down)+rec.UnnamedDown == 0 {
			continue
		}
		var audit []any
		for _, name := range slices.Sorted(maps.Keys(rec.Audit)) {
			audit = append(audit, name.Member(), rec.Audit[name])
		}
		sets := []struct {
			add, key string
			members  []any
		}{
			{"sadd", p.Voted(rec.ID), voterMembers(rec.Up, 0, rec.UnnamedUp)},
			{"sadd", p.Downvoted(rec.ID), voterMembers(rec.Down, rec.UnnamedUp, rec.UnnamedDown)},
			{"hset", p.Audit(rec.ID), audit},
		}
		for _, set := range sets {
			pending = append(pending, redis.NewIntCmd(ctx, "unlink", set.key)) // of an import that was killed
			for some := range slices.Chunk(set.members, layout.ImportVoters) {
				words := append([]any{set.add, set.key}, some...)
				pending = append(pending, redis.NewIntCmd(ctx, words...), redis.NewBoolCmd(ctx, "expire", set.key, site.Seconds(kept)))
				if voters += len(some); voters < layout.ImportVoters {
					continue
				}
				if err := send(); err != nil {
					return err
				}
			}
		}
	}
	return send()
}

// putParts stores earlier versions, reports and void votes of articles that do not exist yet.
func (f *Filling) putParts(ctx context.Context, records []*Record) error {
	return f.Store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, rec := range records {
			f.queueVersions(ctx, pipe, rec)
			if rec.Reports != nil {
				f.Reports.Put(ctx, pipe, rec.ID, rec.Reports)
			}
			if len(rec.Void) > 0 {
				f.Voids.Put(ctx, pipe, rec.ID, rec.Time, rec.Void)
			}
		}
	})
}

// queueVersions queues the command that stores the earlier versions of an article.
func (f *Filling) queueVersions(ctx context.Context, pipe redis.Pipeliner, rec *Record) {
	if rec.Edits == nil || len(rec.Edits.Versions) == 0 {
		return
	}
	var fields []any
	for i, v := range rec.Edits.Versions {
		fields = append(fields, rec.Edits.number(i), v.Format())
	}
	if best := rec.Edits.Best; best != nil {
		fields = append(fields, redisrepo.FieldBest, best.Format())
	}
	pipe.HSet(ctx, f.Store.Partition(rec.ID).History(rec.ID), fields...)
}

// putArticles stores articles, all that belongs to each at one moment.
func (f *Filling) putArticles(ctx context.Context, records []*Record) error {
	byPartition := make([][]*Record, len(f.Store.Partitions))
	for _, rec := range records {
		i := f.Store.Index(rec.ID)
		byPartition[i] = append(byPartition[i], rec)
	}
	return f.Store.Write(ctx, func(pipe redis.Pipeliner) {
		for i, p := range f.Store.Partitions {
			for _, rec := range byPartition[i] {
				if best := rec.BestRank; best != nil && f.Store.Rules.FrontPages > 0 {
					pipe.ZAdd(ctx, p.Best(), redis.Z{Member: rec.ID.String(), Score: float64(best.Rank*rankings.PerRank + int64(best.Hour))})
				}
				if rec.Deleted != nil && rec.Deleted.Unexplained {
					pipe.ZAdd(ctx, p.Unexplained(), redis.Z{Member: rec.ID.String(), Score: rec.Deleted.At})
				}
			}
			for some := range slices.Chunk(byPartition[i], putTogether) {
				scriptKeys, args := f.putCall(p, some)
				putScript.EvalSha(ctx, pipe, scriptKeys, args...)
			}
		}
	})
}

// voterMembers are the members of a set of voters. Those without names are placeholders, as add_placeholders in
// voter_sets.lua makes them, with numbers after those of the other set: no voter is in both.
func voterMembers(named []site.UserName, other, unnamed int) []any {
	members := make([]any, 0, len(named)+unnamed)
	for _, name := range named {
		members = append(members, name.Member())
	}
	for i := range unnamed {
		members = append(members, "import:"+strconv.Itoa(other+i+1))
	}
	return members
}

func (f *Filling) putCall(p keys.Partition, records []*Record) (scriptKeys []string, args []any) {
	var groups []site.GroupName
	for _, rec := range records {
		groups = append(groups, rec.Groups...)
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	scriptKeys = []string{
		p.Ranking(site.ByTime),  // KEYS[1] times
		p.Ranking(site.ByScore), // KEYS[2] scores
		p.Groups(),              // KEYS[3] group_names
		p.Deleted(),             // KEYS[4] deleted
		p.Sizes(),               // KEYS[5] sizes
		p.Events(),              // KEYS[6] events
		p.Views(),               // KEYS[7] views
	}
	scriptKeys = lists.GroupKeys(lists.GroupKeys(scriptKeys, p, site.Interesting), p, groups...) // KEYS[8...] key
	args = []any{
		f.Store.Rules.RankingText(),    // ARGV[1] ranking
		f.Store.Rules.InterestingVotes, // ARGV[2] interesting_votes
		f.Store.ScriptNow(),            // ARGV[3] now
		site.GroupText(groups),         // ARGV[4] all_groups
	}
	for _, rec := range records {
		own, fields, deleted := p.Lists(rec.Poster, rec.Link), f.fields(rec), ""
		if rec.Deleted != nil {
			deleted = site.Number(rec.Deleted.At)
		}
		scriptKeys = append(append(scriptKeys, p.Article(rec.ID)), own...)
		args = append(args, rec.ID.String(), site.Number(rec.Time), rec.Votes, rec.Downvotes, rec.Revision, site.GroupText(rec.Groups), // ARGV[5...] word
			deleted, len(own), len(fields))
		args = append(args, fields...)
	}
	return scriptKeys, args
}

// fields returns all fields of an article's hash and their values, in turn.
func (f *Filling) fields(rec *Record) []any {
	args := []any{
		site.FieldTitle, rec.Title, site.FieldLink, rec.Link, site.FieldPoster, rec.Poster.Member(), site.FieldTime, site.Number(rec.Time),
		site.FieldVotes, rec.Votes, site.FieldDownvotes, rec.Downvotes, site.FieldGroups, site.GroupText(rec.Groups), site.FieldRevision, rec.Revision,
	}
	if rec.Text != "" {
		args = append(args, site.FieldText, rec.Text)
	}
	if rec.Uncounted {
		args = append(args, site.FieldUncounted, "1")
	}
	if rec.Milestone > 0 {
		args = append(args, "milestone", rec.Milestone)
	}
	if rec.Cast != nil && f.Store.Has("cast") {
		args = append(args, site.FieldCast, *rec.Cast)
	}
	if n := len(rec.Void); n > 0 {
		args = append(args, site.FieldVoided, n)
	}
	if e := rec.Edits; e != nil {
		args = append(args, site.FieldEdition, e.Edition)
		if e.Count > 0 {
			args = append(args, site.FieldEdits, e.Count, site.FieldEdited, site.Number(e.Last))
		}
	}
	if r := rec.Removal; r != nil {
		stored := site.Removal{Why: r.Why, At: site.UnixTime(r.At), By: r.By}
		args = append(args, site.FieldWhy, stored.Text())
	}
	if rec.Deleted != nil {
		args = append(args, site.FieldDeleted, site.Number(rec.Deleted.At), site.FieldDeletedBy, rec.Deleted.By.Member())
		if rec.Deleted.FromReport {
			args = append(args, site.FieldReported, 1)
		}
	}
	return args
}

// PutLog appends entries to the moderation log, in the order of LogRecords, that are not there yet. Call it before Put:
// later entries of moderators then come after these. An entry whose id is taken, by one from another partition, gets
// the next id.
func (f *Filling) PutLog(ctx context.Context, entries []LogRecord) error {
	return f.Store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, e := range entries {
			index, target := 0, e.Target
			if target == "" {
				index, target = f.Store.Index(e.Article), e.Article.String()
			}
			at := events.NewLogCursor(e.ID, 0)
			if last := f.last[index]; at.Compare(last) <= 0 {
				at = last
				at.Sequence++
			}
			f.last[index] = at
			if at.Compare(f.stored[index]) <= 0 {
				continue
			}
			values := []any{"xadd", f.Store.Partitions[index].Moderation(), at.String(),
				"kind", string(e.Kind), "article", target, "by", e.By.Member(), "at", site.Number(e.At)}
			if e.For != nil {
				values = append(values, "on_behalf_of", e.For.Member())
			}
			if e.Kind == events.LogRegrouped || len(e.Before)+len(e.After) > 0 {
				values = append(values, "before", site.GroupText(e.Before), "after", site.GroupText(e.After))
			}
			for _, pair := range [][2]string{{"title", e.Title}, {"link", e.Link}, {"reason", e.Reason}, {"ground", string(e.Ground)}, {"basis", e.Basis}, {"until", e.Until}} {
				if pair[1] != "" {
					values = append(values, pair[0], pair[1])
				}
			}
			pipe.Do(ctx, values...)
		}
	})
}

// PutFront stores front pages of past hours.
func (f *Filling) PutFront(ctx context.Context, records []FrontRecord) error {
	if len(records) == 0 || f.Store.Rules.FrontPages == 0 {
		return nil
	}
	pages := make([]rankings.SavedPage, len(records))
	for i, rec := range records {
		var err error
		if pages[i], err = rankings.ParseFrontPage(rec.Front); err != nil {
			return err
		}
		f.front = max(f.front, pages[i].Hour)
	}
	return failover.Wrap("store front pages", f.Rankings.PutPastPages(ctx, pages))
}

// Erased adds digests to those of erased users' names in the store, and returns all.
func (f *Filling) Erased(ctx context.Context, others []string) (map[string]bool, error) {
	key, list := f.Store.Partitions[0].Erased(), map[string]bool{}
	for some := range slices.Chunk(others, wire.BatchSize) {
		err := f.Store.Write(ctx, func(pipe redis.Pipeliner) {
			for _, digest := range some {
				pipe.ZAddNX(ctx, key, redis.Z{Score: float64(f.Store.Now().Unix()), Member: digest})
			}
		})
		if err != nil {
			return nil, failover.Wrap("record erased users", err)
		}
	}
	all, err := erase.Erased(ctx, f.Repo)
	for _, digest := range all {
		list[digest] = true
	}
	return list, err
}

// Finish erases users, checks the store and makes it a site. report is called with each inconsistency: then the import has failed.
func (f *Filling) Finish(ctx context.Context, erased []site.UserName, report func(violation string)) (check.Checked, error) {
	for _, name := range erased {
		if _, err := erase.User(ctx, f.Repo, string(name), erase.Options{}); err != nil {
			return check.Checked{}, err
		}
	}
	// A file of version 1 has no lists of votes. In another one a vote may be missing that was cast while the site was exported.
	lacksVotes := func(id site.ArticleID) bool { return !f.source.Whole || f.lacking[id] > 0 }
	if err := f.Layout.FillCasts(ctx, lacksVotes); err != nil {
		return check.Checked{}, failover.Wrap("list the votes of users", err)
	}
	if !f.source.Whole {
		for _, p := range f.Store.Partitions {
			if err := f.Layout.RecordSkeletons(ctx, p); err != nil {
				return check.Checked{}, failover.Wrap("record the names of users", err)
			}
		}
	}
	if f.source.FrontSince > 0 && f.Store.Rules.FrontPages > 0 {
		if err := f.Rankings.SetPast(ctx, f.source.FrontSince, max(f.front, f.source.FrontSince-1)); err != nil {
			return check.Checked{}, err
		}
	}
	checked, err := check.Compare(ctx, f.Repo, false, report)
	if err != nil {
		return checked, err
	}
	if checked.Violations > 0 {
		return checked, fmt.Errorf("the import has %d inconsistencies: empty the store", checked.Violations)
	}
	return checked, f.Layout.MarkComplete(ctx)
}
