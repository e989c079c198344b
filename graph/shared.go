package graph

import "github.com/vektah/gqlparser/v2/ast"

// sameForAll are the fields that an article's state decides by itself, by type.
var sameForAll = map[string]map[string]bool{
	"Subscription": {"articleChanged": true, "articlePosted": true},
	"Article": {
		"id": true, "number": true, "title": true, "link": true, "text": true, "poster": true, "createdAt": true,
		"score": true, "votes": true, "upvotes": true, "downvotes": true, "isInteresting": true, "groups": true,
		"votingEndsAt": true, "deletedAt": true,
	},
	"User":  {"id": true, "name": true},
	"Group": {"id": true, "name": true},
	"Node":  {"id": true},
}

// asksTheSame reports whether a selection is answered the same for everybody who
// asks about one state of an article. A directive may depend on variables.
func asksTheSame(set ast.SelectionSet) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if len(s.Directives) > 0 || s.Name != "__typename" && !sameForAll[s.ObjectDefinition.Name][s.Name] || !asksTheSame(s.SelectionSet) {
				return false
			}
		case *ast.InlineFragment:
			if len(s.Directives) > 0 || !asksTheSame(s.SelectionSet) {
				return false
			}
		case *ast.FragmentSpread:
			if len(s.Directives) > 0 || !asksTheSame(s.Definition.SelectionSet) {
				return false
			}
		}
	}
	return true
}
