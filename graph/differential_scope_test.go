package graph_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	frontpage "frontpage/graph"
)

// scope is what a document selects at one place of the response, through whatever fragments. Selections with the
// same response key must be able to merge.
type scope struct {
	order []string
	slots map[string]*slot
}

// slot is what a document selects by one response key.
type slot struct {
	entries []entry
	below   *scope
}

// entry is a field of a type, with its arguments.
type entry struct {
	on               *ast.Definition
	field, arguments string
	variables        []*variable // in the arguments
	result           string
	composite        bool
}

// mergeable reports whether two entries can have the same key: both are the same field, or scalars of one type in
// types that no object has both.
func (e entry) mergeable(other entry) bool {
	if e.field == other.field && e.arguments == other.arguments && e.result == other.result {
		return true
	}
	apart := e.on != other.on && !e.on.IsAbstractType() && !other.on.IsAbstractType()
	return apart && e.result == other.result && !e.composite
}

func (s *scope) fits(key string, e entry) bool {
	if s.slots[key] == nil {
		return true
	}
	for _, other := range s.slots[key].entries {
		if !e.mergeable(other) {
			return false
		}
	}
	return true
}

// same reports whether two entries are the same selection.
func (e entry) same(other entry) bool {
	return e.on == other.on && e.field == other.field && e.arguments == other.arguments
}

// add adds an entry that fits, unless it is there already, and returns the scope below it.
func (s *scope) add(key string, e entry) *scope {
	if s.slots == nil {
		s.slots = map[string]*slot{}
	}
	if s.slots[key] == nil {
		s.order = append(s.order, key)
		s.slots[key] = &slot{below: &scope{}}
	}
	if !slices.ContainsFunc(s.slots[key].entries, e.same) {
		s.slots[key].entries = append(s.slots[key].entries, e)
	}
	return s.slots[key].below
}

// merge adds a fragment's scope, unless it conflicts.
func (s *scope) merge(f *scope) bool {
	if s.conflicts(f) {
		return false
	}
	s.include(f)
	return true
}

func (s *scope) conflicts(f *scope) bool {
	for _, key := range f.order {
		for _, e := range f.slots[key].entries {
			if !s.fits(key, e) {
				return true
			}
		}
		if s.slots[key] != nil && s.slots[key].below.conflicts(f.slots[key].below) {
			return true
		}
	}
	return false
}

func (s *scope) include(f *scope) {
	for _, key := range f.order {
		var below *scope
		for _, e := range f.slots[key].entries {
			below = s.add(key, e)
		}
		below.include(f.slots[key].below)
	}
}

// Fragments that each spread the next one twice do not double their entries at each level.
func TestScopeHasEachEntryOnce(t *testing.T) {
	t.Parallel()
	s := &scope{}
	s.add("k", entry{field: "id", result: "ID!"})
	for range 20 {
		outer := &scope{}
		for range 2 {
			if !outer.merge(s) {
				t.Fatal("got a conflict, want none")
			}
		}
		if got := len(outer.slots["k"].entries); got != 1 {
			t.Fatalf("got %d entries for the same field, want 1", got)
		}
		s = outer
	}
}

// Random documents found these after many thousands.
func TestPlansAnswerLikeGqlgenWhere(t *testing.T) {
	t.Parallel()
	p := newPair(t, differentialServer(t), 0)
	p.fill(rand.New(rand.NewPCG(*seed, 0)))
	for _, c := range []struct {
		rule, document string
		faults         func(faults) bool // which are wanted
		errors         int               // of the answer
	}{
		{
			"nothing is read below an object for which a batch resolver failed",
			`mutation { vote(input: {article: "article:1"}) { article { groups { articlesConnection(order: TIME) { nodes { id } } } } } }`,
			func(f faults) bool { return f.kind(len(injected)+3, "Article.groups") == len(injected)+2 }, 1,
		},
		{
			"only the fields of the mutation itself run one after the other",
			`mutation { vote(input: {article: "article:1"}) { article { viewerCanVote poster { articlesConnection { totalCount } } } } }`,
			func(f faults) bool { return f.kind(len(injected)+3, "Article.viewerCanVote") == 0 }, 2,
		},
	} {
		r := request{document: document{text: c.document, kind: ast.Mutation}, viewer: "mod", faults: faults{share: 200}}
		for found := false; !found; {
			if r.faults.salt++; !c.faults(r.faults) {
				continue
			}
			answers, difference := p.try(r)
			if difference != "" {
				t.Errorf("seed %d: %s: %s", *seed, c.rule, difference)
			}
			found = len(answers[0].errors) == c.errors && slices.ContainsFunc(answers[0].paths, func(path ast.Path) bool { return len(path) == 3 }) || difference != ""
		}
	}
}

// misplaced says which error of a response comes before another that gqlgen would always put before it, or returns "".
//
// gqlgen calls the resolvers of an object's fields, and makes the elements of a list, at the same time: their errors
// have no order. But it makes the fields without a resolver first, in the order of the response, and the fields of a
// mutation one after the other.
func misplaced(o *graphql.OperationContext, paths []ast.Path) string {
	const most = 40 // paths: all pairs are compared
	paths = paths[:min(len(paths), most)]
	for i, first := range paths {
		for _, second := range paths[i+1:] {
			if before(o, second, first) {
				return fmt.Sprintf("%s before %s", first, second)
			}
		}
	}
	return ""
}

// before reports whether gqlgen always puts an error with path p before one with path q.
func before(o *graphql.OperationContext, p, q ast.Path) bool {
	on := rootOf(frontpage.Schema(), o.Operation.Operation)
	set := o.Operation.SelectionSet
	for i := range min(len(p), len(q)) {
		name, ok := p[i].(ast.PathName)
		if !ok {
			if p[i] != q[i] {
				return false
			}
			continue
		}
		fields := collect(o, set, on)
		if p[i] != q[i] {
			other, _ := q[i].(ast.PathName)
			return !on.IsAbstractType() && fieldBefore(on.Name, fields, string(name), string(other))
		}
		at := slices.IndexFunc(fields, func(f graphql.CollectedField) bool { return f.Alias == string(name) })
		if at < 0 {
			return false
		}
		set, on = fields[at].Selections, frontpage.Schema().Types[fields[at].Definition.Type.Name()]
	}
	return false
}

func fieldBefore(on string, fields []graphql.CollectedField, key, other string) bool {
	at := slices.IndexFunc(fields, func(f graphql.CollectedField) bool { return f.Alias == key })
	otherAt := slices.IndexFunc(fields, func(f graphql.CollectedField) bool { return f.Alias == other })
	if at < 0 || otherAt < 0 || hasResolver(on, fields[at].Name) {
		return false
	}
	return at < otherAt || hasResolver(on, fields[otherAt].Name)
}

// hasResolver reports whether a field is resolved at the same time as others.
func hasResolver(on, field string) bool {
	resolver, ok := reflect.TypeFor[frontpage.ResolverRoot]().MethodByName(on)
	if !ok || on == "Mutation" {
		return false
	}
	fields := resolver.Type.Out(0)
	for i := range fields.NumMethod() {
		if strings.EqualFold(fields.Method(i).Name, field) {
			return true
		}
	}
	return false
}

// collect returns the fields of an object, or those of all types of an interface.
func collect(o *graphql.OperationContext, set ast.SelectionSet, on *ast.Definition) []graphql.CollectedField {
	types := append([]string{on.Name}, on.Interfaces...)
	if on.IsAbstractType() {
		types = nil
	}
	return graphql.CollectFields(o, set, types)
}
