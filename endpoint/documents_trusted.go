package endpoint

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

// Trusted are documents that a site's own programs were built with. Where they
// are set, nothing else runs.
type Trusted struct {
	byID  map[string]string
	texts map[string]bool
}

// ReadTrusted reads a JSON object of documents by their ids, which are hashes
// mostly, as the compilers of GraphQL clients write it. It refuses a document
// that is not valid or is over one of the limits that do not depend on variables.
func ReadTrusted(file []byte, schema *ast.Schema, limits Limits) (*Trusted, error) {
	t := &Trusted{texts: map[string]bool{}}
	if err := json.Unmarshal(file, &t.byID); err != nil {
		return nil, fmt.Errorf("not a JSON object of documents by id: %w", err)
	}
	for id, text := range t.byID {
		document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, limits.Tokens)
		if err != nil {
			return nil, fmt.Errorf("document %q: %w", id, err)
		}
		if len(document.Operations) == 0 {
			return nil, fmt.Errorf("document %q: there is no operation in it", id)
		}
		if errs := validator.ValidateWithRules(schema, document, validationRules(limits, true)()); len(errs) > 0 {
			return nil, fmt.Errorf("document %q: %w", id, errs[0])
		}
		t.texts[text] = true
	}
	return t, nil
}

// ExtensionName is for gqlgen.
func (*Trusted) ExtensionName() string { return "TrustedDocuments" }

// Validate is for gqlgen.
func (*Trusted) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters puts the text in the place of its id, and refuses a
// text that is not in the list.
func (t *Trusted) MutateOperationParameters(_ context.Context, params *graphql.RawParams) *gqlerror.Error {
	if params.Query == "" {
		id, why := persistedHash(params)
		if why != nil {
			return gqlerror.Wrap(why)
		}
		if params.Query = t.byID[id]; params.Query == "" {
			return gqlerror.Wrap(notPersisted())
		}
	}
	if !t.texts[params.Query] {
		return gqlerror.Wrap(&refused{code: codeNotTrusted, message: "only documents of this site's own programs run here"})
	}
	return nil
}
