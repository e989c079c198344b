package measure

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

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

// SpreadErrors returns an error for each spread of an unknown fragment, and for each that makes a cycle. Without those,
// the validator need not be asked: it takes quadratic time for such spreads.
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
