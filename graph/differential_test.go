package graph_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/graph"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// These tests run random documents by gqlgen and by compiled plans, on random data and with random faults, and compare
// the answers. With -document a failure is repeated: go test ./graph -run TestPlansAnswerLikeGqlgen -document 4711
var (
	documents = flag.Int("documents", programtest.Size(400, 4000), "number of documents that TestPlansAnswerLikeGqlgen runs")
	seed      = flag.Uint64("seed", 20260102, "of these documents and their data")
	only      = flag.Int("document", -1, "number of the only one of these documents to run")
)

const (
	perDataset = 50 // documents for the same data
	workers    = 2
)

// kinds are the operations of documents, by how frequent they are.
var kinds = []ast.Operation{ast.Query, ast.Query, ast.Query, ast.Mutation}

// tally is what a test has run.
type tally struct {
	mu                       sync.Mutex
	set                      int // the next set of data
	requests, invalid, wrong int
	byGqlgen                 int             // operations that the second side has no plan for
	written                  map[string]bool // fields, arguments and members of inputs
}

// nextSet returns the number of a set of documents that no worker has begun.
func (t *tally) nextSet() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.set++
	return t.set - 1
}

func (t *tally) count(a answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	if len(a.errors) > 0 {
		t.wrong++
	}
	if a.invalid() {
		t.invalid++
	}
}

// differentialServer starts a Redis with a database for each side of each pair.
func differentialServer(t testing.TB) *redistest.Server {
	t.Helper()
	server := require.Value(redistest.Open("--appendonly", "no", "--enable-debug-command", "yes", "--databases", "64"))(t)
	t.Cleanup(server.Close)
	return server
}

func TestPlansAnswerLikeGqlgen(t *testing.T) {
	t.Parallel()
	server := differentialServer(t)
	all := tally{written: map[string]bool{}}
	var work sync.WaitGroup
	for worker := range workers {
		p := newPair(t, server, 3*worker)
		work.Go(func() {
			for set := all.nextSet(); set*perDataset < *documents && !t.Failed(); set = all.nextSet() {
				p.run(set, &all)
				if done := (set + 1) * perDataset; done%20_000 == 0 {
					t.Logf("%d documents", done)
				}
			}
			all.mu.Lock()
			all.byGqlgen += int(p.byGqlgen.Load())
			all.mu.Unlock()
		})
	}
	work.Wait()
	t.Logf("seed %d: %d requests, %d with errors, %d of them invalid; %d without a plan", *seed, all.requests, all.wrong, all.invalid, all.byGqlgen)
	if *documents < 1000 || *only >= 0 || t.Failed() {
		return
	}
	if all.invalid*20 > all.requests || all.wrong*4 < all.requests || all.wrong*4 > all.requests*3 {
		t.Error("want at most 5 % of the requests invalid, and errors in a quarter to three quarters of them")
	}
	if all.byGqlgen*50 > all.requests {
		t.Error("want plans for all but introspection, which is in less than 2 % of the requests")
	}
	for _, name := range everything() {
		if !all.written[name] {
			t.Errorf("no document has %s", name)
		}
	}
}

// The comparison finds an executor that is wrong in any of these ways.
func TestWrongExecutorIsFound(t *testing.T) {
	t.Parallel()
	server := differentialServer(t)
	inError := func(change func(*gqlerror.Error)) func(*graphql.Response) {
		return func(r *graphql.Response) {
			for i, err := range r.Errors {
				other := *err
				change(&other)
				r.Errors[i] = &other
			}
		}
	}
	const sets = 30 // of data: some errors are rare
	swapped := regexp.MustCompile(`("\w+":[^,{}"]+),("\w+":[^,{}"]+)`)
	for name, spoil := range map[string]func(*graphql.Response){
		"the order of two fields": func(r *graphql.Response) { r.Data = swapped.ReplaceAll(r.Data, []byte("$2,$1")) },
		"null instead of a list":  func(r *graphql.Response) { r.Data = bytes.ReplaceAll(r.Data, []byte("[]"), []byte("null")) },
		"an error too few":        func(r *graphql.Response) { r.Errors = r.Errors[:max(len(r.Errors)-1, 0)] },
		"an error twice":          func(r *graphql.Response) { r.Errors = append(r.Errors, r.Errors...) },
		"the order of errors":     func(r *graphql.Response) { slices.Reverse(r.Errors) },
		"no location of an error": inError(func(e *gqlerror.Error) { e.Locations = nil }),
		"no index in a path": inError(func(e *gqlerror.Error) {
			e.Path = slices.DeleteFunc(slices.Clone(e.Path), func(step ast.PathElement) bool { _, ok := step.(ast.PathIndex); return ok })
		}),
		"the code of an error": inError(func(e *gqlerror.Error) {
			if e.Extensions["code"] == "TIMEOUT" {
				e.Extensions = map[string]any{"code": "INTERNAL"}
			}
		}),
	} {
		p := newPair(t, server, 0)
		p.spoil = spoil
		found := ""
		for set := 0; set < sets && found == ""; set++ {
			random := rand.New(rand.NewPCG(*seed, uint64(set))) // #nosec G115 -- not negative
			p.fill(random)
			for i := 0; i < perDataset && found == ""; i++ {
				requests, _ := p.requests(random, kinds...)
				found = p.compare(requests, func(answer) {})
			}
		}
		if found == "" {
			t.Errorf("seed %d: %s: got no difference in %d documents, want one", *seed, name, sets*perDataset)
		}
	}
}

