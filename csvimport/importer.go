package csvimport

import (
	"context"
	"errors"
	"fmt"
	"io"

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
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("the file must be seekable, not a pipe: %w", err)
	}
	if im.rows, err = openRows(file); err != nil {
		return err
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
