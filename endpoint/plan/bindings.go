package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/99designs/gqlgen/graphql"
)

// Field binds a field of an object type to Go. Exactly one of the first four functions is set.
type Field struct {
	append  func(to []byte, object any) []byte        // appends a leaf that is read from the object
	read    func(object any, c *column)               // adds what is read from the object, which leads to other objects
	resolve func(c call, objects []any, into *column) // fills a column
	source  bool                                      // a subscription's field, whose values are passed to Event
	untyped bool                                      // its Go type is an interface, so nil has no type
	args    parser
}

// parser turns raw arguments into those of a resolver.
type parser func(ctx context.Context, raw map[string]any) (map[string]any, error)

// Args sets the parser of the field's arguments.
func (f Field) Args(parse func(ctx context.Context, raw map[string]any) (map[string]any, error)) Field {
	f.args = parse
	return f
}

// Out says how values of type T are written to an answer. One of its functions is set.
type Out[T any] struct {
	leaf    func(to []byte, value T) []byte       // appends it
	one     func(value T) any                     // the object that it is, nil for null
	many    func(to []any, value T) ([]any, bool) // adds the objects in it, each nil for null; false if the list is null
	untyped bool
}

// Leaf returns the Out of scalars and enums.
func Leaf[T any](appendTo func(to []byte, value T) []byte) Out[T] { return Out[T]{leaf: appendTo} }

// OptionalLeaf returns the Out of scalars and enums that are nil for null.
func OptionalLeaf[T any](appendTo func(to []byte, value T) []byte) Out[*T] {
	return Leaf(func(to []byte, value *T) []byte {
		if value == nil {
			return append(to, null...)
		}
		return appendTo(to, *value)
	})
}

// Leaves returns the Out of lists of non-null scalars and enums. A nil list is null if optional, otherwise empty.
func Leaves[T any](appendTo func(to []byte, value T) []byte, optional bool) Out[[]T] {
	return Leaf(func(to []byte, values []T) []byte {
		if values == nil && optional {
			return append(to, null...)
		}
		to = append(to, '[')
		for i, value := range values {
			if i > 0 {
				to = append(to, ',')
			}
			to = appendTo(to, value)
		}
		return append(to, ']')
	})
}

// Object returns the Out of objects.
func Object[T any]() Out[*T] { return Out[*T]{one: pointer[T]} }

func pointer[T any](value *T) any {
	if value == nil {
		return nil
	}
	return value
}

// Abstract returns the Out of values of an interface or union.
func Abstract[T any]() Out[T] {
	return Out[T]{one: func(value T) any { return value }, untyped: true}
}

// Objects returns the Out of lists of objects.
func Objects[T any]() Out[[]*T] {
	return Out[[]*T]{many: func(to []any, values []*T) ([]any, bool) {
		to = slices.Grow(to, len(values))
		for _, value := range values {
			to = append(to, pointer(value))
		}
		return to, values != nil
	}}
}

// Abstracts returns the Out of lists of values of an interface or union.
func Abstracts[T any]() Out[[]T] {
	return Out[[]T]{many: func(to []any, values []T) ([]any, bool) {
		for _, value := range values {
			to = append(to, value)
		}
		return to, values != nil
	}}
}

// Read binds a field to a field or a method of a Go type.
func Read[O, T any](get func(object O) T, out Out[T]) Field {
	if out.leaf != nil {
		return Field{append: func(to []byte, object any) []byte { return out.leaf(to, get(object.(O))) }}
	}
	return Field{read: func(object any, c *column) { add(c, out, get(object.(O))) }, untyped: out.untyped}
}

// Source binds a field of the subscription type, whose events are about values of type T.
func Source[T any](out Out[T]) Field { return Field{source: true, untyped: out.untyped} }

// Each binds a field to a resolver that is called once for each object, concurrently for those of a list. Its
// arguments are in the field context. The root of an operation is the zero value of O.
func Each[O, T any](resolve func(ctx context.Context, object O) (T, error), out Out[T]) Field {
	return Field{untyped: out.untyped, resolve: func(c call, objects []any, into *column) {
		values, errs := make([]T, len(objects)), make([]error, len(objects))
		if len(objects) == 1 {
			values[0], errs[0] = callEach(c, resolve, objects[0], 0)
		} else {
			concurrently(len(objects), func(i int) { values[i], errs[i] = callEach(c, resolve, objects[i], i) })
		}
		fill(into, out, values)
		if errors.Join(errs...) != nil {
			into.failed = func(pos int) bool { return errs[pos] != nil }
			into.report = func(ctx context.Context, pos int) {
				var panicked recovered
				if err := errs[pos]; errors.As(err, &panicked) {
					c.execution.operation.Error(ctx, panicked.error)
				} else {
					c.execution.operation.Error(ctx, graphql.AddFieldLocationToError(ctx, err))
				}
			}
		}
	}}
}

