package csvimport

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxRow is the maximum number of bytes read for one row: several times the longest valid article. It bounds
// the memory that an unclosed quote can cost.
const maxRow = 256 << 10

var (
	errLongRow = errors.New("the row is longer than 250 KiB: is a quote not closed?")
	errBlank   = errors.New("more than 250 KiB of blank lines follow")
	errQuote   = errors.New("a quote is not closed, or a quote within a field is not doubled")
)

// reader reads rows one by one and continues after a broken one.
type reader struct {
	file   io.ReadSeeker
	limit  io.LimitedReader // over file, for one row
	csv    *csv.Reader      // over limit
	start  int64            // offset in the file where csv began
	before int              // lines before start
	line   int              // last line read

	columns *columns
}

// openRows reads the header of a file. The next row is the first one after it.
func openRows(file io.ReadSeeker) (*reader, error) {
	r := &reader{file: file}
	if err := r.seek(0); err != nil {
		return nil, err
	}
	const mark = "\ufeff" // written by Excel before UTF-8
	begin, err := bufio.NewReader(file).Peek(len(mark))
	if err != nil && !errors.Is(err, io.EOF) {
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
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("the file is empty: its first line must name the columns %s", strings.Join(required, ", "))
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
	r.csv.FieldsPerRecord = -1 // parse checks the number
	return nil
}

// offset is the position in the file of the next row or of blank lines before it.
func (r *reader) offset() int64 { return r.start + r.csv.InputOffset() }

// next returns one row; row.err says if it is broken. The error is io.EOF or that of reading the file.
func (r *reader) next() (row, error) {
	begin := r.offset()
	r.limit.N = maxRow
	fields, err := r.csv.Read()
	cut, reason := r.limit.N <= 0, errQuote
	if cut {
		reason = errLongRow
	}
	var broken *csv.ParseError
	switch {
	case errors.As(err, &broken):
		return r.skip(begin, r.before+broken.StartLine, reason)
	case err == io.EOF && cut:
		return row{}, errBlank
	case err != nil:
		return row{}, err
	}
	first, _ := r.csv.FieldPos(0)
	if cut {
		return r.skip(begin, r.before+first, reason)
	}
	last, _ := r.csv.FieldPos(len(fields) - 1)
	r.line = r.before + last + strings.Count(fields[len(fields)-1], "\n")
	return row{first: r.before + first, last: r.line, fields: fields}, nil
}

// skip refuses the line as a row of its own and continues after it: what csv parsed as the rest of the row
// may be many valid ones. begin is the offset of the line after r.line.
func (r *reader) skip(begin int64, line int, reason error) (row, error) {
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
	return row{first: line, last: line, err: refuse("", reason)}, r.seek(begin)
}
