package measure

import (
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
)

const maxTokens = 1500 // of a document, as the limits of a site are by default

func FuzzMeasure(f *testing.F) {
	for _, text := range []string{
		`{ a }`, `query Q($n: Int = 5 @d) @d { a: b(c: [1, {x: "y"}]) @skip(if: true) { ...F ... on T @d { e } } } fragment F on T @d { g { ...F } }`,
		`{ ...A } fragment A on T { ...B ...B } fragment B on T { ...C ...C } fragment C on T { a b c }`, `subscription { __type(name: "T") { fields { name } } }`,
		`{ ...A } fragment A on T { ...B } fragment B on T { ...A a }`, "{ a(b: \"\"\"block \\\"\"\" string\"\"\") } # comment", `{ a(n: 1.5e-7, m: -0, e: E, v: $v) }`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
		if err != nil || len(document.Operations) == 0 {
			return
		}
		for _, o := range document.Operations {
			for _, variable := range o.VariableDefinitions {
				variable.Directives = nil // gqlparser's formatter does not print them
			}
		}
		counted := Operations(document)
		for _, n := range counted {
			if n.Depth < 0 || n.Depth > maxTokens || n.Fields < n.Width || max(n.Fields, n.Aliases, n.Directives) > maxCount {
				t.Fatalf("got %+v, which is out of range, for %q", n, text)
			}
		}
		// Printing a document and parsing it again must not change what is counted.
		var printed strings.Builder
		formatter.NewFormatter(&printed).FormatQueryDocument(document)
		again, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: printed.String()}, 0)
		if err != nil {
			return // gqlparser's formatter does not print all that its parser accepts
		}
		if after := Operations(again); !slices.Equal(after, counted) {
			t.Errorf("%q: got %+v, but printed as %q it is %+v", text, counted, printed.String(), after)
		}
		// More fields never count less.
		document.Operations[0].SelectionSet = append(document.Operations[0].SelectionSet, &ast.Field{Name: "more", Alias: "another"})
		if more := Operations(document)[0]; more.Fields < counted[0].Fields || more.Fields < maxCount && more.Fields != counted[0].Fields+1 ||
			more.Aliases < maxCount && more.Aliases != counted[0].Aliases+1 || more.Depth < counted[0].Depth {
			t.Errorf("%q: got %+v, but with one more aliased field %+v", text, counted[0], more)
		}
	})
}
