// Package csvimport imports articles from CSV files.
//
// The first line of a file names its columns, in any order and case: id, title, link, votes, poster and
// posted_at are required, text and groups are optional, others are ignored. A line before it may name the separator, as
// in sep=; otherwise it is the comma, semicolon, tab or bar that separates these names. Files are in UTF-8, or in UTF-16
// with a byte order mark; lines end in LF, CRLF or CR. Rows without any value are left out. In a row
//
//   - id is the article's number;
//   - votes is its net votes, a whole number;
//   - posted_at is Unix seconds, or RFC 3339, also with a space before the time and the zone, or without seconds, from
//     1970 to 9999; fractions of a second are dropped;
//   - groups is a list of names separated by white space, ",", ";" or "|";
//   - link and text may be empty.
//
// White space around values is trimmed, except for text. A row may span several lines and has at most 250 KiB.
package csvimport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

const batchSize = 100 // rows between two updates of the progress bar

type importer struct {
	Options
	repo  *redisrepo.Repo
	rows  *reader
	shift int64 // seconds
	bar   *progressbar.ProgressBar
	sum   Summary
	done  int // last line up to which every row is stored or refused
}

func (im *importer) run(ctx context.Context, file io.ReadSeeker) error {
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("the file must be seekable, not a pipe: %w", err)
	}
	file, recognised, done, err := decoded(file)
	defer done()
	if err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if im.rows, err = openRows(file); err != nil {
		return err
	}
	if recognised = append(recognised, im.rows.recognised...); len(recognised) > 0 {
		_, _ = fmt.Fprintf(im.Report, "recognised: %s\n", strings.Join(recognised, ", "))
	}
	if unused := im.rows.columns.unused; len(unused) > 0 {
		_, _ = fmt.Fprintf(im.Report, "ignored columns: %q\n", unused)
	}
	if im.ShiftToNow {
		if err := im.findShift(ctx); err != nil {
			return err
		}
		if im.rows, err = openRows(file); err != nil {
			return err
		}
	}
	im.bar = progressbar.NewOptions64(size, progressbar.OptionSetWriter(im.Progress))
	defer func() { _ = im.bar.Clear() }()
	return im.store(ctx)
}

// findShift sets the shift that makes the newest time now. It ignores invalid rows, which store reports.
func (im *importer) findShift(ctx context.Context) error {
	newest := int64(-1)
	defer func() { im.sum.Empty = 0 }() // store counts them
	err := im.each(ctx, func(r row) error {
		if r.err == nil {
			newest = max(newest, r.article.PostedAt.Unix())
		}
		return nil
	})
	if newest >= 0 {
		im.shift = im.Now().Unix() - newest
	}
	return err
}

// store imports the rows.
func (im *importer) store(ctx context.Context) error {
	batch := make([]row, 0, batchSize)
	err := im.each(ctx, func(r row) error {
		if batch = append(batch, r); len(batch) < batchSize {
			return nil
		}
		err := im.flush(ctx, batch)
		batch = batch[:0]
		_ = im.bar.Set64(im.rows.offset()) // continue even if the terminal is gone
		return err
	})
	if err != nil {
		return err
	}
	return im.flush(ctx, batch)
}

// each calls visit with every row, parsed or with the reason why it is refused, until visit returns an error.
func (im *importer) each(ctx context.Context, visit func(row) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return im.stopped(err)
		}
		r, err := im.rows.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return im.stopped(err)
		}
		if r.isEmpty() {
			im.sum.Empty++
			continue
		}
		if r.err == nil {
			r.err = im.parse(&r)
		}
		if err := visit(r); err != nil {
			return err
		}
	}
}

func (im *importer) stopped(err error) error {
	return fmt.Errorf("stopped after line %d: %w; running the import again skips the rows stored so far", im.done, err)
}

// flush stores the batch, counts its rows and reports them. The batch includes refused rows so that they are
// reported in order.
func (im *importer) flush(ctx context.Context, batch []row) error {
	articles := make([]redisrepo.Imported, 0, len(batch))
	for _, r := range batch {
		if r.err == nil {
			articles = append(articles, r.article)
		}
	}
	added, errs := im.repo.Import(ctx, articles)
	_ = im.repo.Views.CatchUp(ctx) // what cannot be applied now, a server or a read will
	var fault error
	for _, r := range batch {
		im.sum.Read++
		isNew := false
		if r.err == nil {
			isNew, r.err = added[0], errs[0]
			added, errs = added[1:], errs[1:]
		}
		var refusal site.Refusal
		switch {
		case isNew:
			im.sum.Added++
			if r.ungrouped != nil {
				im.sum.Ungrouped++
				im.report(r, "stored without a group for its host: "+r.ungrouped.Error())
			}
		case r.err == nil:
			im.sum.Skipped++
		case errors.As(r.err, &refusal):
			im.sum.Refused++
			im.report(r, byColumn(refusal))
		case fault == nil:
			fault = im.stopped(r.err)
		}
		if fault == nil {
			im.done = r.last
		}
	}
	return fault
}

// Options say how a file is imported. The zero value imports its values as they are.
type Options struct {
	// GroupByHost also puts each article into a group named after the host of its link, without "www.". If
	// the host is not a valid group name, the article is stored without that group and Report gets a line.
	GroupByHost bool
	// ShiftToNow moves all times by the same amount, so that the newest is now.
	ShiftToNow bool

	Now      func() time.Time // nil means time.Now
	Report   io.Writer        // gets a line for each row that is refused or stored without its host group; nil discards them
	Progress io.Writer        // terminal for a progress bar; nil means none
}

// Summary counts what happened to the rows of a file.
type Summary struct {
	Read      int // without the header; the sum of the next three, unless the import was stopped
	Added     int
	Skipped   int // already stored
	Refused   int
	Ungrouped int // of Added: without a group for the host of the link
	Empty     int // rows without any value, which are not among those read
	Took      time.Duration
}

// String returns the summary in one line.
func (s Summary) String() string {
	text := fmt.Sprintf("%d rows read: %d added, %d already stored, %d refused", s.Read, s.Added, s.Skipped, s.Refused)
	if s.Ungrouped > 0 {
		text += fmt.Sprintf(", %d without a group for their host", s.Ungrouped)
	}
	if s.Empty > 0 {
		text += fmt.Sprintf(", %d empty rows left out", s.Empty)
	}
	return fmt.Sprintf("%s; took %v", text, s.Took.Round(time.Millisecond))
}

// Run imports the rows of a file in order and in batches, so its memory does not grow with the file. A row that breaks
// a rule is reported with its line number and the import continues; after a broken quote it continues with the next
// line. A row whose article is already stored, with the same poster, title, link and text, is skipped: a repeated
// import, with any options, adds nothing twice.
//
// The error is about the header, or says after which line the import was stopped by Redis, the file or the end of ctx.
// The Summary is also valid with an error.
func Run(ctx context.Context, repo *redisrepo.Repo, file io.ReadSeeker, o Options) (Summary, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Report = cmp.Or(o.Report, io.Discard)
	o.Progress = cmp.Or(o.Progress, io.Discard)
	began := o.Now()
	im := importer{Options: o, repo: repo}
	err := im.run(ctx, file)
	im.sum.Took = o.Now().Sub(began)
	return im.sum, err
}
