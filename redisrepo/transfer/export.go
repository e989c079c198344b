// Package transfer reads a whole site as records, and fills an empty store from them.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"frontpage/redisrepo"
	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/voids"
	"frontpage/redisrepo/wire"
)

// Record is an article with everything that the store has about it, in an export.
type Record struct {
	ID        site.ArticleID   `json:"article"`
	Title     string           `json:"title"`
	Link      string           `json:"link,omitempty"`
	Text      string           `json:"text,omitempty"`
	Poster    site.UserName    `json:"poster"`
	Time      float64          `json:"time"`  // of posting, Unix seconds; whole, but not in exports of 0.9.0
	Votes     int64            `json:"votes"` // net
	Downvotes int64            `json:"downvotes,omitempty"`
	Groups    []site.GroupName `json:"groups,omitempty"` // sorted
	Revision  int64            `json:"revision"`
	Milestone int64            `json:"milestone,omitempty"` // the highest one that the net votes have reached
	Cast      *int64           `json:"cast,omitempty"`      // those net votes that are in the lists of their voters, if that is known
	BestRank  *BestRank        `json:"best_rank,omitempty"`
	Uncounted bool             `json:"uncounted,omitempty"` // whether the poster's own vote is recorded, but does not count
	Deleted   *Deletion        `json:"deleted,omitempty"`
	Removal   *Removal         `json:"removal,omitempty"`
	Edits     *Edits           `json:"edits,omitempty"`
	Reports   *reports.Stored  `json:"reports,omitempty"`
	Void      []voids.Stored   `json:"void,omitempty"`     // votes that do not count
	Reserved  bool             `json:"reserved,omitempty"` // whether the record of the link names this article

	// The voters, while they are known: both are empty after that, whatever the counts say.
	Up          []site.UserName `json:"up,omitempty"`   // sorted
	Down        []site.UserName `json:"down,omitempty"` // sorted
	UnnamedUp   int             `json:"unnamed_up,omitempty"`
	UnnamedDown int             `json:"unnamed_down,omitempty"`
	// Audit has for each recorded vote its position (1, 0 or -1), its time, and the pseudonym of the voter's address.
	Audit map[site.UserName]string `json:"audit,omitempty"`
}

// BestRank is the best rank of an article at a full hour whose front page is no longer known.
type BestRank struct {
	Rank int64     `json:"rank"` // from 1
	Hour site.Hour `json:"hour"`
}

// Edits are the changes of an article's title and text.
type Edits struct {
	Count    int64                   `json:"count,omitempty"`
	Last     float64                 `json:"last,omitempty"`     // time of the last one, Unix seconds
	Edition  int64                   `json:"edition,omitempty"`  // revision that the last change of the title, the text or the groups made
	Versions []site.StoredVersion    `json:"versions,omitempty"` // what they replaced, as far as it is kept, oldest first
	Best     *redisrepo.VotedVersion `json:"best,omitempty"`
}

// number is the number of the edit that replaced a version.
func (e *Edits) number(i int) int64 { return cmp.Or(e.Versions[i].Number, e.follows(i)) }

// follows is what the number would be if the versions were those of the last edits.
func (e *Edits) follows(i int) int64 { return e.Count - int64(len(e.Versions)) + 1 + int64(i) }

// Deletion is when and by whom an article was deleted.
type Deletion struct {
	At float64       `json:"at"` // Unix seconds
	By site.UserName `json:"by"`

	FromReport  bool `json:"from_report,omitempty"` // whether reports of the article led to it
	Unexplained bool `json:"unexplained,omitempty"` // whether it is listed as one without a ground
}

// Removal is why a moderator deleted or changed an article.
type Removal struct {
	Deletion // or change
	site.Why
}

