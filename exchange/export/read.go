package export

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/schollz/progressbar/v3"

	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/descriptions"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/transfer"
)

// maxLine is the maximum number of bytes of a line: several million voters of one article.
const maxLine = 256 << 20

// IsExport reports whether a file begins like an export, and not like one of csvimport.
func IsExport(file io.ReadSeeker) (bool, error) {
	begin := make([]byte, 1)
	_, err := io.ReadFull(file, begin)
	if _, back := file.Seek(0, io.SeekStart); back != nil {
		return false, back
	}
	if err == io.EOF {
		err = nil
	}
	return begin[0] == '{', err
}

// Read imports an export into an empty store. It first reads the whole file: another version, an invalid line, which
// the error numbers, or a missing end is an error, and nothing is stored. While it stores the articles, and after an
// error or a kill meanwhile, no program opens the store as a site: running the same import again continues it. Finally
// it checks the store, and reports what is inconsistent. Users whose digests are in o.Erased, or in the store's own list
// of erased users, are erased before any program opens the site: their articles stay, as those of a deleted user.
//
// The rules must be those of the file, the options are those of redisrepo.New. The memory does not grow with the file,
// except for one line.
func Read(ctx context.Context, client redis.UniversalClient, rules site.Rules, file io.ReadSeeker, o Options, options ...redisrepo.Option) (sum Summary, err error) {
	o.complete()
	began := time.Now()
	defer func() { sum.Took = time.Since(began) }()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return sum, err
	}
	r := &reader{bar: progressbar.NewOptions64(2*size, progressbar.OptionSetWriter(o.Progress))}
	defer func() { _ = r.bar.Clear() }()
	digest := sha256.New()
	if err := r.read(ctx, file, digest, discard{}); err != nil {
		return sum, err
	}
	source := transfer.Source{Digest: "sha256:" + hex.EncodeToString(digest.Sum(nil)), UUID: r.header.UUID, Rules: map[string]string{}, Last: r.header.Last}
	for name, value := range r.header.Rules {
		source.Rules[name] = string(value)
	}
	filling, err := transfer.Fill(ctx, client, rules, source, options...)
	if err != nil {
		return sum, err
	}
	if r.erased, err = filling.Erased(ctx, o.Erased); err != nil {
		return sum, err
	}
	if err := r.read(ctx, file, io.Discard, filling); err != nil {
		return r.sum, fmt.Errorf("%w; run the same import again to go on: until then no Frontpage opens this store", err)
	}
	_ = r.bar.Clear()
	checked, err := filling.Finish(ctx, slices.Sorted(maps.Keys(r.met)), func(violation string) { _, _ = fmt.Fprintln(o.Report, violation) })
	if err == nil && checked.Articles+checked.Deleted < r.sum.Articles {
		err = fmt.Errorf("only %d of %d articles are in the store", checked.Articles+checked.Deleted, r.sum.Articles)
	}
	return r.sum, err
}

// sink gets what is read: a *transfer.Filling, or discard.
type sink interface {
	Put(context.Context, []*transfer.Record) error
	PutLog(context.Context, []transfer.LogRecord) error
	PutDenials(context.Context, []denials.Record) error
	PutSaved(context.Context, []saved.Record) error
	PutDescriptions(context.Context, []descriptions.Record) error
}

type discard struct{}

func (discard) Put(context.Context, []*transfer.Record) error                { return nil }
func (discard) PutLog(context.Context, []transfer.LogRecord) error           { return nil }
func (discard) PutDenials(context.Context, []denials.Record) error           { return nil }
func (discard) PutSaved(context.Context, []saved.Record) error               { return nil }
func (discard) PutDescriptions(context.Context, []descriptions.Record) error { return nil }

// reader reads a file from its first line to its last.
type reader struct {
	bar    *progressbar.ProgressBar
	header header
	sum    Summary

	line      int
	ended     bool
	last      site.ArticleID // of the lines before
	place     string         // of the last line between the log and the articles
	batch     []*transfer.Record
	log       []transfer.LogRecord
	said      []denials.Record
	kept      []saved.Record
	described []descriptions.Record
	bytes     int // of the lines of batch

	erased map[string]bool        // digests of the names of erased users
	met    map[site.UserName]bool // those of them that are in the file
}

// maxBatch is the number of bytes of the lines of articles that are stored together.
const maxBatch = 1 << 20

func (r *reader) read(ctx context.Context, file io.ReadSeeker, digest io.Writer, to sink) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	*r = reader{bar: r.bar, erased: r.erased, met: map[site.UserName]bool{}}
	in := bufio.NewReaderSize(io.TeeReader(file, digest), 1<<16)
	for {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		r.line++
		if err == nil || errors.Is(err, io.EOF) {
			err = r.parse(ctx, line, to)
		}
		if err == nil {
			err = r.meet(line)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", r.line, err)
		}
		_ = r.bar.Add(len(line))
	}
	if !r.ended {
		return fmt.Errorf("line %d: the file ends here, without its last line: it is incomplete", r.line)
	}
	return nil
}

var errLongLine = fmt.Errorf("it is longer than %d MB", maxLine>>20)

