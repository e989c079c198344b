package graph

import "github.com/vektah/gqlparser/v2/ast"

// sameForAll are the fields that depend on the state of an article alone, by type.
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

// sharedBy reports whether all viewers get the same answer to a selection about the same state of an article.
// It is false for a selection with directives, which may depend on variables.
func sharedBy(set ast.SelectionSet) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if len(s.Directives) > 0 || s.Name != "__typename" && !sameForAll[s.ObjectDefinition.Name][s.Name] || !sharedBy(s.SelectionSet) {
				return false
			}
		case *ast.InlineFragment:
			if len(s.Directives) > 0 || !sharedBy(s.SelectionSet) {
				return false
			}
		case *ast.FragmentSpread:
			if len(s.Directives) > 0 || !sharedBy(s.Definition.SelectionSet) {
				return false
			}
		}
	}
	return true
}
