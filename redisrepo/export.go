package redisrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// Record is an article with all that the store keeps about it, as an export has it.
type Record struct {
	ID        ArticleID   `json:"article"`
	Title     string      `json:"title"`
	Link      string      `json:"link,omitempty"`
	Text      string      `json:"text,omitempty"`
	Poster    UserName    `json:"poster"`
	Time      float64     `json:"time"`  // of posting, Unix seconds; whole, except for articles of legacy clients
	Votes     int64       `json:"votes"` // net
	Downvotes int64       `json:"downvotes,omitempty"`
	Groups    []GroupName `json:"groups,omitempty"` // sorted
	Revision  int64       `json:"revision"`
	Uncounted bool        `json:"uncounted,omitempty"` // whether the poster's own vote is recorded, but does not count
	Deleted   *Deletion   `json:"deleted,omitempty"`
	Edits     *Edits      `json:"edits,omitempty"`
	Reserved  bool        `json:"reserved,omitempty"` // whether the record of the link names this article

	// The voters, while they are known: both are empty after that, whatever the counts say.
	Up          []UserName `json:"up,omitempty"`   // sorted
	Down        []UserName `json:"down,omitempty"` // sorted
	UnnamedUp   int        `json:"unnamed_up,omitempty"`
	UnnamedDown int        `json:"unnamed_down,omitempty"`
	// Audit has for each recorded vote its position (1, 0 or -1), its time, and the pseudonym of the voter's address.
	Audit map[UserName]string `json:"audit,omitempty"`
}

// Edits are the changes of an article's title and text.
type Edits struct {
	Count    int64           `json:"count,omitempty"`
	Last     float64         `json:"last,omitempty"`     // time of the last one, Unix seconds
	Edition  int64           `json:"edition,omitempty"`  // revision that the last change of the title, the text or the groups made
	Versions []StoredVersion `json:"versions,omitempty"` // what they replaced, as far as it is kept, oldest first
	Best     *VotedVersion   `json:"best,omitempty"`
}

// number is the number of the edit that replaced a version.
func (e *Edits) number(i int) int64 { return cmp.Or(e.Versions[i].Number, e.follows(i)) }

// follows is what the number would be if the versions were those of the last edits.
func (e *Edits) follows(i int) int64 { return e.Count - int64(len(e.Versions)) + 1 + int64(i) }

// Deletion is when and by whom an article was deleted.
type Deletion struct {
	At float64  `json:"at"` // Unix seconds
	By UserName `json:"by"`
}

// LogRecord is an entry of the moderation log, as an export has it.
type LogRecord struct {
	Kind    ModerationKind `json:"log"`
	ID      string         `json:"id"` // of the stream: milliseconds and a number
	Article ArticleID      `json:"article"`
	By      UserName       `json:"by"`
	For     *UserName      `json:"on_behalf_of,omitempty"` // ModerationEntry.OnBehalfOf
	At      float64        `json:"at"`                     // Unix seconds
	Before  []GroupName    `json:"before,omitempty"`       // its groups; only if the action changed them
	After   []GroupName    `json:"after,omitempty"`
	Title   string         `json:"title,omitempty"`
	Link    string         `json:"link,omitempty"`
	Reason  string         `json:"reason,omitempty"`
}

// maxReadTogether is the number of voters that one transaction of an export reads: more would delay other clients.
const maxReadTogether = 5000

// ErrInconsistent is the error of Records for an article that Check would report.
var ErrInconsistent = errors.New("its keys contradict each other: run frontpage check")

// ErrNoSite is the error of Stored for a store without a site.
var ErrNoSite = errors.New("this store has no site")

// Stored returns the number of articles, deleted or not, of the site in a store. It changes nothing.
func Stored(ctx context.Context, client redis.UniversalClient) (articles int, err error) {
	r, err := newRepo(ctx, client, DefaultRules())
	if err != nil {
		return 0, err
	}
	if layout := client.HGet(ctx, untagged.meta(), fieldLayout); layout.Err() != nil || r.incomplete {
		return 0, errors.Join(ErrNoSite, layout.Err())
	}
	return r.stored(ctx)
}

