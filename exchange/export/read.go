package export

import (
	"bufio"
	"bytes"
	"cmp"
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
	"strings"
	"time"
	"unicode/utf8"

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

// IsExport reports whether a file begins like an export, and not like a CSV file.
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

// Read imports an export into an empty store. It first reads the whole file: a later version, an invalid line, whose
// number is in the error, or a missing end is an error, and nothing is stored. While it stores the articles, and after
// an error or a kill meanwhile, no program opens the store as a site; running the same import again continues it.
// Finally it checks the store, and reports inconsistencies. Users whose digests are in o.Erased, or in the store's own
// list of erased users, are erased before any program opens the site: their articles stay, as those of a deleted user.
//
// The rules must be those of the file; the options are those of redisrepo.New. Memory is bounded, except for the
// longest line.
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
	if err := r.read(ctx, file, digest, nil); err != nil {
		return sum, err
	}
	source := transfer.Source{Meta: r.header.Meta, Digest: "sha256:" + hex.EncodeToString(digest.Sum(nil)), Rules: map[string]string{}, Whole: r.header.Version > 1}
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

// reader reads a file from its first line to its last.
type reader struct {
	bar    *progressbar.ProgressBar
	header header
	sum    Summary

	line    int
	ended   bool
	last    site.ArticleID // of the lines before
	place   string         // of the last line that is neither an article nor of the log
	lines                  // that are not stored yet
	storing chan error     // gets the outcome of the lines before, which are being stored; nil: there are none

	erased map[string]bool        // digests of the names of erased users
	met    map[site.UserName]bool // those of them that are in the file
}

// lines are lines that are stored together.
type lines struct {
	log       []transfer.LogRecord
	said      []denials.Record
	kept      []saved.Record
	described []descriptions.Record
	batch     []*transfer.Record
	fronts    []transfer.FrontRecord
	casts     []transfer.CastRecord
	keys      []transfer.KeyRecord
	bytes     int
}

// At most so many lines of a kind, of so many bytes, are stored together.
const (
	linesTogether = 500
	maxBatch      = 1 << 20
)

// read reads the file, and stores what it has, or only checks it if to is nil.
func (r *reader) read(ctx context.Context, file io.ReadSeeker, digest io.Writer, to *transfer.Filling) (err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	*r = reader{bar: r.bar, erased: r.erased, met: map[site.UserName]bool{}}
	defer func() { err = cmp.Or(err, r.stored()) }()
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
	Frontpage, Log, Denial, Blocker, Keeper, Described, Article, Front, Voter, Key, End json.RawMessage
}

func (r *reader) parse(ctx context.Context, line []byte, to *transfer.Filling) error {
	if !utf8.Valid(line) {
		return errors.New("it is not UTF-8")
	}
	var is kind
	if bytes.HasPrefix(line, []byte(`{"article":`)) {
		is.Article = line // as most lines are
	} else if err := json.Unmarshal(line, &is); err != nil {
		return fmt.Errorf("it is no JSON object of an export: %w", err)
	}
	r.bytes += len(line)
	first, whole := r.sum.Articles == 0 && r.place < afterArticles, r.header.Version > 1
	switch {
	case r.ended:
		return errors.New("there is more after the last line of the export")
	case r.line == 1:
		return r.parseHeader(line, is)
	case is.Log != nil && first:
		return r.parseLog(ctx, line, to)
	case (is.Denial != nil || is.Blocker != nil) && first:
		return parsePlaced(ctx, r, line, &r.said, &r.sum.Denials, to)
	case is.Keeper != nil && first:
		return parsePlaced(ctx, r, line, &r.kept, &r.sum.Kept, to)
	case is.Described != nil && first:
		return parsePlaced(ctx, r, line, &r.described, &r.sum.Described, to)
	case is.Article != nil && is.Log == nil && r.place < afterArticles:
		return r.parseArticle(ctx, line, to)
	case is.Front != nil && whole:
		return parsePlaced(ctx, r, line, &r.fronts, &r.sum.Fronts, to)
	case is.Voter != nil && whole:
		return parsePlaced(ctx, r, line, &r.casts, &r.sum.Casts, to)
	case is.Key != nil && whole:
		return parsePlaced(ctx, r, line, &r.keys, &r.sum.Keys, to)
	case is.End != nil:
		return r.parseEnd(ctx, line, to)
	}
	return errors.New("it is no line of an export, or not in its place: the log, denials, blocks, what users have saved and what is said about groups come before the articles, front pages, votes and keys after them")
}

// afterArticles is the first place of lines that come after the articles.
const afterArticles = "\xff\xff\xff\xff"

func (r *reader) parseHeader(line []byte, is kind) error {
	if is.Frontpage == nil {
		return errors.New(`the file is no export: its first line must begin with {"frontpage":"export","version":2`)
	}
	var head struct {
		Frontpage string
		Version   int
	}
	if err := json.Unmarshal(line, &head); err == nil && (head.Version < 1 || head.Version > Version) {
		return fmt.Errorf("the version of the format is %d: this program reads versions up to %d", head.Version, Version)
	}
	if err := decode(line, &r.header); err != nil {
		return err
	}
	if r.header.Frontpage != "export" {
		return errors.New("it is no first line of an export")
	}
	return r.header.Validate()
}

var logID = regexp.MustCompile(`^\d{1,15}-\d{1,15}$`)

func (r *reader) parseLog(ctx context.Context, line []byte, to *transfer.Filling) error {
	var entry transfer.LogRecord
	if err := decode(line, &entry); err != nil {
		return err
	}
	if !logID.MatchString(entry.ID) || !entry.Kind.Valid() || !entry.HasTarget() {
		return errors.New("its kind, its id or its article is invalid")
	}
	r.sum.Log++
	if r.log = append(r.log, entry); len(r.log) < linesTogether {
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
func parsePlaced[Record placed](ctx context.Context, r *reader, line []byte, lines *[]Record, count *int, to *transfer.Filling) error {
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
	if *lines = append(*lines, record); len(*lines) < linesTogether && r.bytes < maxBatch {
		return nil
	}
	return r.flush(ctx, to)
}

func (r *reader) parseArticle(ctx context.Context, line []byte, to *transfer.Filling) error {
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
	r.batch = append(r.batch, rec)
	if len(r.batch) < linesTogether && r.bytes < maxBatch {
		return nil
	}
	return r.flush(ctx, to)
}

func (r *reader) parseEnd(ctx context.Context, line []byte, to *transfer.Filling) error {
	var end footer
	if err := decode(line, &end); err != nil {
		return err
	}
	if end.End == nil {
		return errors.New("it is no last line of an export")
	}
	if *end.End != r.sum.Counts {
		return fmt.Errorf("the file should have %v, and has %v", end.End, r.sum.Counts)
	}
	r.ended = true
	return r.flush(ctx, to)
}

// flush begins to store what was read, once what was read before is stored.
func (r *reader) flush(ctx context.Context, to *transfer.Filling) error {
	all := r.lines
	r.lines = lines{}
	if err := r.stored(); err != nil || to == nil {
		return err
	}
	r.storing = make(chan error, 1)
	go func(done chan<- error) { done <- all.store(ctx, to) }(r.storing)
	return nil
}

// stored waits until nothing is being stored.
func (r *reader) stored() error {
	if r.storing == nil {
		return nil
	}
	err := <-r.storing
	r.storing = nil
	return err
}

// store stores lines in the order of the file.
func (l *lines) store(ctx context.Context, to *transfer.Filling) (err error) {
	for _, put := range []func() error{
		func() error { return to.PutLog(ctx, l.log) },
		func() error { return to.Denials.Put(ctx, l.said) },
		func() error { return to.Saved.Put(ctx, l.kept) },
		func() error { return to.Descriptions.Put(ctx, l.described) },
		func() error { return to.Put(ctx, l.batch) },
		func() error { return to.PutFront(ctx, l.fronts) },
		func() error { return to.PutCasts(ctx, l.casts) },
		func() error { return to.PutKeys(ctx, l.keys) },
	} {
		if err == nil {
			err = put()
		}
	}
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

// meet remembers the erased users whose names are on a line. Words of users that are such a name are met, too: that does no harm.
func (r *reader) meet(line []byte) error {
	if len(r.erased) == 0 {
		return nil
	}
	for texts := json.NewDecoder(bytes.NewReader(line)); ; {
		token, err := texts.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, _ := token.(string)
		says, _, _ := strings.Cut(text, "\n")
		_, member, _ := strings.Cut(" "+says, " "+site.UserPrefix) // of a denial, and who denied it
		for _, name := range []site.UserName{site.UserName(text), site.UserName(member)} {
			if name != "" && r.erased[name.Digest()] {
				r.met[name] = true
			}
		}
	}
}
