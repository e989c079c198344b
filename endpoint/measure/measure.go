// Package measure computes the size of a GraphQL document and the work of validating it, from the document alone, in
// time bounded by its length.
package measure

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// Tally counts the fields of an operation. A fragment counts at each of its spreads.
type Tally struct {
	Depth      int // nesting of fields, without those of introspection
	Width      int // fields at the root
	Fields     int
	Aliases    int
	Longest    int // length of the longest alias, bytes
	Directives int
	Schemas    int // fields __schema and __type, and aliases in them
}

// maxCount is where counting stops: with fragments that spread each other twice, the count doubles with each
// fragment.
const maxCount = 1_000_000

func (t *Tally) add(other Tally) {
	t.Depth = max(t.Depth, other.Depth)
	t.Longest = max(t.Longest, other.Longest)
	t.Width = min(t.Width+other.Width, maxCount)
	t.Fields = min(t.Fields+other.Fields, maxCount)
	t.Aliases = min(t.Aliases+other.Aliases, maxCount)
	t.Directives = min(t.Directives+other.Directives, maxCount)
	t.Schemas = min(t.Schemas+other.Schemas, maxCount)
}

// Operations returns the tally of each operation of a document, in order.
func Operations(document *ast.QueryDocument) []Tally {
	m := &measure{document, map[*ast.FragmentDefinition]Tally{}, map[*ast.FragmentDefinition]bool{}}
	tallies := make([]Tally, len(document.Operations))
	for i, o := range document.Operations {
		tallies[i] = m.operation(o)
	}
	return tallies
}

// Introspects reports whether a field is about the schema.
func Introspects(field *ast.Field) bool { return field.Name == "__schema" || field.Name == "__type" }

// measure counts each fragment of a document once, so that its time is proportional to the document's length.
type measure struct {
	document *ast.QueryDocument
	known    map[*ast.FragmentDefinition]Tally
	busy     map[*ast.FragmentDefinition]bool // being counted: a spread of one is a cycle
}

// operation counts an operation, its own directives and those of its variables included.
func (m *measure) operation(o *ast.OperationDefinition) Tally {
	t := m.selections(o.SelectionSet)
	t.Directives += len(o.Directives)
	for _, variable := range o.VariableDefinitions {
		t.Directives += len(variable.Directives)
	}
	return t
}

func (m *measure) selections(set ast.SelectionSet) Tally {
	var t Tally
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			inside := m.selections(s.SelectionSet)
			if Introspects(s) {
				inside.Depth = 0 // the standard introspection query is 15 deep; gqlparser has a rule for it
				inside.Schemas = 1 + inside.Aliases
			}
			inside.Depth++
			inside.Width = 1
			inside.Fields++
			inside.Directives += len(s.Directives)
			if s.Alias != s.Name {
				inside.Aliases++
				inside.Longest = max(inside.Longest, len(s.Alias))
			}
			t.add(inside)
		case *ast.InlineFragment:
			t.add(m.selections(s.SelectionSet))
			t.Directives += len(s.Directives)
		case *ast.FragmentSpread:
			t.add(m.fragment(s.Name))
			t.Directives += len(s.Directives)
		}
	}
	return t
}

func (m *measure) fragment(name string) Tally {
	f := m.document.Fragments.ForName(name)
	if f == nil || m.busy[f] {
		return Tally{} // other rules reject these
	}
	if _, counted := m.known[f]; !counted {
		m.busy[f] = true
		t := m.selections(f.SelectionSet)
		t.Directives += len(f.Directives)
		m.known[f] = t
		delete(m.busy, f)
	}
	return m.known[f]
}

// fragmentsOf returns the fragments of a document by name: the first of those with the same one, as the validator does.
func fragmentsOf(document *ast.QueryDocument) map[string]*ast.FragmentDefinition {
	byName := make(map[string]*ast.FragmentDefinition, len(document.Fragments))
	for _, f := range document.Fragments {
		if byName[f.Name] == nil {
			byName[f.Name] = f
		}
	}
	return byName
}