// LogRecord is an entry of the moderation log, in an export.
type LogRecord struct {
	Kind    events.ModerationKind `json:"log"`
	ID      string                `json:"id"` // of the stream: milliseconds and a number
	Article site.ArticleID        `json:"article,omitempty"`
	Target  string                `json:"target,omitempty"` // of an action on a user, a host or a group, such as user:eve, instead of the article
	By      site.UserName         `json:"by"`
	For     *site.UserName        `json:"on_behalf_of,omitempty"` // ModerationEntry.OnBehalfOf
	At      float64               `json:"at"`                     // Unix seconds
	Before  []site.GroupName      `json:"before,omitempty"`       // its groups; only if the action changed them
	After   []site.GroupName      `json:"after,omitempty"`
	Title   string                `json:"title,omitempty"`
	Link    string                `json:"link,omitempty"`
	Reason  string                `json:"reason,omitempty"`
	Ground  site.Ground           `json:"ground,omitempty"`
	Basis   string                `json:"basis,omitempty"`
	Until   string                `json:"until,omitempty"` // of a denial, Unix seconds; -: it never ends
}

// HasTarget reports whether the entry is about exactly one article, user, host or group.
func (e LogRecord) HasTarget() bool {
	switch e.Target {
	case "":
		return e.Article >= 1 && e.Article <= 1<<31-1
	case site.ErasedUser.Member():
		return e.Article == 0
	}
	target, err := events.ParseTarget(e.Target)
	return e.Article == 0 && err == nil && target == e.Target && !strings.HasPrefix(target, site.ArticlePrefix)
}

// maxReadTogether is the number of voters that one transaction of an export reads: more would delay other clients.
const maxReadTogether = 5000

// ErrInconsistent is the error of Records for an article that Check would report.
var ErrInconsistent = errors.New("its keys contradict each other: run frontpage check")

// ErrNoSite is the error of Stored for a store without a site.
var ErrNoSite = errors.New("this store has no site")

// Stored returns the number of articles, including deleted ones, of the site in a store. It changes nothing.
func Stored(ctx context.Context, client redis.UniversalClient) (articles int, err error) {
	r, err := redisrepo.Find(ctx, client, site.DefaultRules())
	if err != nil {
		return 0, err
	}
	if layout := client.HGet(ctx, keys.Untagged.Meta(), keys.FieldLayout); layout.Err() != nil || r.Store.Incomplete {
		return 0, errors.Join(ErrNoSite, layout.Err())
	}
	return CountStored(ctx, r)
}

// CountStored returns the number of articles of a site, including deleted ones.
func CountStored(ctx context.Context, r *redisrepo.Repo) (articles int, err error) {
	listed, err := r.Store.Sum(ctx, func(pipe redis.Pipeliner, p keys.Partition) *redis.IntCmd {
		return pipe.ZCard(ctx, p.Ranking(site.ByTime))
	})
	deleted, deletedErr := r.Store.Sum(ctx, func(pipe redis.Pipeliner, p keys.Partition) *redis.IntCmd { return pipe.ZCard(ctx, p.Deleted()) })
	return listed + deleted, cmp.Or(err, deletedErr)
}

