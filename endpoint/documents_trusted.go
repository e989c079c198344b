package endpoint

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// Trusted is a list of documents that the site's own programs were built with. If it is set, nothing else runs.
type Trusted struct {
	byID  map[string]string
	texts map[string]bool
	names []string
}

// ReadTrusted reads a JSON object of documents by id, as the compilers of GraphQL clients write it; ids are
// mostly hashes. It returns an error for a document that is invalid or exceeds a limit that does not depend
// on variables.
func ReadTrusted(file []byte, schema *ast.Schema, limits Limits) (*Trusted, error) {
	t, valid := &Trusted{texts: map[string]bool{}}, newValidation(schema, limits, true)
	if err := json.Unmarshal(file, &t.byID); err != nil {
		return nil, fmt.Errorf("not a JSON object of documents by id: %w", err)
	}
	for id, text := range t.byID {
		document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, limits.Tokens)
		if err != nil {
			return nil, fmt.Errorf("document %q: %w", id, err)
		}
		if len(document.Operations) == 0 {
			return nil, fmt.Errorf("document %q: it has no operation", id)
		}
		if errs := valid.check(document); len(errs) > 0 {
			return nil, fmt.Errorf("document %q: %w", id, errs[0])
		}
		t.texts[text] = true
		for _, operation := range document.Operations {
			t.names = append(t.names, operation.Name)
		}
	}
	return t, nil
}

// Operations returns the names of the operations of all documents; they may repeat.
func (t *Trusted) Operations() []string { return t.names }

// find replaces an id by its document, and refuses a document that is not in the list.
func (t *Trusted) find(_ context.Context, params *graphql.RawParams) (keep string, refused *refusal) {
	if params.Query == "" {
		id, refused := persistedHash(params)
		if refused != nil {
			return "", refused
		}
		if params.Query = t.byID[id]; params.Query == "" {
			return "", notPersisted()
		}
	}
	if !t.texts[params.Query] {
		return "", &refusal{code: codeNotTrusted, message: "this site runs only the documents of its own programs"}
	}
	return "", nil
}
