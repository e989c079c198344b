package plan

import (
	"context"
	"slices"
	"sort"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// failure is an error of an answer.
type failure struct {
	place []int // ranks of fields and indices of lists that lead to it, from the root
	shown *gqlerror.Error
}

// whole as an index means the whole value of a field.
const whole = -1

// fail adds the errors that report reports for a field of an object, or for an element of its list.
func (e *execution) fail(f *field, pos, index int, report func(ctx context.Context)) {
	ctx := graphql.WithFreshResponseContext(e.ctx)
	fc := e.fieldContext(f, pos)
	if index != whole {
		fc = &graphql.FieldContext{Index: &index, Parent: fc}
	}
	report(withField(ctx, fc))
	place := e.place(f, pos)
	if index != whole {
		place = append(place, index)
	}
	for _, err := range graphql.GetErrors(ctx) {
		e.failures = append(e.failures, failure{place, err})
	}
}

// errors returns the errors in gqlgen's order. In its object, a field that is read comes before one that has a
// resolver. Where gqlgen executes fields at the same time, in any order, it is the answer's.
func (e *execution) errors() gqlerror.List {
	sort.SliceStable(e.failures, func(i, j int) bool {
		return slices.Compare(e.failures[i].place, e.failures[j].place) < 0
	})
	var list gqlerror.List
	for _, f := range e.failures {
		list = append(list, f.shown)
	}
	return list
}

// nullNotAllowed reports that a value of a non-null type is null, unless its resolver has reported an error.
func (e *execution) nullNotAllowed(f *field, pos, index int) {
	e.fail(f, pos, index, func(ctx context.Context) {
		switch {
		case graphql.HasFieldError(e.ctx, graphql.GetFieldContext(ctx)):
		case f.untyped && index == whole:
			graphql.AddErrorf(ctx, "must not be null")
		default:
			graphql.AddErrorf(ctx, "the requested element is null which the schema does not allow")
		}
	})
}

// context returns the context of a field of one object.
func (e *execution) context(f *field, pos int) context.Context {
	return withField(e.ctx, e.fieldContext(f, pos))
}

// elementContext returns the context of a value of a field, which may be in a list.
func (e *execution) elementContext(f *field, row int) context.Context {
	if !f.list {
		return e.context(f, row)
	}
	pos, index := e.locate(f, row)
	return withField(e.ctx, &graphql.FieldContext{Index: &index, Parent: e.fieldContext(f, pos)})
}

// withField is graphql.WithFieldContext for a field context that has its parent.
func withField(ctx context.Context, fc *graphql.FieldContext) context.Context {
	parent := fc.Parent
	ctx = graphql.WithFieldContext(ctx, fc)
	fc.Parent = parent
	return ctx
}

// fieldContext returns the field context of a field of one object, with all of its parents.
func (e *execution) fieldContext(f *field, pos int) *graphql.FieldContext {
	fc := &graphql.FieldContext{
		Object: f.owner.object, Field: f.selected, IsMethod: f.resolve != nil, IsResolver: f.resolve != nil,
	}
	if f.column >= 0 {
		fc.Args = e.columns[f.column].args
	}
	via := f.owner.via
	switch row := e.row(f.owner, pos); {
	case via == nil:
		fc.Parent = e.plan.parent
	case via.list:
		owner, index := e.locate(via, row)
		fc.Parent = &graphql.FieldContext{Index: &index, Parent: e.fieldContext(via, owner)}
	default:
		fc.Parent = e.fieldContext(via, row)
	}
	return fc
}

// place returns where a field of one object is in the order of errors.
func (e *execution) place(f *field, pos int) []int {
	via := f.owner.via
	switch row := e.row(f.owner, pos); {
	case via == nil:
		return []int{f.rank}
	case via.list:
		owner, index := e.locate(via, row)
		return append(e.place(via, owner), index, f.rank)
	default:
		return append(e.place(via, row), f.rank)
	}
}

// row returns where an object of a selection is among the values of the field that leads to it.
func (e *execution) row(s *selection, pos int) int {
	if rows := e.groups[s.id].rows; rows != nil {
		return int(rows[pos])
	}
	return pos
}

// locate returns in which list of a column a value is, and where in that list.
func (e *execution) locate(f *field, row int) (pos, index int) {
	c := &e.columns[f.column]
	pos = sort.Search(len(c.ends), func(i int) bool { return int(c.ends[i]) > row })
	return pos, row - c.begin(pos)
}
