package plan

import (
	"context"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// respond prints the answer.
func (e *execution) respond() *graphql.Response {
	begin := len(e.Text)
	to, ok := e.print(e.Text)
	if !ok {
		e.careful, e.failures = true, nil
		to, _ = e.print(e.Text)
	}
	response := &graphql.Response{Data: to[begin:], Errors: e.errors()}
	e.end()
	return response
}

// print appends the answer; false if a leaf panicked. Then it has to be printed again, carefully.
func (e *execution) print(to []byte) (_ []byte, ok bool) {
	if !e.careful {
		defer func() {
			if recover() != nil {
				ok = false
			}
		}()
	}
	s := e.plan.root
	if len(s.fields) > 0 && s.fields[0].source {
		return append(e.value(append(to, s.fields[0].key...), &s.fields[0], 0), '}'), true
	}
	if e.done >= 0 {
		s = &selection{id: s.id, fields: s.fields[:e.done]}
	}
	return e.object(to, s, 0), true
}

// failed reports whether a field at the root of a mutation has an error, which printing it shows.
func (e *execution) failed(f *field) bool {
	e.careful = true
	e.value(nil, f, 0)
	failed := len(e.failures) > 0 || len(graphql.GetErrors(e.ctx)) > 0
	e.careful, e.failures = false, nil
	return failed
}

// object appends an object, or null if one of its fields is null and must not be, unless nulls stay where they are.
func (e *execution) object(to []byte, s *selection, pos int) []byte {
	object := e.groups[s.id].objects[pos]
	begin, complete := len(to), true
	for i := range s.fields {
		f := &s.fields[i]
		to = append(to, f.key...)
		if f.typeName {
			continue
		}
		value := len(to)
		switch {
		case f.append == nil:
			to = e.value(to, f, pos)
		case e.careful:
			to = e.carefully(to, f, pos, func(to []byte) []byte { return f.append(to, object) })
		default:
			to = e.leaf(f.append(to, object), value, f, pos)
		}
		if f.nonNull && e.OnError != Null && isNull(to[value:]) {
			complete = false // the others are printed, for their errors
		}
	}
	switch {
	case !complete:
		return append(to[:begin], null...)
	case len(s.fields) == 0:
		return append(to, '{', '}')
	}
	return append(to, '}')
}

// leaf reports a leaf that is null and must not be. Its text begins at begin.
func (e *execution) leaf(to []byte, begin int, f *field, pos int) []byte {
	if f.nonNull && isNull(to[begin:]) {
		e.nullNotAllowed(f, pos, whole)
	}
	return to
}

// carefully appends a leaf, or null if that panics.
func (e *execution) carefully(to []byte, f *field, pos int, leaf func(to []byte) []byte) (text []byte) {
	begin := len(to)
	defer func() {
		if cause := recover(); cause != nil {
			err := e.operation.Recover(e.context(f, pos), cause)
			e.fail(f, pos, whole, func(ctx context.Context) { e.operation.Error(ctx, err) })
			text = append(to[:begin], null...)
		}
	}()
	return e.leaf(leaf(to), begin, f, pos)
}

// value appends the value of a field that has a column.
func (e *execution) value(to []byte, f *field, pos int) []byte {
	c := &e.columns[f.column]
	switch {
	case c.failed != nil && c.failed(pos):
		e.fail(f, pos, whole, func(ctx context.Context) { c.report(ctx, pos) })
		return append(to, null...)
	case c.leaf != nil:
		if e.careful {
			return e.carefully(to, f, pos, func(to []byte) []byte { return c.leaf(to, pos) })
		}
		return e.leaf(c.leaf(to, pos), len(to), f, pos)
	case f.list:
		return e.listOf(to, f, c, pos)
	}
	return e.element(to, f, c, pos, whole, f.nonNull)
}

// element appends a value of a field that leads to objects: the one of an object, or one of its list.
func (e *execution) element(to []byte, f *field, c *column, pos, index int, nonNull bool) []byte {
	row := pos
	if index != whole {
		row = c.begin(pos) + index
	}
	switch value := c.values[row].(type) {
	case nil:
		if nonNull {
			e.nullNotAllowed(f, pos, index)
		}
		return append(to, null...)
	case broken:
		e.fail(f, pos, index, func(ctx context.Context) { e.operation.Error(ctx, value.err) })
		return append(to, null...)
	}
	s := f.children[0]
	if f.abstract != nil {
		_, typeName := f.abstract(c.values[row])
		s = f.child(typeName)
	}
	if c.places != nil {
		row = int(c.places[row])
	}
	return e.object(to, s, row)
}

// listOf appends a list of objects, or null if an element is null and must not be, unless nulls stay where they are.
func (e *execution) listOf(to []byte, f *field, c *column, pos int) []byte {
	if !f.nonNull && pos < len(c.none) && c.none[pos] {
		return append(to, null...)
	}
	begin, complete, empty := len(to), true, false
	first := c.begin(pos)
	to = append(to, '[')
	for row := first; row < int(c.ends[pos]); row++ {
		if row > first {
			to = append(to, ',')
		}
		element := len(to)
		to = e.element(to, f, c, pos, row-first, f.elements)
		if e.OnError == Null {
			continue
		}
		if _, ok := c.values[row].(broken); ok {
			empty = true // gqlgen drops the list
		} else if f.elements && isNull(to[element:]) {
			complete = false
		}
	}
	switch {
	case empty:
		return append(to[:begin], '[', ']')
	case !complete:
		return append(to[:begin], null...)
	}
	return append(to, ']')
}

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

// AppendBoolean appends true or false.
func AppendBoolean[B ~bool](to []byte, b B) []byte { return strconv.AppendBool(to, bool(b)) }
