package measure

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/core"

	"frontpage/tests/require"
)

// visited counts what gqlparser's validator visits: nodes and the bytes of their names and values, and the pairs of
// fields and of fragments that its rule OverlappingFieldsCanBeMerged compares, whose algorithm this is, without the
// comparison itself and thus without an early end.
type visited struct {
	nodes, bytes, pairs int
	sets                map[*ast.Selection]*fieldSet
	withFragment        map[*fieldSet]map[string]bool
	fragments           map[[2]string]bool
}

type fieldSet struct {
	names   []string
	fields  map[string][]*ast.Field
	spreads []*ast.FragmentSpread
}

func visitedBy(schema *ast.Schema, document *ast.QueryDocument) *visited {
	v := &visited{sets: map[*ast.Selection]*fieldSet{}, withFragment: map[*fieldSet]map[string]bool{}, fragments: map[[2]string]bool{}}
	var events core.Events
	node := func(texts ...string) {
		v.nodes++
		for _, text := range texts {
			v.bytes += len(text)
		}
	}
	events.OnOperation(func(_ *core.Walker, o *ast.OperationDefinition) { node(o.Name); v.within(o.SelectionSet) })
	events.OnFragment(func(_ *core.Walker, f *ast.FragmentDefinition) { node(f.Name); v.within(f.SelectionSet) })
	events.OnInlineFragment(func(_ *core.Walker, f *ast.InlineFragment) { node(f.TypeCondition); v.within(f.SelectionSet) })
	events.OnField(func(w *core.Walker, f *ast.Field) {
		node(f.Name)
		if w.CurrentOperation != nil {
			v.within(f.SelectionSet)
		}
	})
	events.OnFragmentSpread(func(_ *core.Walker, f *ast.FragmentSpread) { node(f.Name) })
	events.OnDirective(func(_ *core.Walker, d *ast.Directive) { node(d.Name) })
	events.OnVariable(func(_ *core.Walker, d *ast.VariableDefinition) { node(d.Variable) })
	events.OnValue(func(_ *core.Walker, value *ast.Value) { node(value.String()) }) // as errors quote it
	core.Walk(schema, document, &events)
	return v
}

func (v *visited) set(set ast.SelectionSet) *fieldSet {
	if len(set) == 0 {
		return &fieldSet{}
	}
	if v.sets[&set[0]] == nil {
		s := &fieldSet{fields: map[string][]*ast.Field{}}
		v.sets[&set[0]] = s
		s.collect(set)
	}
	return v.sets[&set[0]]
}

func (s *fieldSet) collect(set ast.SelectionSet) {
	for _, selection := range set {
		switch n := selection.(type) {
		case *ast.Field:
			if s.fields[n.Alias] == nil {
				s.names = append(s.names, n.Alias)
			}
			s.fields[n.Alias] = append(s.fields[n.Alias], n)
		case *ast.InlineFragment:
			s.collect(n.SelectionSet)
		case *ast.FragmentSpread:
			s.spreads = append(s.spreads, n)
		}
	}
}

func (v *visited) within(set ast.SelectionSet) {
	s := v.set(set)
	for _, name := range s.names {
		for i, a := range s.fields[name] {
			for _, b := range s.fields[name][i+1:] {
				v.pair(a, b)
			}
		}
	}
	for i, a := range s.spreads {
		v.fieldsAndFragment(s, a)
		for _, b := range s.spreads[i+1:] {
			v.twoFragments(a, b)
		}
	}
}

func (v *visited) between(a, b *fieldSet) {
	for _, name := range a.names {
		for _, x := range a.fields[name] {
			for _, y := range b.fields[name] {
				v.pair(x, y)
			}
		}
	}
}

func (v *visited) fieldsAndFragment(s *fieldSet, spread *ast.FragmentSpread) {
	if v.withFragment[s] == nil {
		v.withFragment[s] = map[string]bool{}
	}
	if v.withFragment[s][spread.Name] {
		return
	}
	v.withFragment[s][spread.Name] = true
	of := v.set(spread.Definition.SelectionSet)
	if of == s {
		return
	}
	v.between(s, of)
	for _, nested := range of.spreads {
		v.fieldsAndFragment(s, nested)
	}
}

func (v *visited) twoFragments(a, b *ast.FragmentSpread) {
	v.pairs++
	if a.Name == b.Name || v.fragments[[2]string{a.Name, b.Name}] {
		return
	}
	v.fragments[[2]string{a.Name, b.Name}], v.fragments[[2]string{b.Name, a.Name}] = true, true
	of, and := v.set(a.Definition.SelectionSet), v.set(b.Definition.SelectionSet)
	v.between(of, and)
	for _, nested := range and.spreads {
		v.twoFragments(a, nested)
	}
	for _, nested := range of.spreads {
		v.twoFragments(nested, b)
	}
}

func (v *visited) pair(a, b *ast.Field) {
	v.pairs += 1 + len(a.Arguments)*len(b.Arguments)
	of, and := v.set(a.SelectionSet), v.set(b.SelectionSet)
	v.between(of, and)
	for _, spread := range and.spreads {
		v.fieldsAndFragment(of, spread)
	}
	for _, spread := range of.spreads {
		v.fieldsAndFragment(and, spread)
	}
	for _, x := range of.spreads {
		for _, y := range and.spreads {
			v.twoFragments(x, y)
		}
	}
}

