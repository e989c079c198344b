package site

import (
	"encoding/binary"
)

// Kinds of changes.
const (
	KindPosted    = "posted"
	KindImported  = "imported"
	KindVoted     = "voted"
	KindEdited    = "edited"
	KindRegrouped = "regrouped"
	KindDeleted   = "deleted"
	KindUndeleted = "undeleted"
	KindFlagged   = "flagged"      // it was reported, or a report of it was changed; the article is the same
	KindSettled   = "settled"      // reports of it were decided; the article is the same
	KindVoided    = "votes_voided" // a moderator took votes out of the counts, or put them back
	KindNoticed   = "noticed"      // a legacy client has changed it; only in the log
)

// A watch can go on where an earlier one ended, of this or another process. What a watcher of articles has is the
// revision of each. What a watcher of posts has is a place in each partition. A Cursor holds either.

// ClockSlack is how far, in seconds, the clock of a server may be behind that of the primary before it, or that
// of another partition.
const ClockSlack = 10

// NumberReader reads consecutive unsigned varints.
type NumberReader struct{ Text []byte }

// Next reads the next number; 0 after the last one.
func (r *NumberReader) Next() uint64 {
	n, size := binary.Uvarint(r.Text)
	r.Text = r.Text[max(size, 0):]
	return n
}
