package measure

import "github.com/vektah/gqlparser/v2/ast"

// Validation takes more than linear time: it walks each fragment for every definition that reaches it, compares each
// field with all others of its response name, and quotes values in errors. So the work is computed first, from the
// document alone. One unit is about 10 ns.
const (
	// MaxWork is the maximum work of a document. A document with 500 fields in 50 fragments takes a tenth of it.
	MaxWork = 300_000

	perVisit      = 50 // for a node, for all rules together
	perByteVisits = 8  // how many bytes of a name or a value are as much as one unit
	perPair       = 5  // for two fields that are compared
)

// work adds up what validating a document takes. It stops soon after MaxWork, so that its own time is bounded.
type work struct {
	fragments map[string]*ast.FragmentDefinition
	own       map[*ast.FragmentDefinition]int // what visiting a fragment takes, without those that it spreads
	total     int
}

// Work returns the units of work that validating a document takes. Above MaxWork it may stop counting. The document
// must have no unknown fragments and no cycles: see SpreadErrors.
func Work(document *ast.QueryDocument) int {
	w := &work{fragments: fragmentsOf(document), own: map[*ast.FragmentDefinition]int{}}
	for _, f := range document.Fragments {
		visits, _ := visitsOf(f.SelectionSet)
		w.own[f] = visits + visitsOfDirectives(f.Directives) + perBytes(f.Name) + perBytes(f.TypeCondition)
	}
	for _, o := range document.Operations {
		visits, _ := visitsOf(o.SelectionSet)
		w.total += visits + visitsOfDirectives(o.Directives) + perBytes(o.Name)
		for _, v := range o.VariableDefinitions {
			w.total += perVisit + perBytes(v.Variable) + visitsOfDirectives(v.Directives)
			if v.DefaultValue != nil {
				w.total += visitsOfValue(v.DefaultValue, 1)
			}
		}
		w.definition(o.SelectionSet)
	}
	for _, f := range document.Fragments {
		w.total += w.own[f]
		w.definition(f.SelectionSet)
	}
	return w.total
}

// definition adds the work for what an operation or a fragment selects, besides visiting its own nodes.
func (w *work) definition(set ast.SelectionSet) {
	w.reach(set, map[*ast.FragmentDefinition]bool{})
	w.compare([]ast.SelectionSet{set}, 0)
}

// reach adds visits of the fragments that a selection reaches: the validator visits each once for a definition.
func (w *work) reach(set ast.SelectionSet, seen map[*ast.FragmentDefinition]bool) {
	for _, selection := range set {
		if w.total > MaxWork {
			return
		}
		w.total++
		switch s := selection.(type) {
		case *ast.Field:
			w.reach(s.SelectionSet, seen)
		case *ast.InlineFragment:
			w.reach(s.SelectionSet, seen)
		case *ast.FragmentSpread:
			if f := w.fragments[s.Name]; !seen[f] {
				seen[f] = true
				w.total += w.own[f]
				w.reach(f.SelectionSet, seen)
			}
		}
	}
}

// compare adds the comparisons of fields and fragments that have one place in the response: those of all sets, with the
// fragments and the inline fragments in them. They are compared again for each inline fragment around, of which inlined
// are around the sets.
func (w *work) compare(sets []ast.SelectionSet, inlined int) {
	l := level{work: w, byName: map[string][]*ast.Field{}, seen: map[*ast.FragmentDefinition]bool{}}
	for _, set := range sets {
		l.collect(set, inlined)
	}
	times := 1 + l.inlined
	w.total += times * (len(sets)*len(l.fields) + len(l.fields)*l.spreads + 4*l.spreads*l.spreads)
	for _, first := range l.fields {
		same := l.byName[first.Alias]
		if w.total > MaxWork || same == nil {
			continue
		}
		delete(l.byName, first.Alias)
		var below []ast.SelectionSet
		weight := 0
		for _, field := range same {
			weight += 1 + nodesOf(field.Arguments)
			if len(field.SelectionSet) > 0 {
				below = append(below, field.SelectionSet)
			}
		}
		if len(same) > 1 {
			w.total += times * perPair * weight * weight
		}
		if below != nil && w.total <= MaxWork {
			w.compare(below, l.inlined)
		}
	}
}

// level is what is selected at one place in the response.
type level struct {
	*work
	fields  []*ast.Field
	byName  map[string][]*ast.Field
	seen    map[*ast.FragmentDefinition]bool
	spreads int
	inlined int // the maximum number of inline fragments around one of the fields
}

func (l *level) collect(set ast.SelectionSet, inlined int) {
	l.inlined = max(l.inlined, inlined)
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			l.fields = append(l.fields, s)
			l.byName[s.Alias] = append(l.byName[s.Alias], s)
		case *ast.InlineFragment:
			l.collect(s.SelectionSet, inlined+1)
		case *ast.FragmentSpread:
			l.spreads++
			if f := l.fragments[s.Name]; !l.seen[f] {
				l.seen[f] = true
				l.collect(f.SelectionSet, inlined)
			}
		}
	}
}
