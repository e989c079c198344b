// Package csvimport reads articles from CSV files into a site.
//
// The first line of a file names its columns, in any order and case: id, title,
// link, votes, poster and posted_at are required, text and groups are optional,
// others are not used. In a row
//
//   - id becomes the article's number;
//   - votes is its net votes, a whole number;
//   - posted_at is Unix seconds or RFC 3339, from 1970 to 9999; fractions of a
//     second are dropped;
//   - groups is names with blanks, ",", ";" or "|" between them;
//   - link and text may be empty.
//
// Blanks around a value do not count, except in text. A row may go over several
// lines, and has at most 250 KiB.
package csvimport

import (
	"context"
	"fmt"
	"io"
	"time"

	"frontpage/redisrepo"
)

// Options say how a file is imported. The zero value imports what is written there.
type Options struct {
	// GroupByHost puts each article also in a group that is named after the host
	// of its link, without "www.". Where that cannot be the name of a group, the
	// article is stored without it, and a line on Refused says so.
	GroupByHost bool
	// ShiftToNow moves the times of all rows alike, so that the newest is now.
	ShiftToNow bool

	Now      func() time.Time // default time.Now
	Refused  io.Writer        // gets a line for each row that is not imported; nil for none
	Progress io.Writer        // a terminal that shows how far the import is; nil for none
}

// Summary is what became of the rows of a file.
type Summary struct {
	Read      int // without the header; the sum of the next three, unless the import was stopped
	Added     int
	Skipped   int // were here already
	Refused   int
	Ungrouped int // of Added: without a group for the host of their link
	Took      time.Duration
}

// String is one line for people.
func (s Summary) String() string {
	text := fmt.Sprintf("%d rows read: %d added, %d here already, %d refused", s.Read, s.Added, s.Skipped, s.Refused)
	if s.Ungrouped > 0 {
		text += fmt.Sprintf(", %d without a group for their host", s.Ungrouped)
	}
	return fmt.Sprintf("%s; took %v", text, s.Took.Round(time.Millisecond))
}

// Run imports the rows of a file in order, a batch at a time: memory does not
// grow with the file. A row that breaks a rule is reported with its line, and
// the others go on; behind a broken quote they go on in the next line. A row
// whose article is here already, with the same poster, title, link and text, is
// skipped, so to run again adds nothing twice, whatever the options.
//
// The error is about the header, or says behind which line Redis, the file or
// the end of ctx stopped the import. The Summary holds in any case.
func Run(ctx context.Context, repo *redisrepo.Repo, file io.ReadSeeker, o Options) (Summary, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Refused == nil {
		o.Refused = io.Discard
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	began := o.Now()
	im := importer{Options: o, repo: repo}
	err := im.run(ctx, file)
	im.sum.Took = o.Now().Sub(began)
	return im.sum, err
}