// spreads checks the spreads of a document.
type spreads struct {
	fragments map[string]*ast.FragmentDefinition
	done      map[*ast.FragmentDefinition]bool // false: it is being checked, so a spread of it is a cycle
	errs      gqlerror.List
}

// SpreadErrors returns an error for each spread of an unknown fragment, and for each that makes a cycle. If it returns
// any, do not run the validator, which takes quadratic time for such spreads.
func SpreadErrors(document *ast.QueryDocument) gqlerror.List {
	s := &spreads{fragments: fragmentsOf(document), done: map[*ast.FragmentDefinition]bool{}}
	for _, o := range document.Operations {
		s.check(o.SelectionSet)
	}
	for _, f := range document.Fragments {
		s.fragment(f)
	}
	return s.errs
}

func (s *spreads) fragment(f *ast.FragmentDefinition) {
	if _, begun := s.done[f]; !begun {
		s.done[f] = false
		s.check(f.SelectionSet)
		s.done[f] = true
	}
}

func (s *spreads) check(set ast.SelectionSet) {
	for _, selection := range set {
		switch n := selection.(type) {
		case *ast.Field:
			s.check(n.SelectionSet)
		case *ast.InlineFragment:
			s.check(n.SelectionSet)
		case *ast.FragmentSpread:
			f := s.fragments[n.Name]
			if f == nil {
				s.errs = append(s.errs, gqlerror.ErrorPosf(n.Position, "Unknown fragment %q.", n.Name))
				continue
			}
			s.fragment(f)
			if !s.done[f] {
				s.errs = append(s.errs, gqlerror.ErrorPosf(n.Position, "Cannot spread fragment %q within itself.", n.Name))
			}
		}
	}
}

// perBytes returns what visiting a name or a value of this length takes, in units of work.
func perBytes(text string) int { return len(text) / perByteVisits }

// visitsOf returns what one visit of all nodes of a selection takes, without the fragments that it spreads, and how many
// fields and spreads it has.
func visitsOf(set ast.SelectionSet) (n, nodes int) {
	for _, selection := range set {
		n += perVisit
		nodes++
		var below, nodesBelow int
		switch s := selection.(type) {
		case *ast.Field:
			below, nodesBelow = visitsOf(s.SelectionSet)
			if Introspects(s) {
				n += perPair * nodesBelow // for the rule about the depth of introspection
			}
			n += perBytes(s.Name) + perBytes(s.Alias) + visitsOfArguments(s.Arguments) + visitsOfDirectives(s.Directives)
		case *ast.InlineFragment:
			below, nodesBelow = visitsOf(s.SelectionSet)
			n += perBytes(s.TypeCondition) + visitsOfDirectives(s.Directives)
		case *ast.FragmentSpread:
			n += perBytes(s.Name) + visitsOfDirectives(s.Directives)
		}
		n, nodes = n+below, nodes+nodesBelow
	}
	return n, nodes
}

func visitsOfDirectives(list ast.DirectiveList) (n int) {
	for _, d := range list {
		n += perVisit + perBytes(d.Name) + visitsOfArguments(d.Arguments)
	}
	return n
}

func visitsOfArguments(list ast.ArgumentList) (n int) {
	for _, a := range list {
		n += perVisit + perBytes(a.Name) + visitsOfValue(a.Value, 1)
	}
	return n
}

// visitsOfValue returns what visiting a value takes: it is read and quoted for each value around it, too.
func visitsOfValue(v *ast.Value, depth int) int {
	n := depth * (perVisit + perBytes(v.Raw))
	for _, child := range v.Children {
		n += depth*perBytes(child.Name) + visitsOfValue(child.Value, depth+1)
	}
	return n
}

// nodesOf counts arguments and the values in them.
func nodesOf(list ast.ArgumentList) (n int) {
	for _, a := range list {
		n += 1 + values(a.Value)
	}
	return n
}

func values(v *ast.Value) int {
	n := 1
	for _, child := range v.Children {
		n += values(child.Value)
	}
	return n
}
