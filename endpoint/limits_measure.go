package endpoint

import "github.com/vektah/gqlparser/v2/ast"

// tally counts what a selection set asks for. width is the number of its own fields, without nested ones, and
// longest the length of the longest alias, bytes. schemas counts __schema and __type, and aliases in them.
type tally struct{ depth, width, fields, aliases, longest, directives, schemas int }

// maxTally is where counting stops: with fragments that spread each other twice, the count doubles with each
// fragment.
const maxTally = 1_000_000

func (t *tally) add(other tally) {
	t.depth = max(t.depth, other.depth)
	t.longest = max(t.longest, other.longest)
	t.width = min(t.width+other.width, maxTally)
	t.fields = min(t.fields+other.fields, maxTally)
	t.aliases = min(t.aliases+other.aliases, maxTally)
	t.directives = min(t.directives+other.directives, maxTally)
	t.schemas = min(t.schemas+other.schemas, maxTally)
}

// measure counts each fragment of a document once, so that its time is proportional to the document's length.
type measure struct {
	document *ast.QueryDocument
	known    map[*ast.FragmentDefinition]tally
	busy     map[*ast.FragmentDefinition]bool // being counted: a spread of one is a cycle
}

func newMeasure(document *ast.QueryDocument) *measure {
	return &measure{document, map[*ast.FragmentDefinition]tally{}, map[*ast.FragmentDefinition]bool{}}
}

// operation counts an operation, its own directives and those of its variables included.
func (m *measure) operation(o *ast.OperationDefinition) tally {
	t := m.selections(o.SelectionSet)
	t.directives += len(o.Directives)
	for _, variable := range o.VariableDefinitions {
		t.directives += len(variable.Directives)
	}
	return t
}

func (m *measure) selections(set ast.SelectionSet) tally {
	var t tally
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			inside := m.selections(s.SelectionSet)
			if introspects(s) {
				inside.depth = 0 // the standard introspection query is 15 deep; gqlparser has a rule for it
				inside.schemas = 1 + inside.aliases
			}
			inside.depth++
			inside.width = 1
			inside.fields++
			inside.directives += len(s.Directives)
			if s.Alias != s.Name {
				inside.aliases++
				inside.longest = max(inside.longest, len(s.Alias))
			}
			t.add(inside)
		case *ast.InlineFragment:
			t.add(m.selections(s.SelectionSet))
			t.directives += len(s.Directives)
		case *ast.FragmentSpread:
			t.add(m.fragment(s.Name))
			t.directives += len(s.Directives)
		}
	}
	return t
}

func (m *measure) fragment(name string) tally {
	f := m.document.Fragments.ForName(name)
	if f == nil || m.busy[f] {
		return tally{} // other rules reject these
	}
	if _, counted := m.known[f]; !counted {
		m.busy[f] = true
		t := m.selections(f.SelectionSet)
		t.directives += len(f.Directives)
		m.known[f] = t
		delete(m.busy, f)
	}
	return m.known[f]
}
