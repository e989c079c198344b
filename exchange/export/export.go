// Package export writes a site to a file, and fills an empty store from it.
//
// An export is a text in UTF-8 with a JSON object on each line:
//
//   - the first line, {"frontpage":"export","version":2,"rules":{...},"uuid":"...","last":20101}: the version of this format, the
//     rules that scores are computed by, and a transfer.Meta;
//   - a line {"log":"deleted",...} for each entry of the moderation log, the oldest first: a transfer.LogRecord;
//   - a line {"denial":"user:eve",...} for each denied user and host, and then {"blocker":"alice",...} for each user who blocks
//     others, by name: a denials.Record;
//   - a line {"keeper":"alice",...} for each user who has saved articles or follows groups or users, by name: a saved.Record;
//   - a line {"described":"go",...} for each group that moderators have described, by name: a descriptions.Record;
//   - a line {"article":17,...} for each article, deleted or not, by number: a transfer.Record;
//   - a line {"front":"411289 17 =1480640000 18 20"} for each front page of a past hour, by hour: a transfer.FrontRecord;
//   - a line {"voter":"alice","month":535,"cast":{"17":1480640000}} for each user and month with votes: a transfer.CastRecord;
//   - a line {"key":"account:5c...","text":"alice"} for each key that is exported as it is: a transfer.KeyRecord;
//   - the last line, {"end":{"articles":20100,"log":12,...}}: the number of lines of each kind; without it a file is incomplete.
//
// Version 1, of Frontpage 0.9, has no lines of front pages, votes and keys. It can be imported: the users' lists of
// votes are then built from the voters in it.
//
// Exports of stores with the same contents are equal, byte by byte, with any number of partitions.
package export

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/schollz/progressbar/v3"

	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/descriptions"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/transfer"
)

// Version is the version of the format. Read accepts earlier ones, too.
const Version = 2

// Options are the options of exports and imports.
type Options struct {
	Report   io.Writer // gets a line for each article that cannot be exported as it is; nil discards them
	Progress io.Writer // terminal for a progress bar; nil means none
	Erased   []string  // of an import: digests of the names of erased users, as erase --list prints them
}

func (o *Options) complete() {
	o.Report = cmp.Or(o.Report, io.Discard)
	o.Progress = cmp.Or(o.Progress, io.Discard)
}

// Summary counts what was exported or imported.
type Summary struct {
	Counts
	Deleted int // articles
	Voters  int // with names
	Faults  int // articles that are inconsistent
	Took    time.Duration
}

// String returns the summary in one line.
func (s Summary) String() string {
	text := fmt.Sprintf("%d articles, %d of them deleted, %d votes with names, %d entries of the moderation log", s.Articles, s.Deleted, s.Voters, s.Log)
	if s.Faults > 0 {
		text += fmt.Sprintf(", %d inconsistent articles", s.Faults)
	}
	return fmt.Sprintf("%s; took %v", text, s.Took.Round(time.Millisecond))
}

func (s *Summary) count(rec *transfer.Record) {
	s.Articles++
	if rec.Deleted != nil {
		s.Deleted++
	}
	s.Voters += len(rec.Up) + len(rec.Down)
}

type header struct {
	Frontpage string          `json:"frontpage"`
	Version   int             `json:"version"`
	Rules     map[string]rule `json:"rules"`
	transfer.Meta
}

// rule is the value of a rule: a number, or the name of the ranking.
type rule string

// MarshalJSON writes a number as a number.
func (r rule) MarshalJSON() ([]byte, error) {
	if _, err := strconv.Atoi(string(r)); err == nil {
		return []byte(r), nil
	}
	return json.Marshal(string(r))
}

// UnmarshalJSON reads a number or a text.
func (r *rule) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, (*string)(r))
	}
	return json.Unmarshal(text, (*json.Number)(r))
}

type footer struct {
	End *Counts `json:"end"`
}

