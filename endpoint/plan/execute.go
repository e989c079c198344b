package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// execution is one execution of a plan.
type execution struct {
	ctx       context.Context
	operation *graphql.OperationContext
	plan      *variant
	groups    []group  // by selection.id
	columns   []column // by field.column
	failures  []failure
	careful   bool // printing recovers from the panic of a leaf
	Request
	done int // with Halt, fields at the root of a mutation that were executed; -1: all
}

// group holds the objects of a selection.
type group struct {
	objects []any
	rows    []int32 // where the objects are among the values of the field that leads here; nil if at the same places
}

// root stands for the object at the root of an operation.
var root = []any{nil}

// executions are used again: each has as many groups and columns as the largest plan before.
var executions = sync.Pool{New: func() any { return new(execution) }}

func newExecution(ctx context.Context, v *variant, r Request) *execution {
	e := executions.Get().(*execution)
	*e = execution{
		ctx: ctx, operation: graphql.GetOperationContext(ctx), plan: v, Request: r, done: -1,
		groups: slices.Grow(e.groups, v.selections)[:v.selections], columns: slices.Grow(e.columns, v.columns)[:v.columns],
	}
	e.groups[v.root.id].objects = root
	return e
}

// end keeps an execution for another one. Nothing of its answer is in it.
func (e *execution) end() {
	clear(e.groups)
	clear(e.columns)
	*e = execution{groups: e.groups[:0], columns: e.columns[:0]}
	executions.Put(e)
}

// resolve fills the columns of the selections and of all selections below. Fields that wait for resolvers are
// filled at the same time, except those at the root of a mutation.
func (e *execution) resolve(selections []*selection) {
	var waiting []*field
	for _, s := range selections {
		if len(e.groups[s.id].objects) == 0 {
			continue
		}
		for _, f := range s.read {
			e.fill(f)
		}
		if s.via == nil && e.plan.serial {
			e.inTurn(s)
		} else if waiting == nil {
			waiting = s.wait
		} else {
			waiting = slices.Concat(waiting, s.wait)
		}
	}
	switch len(waiting) {
	case 0:
	case 1:
		e.fill(waiting[0])
	default:
		concurrently(len(waiting), func(i int) { e.fill(waiting[i]) })
	}
}

// inTurn fills the columns of the fields at the root of a mutation, one after the other.
func (e *execution) inTurn(s *selection) {
	for i, f := range s.wait {
		e.fill(f)
		if e.OnError == Halt && i+1 < len(s.wait) && e.failed(f) {
			e.done = slices.IndexFunc(s.fields, func(other field) bool { return other.column == f.column }) + 1
			return
		}
	}
}

// fill fills the column of a field and all columns below.
func (e *execution) fill(f *field) {
	c := &e.columns[f.column]
	objects := e.groups[f.owner.id].objects
	if f.resolve == nil {
		if f.list {
			c.ends = make([]int32, 0, len(objects))
		} else {
			c.values = make([]any, 0, len(objects))
		}
		for pos := 0; pos < len(objects); {
			pos = e.read(f, c, objects, pos)
		}
	} else if fc := e.fieldContext(f, 0); e.arguments(f, c, fc) {
		f.Field.resolve(call{e, f, fc}, objects, c)
	}
	e.descend(f)
}

// read reads a field of all objects from pos on, until one panics. It returns the position after the last one.
func (e *execution) read(f *field, c *column, objects []any, pos int) (next int) {
	defer func() {
		if cause := recover(); cause != nil {
			e.readFailed(f, c, pos, cause)
			next = pos + 1
		}
	}()
	for ; pos < len(objects); pos++ {
		f.Field.read(objects[pos], c)
	}
	return pos
}

// readFailed records that reading a field panicked.
func (e *execution) readFailed(f *field, c *column, pos int, cause any) {
	err := e.operation.Recover(e.context(f, pos), cause)
	if f.list {
		c.ends = append(c.ends, int32(len(c.values))) // #nosec G115 -- the cost of a query bounds its lists
	} else {
		c.values = append(c.values, nil)
	}
	failedBefore, reportBefore := c.failed, c.report
	c.failed = func(at int) bool { return at == pos || failedBefore != nil && failedBefore(at) }
	c.report = func(ctx context.Context, at int) {
		if at == pos {
			e.operation.Error(ctx, err)
		} else {
			reportBefore(ctx, at)
		}
	}
}

