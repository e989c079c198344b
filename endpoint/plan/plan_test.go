package plan_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"frontpage/endpoint/plan"
)

var schema = gqlparser.MustLoadSchema(&ast.Source{Name: "test", Input: `
	type Query { items: [Item!] one(n: Int = 1): Item left: Int right: Int }
	type Mutation { first: Int second: Int fail: Int }
	interface Named { name: String }
	type Item implements Named { name: String! size: Int parts: [Part] total: Int! any: [Named] }
	type Part implements Named { name: String owner: Item }
`})

type item struct {
	name  string
	parts []*part
	any   []any
}

type part struct{ owner *item }

func named(i *item) string {
	if i.name == "panic" {
		panic("no name")
	}
	return i.name
}

// service has the resolvers, and counts their calls.
type service struct {
	items []*item
	total func(items []*item) ([]int, error)
	calls atomic.Int64
	met   sync.WaitGroup // left and right wait for each other
	log   []string
}

func (s *service) meet(context.Context, any) (int, error) {
	s.met.Done()
	s.met.Wait()
	return 1, nil
}

func (s *service) logs(text string) func(context.Context, any) (int, error) {
	return func(context.Context, any) (int, error) {
		s.log = append(s.log, text)
		return len(s.log), nil
	}
}

func (s *service) bound() *plan.Schema {
	integer := plan.Leaf(plan.AppendInt[int])
	return &plan.Schema{
		Definition: schema,
		Objects: map[string]map[string]plan.Field{
			"Query": {
				"items": plan.Each(func(context.Context, any) ([]*item, error) { return s.items, nil }, plan.Objects[item]()),
				"one": plan.Each(func(ctx context.Context, _ any) (*item, error) {
					return s.items[graphql.GetFieldContext(ctx).Args["n"].(int)-1], nil
				}, plan.Object[item]()).Args(func(_ context.Context, raw map[string]any) (map[string]any, error) {
					n, err := graphql.UnmarshalInt(raw["n"])
					return map[string]any{"n": n}, err
				}),
				"left":  plan.Each(s.meet, integer),
				"right": plan.Each(s.meet, integer),
			},
			"Mutation": {"first": plan.Each(s.logs("first"), integer), "second": plan.Each(s.logs("second"), integer),
				"fail": plan.Each(func(context.Context, any) (int, error) { return 0, errors.New("no") }, integer)},
			"Item": {
				"name":  plan.Read(named, plan.Leaf(plan.AppendString[string])),
				"parts": plan.Read(func(i *item) []*part { return i.parts }, plan.Objects[part]()),
				"any":   plan.Read(func(i *item) []any { return i.any }, plan.Abstracts[any]()),
				"total": plan.Batch(func(_ context.Context, items []*item) ([]int, error) {
					s.calls.Add(1)
					return s.total(items)
				}, integer),
			},
			"Part": {
				"name":  plan.Read(func(*part) *string { return nil }, plan.OptionalLeaf(plan.AppendString[string])),
				"owner": plan.Read(func(p *part) *item { return p.owner }, plan.Object[item]()),
			},
		},
		Abstract: map[string]func(any) (any, string){"Named": func(value any) (any, string) {
			switch value.(type) {
			case *item:
				return value, "Item"
			case *part:
				return value, "Part"
			}
			panic(fmt.Sprintf("%T is not Named", value))
		}},
	}
}

func newService() *service {
	a, b := &item{name: "a"}, &item{name: "b"}
	a.parts = []*part{{b}, nil, {nil}}
	b.any = []any{a, a.parts[0], nil}
	return &service{items: []*item{a, b}, total: func(items []*item) ([]int, error) { return make([]int, len(items)), nil }}
}

// compile compiles a document, or returns nil if the plan has no binding for it.
func (s *service) compile(t *testing.T, document string) (*plan.Operation, *ast.QueryDocument) {
	t.Helper()
	parsed, err := gqlparser.LoadQueryWithRules(schema, document, rules.NewDefaultRules())
	if err != nil {
		t.Fatal(err)
	}
	return s.bound().Compile(parsed.Operations[0], parsed.Fragments), parsed
}

