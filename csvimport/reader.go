package csvimport

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxRow bounds what is read of one row, in bytes: several times the longest
// valid article, and all the memory that a quote without an end can cost.
const maxRow = 256 << 10

var (
	errLongRow = errors.New("the row goes on for more than 250 KiB: is a quote not closed?")
	errBlank   = errors.New("more than 250 KiB of blank lines follow")
	errQuote   = errors.New("a quote is not closed, or stands undoubled inside a field")
)

// reader reads rows one by one, also behind a broken one.
type reader struct {
	file   io.ReadSeeker
	limit  io.LimitedReader // over file, for one row
	csv    *csv.Reader      // over limit
	start  int64            // where csv began in the file
	before int              // lines before start
	line   int              // last line read

	columns *columns
}

// openRows reads the header of a file, and stands behind it.
func openRows(file io.ReadSeeker) (*reader, error) {
	r := &reader{file: file}
	if err := r.seek(0); err != nil {
		return nil, err
	}
	const mark = "\ufeff" // Excel begins UTF-8 with it
	begin, err := bufio.NewReader(file).Peek(len(mark))
	if err != nil && err != io.EOF {
		return nil, err
	}
	if string(begin) != mark {
		begin = nil
	}
	if err := r.seek(int64(len(begin))); err != nil {
		return nil, err
	}
	header, err := r.next()
	switch {
	case err == io.EOF:
		return nil, fmt.Errorf("the file is empty: its first line names the columns %s", strings.Join(required, ", "))
	case err == nil && header.err == nil:
		r.columns, err = parseHeader(header.fields)
	case err == nil:
		err = header.err
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return r, nil
}

func (r *reader) seek(offset int64) error {
	if _, err := r.file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	r.start, r.before = offset, r.line
	r.limit.R = r.file
	r.csv = csv.NewReader(&r.limit)
	r.csv.FieldsPerRecord = -1 // parse compares
	return nil
}

// offset is where the next row, or a blank line before it, begins in the file.
func (r *reader) offset() int64 { return r.start + r.csv.InputOffset() }

// next returns one row. Its own error is that of a file that cannot be read, or
// io.EOF.
func (r *reader) next() (row, error) {
	begin := r.offset()
	r.limit.N = maxRow
	fields, err := r.csv.Read()
	cut, why := r.limit.N <= 0, errQuote
	if cut {
		why = errLongRow
	}
	var broken *csv.ParseError
	switch {
	case errors.As(err, &broken):
		return r.skip(begin, r.before+broken.StartLine, why)
	case err == io.EOF && cut:
		return row{}, errBlank
	case err != nil:
		return row{}, err
	}
	first, _ := r.csv.FieldPos(0)
	if cut {
		return r.skip(begin, r.before+first, why)
	}
	last, _ := r.csv.FieldPos(len(fields) - 1)
	r.line = r.before + last + strings.Count(fields[len(fields)-1], "\n")
	return row{first: r.before + first, last: r.line, fields: fields}, nil
}

// skip refuses one line as a row of its own, and goes on behind it: what csv
// took for the rest of the row may be many good ones. The offset begin is where
// the line after r.line begins.
func (r *reader) skip(begin int64, line int, why error) (row, error) {
	if _, err := r.file.Seek(begin, io.SeekStart); err != nil {
		return row{}, err
	}
	for in := bufio.NewReader(r.file); r.line < line; begin++ {
		c, err := in.ReadByte()
		if err == io.EOF {
			break
		}
		if err != nil {
			return row{}, err
		}
		if c == '\n' {
			r.line++
		}
	}
	return row{first: line, last: line, err: refuse("", why)}, r.seek(begin)
}