// arguments parses the arguments of a field. If that fails, so does the field.
func (e *execution) arguments(f *field, c *column, fc *graphql.FieldContext) (ok bool) {
	c.args = f.constant
	if f.args != nil && c.args == nil {
		c.args = e.Arguments.get(e.plan, f)
	}
	if f.args != nil && c.args == nil {
		if e.parse(withField(e.ctx, fc), f, c) != nil {
			c.failed = func(int) bool { return true }
			// Parsed again, since the path of the error has the name of the argument.
			c.report = func(ctx context.Context, _ int) { e.operation.Error(ctx, e.parse(ctx, f, c)) }
			return false
		}
		e.Arguments.keep(e.plan, f, c.args)
	}
	fc.Args = c.args
	return true
}

// parse parses the arguments of a field.
func (e *execution) parse(ctx context.Context, f *field, c *column) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = e.operation.Recover(ctx, cause)
		}
	}()
	c.args, err = f.args(ctx, f.selected.ArgumentMap(e.operation.Variables))
	return err
}

// descend resolves what is selected of the objects that a field leads to.
func (e *execution) descend(f *field) {
	if c := &e.columns[f.column]; len(f.children) > 0 && len(c.values) > 0 {
		e.divide(f, c)
		e.resolve(f.children)
	}
}

// divide makes the groups of the selections that a field leads to.
func (e *execution) divide(f *field, c *column) {
	if f.abstract == nil && f.children[0].broken == nil && !slices.Contains(c.values, nil) {
		e.groups[f.children[0].id].objects = c.values
		return
	}
	c.places = make([]int32, len(c.values))
	for row, value := range c.values {
		if value == nil {
			continue
		}
		var s *selection
		if s, c.values[row] = e.classify(f, row, value); s != nil {
			g := &e.groups[s.id]
			c.places[row] = int32(len(g.objects)) // #nosec G115 -- the cost of a query bounds its lists
			g.objects = append(g.objects, c.values[row])
			g.rows = append(g.rows, int32(row)) // #nosec G115 -- as above
		}
	}
}

// broken stands for a value that cannot be executed.
type broken struct{ err error }

// classify returns the selection for a value, and the value as a pointer to an object. It returns no selection for
// null, and for what gqlgen would panic with, which becomes an error.
func (e *execution) classify(f *field, row int, value any) (s *selection, object any) {
	defer func() {
		if cause := recover(); cause != nil {
			s, object = nil, broken{e.operation.Recover(e.elementContext(f, row), cause)}
		}
	}()
	s, object = f.children[0], value
	if f.abstract != nil {
		var typeName string
		if object, typeName = f.abstract(value); object == nil {
			return nil, nil
		}
		s = f.child(typeName)
	}
	if s.broken != nil {
		panic(s.broken)
	}
	return s, object
}

// child returns the selection of an object type.
func (f *field) child(typeName string) *selection {
	for _, s := range f.children {
		if s.object == typeName {
			return s
		}
	}
	panic("plan: " + typeName + " is no type of " + f.selected.Name)
}

// call is a call of a resolver.
type call struct {
	execution *execution
	field     *field
	first     *graphql.FieldContext // for its first object
}

// context returns the context of a resolver for one of its objects.
func (c call) context(pos int) context.Context {
	if pos == 0 {
		return withField(c.execution.ctx, c.first)
	}
	return c.execution.context(c.field, pos)
}

// index returns the place of an object in its list, 0 if it is in none.
func (c call) index(pos int) ast.PathIndex {
	if via := c.field.owner.via; via != nil && via.list {
		_, index := c.execution.locate(via, c.execution.row(c.field.owner, pos))
		return ast.PathIndex(index)
	}
	return 0
}

// name returns the type and the field, such as Article.votes.
func (c call) name() string { return c.field.owner.object + "." + c.field.selected.Name }

// concurrently calls do for each number below n, all at the same time, and waits. It panics if a call does.
func concurrently(n int, do func(i int)) {
	if n <= 1 {
		if n == 1 {
			do(0)
		}
		return
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	var panicked any
	for i := 1; i < n; i++ {
		wait.Go(func() {
			defer func() {
				if cause := recover(); cause != nil {
					mu.Lock()
					panicked = cause
					mu.Unlock()
				}
			}()
			do(i)
		})
	}
	defer func() {
		wait.Wait()
		if panicked != nil {
			panic(panicked)
		}
	}()
	do(0)
}