// AllIDs returns the ids of all articles, including deleted ones, in ascending order.
func AllIDs(ctx context.Context, r *redisrepo.Repo) ([]site.ArticleID, error) {
	var ids []site.ArticleID
	for _, p := range r.Store.Partitions {
		for _, set := range []string{p.Ranking(site.ByTime), p.Deleted()} {
			before := len(ids)
			begin := func() { ids = ids[:before] }
			err := r.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: set, Step: 2, Begin: begin, Handle: func(members []string) error {
				for _, member := range members {
					if id, err := site.ParseArticleID(member); err == nil {
						ids = append(ids, id)
					}
				}
				return nil
			}})
			if err != nil {
				return nil, failover.Wrap("read "+set, err)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Meta has the values of an export for the whole site.
type Meta struct {
	UUID       string         `json:"uuid,omitempty"`       // missing in files of versions before 0.10
	CursorKey  string         `json:"cursor_key,omitempty"` // signs the cursors of rankings
	CastSince  string         `json:"cast_since,omitempty"` // since when the users' lists have all votes, see casts.OpenCasts
	FrontSince site.Hour      `json:"front_since,omitempty"`
	Last       site.ArticleID `json:"last"` // highest article number that has been given out
}

// ReadMeta reads the Meta of a site.
func ReadMeta(ctx context.Context, r *redisrepo.Repo) (m Meta, err error) {
	meta := r.Store.Partitions[0].Meta()
	found, err := r.Store.Client.HMGet(ctx, meta, keys.FieldUUID, keys.FieldCursorKey, keys.FieldCastSince).Result()
	if err != nil {
		return m, failover.Wrap("read "+meta, err)
	}
	fields := wire.Reply(found)
	m.UUID, m.CursorKey, m.CastSince = fields.Text(0), fields.Text(1), fields.Text(2)
	if m.Last, err = LastNumber(ctx, r); err != nil {
		return m, err
	}
	m.FrontSince, err = r.Rankings.FrontSince(ctx)
	return m, err
}

var castSince = regexp.MustCompile(`^-?\d{1,15} -?\d{1,9} \d{1,12} \d{1,12}$`)

// Validate returns an error for values that no site can have.
func (m Meta) Validate() error {
	if m.UUID != "" && uuid.Validate(m.UUID) != nil {
		return fmt.Errorf("%.40q is no UUID", m.UUID)
	}
	if m.Last < 0 || m.Last > math.MaxInt32 || m.FrontSince < 0 || m.FrontSince > math.MaxInt32 || m.CastSince != "" && !castSince.MatchString(m.CastSince) {
		return errors.New("last, front_since or cast_since is invalid")
	}
	return nil
}

// LastNumber returns the highest article number that has been given out.
func LastNumber(ctx context.Context, r *redisrepo.Repo) (last site.ArticleID, err error) {
	given, err := wire.ReadEach(ctx, r.Store, r.Store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.StringCmd {
		return pipe.Get(ctx, p.Counter())
	})
	if err != nil {
		return 0, err
	}
	for i, reply := range given {
		if n, err := reply.Int64(); err == nil {
			last = max(last, site.ArticleID(n*int64(len(given))+int64(i)))
		} else if !errors.Is(err, redis.Nil) {
			return 0, fmt.Errorf("%s: is not a number: %q", r.Store.Partitions[i].Counter(), reply.Val())
		}
	}
	return last, nil
}

// recordReplies are the replies from which a record is made.
type recordReplies struct {
	hash          *redis.MapStringStringCmd
	time, deleted *redis.FloatCmd
	best          *redis.FloatCmd
	unexplained   *redis.FloatCmd
	voted, down   *redis.StringSliceCmd
	audit         *redis.MapStringStringCmd
	history       *redis.MapStringStringCmd
	flags, void   *redis.MapStringStringCmd
	link          string // key of the reservation of its link; empty without a link
	reservation   *redis.StringCmd
	large         bool // whether the voters are in scanned
	scanned       [2][]string
}

// Records reads articles, each at one moment, in a few round trips. A record is nil for an article that no longer
// exists. The error of an article is ErrInconsistent, or says which of its numbers is invalid; its record has no
// voters, and is nil if more than the voters is inconsistent.
func Records(ctx context.Context, r *redisrepo.Repo, ids []site.ArticleID) (records []*Record, errs []error, err error) {
	records, errs = make([]*Record, len(ids)), make([]error, len(ids))
	left := make([]int, len(ids))
	for i := range left {
		left[i] = i
	}
	for attempt := range 3 { // a record of a link is read apart
		if left, err = readRecords(ctx, r, ids, left, records, errs); err != nil {
			return nil, nil, failover.Wrap("export", err)
		}
		if len(left) == 0 || attempt == 2 {
			break
		}
		failover.Wait(ctx, failover.MinPause)
	}
	return records, errs, nil
}

// readRecords reads the articles of ids at the indexes in left, and returns the indexes of those that are inconsistent.
func readRecords(ctx context.Context, r *redisrepo.Repo, ids []site.ArticleID, left []int, records []*Record, errs []error) (again []int, err error) {
	size := make([][2]*redis.IntCmd, len(left))
	known := make([]*redis.StringCmd, len(left))
	err = r.Store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, at := range left {
			id, p := ids[at], r.Store.Partition(ids[at])
			size[i] = [2]*redis.IntCmd{pipe.SCard(ctx, p.Voted(id)), pipe.SCard(ctx, p.Downvoted(id))}
			known[i] = pipe.HGet(ctx, p.Article(id), site.FieldLink)
		}
	})
	if err != nil {
		return nil, err
	}
	for first := 0; first < len(left); {
		replies, voters, next := map[int]*recordReplies{}, int64(0), first
		for ; next < len(left); next++ {
			more := size[next][0].Val() + size[next][1].Val()
			f := &recordReplies{large: more > maxReadTogether}
			if !f.large {
				voters += more
			}
			if next > first && voters > maxReadTogether {
				break
			}
			replies[next] = f
		}
		apart := make([][]func(redis.Pipeliner), len(r.Store.Partitions))
		for i := first; i < next; i++ {
			id, link := ids[left[i]], known[i].Val()
			if replies[i].large {
				if err := readLarge(ctx, r, replies[i], id); err != nil {
					return nil, err
				}
			} else {
				apart[r.Store.Index(id)] = append(apart[r.Store.Index(id)], func(pipe redis.Pipeliner) { replies[i].queue(ctx, pipe, r.Store.Partition(id), id) })
			}
			if link != "" {
				replies[i].link = r.Articles.LinkRecord(link)
			}
		}
		if err := readApart(ctx, r, apart); err != nil {
			return nil, err
		}
		err = r.Store.Read(ctx, func(pipe redis.Pipeliner) {
			for i := first; i < next; i++ {
				if f := replies[i]; f.link != "" {
					f.reservation = pipe.Get(ctx, f.link)
				}
			}
		})
		if err != nil {
			return nil, err
		}
		for i := first; i < next; i++ {
			at := left[i]
			if records[at], errs[at] = replies[i].record(ids[at]); errors.Is(errs[at], ErrInconsistent) {
				again = append(again, at)
			}
		}
		first = next
	}
	return again, nil
}

