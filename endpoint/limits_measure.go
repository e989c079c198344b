package endpoint

import "github.com/vektah/gqlparser/v2/ast"

// tally is what a selection set asks for.
type tally struct{ depth, width, fields, aliases, directives int }

// enough is where counting stops: fragments that spread each other twice can
// double a count as often as there are fragments.
const enough = 1_000_000

func (t *tally) add(other tally) {
	t.depth = max(t.depth, other.depth)
	t.width = min(t.width+other.width, enough)
	t.fields = min(t.fields+other.fields, enough)
	t.aliases = min(t.aliases+other.aliases, enough)
	t.directives = min(t.directives+other.directives, enough)
}

// measure counts each fragment of a document once and remembers it, so that it
// takes time in proportion to the document's length.
type measure struct {
	document *ast.QueryDocument
	known    map[*ast.FragmentDefinition]tally
	busy     map[*ast.FragmentDefinition]bool // being counted: its own spreads are cycles
}

func (m *measure) selections(set ast.SelectionSet) tally {
	var t tally
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			inside := m.selections(s.SelectionSet)
			if introspects(s) {
				inside.depth = 0 // the standard introspection query is 15 deep; gqlgen has a rule for it
			}
			inside.depth++
			inside.width = 1
			inside.fields++
			inside.directives += len(s.Directives)
			if s.Alias != s.Name {
				inside.aliases++
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
		return tally{} // other rules refuse these
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
