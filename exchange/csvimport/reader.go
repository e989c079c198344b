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
	file   *lines
	comma  rune
	limit  io.LimitedReader // over file, for one row
	csv    *csv.Reader      // over limit
	start  int64            // offset in the file where csv began
	before int              // lines before start
	line   int              // last line read

	columns    *columns
	recognised []string // what is special about the file, in words
}

// openRows reads the header of a file in UTF-8. The next row is the first one after it.
func openRows(file io.ReadSeeker) (*reader, error) {
	r := &reader{file: &lines{file: file}}
	begin, err := peek(r.file, 0, len(utf8Mark))
	if err != nil {
		return nil, err
	}
	start := int64(0)
	if string(begin) == utf8Mark {
		start = int64(len(utf8Mark))
	}
	if _, err := r.file.Seek(start, io.SeekStart); err != nil {
		return nil, err
	}
	if r.file.all, err = endInCR(file); err != nil {
		return nil, err
	}
	if begin, err = peek(r.file, start, len("\"sep=\u2028\"\r\n")); err != nil {
		return nil, err
	}
	comma, length, err := declared(begin)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if err := r.findColumns(start+int64(length), comma); err != nil {
		return nil, err
	}
	if r.comma != ',' {
		r.recognised = append(r.recognised, separatedBy(r.comma)+" between columns")
	}
	if r.file.all {
		r.recognised = append(r.recognised, "CR at the end of lines")
	}
	return r, nil
}

// peek returns at most n bytes of a file from an offset on.
func peek(file io.ReadSeeker, offset int64, n int) ([]byte, error) {
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	begin := make([]byte, n)
	n, err := io.ReadFull(file, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return begin[:n], nil
}

// findColumns reads the header at an offset, by the separator that the line before it declares, or else by the one that
// gives all columns.
func (r *reader) findColumns(start int64, declared rune) error {
	line, most := 1, 0
	var problem error
	commas := []rune{declared}
	if declared == 0 {
		line, commas = 0, separators
	}
	for _, comma := range commas {
		r.comma, r.line = comma, line
		if err := r.seek(start); err != nil {
			return err
		}
		header, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the file is empty: its first line must name the columns %s", strings.Join(required, ", "))
		case err == nil && header.err == nil:
			r.columns, err = parseHeader(header.fields)
		case err == nil:
			err = header.err
		default:
			return fmt.Errorf("header: %w", err)
		}
		if err == nil {
			return nil
		}
		if len(header.fields) > most || problem == nil {
			most, problem = len(header.fields), err
		}
	}
	return fmt.Errorf("header: %w", problem)
}

func (r *reader) seek(offset int64) error {
	if _, err := r.file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	r.start, r.before = offset, r.line
	r.limit.R = r.file
	r.csv = csv.NewReader(&r.limit)
	r.csv.FieldsPerRecord = -1 // parse checks the number
	r.csv.Comma = r.comma
	return nil
}

// offset is the position in the file of the next row or of blank lines before it.
func (r *reader) offset() int64 { return r.start + r.csv.InputOffset() }

// next returns one row; row.err says if it is broken. The error is io.EOF or an error of reading the file.
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