func (f *recordReplies) queue(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, id site.ArticleID) {
	f.hash = pipe.HGetAll(ctx, p.Article(id))
	f.time, f.deleted = pipe.ZScore(ctx, p.Ranking(site.ByTime), id.String()), pipe.ZScore(ctx, p.Deleted(), id.String())
	if !f.large {
		f.voted, f.down = pipe.SMembers(ctx, p.Voted(id)), pipe.SMembers(ctx, p.Downvoted(id))
	}
	f.audit, f.history = pipe.HGetAll(ctx, p.Audit(id)), pipe.HGetAll(ctx, p.History(id))
	f.best, f.unexplained = pipe.ZScore(ctx, p.Best(), id.String()), pipe.ZScore(ctx, p.Unexplained(), id.String())
	f.flags, f.void = pipe.HGetAll(ctx, p.Flags(id)), pipe.HGetAll(ctx, p.Void(id))
}

// maxLargeReads is how often the voters of an article with many of them are read in pieces.
const maxLargeReads = 5

// readLarge reads an article whose voters Redis would take too long to reply at once. It reads them in pieces, until the
// article has not changed meanwhile; if it always does, at once nevertheless: 100,000 voters take Redis 20 to 50 ms.
func readLarge(ctx context.Context, r *redisrepo.Repo, f *recordReplies, id site.ArticleID) error {
	p := r.Store.Partition(id)
	for range maxLargeReads {
		before, err := r.Store.Client.HGetAll(ctx, p.Article(id)).Result()
		if err != nil {
			return err
		}
		for i, key := range []string{p.Voted(id), p.Downvoted(id)} {
			begin := func() { f.scanned[i] = nil }
			err := r.Store.Scan(ctx, wire.Scan{Command: redis.Cmdable.SScan, Key: key, Step: 1, Count: layout.ImportVoters, Begin: begin, Handle: func(members []string) error {
				f.scanned[i] = append(f.scanned[i], members...)
				return nil
			}})
			if err != nil {
				return err
			}
			slices.Sort(f.scanned[i]) // SSCAN may reply a member twice
			f.scanned[i] = slices.Compact(f.scanned[i])
		}
		if err := r.Store.Read(ctx, func(pipe redis.Pipeliner) { f.queue(ctx, pipe, p, id) }, wire.Atomic); err != nil {
			return err
		}
		if maps.Equal(before, f.hash.Val()) {
			return nil
		}
	}
	f.large = false
	return r.Store.Read(ctx, func(pipe redis.Pipeliner) { f.queue(ctx, pipe, p, id) }, wire.Atomic)
}