// callEach calls a resolver for one object. With an error, the value is the zero value.
func callEach[O, T any](c call, resolve func(context.Context, O) (T, error), of any, pos int) (value T, err error) {
	ctx := c.context(pos)
	defer func() {
		if cause := recover(); cause != nil {
			err = recovered{c.execution.operation.Recover(ctx, cause)}
		}
	}()
	object, _ := of.(O)
	resolved, err := resolve(ctx, object)
	if err == nil {
		value = resolved
	}
	return value, err
}

// recovered is the error that a panic was turned into.
type recovered struct{ error }

// Batch binds a field to a resolver that is called once for all objects. Its arguments are in the field context.
func Batch[O, T any](resolve func(ctx context.Context, objects []O) ([]T, error), out Out[T]) Field {
	return Field{untyped: out.untyped, resolve: func(c call, objects []any, into *column) {
		all := make([]O, len(objects))
		for i, object := range objects {
			all[i] = object.(O)
		}
		results, err, panicked := callBatch(c, resolve, all)
		if values := results; len(values) == len(all) {
			if err != nil {
				values = succeeded(values, err)
			}
			fill(into, out, values)
		}
		if err == nil && panicked == nil && len(results) == len(all) {
			return
		}
		result := &graphql.BatchFieldResult{Results: results, Err: err}
		if panicked != nil {
			result.Results = nil // gqlgen has none either
		}
		into.failed = func(pos int) bool { return batchFailed(err, len(results), len(all), pos) }
		into.report = func(ctx context.Context, pos int) {
			if panicked != nil && pos == 0 {
				c.execution.operation.Error(ctx, panicked)
				return
			}
			index := c.index(pos)
			_, _ = graphql.ResolveBatchGroupResult[T](ctx, index, len(all), result, c.name(), map[int]int{int(index): pos})
		}
	}}
}

// callBatch calls a batch resolver. panicked is the error that its panic was turned into, if any.
func callBatch[O, T any](c call, resolve func(context.Context, []O) ([]T, error), objects []O) (results []T, err, panicked error) {
	ctx := c.context(0)
	defer func() {
		if cause := recover(); cause != nil {
			panicked = c.execution.operation.Recover(ctx, cause)
		}
	}()
	results, err = resolve(ctx, objects)
	return results, err, nil
}

// succeeded returns the results of a batch resolver for the objects for which it did not fail, so that nothing is
// executed below the others.
func succeeded[T any](results []T, err error) []T {
	values := make([]T, len(results))
	for pos, result := range results {
		if !batchFailed(err, len(results), len(results), pos) {
			values[pos] = result
		}
	}
	return values
}

// batchFailed reports whether a batch resolver that returned this error failed for one object.
func batchFailed(err error, results, objects, pos int) bool {
	single, ok := any(err).(graphql.BatchErrors)
	if !ok || results != objects || len(single.Errors()) != objects {
		return true
	}
	return single.Errors()[pos] != nil
}

// column holds a field's values for a list of objects, by position in that list.
type column struct {
	args   map[string]any
	leaf   func(to []byte, pos int) []byte // of a field that leads to no other objects
	values []any                           // the objects that the field leads to, nil for null
	ends   []int32                         // of a field with lists: where each list ends in values
	none   []bool                          // which lists are null; nil if none is
	places []int32                         // positions of values in the groups of their selections; nil if they are the same
	failed func(pos int) bool              // whether the field failed for an object; nil if it did for none
	report func(ctx context.Context, pos int)
}

// add adds a value that leads to other objects.
func add[T any](c *column, out Out[T], value T) {
	if out.one != nil {
		c.values = append(c.values, out.one(value))
		return
	}
	var ok bool
	if c.values, ok = out.many(c.values, value); !ok {
		c.none = append(c.none, make([]bool, len(c.ends)+1-len(c.none))...)
		c.none[len(c.ends)] = true
	}
	c.ends = append(c.ends, int32(len(c.values))) // #nosec G115 -- the cost of a query bounds its lists
}

// fill adds what a resolver returned.
func fill[T any](c *column, out Out[T], values []T) {
	if out.leaf != nil {
		c.leaf = func(to []byte, pos int) []byte { return out.leaf(to, values[pos]) }
		return
	}
	for _, value := range values {
		add(c, out, value)
	}
}

// begin returns where the list of a position begins in values.
func (c *column) begin(pos int) int {
	if pos == 0 {
		return 0
	}
	return int(c.ends[pos-1])
}
