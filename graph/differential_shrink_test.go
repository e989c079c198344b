package graph_test

import (
	"bytes"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
)

// shrink returns a smaller request for which the executors differ, and how.
func (p *pair) shrink(r request, difference string) (request, string) {
	attempt := func(smaller request) bool {
		answers, found := p.try(smaller)
		if found == "" || answers[0].invalid() && !strings.Contains(difference, invalid) {
			return false
		}
		r, difference = smaller, found
		return true
	}
	plain := r
	plain.faults = faults{}
	attempt(plain)
	anonymous := r
	anonymous.viewer = ""
	attempt(anonymous)
	formatted := r
	formatted.text, _ = reduce(r.text, -1)
	attempt(formatted)
	for n := 0; ; {
		text, ok := reduce(r.text, n)
		if !ok {
			return r, difference
		}
		smaller := r
		smaller.text = text
		if len(strings.Fields(text)) > len(strings.Fields(r.text))+10 || !attempt(smaller) {
			n++
		}
	}
}

// reducer counts the ways to make a document smaller, and takes one of them.
type reducer struct {
	document *ast.QueryDocument
	left     int // ways to skip
}

// reduce makes a document smaller in way n, or only formats it if n is -1. ok is false if it has fewer ways.
func reduce(text string, n int) (smaller string, ok bool) {
	document, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		return "", false
	}
	r := reducer{document, n}
	if !r.operations() && n >= 0 {
		return "", false
	}
	r.tidy()
	var b bytes.Buffer
	formatter.NewFormatter(&b).FormatQueryDocument(document)
	return b.String(), true
}

func (r *reducer) here() bool {
	r.left--
	return r.left == -1
}

func (r *reducer) operations() bool {
	for i, o := range r.document.Operations {
		if len(r.document.Operations) > 1 && r.here() {
			r.document.Operations = slices.Delete(r.document.Operations, i, i+1)
			return true
		}
		if r.selections(&o.SelectionSet) {
			return true
		}
	}
	for _, f := range r.document.Fragments {
		if r.selections(&f.SelectionSet) {
			return true
		}
	}
	return false
}

func (r *reducer) selections(set *ast.SelectionSet) bool {
	for i, selection := range *set {
		if len(*set) > 1 && r.here() {
			*set = slices.Delete(*set, i, i+1)
			return true
		}
		switch s := selection.(type) {
		case *ast.Field:
			for j := range s.Arguments {
				if r.here() {
					s.Arguments = slices.Delete(s.Arguments, j, j+1)
					return true
				}
			}
			if r.directives(&s.Directives) || r.selections(&s.SelectionSet) {
				return true
			}
		case *ast.InlineFragment:
			if r.here() {
				*set = slices.Replace(*set, i, i+1, s.SelectionSet...)
				return true
			}
			if r.directives(&s.Directives) || r.selections(&s.SelectionSet) {
				return true
			}
		case *ast.FragmentSpread:
			if r.here() {
				f := r.document.Fragments.ForName(s.Name)
				(*set)[i] = &ast.InlineFragment{TypeCondition: f.TypeCondition, Directives: s.Directives, SelectionSet: f.SelectionSet}
				return true
			}
			if r.directives(&s.Directives) {
				return true
			}
		}
	}
	return false
}

func (r *reducer) directives(list *ast.DirectiveList) bool {
	for i := range *list {
		if r.here() {
			*list = slices.Delete(*list, i, i+1)
			return true
		}
	}
	return false
}

// tidy drops the fragments and variables that are not used any more.
func (r *reducer) tidy() {
	fragments := map[string]bool{}
	for _, o := range r.document.Operations {
		variables := map[string]bool{}
		r.used(o.SelectionSet, fragments, map[string]bool{}, variables)
		o.VariableDefinitions = slices.DeleteFunc(o.VariableDefinitions, func(v *ast.VariableDefinition) bool { return !variables[v.Variable] })
	}
	r.document.Fragments = slices.DeleteFunc(r.document.Fragments, func(f *ast.FragmentDefinition) bool { return !fragments[f.Name] })
}

func (r *reducer) used(set ast.SelectionSet, fragments, seen, variables map[string]bool) {
	arguments := func(list ast.ArgumentList) {
		for _, argument := range list {
			variablesOf(argument.Value, variables)
		}
	}
	directives := func(list ast.DirectiveList) {
		for _, d := range list {
			arguments(d.Arguments)
		}
	}
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			arguments(s.Arguments)
			directives(s.Directives)
			r.used(s.SelectionSet, fragments, seen, variables)
		case *ast.InlineFragment:
			directives(s.Directives)
			r.used(s.SelectionSet, fragments, seen, variables)
		case *ast.FragmentSpread:
			directives(s.Directives)
			fragments[s.Name] = true
			if !seen[s.Name] {
				seen[s.Name] = true
				r.used(r.document.Fragments.ForName(s.Name).SelectionSet, fragments, seen, variables)
			}
		}
	}
}

func variablesOf(value *ast.Value, names map[string]bool) {
	if value.Kind == ast.Variable {
		names[value.Raw] = true
	}
	for _, child := range value.Children {
		variablesOf(child.Value, names)
	}
}
