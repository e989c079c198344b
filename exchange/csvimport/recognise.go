package csvimport

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	utf16 "golang.org/x/text/encoding/unicode"
)

// Marks at the beginning of a file say how its characters are encoded.
const (
	utf8Mark       = "\ufeff" // written by Excel before UTF-8
	littleMark     = "\xff\xfe"
	bigMark        = "\xfe\xff"
	littleWideMark = "\xff\xfe\x00\x00"
	bigWideMark    = "\x00\x00\xfe\xff"
)

const saveAsUTF8 = `save it as "CSV UTF-8", or as CSV with the character set UTF-8`

// separators are those that spreadsheets write.
var separators = []rune{',', ';', '\t', '|'}

// decoded returns the file as UTF-8: itself or, if it begins with a mark of UTF-16, a copy that ends with the process.
// done closes the copy.
func decoded(file io.ReadSeeker) (plain io.ReadSeeker, recognised []string, done func(), err error) {
	done = func() {}
	begin, err := peek(file, 0, len(littleWideMark))
	if err != nil {
		return nil, nil, done, err
	}
	mark := string(begin)
	order, name := utf16.LittleEndian, "UTF-16 (little-endian)"
	switch {
	case mark == littleWideMark || mark == bigWideMark:
		return nil, nil, done, errors.New("the file is in UTF-32: " + saveAsUTF8)
	case strings.HasPrefix(mark, bigMark):
		order, name = utf16.BigEndian, "UTF-16 (big-endian)"
	case !strings.HasPrefix(mark, littleMark):
		return file, nil, done, nil
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil && size%2 == 1 {
		err = errors.New("the file ends in the middle of a character of UTF-16: it was cut, so write it again")
	}
	if err != nil {
		return nil, nil, done, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, nil, done, err
	}
	copied, err := os.CreateTemp("", "frontpage-import-*")
	if err != nil {
		return nil, nil, done, err
	}
	_ = os.Remove(copied.Name()) // a system that keeps it cleans its temporary files up later
	_, err = io.Copy(copied, utf16.UTF16(order, utf16.ExpectBOM).NewDecoder().Reader(file))
	return copied, []string{name}, func() { _ = copied.Close() }, err
}

// lines reads a file whose lines end in \n, \r\n, or \r alone, which it replaces by \n. Within quotes that is a
// character, unless all lines end in it. A seek must lead to the beginning of a row.
type lines struct {
	file        io.ReadSeeker
	all, quoted bool
	ahead       []byte // what was read after a \r, and the error of that
	err         error
}

func (l *lines) Seek(offset int64, whence int) (int64, error) {
	l.quoted, l.ahead, l.err = false, nil, nil
	return l.file.Seek(offset, whence)
}

func (l *lines) Read(p []byte) (n int, err error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case len(l.ahead) > 0:
		n, l.ahead = copy(p, l.ahead), nil
	case l.err != nil:
		return 0, l.err
	default:
		n, err = l.file.Read(p)
	}
	for i, c := range p[:n] {
		if c == '"' {
			l.quoted = !l.quoted
		}
		if c == '\r' && (l.all || !l.quoted) && !l.isBeforeLF(p[i+1:n]) {
			p[i] = '\n'
		}
	}
	return n, err
}

// isBeforeLF reports whether a \n follows: in rest or, if that is empty, in the file.
func (l *lines) isBeforeLF(rest []byte) bool {
	if len(rest) == 0 {
		next := make([]byte, 1)
		var n int
		n, l.err = io.ReadFull(l.file, next)
		l.ahead = next[:n]
		rest = l.ahead
	}
	return len(rest) > 0 && rest[0] == '\n'
}

// endInCR reports whether the first line ends in \r alone.
func endInCR(file io.Reader) (bool, error) {
	in, quoted := bufio.NewReader(io.LimitReader(file, maxRow)), false
	for {
		c, err := in.ReadByte()
		switch {
		case errors.Is(err, io.EOF) || c == '\n' && !quoted:
			return false, nil
		case err != nil:
			return false, err
		case c == '"':
			quoted = !quoted
		case c == '\r' && !quoted:
			next, err := in.Peek(1)
			if err != nil && !errors.Is(err, io.EOF) {
				return false, err
			}
			return string(next) != "\n", nil
		}
	}
}

// declared returns the separator that a first line such as sep=; names, and the length of that line; 0 without one.
func declared(begin []byte) (separator rune, length int, err error) {
	line, _, found := bytes.Cut(begin, []byte("\n"))
	text := strings.Trim(strings.TrimSuffix(string(line), "\r"), `"`)
	if len(text) < 4 || !strings.EqualFold(text[:4], "sep=") {
		return 0, 0, nil
	}
	separator, size := utf8.DecodeRuneInString(text[4:])
	if !found || size != len(text)-4 || separator == utf8.RuneError || unicode.IsLetter(separator) || unicode.IsDigit(separator) {
		return 0, 0, fmt.Errorf("%q does not name a separator: write sep=; or leave the line out", text)
	}
	return separator, len(line) + 1, nil
}

// separatedBy names a separator for people.
func separatedBy(separator rune) string {
	switch separator {
	case ',':
		return "a comma"
	case ';':
		return "a semicolon"
	case '\t':
		return "a tab"
	case '|':
		return "a bar"
	}
	return fmt.Sprintf("%q", separator)
}