// execute returns the data and the paths and messages of the errors.
func (s *service) execute(t *testing.T, document string, variables map[string]any, onError plan.OnError) string {
	t.Helper()
	operation, parsed := s.compile(t, document)
	if operation == nil {
		t.Fatalf("%s is not compiled", document)
	}
	ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{
		Doc: parsed, Operation: parsed.Operations[0], Variables: variables,
		RecoverFunc: func(_ context.Context, cause any) error { return fmt.Errorf("panic: %v", cause) },
	})
	response := operation.Execute(graphql.WithResponseContext(ctx, graphql.DefaultErrorPresenter, graphql.DefaultRecover), plan.Request{OnError: onError})
	text := string(response.Data)
	for _, err := range response.Errors {
		text += fmt.Sprintf(" | %s: %s", err.Path, err.Message)
	}
	return text
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	fails := func(items []*item) ([]int, error) {
		return make([]int, len(items)), graphql.BatchErrorList{errors.New("no total"), nil}[:len(items)]
	}
	for _, tt := range []struct {
		name, document string
		prepare        func(*service)
		variables      map[string]any
		onError        plan.OnError // empty: Propagate
		want           string
	}{
		{name: "lists and nulls", document: `{ items { name parts { name owner { x: name } } } }`,
			want: `{"items":[{"name":"a","parts":[{"name":null,"owner":{"x":"b"}},null,{"name":null,"owner":null}]},{"name":"b","parts":null}]}`},
		{name: "an interface", document: `{ one(n: 2) { any { __typename name ... on Part { owner { name } } } } }`,
			want: `{"one":{"any":[{"__typename":"Item","name":"a"},{"__typename":"Part","name":null,"owner":{"name":"b"}},null]}}`},
		{name: "a value of no type of the interface", document: `{ one(n: 2) { any { name } } }`, prepare: func(s *service) { s.items[1].any[0] = 1 },
			want: `{"one":{"any":[]}} | one.any[0]: panic: int is not Named`},
		{name: "nothing selected", document: `{ one { name @skip(if: $v) } }`, variables: map[string]any{"v": true}, want: `{"one":{}}`},
		{name: "a condition", document: `{ one { name @skip(if: $v) } }`, variables: map[string]any{"v": false}, want: `{"one":{"name":"a"}}`},
		{name: "a condition that is null", document: `{ items { name @skip(if: $v) } }`, variables: map[string]any{"v": nil},
			want: `{"items":[]} | items[0]: panic: skip: argument 'if' is not a boolean | items[1]: panic: skip: argument 'if' is not a boolean`},
		{name: "a panic while printing", document: `{ items { name } one { name } }`, prepare: func(s *service) { s.items[1].name = "panic" },
			want: `{"items":null,"one":{"name":"a"}} | items[1].name: panic: no name`},
		{name: "an argument of the wrong type", document: `{ one(n: $n) { name } items { name } }`, variables: map[string]any{"n": "x"},
			want: `{"one":null,"items":[{"name":"a"},{"name":"b"}]} | one: strconv.ParseInt: parsing "x": invalid syntax`},
		{name: "a resolver that fails for one object", document: `{ items { total } }`, prepare: func(s *service) { s.total = fails },
			want: `{"items":null} | items[0].total: no total`},
		{name: "a resolver that panics", document: `{ one { total } }`, prepare: func(s *service) { s.total = func([]*item) ([]int, error) { panic("total") } },
			want: `{"one":null} | one.total: panic: total`},
		{name: "errors in gqlgen's order: what is read first", document: `{ items { total any { name } } }`, prepare: func(s *service) { s.total, s.items[0].any = fails, []any{1} },
			want: `{"items":null} | items[0].any[0]: panic: int is not Named | items[0].total: no total`},
		{name: "nulls that stay in a list", document: `{ items { name } }`, prepare: func(s *service) { s.items[0] = nil }, onError: plan.Null,
			want: `{"items":[null,{"name":"b"}]} | items[0]: the requested element is null which the schema does not allow`},
		{name: "nulls that stay in an object", document: `{ items { name total } }`, prepare: func(s *service) { s.total = fails }, onError: plan.Null,
			want: `{"items":[{"name":"a","total":null},{"name":"b","total":0}]} | items[0].total: no total`},
		{name: "values of no type that stay null", document: `{ one(n: 2) { any { name } } }`, prepare: func(s *service) { s.items[1].any[0] = 1 }, onError: plan.Null,
			want: `{"one":{"any":[null,{"name":null},null]}} | one.any[0]: panic: int is not Named`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newService()
			if tt.prepare != nil {
				tt.prepare(s)
			}
			document := tt.document
			for name := range tt.variables {
				document = "query($" + name + ": " + map[string]string{"v": "Boolean = true", "n": "Int"}[name] + ") " + tt.document
			}
			if got := s.execute(t, document, tt.variables, cmp.Or(tt.onError, plan.Propagate)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A batch resolver is called once for all objects at one place of the answer, however many lists they are in.
func TestResolverIsCalledOncePerPlace(t *testing.T) {
	t.Parallel()
	s := newService()
	s.items = append(s.items, s.items[0], s.items[1])
	const want = `{"items":[{"total":0,"parts":[{"owner":{"total":0}},null,{"owner":null}]},{"total":0,"parts":null},{"total":0,"parts":[{"owner":{"total":0}},null,{"owner":null}]},{"total":0,"parts":null}]}`
	if got := s.execute(t, `{ items { total parts { owner { total } } } }`, nil, plan.Propagate); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := s.calls.Load(); got != 2 {
		t.Errorf("%d calls, want 2", got)
	}
}

func TestFieldsOfAQueryAreResolvedAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newService()
	s.met.Add(2) // each call waits for the other one
	if got := s.execute(t, `{ left right }`, nil, plan.Propagate); got != `{"left":1,"right":1}` {
		t.Errorf("got %s", got)
	}
}

func TestFieldsOfAMutationAreResolvedInOrder(t *testing.T) {
	t.Parallel()
	s := newService()
	if got := s.execute(t, `mutation { b: second a: first c: second }`, nil, plan.Propagate); got != `{"b":1,"a":2,"c":3}` || strings.Join(s.log, " ") != "second first second" {
		t.Errorf("got %s after %v", got, s.log)
	}
}

func TestHaltRunsNoFieldOfAMutationAfterAnError(t *testing.T) {
	t.Parallel()
	s := newService()
	const want = `{"__typename":"Mutation","a":1,"b":null} | b: no`
	if got := s.execute(t, `mutation { __typename a: first b: fail c: second }`, nil, plan.Halt); got != want || strings.Join(s.log, " ") != "first" {
		t.Errorf("got %s after %v, want %s", got, s.log, want)
	}
}

func TestUnboundFieldIsNotCompiled(t *testing.T) {
	t.Parallel()
	for _, document := range []string{`{ one { size } }`, `query($v: Boolean!) { one { name size @include(if: $v) } }`, `{ __schema { types { name } } }`, `{ one { any { ... on Item { size } } } }`} {
		if operation, _ := newService().compile(t, document); operation != nil {
			t.Errorf("%s is compiled, want it left to gqlgen", document)
		}
	}
}

// One operation with ten conditions keeps a few plans, not one for each of their 1,024 settings.
func TestPlansOfAnOperationAreBounded(t *testing.T) {
	t.Parallel()
	plain, _ := newService().compile(t, `{ one { name } }`)
	conditions, parameters := "", ""
	for i := range 10 {
		conditions += fmt.Sprintf(" f%d: name @include(if: $v%d)", i, i)
		parameters += fmt.Sprintf(" $v%d: Boolean!", i)
	}
	operation, _ := newService().compile(t, "query("+parameters+") { one { "+conditions+" } }")
	if got, most := operation.Bytes(), 4*10*plain.Bytes(); got < plain.Bytes() || got > most {
		t.Errorf("%d bytes, want at least %d and at most %d", got, plain.Bytes(), most)
	}
}