func (r *Repo) stored(ctx context.Context) (articles int, err error) {
	counts := make([]*redis.IntCmd, 0, 2*len(r.partitions))
	err = r.exchange(ctx, func(pipe redis.Pipeliner) {
		for _, p := range r.partitions {
			counts = append(counts, pipe.ZCard(ctx, p.ranking(ByTime)), pipe.ZCard(ctx, p.deleted()))
		}
	})
	for _, count := range counts {
		articles += int(count.Val())
	}
	return articles, err
}

// AllIDs returns the ids of all articles, deleted or not, in ascending order.
func (r *Repo) AllIDs(ctx context.Context) ([]ArticleID, error) {
	var ids []ArticleID
	for _, p := range r.partitions {
		for _, set := range []string{p.ranking(ByTime), p.deleted()} {
			before := len(ids)
			begin := func() { ids = ids[:before] }
			err := r.scan(ctx, scan{command: redis.Cmdable.ZScan, key: set, step: 2, begin: begin, handle: func(members []string) error {
				for _, member := range members {
					if id, err := ParseArticleID(member); err == nil {
						ids = append(ids, id)
					}
				}
				return nil
			}})
			if err != nil {
				return nil, storeError("read "+set, err)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// LastNumber returns the highest article number that has been given out.
func (r *Repo) LastNumber(ctx context.Context) (last ArticleID, err error) {
	given := make([]*redis.StringCmd, len(r.partitions))
	err = r.exchange(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			given[i] = pipe.Get(ctx, p.counter())
		}
	})
	if err != nil {
		return 0, err
	}
	for i, reply := range given {
		if n, err := reply.Int64(); err == nil {
			last = max(last, ArticleID(n*int64(len(given))+int64(i)))
		} else if !errors.Is(err, redis.Nil) {
			return 0, fmt.Errorf("%s: is not a number: %q", r.partitions[i].counter(), reply.Val())
		}
	}
	return last, nil
}

// recordReplies are the replies from which a record is made.
type recordReplies struct {
	hash          *redis.MapStringStringCmd
	time, deleted *redis.FloatCmd
	voted, down   *redis.StringSliceCmd
	audit         *redis.MapStringStringCmd
	history       *redis.MapStringStringCmd
	link          string // key of the reservation of its link; empty without a link
	reservation   *redis.StringCmd
	groups        string // of an article whose hash does not list them
	large         bool   // whether the voters are in scanned
	scanned       [2][]string
}

// Records reads articles, each as it is at one moment, in a few round trips. A record is nil for an article that is
// gone. The error of one article is ErrInconsistent, or says which of its numbers is none; its record has no voters, and
// is nil if more than the voters is wrong.
func (r *Repo) Records(ctx context.Context, ids []ArticleID) (records []*Record, errs []error, err error) {
	records, errs = make([]*Record, len(ids)), make([]error, len(ids))
	left := make([]int, len(ids))
	for i := range left {
		left[i] = i
	}
	for attempt := range 3 { // a legacy client's vote is not one step
		if left, err = r.readRecords(ctx, ids, left, records, errs); err != nil {
			return nil, nil, storeError("export", err)
		}
		if len(left) == 0 || attempt == 2 {
			break
		}
		wait(ctx, minPause)
	}
	return records, errs, nil
}

// readRecords reads the articles of ids at the indexes in left, and returns the indexes of those that are inconsistent.
func (r *Repo) readRecords(ctx context.Context, ids []ArticleID, left []int, records []*Record, errs []error) (again []int, err error) {
	size := make([][2]*redis.IntCmd, len(left))
	known := make([]*redis.SliceCmd, len(left))
	err = r.exchange(ctx, func(pipe redis.Pipeliner) {
		for i, at := range left {
			id, p := ids[at], r.partition(ids[at])
			size[i] = [2]*redis.IntCmd{pipe.SCard(ctx, p.voted(id)), pipe.SCard(ctx, p.downvoted(id))}
			known[i] = pipe.HMGet(ctx, p.article(id), fieldGroups, fieldLink, fieldDeleted, fieldTime)
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
			hash := known[next].Val()
			if hash[0] == nil && hash[2] == nil && hash[3] != nil {
				if f.groups, err = r.findGroups(ctx, ids[left[next]]); err != nil {
					return nil, err
				}
			}
			replies[next] = f
		}
		apart := make([][]func(redis.Pipeliner), len(r.partitions))
		for i := first; i < next; i++ {
			id, link := ids[left[i]], reply(known[i].Val()).text(1)
			if replies[i].large {
				if err := r.readLarge(ctx, replies[i], id); err != nil {
					return nil, err
				}
			} else {
				apart[r.index(id)] = append(apart[r.index(id)], func(pipe redis.Pipeliner) { replies[i].queue(ctx, pipe, r.partition(id), id) })
			}
			if link != "" {
				digest := linkDigest(link)
				replies[i].link = r.partitions[linkIndex(len(r.partitions), digest)].link(digest)
			}
		}
		if err := r.transactions(ctx, apart); err != nil {
			return nil, err
		}
		err = r.exchange(ctx, func(pipe redis.Pipeliner) {
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

// transactions runs one transaction for each partition, all at the same time.
func (r *Repo) transactions(ctx context.Context, queues [][]func(redis.Pipeliner)) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, queue := range queues {
		if len(queue) == 0 {
			continue
		}
		group.Go(func() error {
			return r.transaction(ctx, func(pipe redis.Pipeliner) {
				for _, add := range queue {
					add(pipe)
				}
			})
		})
	}
	return group.Wait()
}

func (f *recordReplies) queue(ctx context.Context, pipe redis.Pipeliner, p partition, id ArticleID) {
	f.hash = pipe.HGetAll(ctx, p.article(id))
	f.time, f.deleted = pipe.ZScore(ctx, p.ranking(ByTime), id.String()), pipe.ZScore(ctx, p.deleted(), id.String())
	if !f.large {
		f.voted, f.down = pipe.SMembers(ctx, p.voted(id)), pipe.SMembers(ctx, p.downvoted(id))
	}
	f.audit, f.history = pipe.HGetAll(ctx, p.audit(id)), pipe.HGetAll(ctx, p.history(id))
}

// maxLargeReads is how often the voters of an article with many of them are read in pieces.
const maxLargeReads = 5

// readLarge reads an article whose voters Redis would take too long to reply at once. It reads them in pieces, until the
// article has not changed meanwhile; if it always does, at once nevertheless: 100,000 voters take Redis 20 to 50 ms.
func (r *Repo) readLarge(ctx context.Context, f *recordReplies, id ArticleID) error {
	p := r.partition(id)
	for range maxLargeReads {
		before, err := r.client.HGetAll(ctx, p.article(id)).Result()
		if err != nil {
			return err
		}
		for i, key := range []string{p.voted(id), p.downvoted(id)} {
			begin := func() { f.scanned[i] = nil }
			err := r.scan(ctx, scan{command: redis.Cmdable.SScan, key: key, step: 1, count: importVoters, begin: begin, handle: func(members []string) error {
				f.scanned[i] = append(f.scanned[i], members...)
				return nil
			}})
			if err != nil {
				return err
			}
			slices.Sort(f.scanned[i]) // SSCAN may reply a member twice
			f.scanned[i] = slices.Compact(f.scanned[i])
		}
		if err := r.transaction(ctx, func(pipe redis.Pipeliner) { f.queue(ctx, pipe, p, id) }); err != nil {
			return err
		}
		if maps.Equal(before, f.hash.Val()) {
			return nil
		}
	}
	f.large = false
	return r.transaction(ctx, func(pipe redis.Pipeliner) { f.queue(ctx, pipe, p, id) })
}

// voters returns the members of both sets.
func (f *recordReplies) voters() (up, down []string) {
	if f.large {
		return f.scanned[0], f.scanned[1]
	}
	return f.voted.Val(), f.down.Val()
}

// record returns nil for an article that is gone.
func (f *recordReplies) record(id ArticleID) (*Record, error) {
	listed, deleted := f.time.Err() == nil, f.deleted.Err() == nil
	h := hashOf(f.hash.Val())
	switch {
	case !listed && !deleted:
		return nil, nil
	case len(f.hash.Val()) == 0, listed == (h.deleted != ""), listed && deleted:
		return nil, ErrInconsistent
	}
	rec := &Record{
		ID: id, Title: validUTF8(h.title), Link: validUTF8(h.link), Text: validUTF8(h.text), Poster: UserName(validUTF8(string(userOf(h.poster)))),
		Groups: groupNames(h.groups), Uncounted: h.uncounted == "1",
	}
	if !h.grouped {
		rec.Groups = groupNames(f.groups)
	}
	var err error
	if rec.Time, err = parseNumber(h.time); err != nil {
		return nil, fmt.Errorf("time: %w", err)
	}
	for i, text := range []string{h.votes, h.downvotes, h.revision} {
		number := []*int64{&rec.Votes, &rec.Downvotes, &rec.Revision}[i]
		if *number, err = strconv.ParseInt(cmp.Or(text, "0"), 10, 64); err != nil {
			return nil, fmt.Errorf("votes, downvotes or revision: %w", err)
		}
	}
	if deleted {
		rec.Deleted = &Deletion{By: UserName(validUTF8(string(userOf(h.deletedBy))))}
		if rec.Deleted.At, err = parseNumber(h.deleted); err != nil {
			return nil, fmt.Errorf("deleted: %w", err)
		}
	}
	if rec.Edits, err = f.edits(h); err != nil {
		return nil, err
	}
	if f.reservation != nil {
		first, since, _ := strings.Cut(f.reservation.Val(), " ")
		// 0: it was freed. A legacy client's article may have no record yet: the import gives it one.
		rec.Reserved = first == id.String() && since != "0" || f.reservation.Val() == "" && rec.Deleted == nil
	}
	up, down := f.voters()
	rec.Up, rec.UnnamedUp = votersOf(up)
	rec.Down, rec.UnnamedDown = votersOf(down)
	for member, record := range f.audit.Val() {
		if name, ok := voterName(member); ok && utf8.ValidString(record) {
			if rec.Audit == nil {
				rec.Audit = map[UserName]string{}
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

func validUTF8(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// voterName reports false for a voter who cannot be named: a placeholder of an import, and what no program of a site writes.
func voterName(member string) (UserName, bool) {
	name, isUser := strings.CutPrefix(member, userPrefix)
	return UserName(name), isUser && utf8.ValidString(name)
}

func votersOf(members []string) (named []UserName, unnamed int) {
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
func (f *recordReplies) edits(h hash) (*Edits, error) {
	if h.edits == "" && h.edition == "" {
		return nil, nil
	}
	var e Edits
	count, errC := parseNumber(h.edits)
	edition, errE := parseNumber(h.edition)
	last, errL := parseNumber(h.edited)
	if err := errors.Join(errC, errE, errL); err != nil {
		return nil, fmt.Errorf("edits: %w", err)
	}
	e.Count, e.Edition, e.Last = int64(count), int64(edition), last
	history := f.history.Val()
	for _, n := range numbersOf(history) {
		version, err := parseVersion(history[strconv.FormatInt(n, 10)])
		if err != nil {
			return nil, fmt.Errorf("%w: number %d", err, n)
		}
		version.Title, version.Text, version.By = validUTF8(version.Title), validUTF8(version.Text), UserName(validUTF8(string(version.By)))
		version.Number = n
		e.Versions = append(e.Versions, version)
	}
	for i := range e.Versions {
		if e.Versions[i].Number == e.follows(i) {
			e.Versions[i].Number = 0
		}
	}
	if text := history[fieldBest]; text != "" {
		e.Best = new(VotedVersion)
		if err := e.Best.parse(text); err != nil {
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
	case int64(len(e.Versions)) != min(e.Count, MaxVersions):
		return fmt.Errorf("edits: there are %d versions of %d edits", len(e.Versions), e.Count)
	case math.Abs(e.Last) > maxExact:
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
		if v.By == "" || math.Abs(v.Until) > maxExact || max(v.Votes, -v.Votes) > math.MaxInt32 {
			return errors.New("edits: a version has no user, or a number that is out of range")
		}
	}
	return nil
}

// Validate returns an error for a record that no consistent store has.
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
	if rec.Revision < 0 || rec.Revision > maxExact {
		return fmt.Errorf("revision: %d is out of range", rec.Revision)
	}
	if rec.Deleted != nil && rec.Deleted.By == "" {
		return errors.New("deleted: by is missing")
	}
	if math.Abs(rec.Time) > maxExact || rec.Deleted != nil && math.Abs(rec.Deleted.At) > maxExact {
		return errors.New("a time is out of range")
	}
	for i, name := range rec.Groups {
		if canonical, err := ParseGroupName(string(name)); err != nil || canonical != name || name == Interesting {
			return fmt.Errorf("groups: %s is no canonical name of a group", shown(string(name)))
		}
		if i > 0 && rec.Groups[i-1] >= name {
			return errors.New("groups: they are not sorted, or not unique")
		}
	}
	if err := rec.Edits.validate(rec.Revision); err != nil {
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
	for _, voters := range [][]UserName{rec.Up, rec.Down} {
		for i := 1; i < len(voters); i++ {
			if voters[i-1] >= voters[i] {
				return errors.New("voters: they are not sorted, or not unique")
			}
		}
	}
	for _, name := range rec.Down {
		if _, both := slices.BinarySearch(rec.Up, name); both {
			return fmt.Errorf("voters: %s voted up and down", shown(string(name)))
		}
	}
	return nil
}

// logReader reads the entries of one partition, oldest first.
type logReader struct {
	key, next string // next is the start of the entries that are not read; empty: none
	read      []LogRecord
}

// LogRecords calls visit with the entries of the moderation log, oldest first. Those of equal age are in the order of
// their articles.
func (r *Repo) LogRecords(ctx context.Context, visit func(LogRecord) error) error {
	readers := make([]*logReader, len(r.partitions))
	for i, p := range r.partitions {
		readers[i] = &logReader{key: p.moderation(), next: "-"}
	}
	for {
		var first *logReader
		for _, reader := range readers {
			if err := reader.fill(ctx, r); err != nil {
				return storeError("read "+reader.key, err)
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
	return cmp.Or(newLogCursor(a.ID, 0).compare(newLogCursor(b.ID, 0)), cmp.Compare(a.Article, b.Article))
}

// fill reads more entries if none is left.
func (l *logReader) fill(ctx context.Context, r *Repo) error {
	for len(l.read) == 0 && l.next != "" {
		found, err := r.client.XRangeN(ctx, l.key, l.next, "+", logBatch).Result()
		if err != nil {
			return err
		}
		l.next = ""
		for _, message := range found {
			l.next = "(" + message.ID
			e := logEntry{at: newLogCursor(message.ID, 0), fields: message.Values}
			entry, ok := e.decode()
			at, err := parseNumber(fmt.Sprint(message.Values["at"]))
			if !ok || err != nil {
				continue // not an entry
			}
			l.read = append(l.read, LogRecord{Kind: entry.Kind, ID: message.ID, Article: entry.Article, By: entry.By, For: entry.OnBehalfOf, At: at, Before: entry.Before, After: entry.After,
				Title: validUTF8(value(entry.Title)), Link: validUTF8(value(entry.Link)), Reason: validUTF8(value(entry.Reason))})
		}
	}
	return nil
}