// record returns nil for an article that is gone.
func (f *recordReplies) record(id site.ArticleID) (*Record, error) {
	listed, deleted := f.time.Err() == nil, f.deleted.Err() == nil
	h := articles.HashOf(f.hash.Val())
	switch {
	case !listed && !deleted:
		return nil, nil
	case len(f.hash.Val()) == 0, listed == (h.Deleted != ""), listed && deleted, listed && !h.Grouped:
		return nil, ErrInconsistent
	}
	rec := &Record{
		ID: id, Title: site.ValidUTF8(h.Title), Link: site.ValidUTF8(h.Link), Text: site.ValidUTF8(h.Text), Poster: site.UserName(site.ValidUTF8(string(site.UserOf(h.Poster)))),
		Groups: site.GroupNames(h.Groups), Uncounted: h.Uncounted == "1",
	}
	var err error
	if rec.Time, err = site.ParseNumber(h.Time); err != nil {
		return nil, fmt.Errorf("time: %w", err)
	}
	for i, text := range []string{h.Votes, h.Downvotes, h.Revision} {
		number := []*int64{&rec.Votes, &rec.Downvotes, &rec.Revision}[i]
		if *number, err = strconv.ParseInt(cmp.Or(text, "0"), 10, 64); err != nil {
			return nil, fmt.Errorf("votes, downvotes or revision: %w", err)
		}
	}
	if milestone := f.hash.Val()["milestone"]; milestone != "" {
		if rec.Milestone, err = strconv.ParseInt(milestone, 10, 64); err != nil {
			return nil, fmt.Errorf("milestone: %w", err)
		}
	}
	if cast, err := strconv.ParseInt(f.hash.Val()[site.FieldCast], 10, 64); err == nil {
		rec.Cast = &cast
	}
	if best := int64(f.best.Val()); best >= rankings.PerRank {
		rec.BestRank = &BestRank{best / rankings.PerRank, site.Hour(best % rankings.PerRank)}
	}
	if deleted {
		rec.Deleted = &Deletion{By: site.UserName(site.ValidUTF8(string(site.UserOf(h.DeletedBy)))), FromReport: h.Reported == "1", Unexplained: f.unexplained.Err() == nil}
		if rec.Deleted.At, err = site.ParseNumber(h.Deleted); err != nil {
			return nil, fmt.Errorf("deleted: %w", err)
		}
	}
	if h.Why != "" {
		r, err := site.ParseRemoval(site.ValidUTF8(h.Why))
		if err != nil {
			return nil, err
		}
		rec.Removal = &Removal{Deletion{At: float64(r.At.Unix()), By: r.By}, r.Why}
	}
	if rec.Edits, err = f.edits(h); err != nil {
		return nil, err
	}
	if rec.Reports, err = reports.Parse(id, f.flags.Val()); err != nil {
		return nil, err
	}
	for member, text := range f.void.Val() {
		v, err := voids.Parse(id, member, text)
		if err != nil {
			return nil, err
		}
		rec.Void = append(rec.Void, v.Store())
	}
	slices.SortFunc(rec.Void, func(a, b voids.Stored) int { return cmp.Compare(a.Voter, b.Voter) })
	if f.reservation != nil {
		first, since, _ := strings.Cut(f.reservation.Val(), " ")
		// 0: it was freed.
		rec.Reserved = first == id.String() && since != "0" || f.reservation.Val() == "" && rec.Deleted == nil
	}
	up, down := f.scanned[0], f.scanned[1]
	if !f.large {
		up, down = f.voted.Val(), f.down.Val()
	}
	rec.Up, rec.UnnamedUp = votersOf(up)
	rec.Down, rec.UnnamedDown = votersOf(down)
	for member, record := range f.audit.Val() {
		if name, ok := voterName(member); ok && utf8.ValidString(record) {
			if rec.Audit == nil {
				rec.Audit = map[site.UserName]string{}
			}
			rec.Audit[name] = record
		}
	}
	problem := rec.Validate()
	if problem == nil {
		return rec, nil
	}
	problem = errors.Join(ErrInconsistent, problem)
	rec.Up, rec.Down, rec.UnnamedUp, rec.UnnamedDown, rec.Audit = nil, nil, 0, 0, nil
	if rec.Validate() != nil {
		return nil, problem
	}
	return rec, problem
}

