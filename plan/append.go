package plan

import (
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

const null = "null"

// isNull reports whether a JSON text is null.
func isNull(text []byte) bool { return string(text) == null }

// These functions append scalars as gqlgen's functions of the same names write them. null stands for what they
// write as graphql.Null.

// AppendString appends a string.
func AppendString[S ~string](to []byte, s S) []byte {
	const hex = "0123456789ABCDEF"
	to = append(to, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, s[start:i]...)
		start = i + 1
		switch c {
		case '\t':
			to = append(to, '\\', 't')
		case '\r':
			to = append(to, '\\', 'r')
		case '\n':
			to = append(to, '\\', 'n')
		case '"', '\\':
			to = append(to, '\\', c)
		default:
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	return append(append(to, s[start:]...), '"')
}

// AppendInt appends an integer.
func AppendInt[I ~int | ~int8 | ~int16 | ~int32 | ~int64](to []byte, i I) []byte {
	return strconv.AppendInt(to, int64(i), 10)
}

// AppendBoolean appends a truth value.
func AppendBoolean[B ~bool](to []byte, b B) []byte { return strconv.AppendBool(to, bool(b)) }

// AppendMarshaler appends what a marshaler writes. It is for types that have no function to append them.
func AppendMarshaler(to []byte, m graphql.Marshaler) []byte {
	w := writer(to)
	m.MarshalGQL(&w)
	return w
}

// writer is a slice that grows by what is written to it.
type writer []byte

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