// run runs the documents of one set of data, until the executors differ.
func (p *pair) run(set int, all *tally) {
	first, last := set*perDataset, min((set+1)*perDataset, *documents)
	if *only >= 0 && (*only < first || *only >= last) {
		return
	}
	p.fill(rand.New(rand.NewPCG(*seed, uint64(set)))) // #nosec G115 -- not negative
	for i := first; i < last; i++ {
		if *only >= 0 && i != *only {
			continue
		}
		requests, a := p.requests(rand.New(rand.NewPCG(*seed, 1<<32+uint64(i))), kinds...) // #nosec G115 -- not negative
		all.mu.Lock()
		maps.Copy(all.written, a.written)
		all.mu.Unlock()
		if difference := p.compare(requests, all.count); difference != "" {
			p.t.Errorf("document %d of seed %d: %s", i, *seed, difference)
			return
		}
	}
}

// requests writes a document and requests for it.
func (p *pair) requests(random *rand.Rand, kinds ...ast.Operation) ([]request, *author) {
	a := &author{random: random, schema: graph.Schema(), samples: p.samples, written: map[string]bool{}}
	d := a.write(kinds...)
	list := make([]request, 1+a.one(2)+6*a.one(20)) // others are for the same plan
	for i := range list {
		list[i] = request{document: d, values: a.values(d), viewer: pick(random, []string{"", "alice", "bob", "mod"})}
		if a.chance(2) {
			list[i].faults = faults{salt: random.Uint64() | 1, share: pick(random, []uint64{10, 50, 200})}
		}
	}
	return list, a
}

// compare sends requests with the same document to both executors. It says how their answers differ, or returns "".
func (p *pair) compare(requests []request, count func(answer)) string {
	p.t.Helper()
	answers, byGqlgen := make([]answer, len(requests)), p.byGqlgen.Load()
	for i, r := range requests {
		a, difference := p.try(r)
		if difference != "" {
			return difference
		}
		count(a[0])
		answers[i] = a[1]
	}
	if p.rated || requests[0].kind == ast.Mutation || p.byGqlgen.Load() > byGqlgen {
		return ""
	}
	// A plan is used by several requests at once, and always answers the same.
	var work sync.WaitGroup
	differences := make([]string, len(requests))
	for i, r := range requests {
		work.Go(func() {
			again := p.sides[1].ask(r)
			if again.body != answers[i].body || !slices.Equal(again.errors, answers[i].errors) {
				differences[i] = fmt.Sprintf("a plan answers twice in different ways\n%s\nfirst:  %s\nsecond: %s", r, answers[i], again)
			}
		})
	}
	work.Wait()
	return strings.Join(differences, "")
}

// everything returns all fields, arguments and members of inputs of the schema, except those of subscriptions.
func everything() (names []string) {
	for name, definition := range graph.Schema().Types {
		if strings.HasPrefix(name, "__") || slices.Contains([]string{"Subscription", "PostedEdge", "FlaggedChange"}, name) {
			continue
		}
		for _, field := range definition.Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			names = append(names, name+"."+field.Name)
			for _, argument := range field.Arguments {
				names = append(names, name+"."+field.Name+"."+argument.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// The input is what the author of a document decides by.
func FuzzPlansAnswerLikeGqlgen(f *testing.F) {
	for i := range byte(8) {
		f.Add(slices.Repeat([]byte{i, 31 * i, 255 - i}, 20*int(i)))
	}
	server := differentialServer(f)
	pairs := make([]*pair, 4)
	for i := range pairs {
		pairs[i] = newPair(f, server, 3*i)
		pairs[i].fill(rand.New(rand.NewPCG(*seed, uint64(i)))) // #nosec G115 -- not negative
	}
	f.Fuzz(func(t *testing.T, decisions []byte) {
		source := &decided{decisions: decisions, then: rand.NewPCG(1, 2)}
		p := pairs[source.Uint64()%uint64(len(pairs))]
		p.t = t
		requests, _ := p.requests(rand.New(source), kinds...)
		if difference := p.compare(requests, func(answer) {}); difference != "" {
			t.Error(difference)
		}
	})
}

// A document is small whatever decides, also if all decisions are for fragments in fragments.
func TestDocumentsAreSmall(t *testing.T) {
	t.Parallel()
	p := &pair{samples: samples{ids: []string{"article:1"}, texts: map[string][]string{"": {"text"}}}}
	for decision := range 256 {
		decisions := slices.Repeat([]byte{byte(decision)}, 5000)
		_, a := p.requests(rand.New(&decided{decisions: decisions, then: rand.NewPCG(1, 2)}), kinds...)
		if a.left < -200 {
			t.Errorf("decisions %#x: got %d selections more than should be written, want at most 200", decision, -a.left)
		}
	}
}

// decided is a source of random numbers that begins with given ones.
type decided struct {
	decisions []byte
	then      rand.Source
}

// Uint64 implements rand.Source. A byte decides, because most choices are between a few.
func (d *decided) Uint64() uint64 {
	if len(d.decisions) == 0 {
		return d.then.Uint64()
	}
	next := uint64(d.decisions[0])
	d.decisions = d.decisions[1:]
	return next<<56 | next<<24
}
