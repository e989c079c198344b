package measure

import "github.com/vektah/gqlparser/v2/ast"

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