// Counts are how many lines of each kind a file has.
type Counts struct {
	Articles  int `json:"articles"` // deleted ones, too
	Log       int `json:"log"`
	Denials   int `json:"denials,omitempty"`   // with blocks
	Kept      int `json:"kept,omitempty"`      // users who have saved articles, or follow groups or users
	Described int `json:"described,omitempty"` // groups
	Fronts    int `json:"fronts,omitempty"`    // front pages of past hours
	Casts     int `json:"casts,omitempty"`     // lists of votes, one for each user and month
	Keys      int `json:"keys,omitempty"`      // keys as they are
}

// String returns the counts in words.
func (c Counts) String() string {
	return fmt.Sprintf("%d articles, %d entries of the moderation log, %d denials and blocks, %d users who keep lists, %d described groups, %d front pages, %d lists of votes and %d keys",
		c.Articles, c.Log, c.Denials, c.Kept, c.Described, c.Fronts, c.Casts, c.Keys)
}

// ErrInconsistent is the error of an export that is complete except for inconsistent articles, which were reported.
var ErrInconsistent = errors.New("some articles are inconsistent: run frontpage check")

// Write exports a site that may be in use. Each article has its state of one moment; articles that are posted meanwhile
// are left out. An article whose voters do not match its counts is exported without voters, one without a valid hash is
// left out. Both are reported, and at the end the error is ErrInconsistent.
//
// Memory is bounded, except for the numbers of all articles and the voters of one.
func Write(ctx context.Context, repo *redisrepo.Repo, to io.Writer, o Options) (Summary, error) {
	return export(ctx, repo, o, newJSONWriter(to, repo))
}

// WriteCSV exports the articles that are not deleted in the format of csvimport: without voters, the moderation log and
// all else that only this package can import.
func WriteCSV(ctx context.Context, repo *redisrepo.Repo, to io.Writer, o Options) (Summary, error) {
	return export(ctx, repo, o, &csvWriter{out: csv.NewWriter(to)})
}

// writer writes one format.
type writer interface {
	begin(transfer.Meta) error
	article(*transfer.Record) error
	line(any) error // of another kind
	end(Summary) error
}

// batchSize is the number of articles that are read together.
const batchSize = 100

func export(ctx context.Context, repo *redisrepo.Repo, o Options, w writer) (sum Summary, err error) {
	o.complete()
	began := time.Now()
	defer func() { sum.Took = time.Since(began) }()
	ids, err := transfer.AllIDs(ctx, repo)
	if err != nil {
		return sum, err
	}
	meta, err := transfer.ReadMeta(ctx, repo)
	if err != nil {
		return sum, err
	}
	if len(ids) > 0 { // counters say nothing of the first numbers, one of each partition
		meta.Last = max(meta.Last, ids[len(ids)-1])
	}
	if err := w.begin(meta); err != nil {
		return sum, err
	}
	var found transfer.Keys
	front := counted[transfer.FrontRecord](w, &sum.Fronts)
	for _, step := range []func() error{
		func() error { return transfer.LogRecords(ctx, repo, counted[transfer.LogRecord](w, &sum.Log)) },
		func() error { return repo.Denials.Records(ctx, counted[denials.Record](w, &sum.Denials)) },
		func() error { return repo.Saved.Records(ctx, counted[saved.Record](w, &sum.Kept)) },
		func() error { return repo.Descriptions.Records(ctx, counted[descriptions.Record](w, &sum.Described)) },
		func() (err error) { ids, err = exportArticles(ctx, repo, ids, meta, o, w, &sum); return err },
		// After the articles: so their users and voters are among what comes now.
		func() error {
			return repo.Rankings.PastPages(ctx, meta.FrontSince, func(page rankings.SavedPage) error {
				page.Items = slices.DeleteFunc(page.Items, func(z redis.Z) bool {
					id, _ := lists.ArticleOf(z)
					_, known := slices.BinarySearch(ids, id)
					return !known
				})
				return front(transfer.FrontRecord{Front: page.Text()})
			})
		},
		func() (err error) { found, err = transfer.FindKeys(ctx, repo); return err },
		func() error { return found.Casts(ctx, repo, ids, counted[transfer.CastRecord](w, &sum.Casts)) },
		func() error { return found.Records(ctx, repo, counted[transfer.KeyRecord](w, &sum.Keys)) },
		func() error { return w.end(sum) },
	} {
		if err := step(); err != nil {
			return sum, err
		}
	}
	if sum.Faults > 0 {
		return sum, ErrInconsistent
	}
	return sum, nil
}