// voterName reports false for a voter who cannot be named: a placeholder of an import, and what no program of a site writes.
func voterName(member string) (site.UserName, bool) {
	name, isUser := strings.CutPrefix(member, site.UserPrefix)
	return site.UserName(name), isUser && utf8.ValidString(name)
}

func votersOf(members []string) (named []site.UserName, unnamed int) {
	for _, member := range members {
		if name, ok := voterName(member); ok {
			named = append(named, name)
		} else {
			unnamed++
		}
	}
	slices.Sort(named)
	return named, unnamed
}

// edits returns the edits of an article, nil for none.
func (f *recordReplies) edits(h articles.Hash) (*Edits, error) {
	if h.Edits == "" && h.Edition == "" {
		return nil, nil
	}
	var e Edits
	count, errC := site.ParseNumber(h.Edits)
	edition, errE := site.ParseNumber(h.Edition)
	last, errL := site.ParseNumber(h.Edited)
	if err := errors.Join(errC, errE, errL); err != nil {
		return nil, fmt.Errorf("edits: %w", err)
	}
	e.Count, e.Edition, e.Last = int64(count), int64(edition), last
	history := f.history.Val()
	for _, n := range site.VersionNumbers(history) {
		version, err := site.ParseVersion(history[strconv.FormatInt(n, 10)])
		if err != nil {
			return nil, fmt.Errorf("%w: number %d", err, n)
		}
		version.Title, version.Text, version.By = site.ValidUTF8(version.Title), site.ValidUTF8(version.Text), site.UserName(site.ValidUTF8(string(version.By)))
		version.Number = n
		e.Versions = append(e.Versions, version)
	}
	for i := range e.Versions {
		if e.Versions[i].Number == e.follows(i) {
			e.Versions[i].Number = 0
		}
	}
	if text := history[redisrepo.FieldBest]; text != "" {
		e.Best = new(redisrepo.VotedVersion)
		if err := e.Best.Parse(text); err != nil {
			return nil, fmt.Errorf("edits: the best version: %w", err)
		}
	}
	return &e, nil
}