// checkWork fails if validation of a document visits more than was computed for it.
func checkWork(t *testing.T, schema *ast.Schema, text string) (work int) {
	t.Helper()
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
	if err != nil || len(SpreadErrors(document)) > 0 {
		return 0
	}
	work = Work(document)
	if work > MaxWork {
		return work
	}
	v := visitedBy(schema, document)
	if most := work/perVisit + 1; v.nodes > 2*most { // an argument and its value are one each
		t.Errorf("%.300q: validation visits %d nodes, want at most %d", text, v.nodes, 2*most)
	}
	if most := work*perByteVisits + 16*v.nodes; v.bytes > most {
		t.Errorf("%.300q: validation visits %d bytes, want at most %d", text, v.bytes, most)
	}
	if most := work/perPair + 1; v.pairs > most {
		t.Errorf("%.300q: validation compares %d pairs, want at most %d", text, v.pairs, most)
	}
	return work
}

func siteSchema(t testing.TB) *ast.Schema {
	t.Helper()
	text := require.Value(os.ReadFile("../../schema.graphqls"))(t)
	return gqlparser.MustLoadSchema(&ast.Source{Input: string(text)})
}

// slowDocuments take gqlparser between 10 ms and 7 s if nothing is refused before.
func slowDocuments() map[string]string {
	fragments := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i, i+1)
		}
		return b.String()
	}
	repeat := strings.Repeat
	return map[string]string{
		"one field 480 times":                   "{articles{" + repeat("id ", 480) + "}}",
		"one field in 250 inline fragments":     "{articles{" + repeat("...{", 250) + repeat("id ", 400) + repeat("}", 252),
		"one field in 100 operations":           repeat("query{...a}", 100) + "fragment a on Query{articles{" + repeat("id ", 400) + "}}",
		"unknown fields in 200 operations":      repeat("{...a}", 200) + "fragment a on Query{articles{" + fragments(400, "a%d%.0d ") + "}}",
		"a long name in 200 operations":         repeat("{...a}", 200) + "fragment a on Query{articles{" + repeat("x", 100_000) + "}}",
		"a long text in 700 lists":              "{article(id:" + repeat("[", 700) + `"` + repeat("x", 100_000) + `"` + repeat("]", 700) + "){id}}",
		"spreads of one fragment":               "{articles{" + repeat("...a ", 490) + "}} fragment a on Article{id}",
		"a chain of 180 fragments":              "{...a0}" + fragments(180, "fragment a%d on Query{...a%d}") + "fragment a180 on Query{__typename}",
		"introspection in introspection":        repeat("{__schema", 490) + "{a}" + repeat("}", 490),
		"fragments that double":                 "{...a0}" + fragments(80, "fragment a%d on Query{a{...a%[2]d}b{...a%[2]d}}") + "fragment a80 on Query{a}",
		"arguments":                             "{" + repeat("articles("+repeat("page:1 ", 180)+"){id}", 2) + "}",
		"two levels of 20 equal fields":         "{" + repeat("articles{"+repeat("poster{id name}", 11)+"}", 20) + "}",
		"110 fragments in one place":            "{articles{" + fragments(110, "...a%d%.0d ") + "}}" + fragments(110, "fragment a%d%.0d on Article{id}"),
		"equal fields in fragments, three deep": "{articles{...a0}}" + fragments(30, "fragment a%d on Article{poster{id name}groups{id name}...a%d}") + "fragment a30 on Article{id}",
	}
}

// What validation visits is bounded by what was computed before, and that is bounded.
func TestWorkBoundsWhatValidationVisits(t *testing.T) {
	t.Parallel()
	schema := siteSchema(t)
	for name, text := range slowDocuments() {
		if work := checkWork(t, schema, text); work <= MaxWork && !strings.Contains(name, "fragments") && !strings.Contains(name, "levels") {
			t.Errorf("%s: got work of %d, want more than %d", name, work, MaxWork)
		}
	}
	for _, n := range []int{1, 2, 5, 10, 20, 40} { // as much as is accepted
		for _, text := range []string{
			"{articles{" + strings.Repeat("id ", 5*n) + "}}", "{articles{" + strings.Repeat("...{", n) + strings.Repeat("id ", n) + strings.Repeat("}", n+2),
			strings.Repeat("{...a}", n) + "fragment a on Query{articles{" + strings.Repeat("id title ", n) + "}}",
			"{" + strings.Repeat("articles{"+strings.Repeat("poster{id name}", n)+"}", n) + "}",
			"{article(id:" + strings.Repeat("[", n) + `"` + strings.Repeat("x", 1000) + `"` + strings.Repeat("]", n) + "){id}}",
		} {
			checkWork(t, schema, text)
		}
	}
}

func FuzzWork(f *testing.F) {
	for _, text := range slowDocuments() {
		f.Add(text)
	}
	f.Add(`query Q($n: Int = 5 @d) @d { a: b(c: [1, {x: "y"}]) @skip(if: true) { ...F ... on T @d { e } } } fragment F on T @d { g }`)
	f.Add(`{ articles { ...A poster { ...B } } } fragment A on Article { ...C poster { ...B id } } fragment B on User { id } fragment C on Article { poster { id } ... on Node { id } }`)
	schema := siteSchema(f)
	f.Fuzz(func(t *testing.T, text string) { checkWork(t, schema, text) })
}

// Every slow document is refused or cheap: the slowest that is accepted takes a few milliseconds. One with more than 500
// fields is refused before its work is computed.
func BenchmarkSlowDocuments(b *testing.B) {
	schema := siteSchema(b)
	for name, text := range slowDocuments() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
				if err == nil && Operations(document)[0].Fields <= 500 && len(SpreadErrors(document)) == 0 && Work(document) <= MaxWork {
					_ = validator.ValidateWithRules(schema, document, nil)
				}
			}
		})
	}
}

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
