package graph_test

import (
	"slices"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
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