// counted returns a function that writes a line, and counts it.
func counted[Line any](w writer, n *int) func(Line) error {
	return func(line Line) error {
		*n++
		return w.line(line)
	}
}

// exportArticles returns the articles that it has exported.
func exportArticles(ctx context.Context, repo *redisrepo.Repo, ids []site.ArticleID, meta transfer.Meta, o Options, w writer, sum *Summary) (exported []site.ArticleID, err error) {
	bar := progressbar.NewOptions(len(ids), progressbar.OptionSetWriter(o.Progress))
	defer func() { _ = bar.Clear() }()
	for batch := range slices.Chunk(ids, batchSize) {
		records, errs, err := transfer.Records(ctx, repo, batch)
		if err != nil {
			return nil, err
		}
		for i, rec := range records {
			if errs[i] != nil {
				sum.Faults++
				_ = bar.Clear()
				_, _ = fmt.Fprintf(o.Report, "%v: %s: %v\n", batch[i], partly(rec), errs[i])
			}
			if rec == nil {
				continue // gone
			}
			if rec.BestRank != nil && rec.BestRank.Hour >= meta.FrontSince {
				rec.BestRank = nil // it follows from the front pages
			}
			sum.count(rec)
			if err := w.article(rec); err != nil {
				return nil, err
			}
			exported = append(exported, rec.ID)
		}
		_ = bar.Add(len(batch)) // continue even if the terminal is gone
	}
	return exported, nil
}

func partly(rec *transfer.Record) string {
	if rec == nil {
		return "left out"
	}
	return "exported without voters"
}

type jsonWriter struct {
	out   *bufio.Writer
	lines *json.Encoder
	first header
}

func newJSONWriter(to io.Writer, repo *redisrepo.Repo) *jsonWriter {
	w := &jsonWriter{out: bufio.NewWriterSize(to, 1<<16), first: header{Frontpage: "export", Version: Version, Rules: map[string]rule{}}}
	w.lines = json.NewEncoder(w.out)
	w.lines.SetEscapeHTML(false)
	for name, value := range repo.Layout.RankingRules() {
		w.first.Rules[name] = rule(value)
	}
	return w
}

func (w *jsonWriter) begin(meta transfer.Meta) error {
	w.first.Meta = meta
	return w.lines.Encode(w.first)
}

func (w *jsonWriter) article(record *transfer.Record) error { return w.lines.Encode(record) }
func (w *jsonWriter) line(record any) error                 { return w.lines.Encode(record) }

func (w *jsonWriter) end(sum Summary) error {
	return errors.Join(w.lines.Encode(footer{&sum.Counts}), w.out.Flush())
}

type csvWriter struct{ out *csv.Writer }

func (w *csvWriter) begin(transfer.Meta) error {
	return w.out.Write([]string{"id", "title", "link", "votes", "poster", "posted_at", "text", "groups"})
}

func (w *csvWriter) line(any) error { return nil }

func (w *csvWriter) article(rec *transfer.Record) error {
	if rec.Deleted != nil {
		return nil
	}
	return w.out.Write([]string{
		strconv.Itoa(int(rec.ID)), rec.Title, rec.Link, strconv.FormatInt(rec.Votes, 10), string(rec.Poster),
		strconv.FormatInt(int64(rec.Time), 10), rec.Text, site.GroupText(rec.Groups),
	})
}

func (w *csvWriter) end(Summary) error {
	w.out.Flush()
	return w.out.Error()
}
