package endpoint

import (
	"context"
	"regexp"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// hiddenNames are the names in a schema that is not public. The messages of the validator quote many of them: of
// arguments and input fields that are missing, and of the types that it expected.
type hiddenNames struct {
	all   map[string]bool
	types map[string]bool // which messages mention without quotes, too
}

func newHiddenNames(schema *ast.Schema) *hiddenNames {
	h := &hiddenNames{map[string]bool{}, map[string]bool{}}
	for _, definition := range schema.Types {
		h.all[definition.Name] = true
		h.types[definition.Name] = !definition.BuiltIn
		for _, field := range definition.Fields {
			h.all[field.Name] = true
			for _, argument := range field.Arguments {
				h.all[argument.Name] = true
			}
		}
		for _, value := range definition.EnumValues {
			h.all[value.Name] = true
		}
	}
	for _, directive := range schema.Directives {
		h.all[directive.Name] = true
		for _, argument := range directive.Arguments {
			h.all[argument.Name] = true
		}
	}
	return h
}

var (
	quotedText = regexp.MustCompile(`"[^"]*"`)
	nameInText = regexp.MustCompile(`[_A-Za-z][_0-9A-Za-z]*`)
)

// hide replaces, in the message of an invalid document or variable, the names that are not in the document. h may be nil:
// then nothing is hidden.
func (h *hiddenNames) hide(ctx context.Context, message string) string {
	if h == nil {
		return message
	}
	message = cutTo(message, 2*maxMessage) // more than is shown: a name at the end may be cut
	sent := h.sent(ctx)
	without := func(hidden map[string]bool) func(string) string {
		return func(word string) string {
			if hidden[word] && !sent[word] {
				return "?"
			}
			return word
		}
	}
	message = quotedText.ReplaceAllStringFunc(message, func(text string) string {
		return nameInText.ReplaceAllStringFunc(text, without(h.all))
	})
	return nameInText.ReplaceAllStringFunc(message, without(h.types))
}

// sentExtension is where an operation's context keeps what sent returns.
const sentExtension = "frontpage.sentNames"

// sent returns the names of the schema that are in the document. It reads a document once, however many errors it has.
func (h *hiddenNames) sent(ctx context.Context) map[string]bool {
	if !graphql.HasOperationContext(ctx) {
		return nil
	}
	o := graphql.GetOperationContext(ctx)
	if sent, ok := o.Stats.GetExtension(sentExtension).(map[string]bool); ok {
		return sent
	}
	sent := map[string]bool{}
	for word := range strings.FieldsFuncSeq(o.RawQuery, notInName) {
		if h.all[word] {
			sent[word] = true
		}
	}
	o.Stats.SetExtension(sentExtension, sent)
	return sent
}

func notInName(c rune) bool {
	return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
}
