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

// sharedBy reports whether the fields of a selection depend on the state of an article alone, and need nothing else.
func sharedBy(set ast.SelectionSet) bool {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if s.Name != "__typename" && !sameForAll[s.ObjectDefinition.Name][s.Name] || !sharedBy(s.SelectionSet) {
				return false
			}
		case *ast.InlineFragment:
			if !sharedBy(s.SelectionSet) {
				return false
			}
		case *ast.FragmentSpread:
			if !sharedBy(s.Definition.SelectionSet) {
				return false
			}
		}
	}
	return true
}

// watchedBy returns how many articles a subscription with these arguments watches. The one for new articles counts
// as one.
func watchedBy(arguments map[string]any) int {
	ids, _ := arguments["ids"].([]any)
	return max(len(ids), 1)
}