// readLine returns a line with its line break, if it has one. The line is valid until the next call.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line == nil && err == nil {
			return part, nil
		}
		line = append(line, part...)
		if len(line) > maxLine {
			return nil, errLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// kind is what a line is, by the one of these members that it has.
type kind struct {
	Frontpage, Log, Denial, Blocker, Keeper, Described, Article, End json.RawMessage
}

func (r *reader) parse(ctx context.Context, line []byte, to sink) error {
	if !utf8.Valid(line) {
		return errors.New("it is not UTF-8")
	}
	var is kind
	if bytes.HasPrefix(line, []byte(`{"article":`)) {
		is.Article = line // as most lines are
	} else if err := json.Unmarshal(line, &is); err != nil {
		return fmt.Errorf("it is no JSON object of an export: %w", err)
	}
	switch {
	case r.ended:
		return errors.New("there is more after the last line of the export")
	case r.line == 1:
		return r.parseHeader(line, is)
	case is.Log != nil && r.sum.Articles == 0:
		return r.parseLog(ctx, line, to)
	case (is.Denial != nil || is.Blocker != nil) && r.sum.Articles == 0:
		return parsePlaced(ctx, r, line, &r.said, &r.sum.Denials, to)
	case is.Keeper != nil && r.sum.Articles == 0:
		return parsePlaced(ctx, r, line, &r.kept, &r.sum.Kept, to)
	case is.Described != nil && r.sum.Articles == 0:
		return parsePlaced(ctx, r, line, &r.described, &r.sum.Described, to)
	case is.Article != nil && is.Log == nil:
		return r.parseArticle(ctx, line, to)
	case is.End != nil:
		return r.parseEnd(ctx, line, to)
	}
	return errors.New("it is neither an article nor an entry of the moderation log, a denial, blocks, what a user has saved or what is said about a group before the first article")
}

func (r *reader) parseHeader(line []byte, is kind) error {
	if is.Frontpage == nil {
		return errors.New(`the file is no export: its first line must begin with {"frontpage":"export","version":1`)
	}
	var head struct {
		Frontpage string
		Version   int
	}
	if err := json.Unmarshal(line, &head); err == nil && head.Version != Version {
		return fmt.Errorf("the version of the format is %d: this program reads version %d", head.Version, Version)
	}
	if err := decode(line, &r.header); err != nil {
		return err
	}
	if r.header.Frontpage != "export" || r.header.Last < 0 || r.header.Last > 1<<31-1 {
		return errors.New("it is no first line of an export")
	}
	if r.header.UUID != "" && uuid.Validate(r.header.UUID) != nil {
		return fmt.Errorf("%.40q is no UUID", r.header.UUID)
	}
	return nil
}

var logID = regexp.MustCompile(`^\d{1,15}-\d{1,15}$`)

func (r *reader) parseLog(ctx context.Context, line []byte, to sink) error {
	var entry transfer.LogRecord
	if err := decode(line, &entry); err != nil {
		return err
	}
	if !logID.MatchString(entry.ID) || !entry.Kind.Valid() || !entry.HasTarget() {
		return errors.New("its kind, its id or its article is invalid")
	}
	r.sum.Log++
	if r.log = append(r.log, entry); len(r.log) < batchSize {
		return nil
	}
	return r.flush(ctx, to)
}

// placed is a line that has a place among those before the articles.
type placed interface {
	Validate() error
	Place() string
}

// parsePlaced appends a record to lines, and counts it.
func parsePlaced[Record placed](ctx context.Context, r *reader, line []byte, lines *[]Record, count *int, to sink) error {
	var record Record
	if err := decode(line, &record); err != nil {
		return err
	}
	if err := record.Validate(); err != nil {
		return err
	}
	if record.Place() <= r.place {
		return errors.New("it does not come after the line before")
	}
	r.place = record.Place()
	*count++
	if *lines = append(*lines, record); len(*lines) < batchSize {
		return nil
	}
	return r.flush(ctx, to)
}

func (r *reader) parseArticle(ctx context.Context, line []byte, to sink) error {
	rec := new(transfer.Record)
	if err := decode(line, rec); err != nil {
		return err
	}
	if err := rec.Validate(); err != nil {
		return err
	}
	if rec.ID <= r.last || rec.ID > r.header.Last {
		return fmt.Errorf("article:%d is not between those of the line before and the last one of the first line", rec.ID)
	}
	r.last = rec.ID
	r.sum.count(rec)
	r.batch, r.bytes = append(r.batch, rec), r.bytes+len(line)
	if len(r.batch) < batchSize && r.bytes < maxBatch {
		return nil
	}
	return r.flush(ctx, to)
}

func (r *reader) parseEnd(ctx context.Context, line []byte, to sink) error {
	var end footer
	if err := decode(line, &end); err != nil {
		return err
	}
	if end.End == nil {
		return errors.New("it is no last line of an export")
	}
	if has := *r.sum.counts(); *end.End != has {
		return fmt.Errorf("the file should have %v, and has %v", end.End, has)
	}
	r.ended = true
	return r.flush(ctx, to)
}

// flush stores what was read.
func (r *reader) flush(ctx context.Context, to sink) error {
	err := to.PutLog(ctx, r.log)
	if err == nil {
		err = to.PutDenials(ctx, r.said)
	}
	if err == nil {
		err = to.PutSaved(ctx, r.kept)
	}
	if err == nil {
		err = to.PutDescriptions(ctx, r.described)
	}
	if err == nil {
		err = to.Put(ctx, r.batch)
	}
	r.log, r.said, r.kept, r.described, r.batch, r.bytes = nil, nil, nil, nil, nil, 0
	return err
}

// decode decodes a line that must have no unknown members: they would be lost.
func decode(line []byte, value any) error {
	in := json.NewDecoder(bytes.NewReader(line))
	in.DisallowUnknownFields()
	if err := in.Decode(value); err != nil {
		return err
	}
	if _, err := in.Token(); err != io.EOF {
		return errors.New("more than one JSON object is on it")
	}
	return nil
}