// validate returns an error for edits that no article with the revision has.
func (e *Edits) validate(revision int64) error {
	switch {
	case e == nil:
		return nil
	case e.Count < 0 || e.Count > revision || e.Edition < 0 || e.Edition > revision:
		return fmt.Errorf("edits: %d edits and edition %d of an article of revision %d", e.Count, e.Edition, revision)
	case int64(len(e.Versions)) != min(e.Count, site.MaxVersions):
		return fmt.Errorf("edits: there are %d versions of %d edits", len(e.Versions), e.Count)
	case math.Abs(e.Last) > site.MaxExact:
		return errors.New("edits: a time is out of range")
	case e.Best != nil && (e.Best.Number < 2 || e.Best.Number > e.Count || e.Best.Votes < 1 || e.Best.Votes > math.MaxInt32):
		return fmt.Errorf("edits: the best version is %d of %d, with %d votes", e.Best.Number, e.Count, e.Best.Votes)
	}
	last := int64(0)
	for i, v := range e.Versions {
		if n := e.number(i); n <= last || n > e.Count {
			return fmt.Errorf("edits: version %d of %d comes after version %d", n, e.Count, last)
		}
		last = e.number(i)
		if v.By == "" || math.Abs(v.Until) > site.MaxExact || max(v.Votes, -v.Votes) > math.MaxInt32 {
			return errors.New("edits: a version has no user, or a number that is out of range")
		}
	}
	return nil
}

// Validate returns an error for a record that no consistent store can have.
func (rec *Record) Validate() error {
	if rec.ID < 1 || rec.ID > math.MaxInt32 {
		return fmt.Errorf("%d is not an article number", rec.ID)
	}
	upvotes := rec.Votes + rec.Downvotes
	for what, n := range map[string]int64{"downvotes": rec.Downvotes, "upvotes": upvotes} {
		if n < 0 || n > math.MaxInt32 { // what the API can express
			return fmt.Errorf("%s: %d is out of range", what, n)
		}
	}
	if rec.Revision < 0 || rec.Revision > site.MaxExact {
		return fmt.Errorf("revision: %d is out of range", rec.Revision)
	}
	if rec.Milestone < 0 || rec.Cast != nil && max(*rec.Cast, -*rec.Cast) > math.MaxInt32 {
		return errors.New("milestone or cast is out of range")
	}
	if b := rec.BestRank; b != nil && (b.Rank < 1 || b.Rank > rankings.FrontPageSize || b.Hour < 0 || b.Hour >= rankings.PerRank) {
		return errors.New("best_rank: it is out of range")
	}
	if rec.Deleted != nil && rec.Deleted.By == "" {
		return errors.New("deleted: by is missing")
	}
	rec.Time = math.Floor(rec.Time) // Frontpage 0.9.0 kept fractions of times that a program of the book had written
	if math.Abs(rec.Time) > site.MaxExact || rec.Deleted != nil && math.Abs(rec.Deleted.At) > site.MaxExact {
		return errors.New("a time is out of range")
	}
	if r := rec.Removal; r != nil {
		if why, broken := r.CheckStored(); r.By == "" || len(broken) > 0 || why != r.Why {
			return errors.New("removal: it has no user, or no valid ground, basis and reason")
		}
	}
	for i, name := range rec.Groups {
		if canonical, err := site.ParseGroupName(string(name)); err != nil || canonical != name || name == site.Interesting {
			return fmt.Errorf("groups: %s is no canonical name of a group", site.Shown(string(name)))
		}
		if i > 0 && rec.Groups[i-1] >= name {
			return errors.New("groups: they are not sorted, or not unique")
		}
	}
	if err := errors.Join(rec.Edits.validate(rec.Revision), rec.Reports.Validate(), voids.Validate(rec.Void)); err != nil {
		return err
	}
	up, down := len(rec.Up)+rec.UnnamedUp, len(rec.Down)+rec.UnnamedDown
	if rec.UnnamedUp < 0 || rec.UnnamedDown < 0 {
		return errors.New("unnamed: it is negative")
	}
	if up == 0 && down == 0 {
		return nil // they are not known
	}
	if rec.Uncounted {
		upvotes++
	}
	if int64(up) != upvotes || int64(down) != rec.Downvotes {
		return fmt.Errorf("it has %d upvoters and %d downvoters, but %d upvotes and %d downvotes", up, down, upvotes, rec.Downvotes)
	}
	for _, voters := range [][]site.UserName{rec.Up, rec.Down} {
		for i := 1; i < len(voters); i++ {
			if voters[i-1] >= voters[i] {
				return errors.New("voters: they are not sorted, or not unique")
			}
		}
	}
	for _, name := range rec.Down {
		if _, both := slices.BinarySearch(rec.Up, name); both {
			return fmt.Errorf("voters: %s voted up and down", site.Shown(string(name)))
		}
	}
	return nil
}

