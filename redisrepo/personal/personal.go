// Package personal exports everything that the store has about one user, in parts, in bounded memory.
package personal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"
	"time"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/sessions"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/views"
	"frontpage/redisrepo/voids"
	"frontpage/redisrepo/wire"
)

// A part ends with the article after which it has so many bytes, or with the step after which it has so many lines, or took so
// many steps.
const (
	partBytes = 256 << 10
	partLines = 1000
	partSteps = 10
)

// Personal reads what the store has about users.
type Personal struct {
	store    *wire.Store
	articles *articles.Articles
	casts    *casts.Casts
	views    *views.Views
	reports  *reports.Reports
	denials  *denials.Denials
	sessions *sessions.Sessions
	voids    *voids.Voids
	saved    *saved.Saved
}

// New returns a Personal for the users of a site.
func New(store *wire.Store, a *articles.Articles, c *casts.Casts, w *views.Views, r *reports.Reports, d *denials.Denials, s *sessions.Sessions, v *voids.Voids, kept *saved.Saved) *Personal {
	return &Personal{store, a, c, w, r, d, s, v, kept}
}

// Part is a part of an export.
type Part struct {
	NDJSON string  // whole lines, each a JSON object with a kind; may be empty
	Cursor *string // of the next part; nil: this is the last one
}

// IsLast reports whether the export ends with this part.
func (p *Part) IsLast() bool { return p.Cursor == nil }

// ExportUser returns the part of the export of a user after a cursor, nil for the first one. The concatenated parts are
// the export: a line for each record of the user, and a last line of the kind end, with the number of lines before it
// and the SHA-256, in hex, of all bytes before it. A part takes at most 10 steps of a few round trips each, and a round
// trip for each edited article in it.
//
// Data that changes while the parts are read is exported as before or after the change. The Refusal is Invalid for a
// cursor that is damaged or of another user.
func (r *Personal) ExportUser(ctx context.Context, user site.UserName, after *string) (*Part, error) {
	e := &export{Personal: r, user: user, digest: sha256.New()}
	list := "export " + user.Member()
	if err := r.views.CatchUp(ctx); err != nil {
		return nil, failover.Wrap("export a user", err)
	}
	begin, err := site.ParseCursor("after", after, func(field, text string) (place, error) { return e.decode(field, list, text) })
	if err != nil {
		return nil, err
	}
	cursor, err := e.run(ctx, begin)
	if err != nil {
		return nil, failover.Wrap("export a user", err)
	}
	part := &Part{}
	if cursor != nil {
		state, err := e.digest.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			return nil, err
		}
		part.Cursor = new(site.EncodeCursor(list, cursor.id.String(), cursor.after, strconv.Itoa(e.count), hex.EncodeToString(state)))
	} else if err := e.add(line{Kind: "end", Lines: &e.count, SHA256: hex.EncodeToString(e.digest.Sum(nil))}); err != nil {
		return nil, err
	}
	part.NDJSON = e.text.String()
	return part, nil
}

// export is the part of an export that is being read.
type export struct {
	*Personal
	user   site.UserName
	text   bytes.Buffer
	lines  int       // in text
	count  int       // of lines in all parts up to here
	digest hash.Hash // of all parts up to here
}

// place is where a part begins: in a source, after what the source itself calls so.
type place struct {
	id    sourceID
	after string // empty: at its beginning
}

// decode parses a cursor, and goes on with its digest.
func (e *export) decode(field, list, text string) (place, error) {
	parts, err := site.DecodeCursor(field, list, text)
	if err != nil || len(parts) != 4 {
		return place{}, cmp.Or(err, site.NotACursor(field))
	}
	id, idErr := parseSourceID(parts[0])
	count, countErr := strconv.Atoi(parts[2])
	state, stateErr := hex.DecodeString(parts[3])
	if idErr != nil || countErr != nil || stateErr != nil || e.digest.(encoding.BinaryUnmarshaler).UnmarshalBinary(state) != nil {
		return place{}, site.NotACursor(field)
	}
	e.count = count
	return place{id, parts[1]}, nil
}

// run reads from a place on until the part is full. It returns the place after it, nil for the end of the export.
func (e *export) run(ctx context.Context, begin *place) (*place, error) {
	sources, err := e.sources(ctx)
	if err != nil {
		return nil, err
	}
	steps := 0
	for _, s := range sources {
		after := ""
		if begin != nil {
			switch s.id.compare(begin.id) {
			case -1:
				continue
			case 0:
				after = begin.after
			}
		}
		for more := true; more; steps++ {
			if e.isFull() || e.lines >= partLines || steps >= partSteps {
				return &place{s.id, after}, nil
			}
			if after, more, err = s.read(ctx, after); err != nil {
				return nil, fmt.Errorf("%s: %w", sections[s.id.section], err)
			}
		}
	}
	return nil, nil
}

// isFull reports whether the part has as many bytes as a part has.
func (e *export) isFull() bool { return e.text.Len() >= partBytes }

// add appends a line.
func (e *export) add(l line) error {
	was, encoder := e.text.Len(), json.NewEncoder(&e.text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(l); err != nil {
		return err
	}
	e.digest.Write(e.text.Bytes()[was:])
	e.lines++
	e.count++
	return nil
}

// at is a time of a line.
func at(seconds float64) *time.Time { return new(site.UnixTime(seconds)) }
