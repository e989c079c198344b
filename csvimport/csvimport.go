// Package csvimport imports articles from CSV files.
//
// The first line of a file names its columns, in any order and case: id, title, link, votes, poster and
// posted_at are required, text and groups are optional, others are ignored. In a row
//
//   - id is the article's number;
//   - votes is its net votes, a whole number;
//   - posted_at is Unix seconds or RFC 3339, from 1970 to 9999; fractions of a second are dropped;
//   - groups is a list of names separated by white space, ",", ";" or "|";
//   - link and text may be empty.
//
// White space around values is trimmed, except for text. A row may span several lines and has at most 250 KiB.
package csvimport

import (
	"context"
	"fmt"
	"io"
	"time"

	"frontpage/redisrepo"
)

// Options say how a file is imported. The zero value imports its values as they are.
type Options struct {
	// GroupByHost also puts each article into a group named after the host of its link, without "www.". If
	// the host is not a valid group name, the article is stored without that group and Report gets a line.
	GroupByHost bool
	// ShiftToNow moves all times by the same amount, so that the newest is now.
	ShiftToNow bool

	Now      func() time.Time // nil means time.Now
	Report   io.Writer        // gets a line for each row that is refused or loses its host group; nil discards them
	Progress io.Writer        // terminal for a progress bar; nil means none
}

// Summary counts what happened to the rows of a file.
type Summary struct {
	Read      int // without the header; the sum of the next three, unless the import was stopped
	Added     int
	Skipped   int // already stored
	Refused   int
	Ungrouped int // of Added: without a group for the host of the link
	Took      time.Duration
}

// String returns the summary in one line.
func (s Summary) String() string {
	text := fmt.Sprintf("%d rows read: %d added, %d already stored, %d refused", s.Read, s.Added, s.Skipped, s.Refused)
	if s.Ungrouped > 0 {
		text += fmt.Sprintf(", %d without a group for their host", s.Ungrouped)
	}
	return fmt.Sprintf("%s; took %v", text, s.Took.Round(time.Millisecond))
}

// Run imports the rows of a file in order and in batches, so its memory does not grow with the file. A row
// that breaks a rule is reported with its line and the import continues; after a broken quote it continues
// with the next line. A row whose article is already stored, with the same poster, title, link and text, is
// skipped: running the import again, with any options, adds nothing twice.
//
// The error is about the header, or says after which line Redis, the file or the end of ctx stopped the
// import. The Summary is valid in any case.
func Run(ctx context.Context, repo *redisrepo.Repo, file io.ReadSeeker, o Options) (Summary, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Report == nil {
		o.Report = io.Discard
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