// logReader reads the entries of one partition, oldest first.
type logReader struct {
	key, next string // next is the start of the entries that are not read; empty: none
	read      []LogRecord
}

// LogRecords calls visit with the entries of the moderation log, oldest first, those of the same time by article.
func LogRecords(ctx context.Context, r *redisrepo.Repo, visit func(LogRecord) error) error {
	readers := site.Collect(r.Store.Partitions, func(p keys.Partition) *logReader { return &logReader{key: p.Moderation(), next: "-"} })
	for {
		var first *logReader
		for _, reader := range readers {
			if err := reader.fill(ctx, r); err != nil {
				return failover.Wrap("read "+reader.key, err)
			}
			if len(reader.read) > 0 && (first == nil || compareLog(reader.read[0], first.read[0]) < 0) {
				first = reader
			}
		}
		if first == nil {
			return nil
		}
		if err := visit(first.read[0]); err != nil {
			return err
		}
		first.read = first.read[1:]
	}
}

func compareLog(a, b LogRecord) int {
	return cmp.Or(events.NewLogCursor(a.ID, 0).Compare(events.NewLogCursor(b.ID, 0)), cmp.Compare(a.Article, b.Article))
}

// fill reads more entries if none is left.
func (l *logReader) fill(ctx context.Context, r *redisrepo.Repo) error {
	for len(l.read) == 0 && l.next != "" {
		found, err := r.Store.Client.XRangeN(ctx, l.key, l.next, "+", wire.LogBatch).Result()
		if err != nil {
			return err
		}
		l.next = ""
		for _, message := range found {
			l.next = "(" + message.ID
			e := events.LogEntry{At: events.NewLogCursor(message.ID, 0), Fields: message.Values}
			entry, ok := e.Decode()
			at, err := site.ParseNumber(fmt.Sprint(message.Values["at"]))
			if !ok || err != nil {
				continue // not an entry
			}
			record := LogRecord{Kind: entry.Kind, ID: message.ID, Article: entry.Article, By: entry.By, For: entry.OnBehalfOf, At: at, Before: entry.Before, After: entry.After,
				Title: site.ValidUTF8(site.Value(entry.Title)), Link: site.ValidUTF8(site.Value(entry.Link)), Reason: site.ValidUTF8(site.Value(entry.Reason)), Ground: site.Value(entry.Ground), Basis: site.ValidUTF8(site.Value(entry.Basis)), Until: e.Fields.Text("until")}
			if entry.Article == 0 {
				record.Target = entry.Target
			}
			l.read = append(l.read, record)
		}
	}
	return nil
}

// readApart runs one transaction for each partition, all at the same time.
func readApart(ctx context.Context, r *redisrepo.Repo, queues [][]func(redis.Pipeliner)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, queue := range queues {
		if len(queue) == 0 {
			continue
		}
		group.Go(func() error {
			return r.Store.Read(ctx, func(pipe redis.Pipeliner) {
				for _, add := range queue {
					add(pipe)
				}
			}, wire.Atomic)
		})
	}
	return group.Wait()
}
