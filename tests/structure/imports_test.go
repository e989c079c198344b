// Package structure_test checks which package imports which, the length of scripts, and the wording of all texts in the
// repository.
package structure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"frontpage/tests/require"

	"github.com/vektah/gqlparser/v2"
	graphql "github.com/vektah/gqlparser/v2/ast"
	"golang.org/x/mod/semver"
)

const (
	root   = "../.."
	module = "frontpage"
)

// allowed lists, for each package, all packages of this module that it may import, tests aside.
var allowed = map[string][]string{
	".":                   {"telemetry/admin", "exchange/csvimport", "webhooks", "exchange/demo", "endpoint", "exchange/export", "redisrepo/failover", "site/feeds", "graph", "settings/manual", "telemetry/metrics", "telemetry/outagelog", "site/pages", "redisrepo", "redisrepo/check", "redisrepo/erase", "redisrepo/events", "redisrepo/layout", "redisrepo/lists", "redisrepo/preview", "redisrepo/site", "redisrepo/transfer", "redisrepo/webhooks", "redisrepo/wire", "settings", "identity/signin", "redisrepo/store", "telemetry/tracing", "site/web"},
	"settings":            {"endpoint", "site/feeds", "identity", "site/pages", "redisrepo/keys", "redisrepo/reports", "redisrepo/search", "redisrepo/site", "redisrepo/webhooks", "redisrepo/wire", "redisrepo/store/watchfile", "redisrepo/secretbox", "identity/signin", "redisrepo/store", "site/web"},
	"graph":               {"endpoint", "redisrepo/failover", "endpoint/plan", "redisrepo", "redisrepo/casts", "redisrepo/denials", "redisrepo/erase", "redisrepo/events", "redisrepo/lists", "redisrepo/live", "redisrepo/personal", "redisrepo/rankings", "redisrepo/rates", "redisrepo/reports", "redisrepo/saved", "redisrepo/search", "redisrepo/site", "redisrepo/voids", "redisrepo/webhooks", "redisrepo/rings"},
	"endpoint/plan":       {},
	"endpoint":            {"endpoint/measure", "redisrepo/failover", "identity", "endpoint/plan", "redisrepo", "redisrepo/events", "redisrepo/live", "redisrepo/rates", "redisrepo/site", "endpoint/sharing"},
	"identity":            {},
	"webhooks":            {"redisrepo/failover", "redisrepo", "redisrepo/events", "redisrepo/lease", "redisrepo/site", "redisrepo/webhooks"},
	"endpoint/measure":    {},
	"site/feeds":          {"redisrepo/failover", "redisrepo", "redisrepo/lists", "redisrepo/rates", "redisrepo/site", "endpoint/sharing"},
	"identity/signin":     {"identity", "redisrepo", "redisrepo/rates", "redisrepo/sessions", "redisrepo/site"},
	"site/cards":          {},
	"site/pages":          {"site/cards", "endpoint", "redisrepo/failover", "site/feeds", "identity", "redisrepo", "redisrepo/rates", "redisrepo/site", "endpoint/sharing", "site/web"},
	"endpoint/sharing":    {},
	"telemetry/admin":     {},
	"telemetry/metrics":   {"webhooks", "endpoint", "redisrepo/failover", "redisrepo"},
	"site/web":            {},
	"settings/manual":     {},
	"telemetry/outagelog": {"redisrepo/failover"},
	"telemetry/tracing":   {"endpoint"},
	"exchange/csvimport":  {"redisrepo", "redisrepo/site"},
	"exchange/export":     {"redisrepo", "redisrepo/denials", "redisrepo/descriptions", "redisrepo/lists", "redisrepo/rankings", "redisrepo/saved", "redisrepo/site", "redisrepo/transfer"},
	"exchange/demo":       {"exchange/csvimport", "redisrepo", "redisrepo/check", "redisrepo/lists", "redisrepo/site"},

	// The rooms of the store, lowest first: each imports only those above it here.
	"redisrepo/store/watchfile": {},
	"redisrepo/store":           {"redisrepo/store/watchfile"},
	"redisrepo/secretbox":       {},
	"redisrepo/rings":           {},
	"redisrepo/failover":        {},
	"redisrepo/site":            {},
	"redisrepo/keys":            {"redisrepo/site"},
	"redisrepo/wire":            {"redisrepo/failover", "redisrepo/keys", "redisrepo/site"},
	"redisrepo/rates":           {"redisrepo/failover", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/sessions":        {"redisrepo/failover", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/articles":        {"redisrepo/failover", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/events":          {"redisrepo/failover", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/denials":         {"redisrepo/failover", "redisrepo/events", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/lists":           {"redisrepo/failover", "redisrepo/articles", "redisrepo/keys", "redisrepo/site", "redisrepo/views", "redisrepo/wire"},
	"redisrepo/rankings":        {"redisrepo/failover", "redisrepo/keys", "redisrepo/lists", "redisrepo/site", "redisrepo/views", "redisrepo/wire"},
	"redisrepo/casts":           {"redisrepo/failover", "redisrepo/articles", "redisrepo/keys", "redisrepo/site", "redisrepo/views", "redisrepo/wire", "redisrepo/rings"},
	"redisrepo/voids":           {"redisrepo/failover", "redisrepo/articles", "redisrepo/casts", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/reports":         {"redisrepo/failover", "redisrepo/articles", "redisrepo/events", "redisrepo/keys", "redisrepo/rankings", "redisrepo/site", "redisrepo/views", "redisrepo/wire", "redisrepo/secretbox"},
	"redisrepo/layout":          {"redisrepo/failover", "redisrepo/articles", "redisrepo/casts", "redisrepo/events", "redisrepo/keys", "redisrepo/lists", "redisrepo/rankings", "redisrepo/sessions", "redisrepo/site", "redisrepo/views", "redisrepo/wire"},
	"redisrepo/views":           {"redisrepo/failover", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/live":            {"redisrepo/failover", "redisrepo/articles", "redisrepo/casts", "redisrepo/events", "redisrepo/keys", "redisrepo/lists", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/descriptions":    {"redisrepo/failover", "redisrepo/events", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/lease":           {"redisrepo/failover", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/webhooks":        {"redisrepo/failover", "redisrepo/events", "redisrepo/keys", "redisrepo/site", "redisrepo/wire", "redisrepo/secretbox"},
	"redisrepo/retention":       {"redisrepo/failover", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/saved":           {"redisrepo/failover", "redisrepo/keys", "redisrepo/lists", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/search":          {"redisrepo/failover", "redisrepo/articles", "redisrepo/events", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/personal":        {"redisrepo/failover", "redisrepo/articles", "redisrepo/casts", "redisrepo/denials", "redisrepo/events", "redisrepo/reports", "redisrepo/saved", "redisrepo/sessions", "redisrepo/site", "redisrepo/views", "redisrepo/voids", "redisrepo/wire"},
	"redisrepo/newcomers":       {"redisrepo/failover", "redisrepo/casts", "redisrepo/sessions", "redisrepo/site", "redisrepo/wire"},
	"redisrepo":                 {"redisrepo/failover", "redisrepo/articles", "redisrepo/casts", "redisrepo/denials", "redisrepo/descriptions", "redisrepo/events", "redisrepo/keys", "redisrepo/layout", "redisrepo/lease", "redisrepo/lists", "redisrepo/live", "redisrepo/newcomers", "redisrepo/personal", "redisrepo/rankings", "redisrepo/rates", "redisrepo/reports", "redisrepo/retention", "redisrepo/saved", "redisrepo/search", "redisrepo/sessions", "redisrepo/site", "redisrepo/views", "redisrepo/voids", "redisrepo/webhooks", "redisrepo/wire"},
	"redisrepo/check":           {"redisrepo/failover", "redisrepo", "redisrepo/articles", "redisrepo/casts", "redisrepo/events", "redisrepo/keys", "redisrepo/layout", "redisrepo/lists", "redisrepo/rankings", "redisrepo/site", "redisrepo/views", "redisrepo/voids", "redisrepo/wire"},
	"redisrepo/erase":           {"redisrepo/failover", "redisrepo", "redisrepo/denials", "redisrepo/keys", "redisrepo/site", "redisrepo/wire"},
	"redisrepo/transfer":        {"redisrepo/failover", "redisrepo", "redisrepo/articles", "redisrepo/casts", "redisrepo/check", "redisrepo/erase", "redisrepo/events", "redisrepo/keys", "redisrepo/layout", "redisrepo/lists", "redisrepo/rankings", "redisrepo/reports", "redisrepo/site", "redisrepo/voids", "redisrepo/wire"},
	"redisrepo/preview":         {"redisrepo/failover", "redisrepo", "redisrepo/layout", "redisrepo/lists", "redisrepo/site"},
	"graph/generate":            {}, // runs at development time only

	// For tests only.
	"tests/require":     {},
	"tests/redistest":   {"tests/require"},
	"tests/programtest": {"tests/require"},
	"tests/repotest":    {"redisrepo", "redisrepo/check", "redisrepo/denials", "redisrepo/events", "redisrepo/keys", "redisrepo/lists", "redisrepo/rankings", "redisrepo/reports", "redisrepo/saved", "redisrepo/site", "redisrepo/store", "redisrepo/wire", "tests/redistest", "tests/require"},
	"tests/sitetest":    {"endpoint", "graph", "identity", "tests/require", "redisrepo", "redisrepo/reports", "redisrepo/search", "redisrepo/site", "redisrepo/webhooks", "tests/redistest", "redisrepo/secretbox", "redisrepo/store"},
	"tests/benchmarks":  {},
	"tests/costs":       {},
	"tests/cluster":     {},
	"tests/documents":   {},
	"tests/faults":      {"tests/redistest"},
	"tests/program":     {},
	"tests/structure":   {},
}

// forbidden lists packages of other modules, and of the standard library, that a package must not import
// itself; those of redisrepo are forbidden in its rooms, too, but for the store, which starts a Redis.
var forbidden = map[string][]string{
	"graph":              {"net/http", "github.com/redis/go-redis/v9", "github.com/coder/websocket"},
	"redisrepo":          {"net/http", "os", "github.com/99designs/gqlgen/graphql", "github.com/vektah/gqlparser/v2"},
	"redisrepo/failover": {"net/http"},
	"identity":           {"github.com/redis/go-redis/v9", "github.com/99designs/gqlgen/graphql"},
}

func TestPackagesImportOnlyWhatIsAllowed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, line := range goList(t, "-f", `{{.ImportPath}}{{range .Imports}},{{.}}{{end}}`, "./...") {
		imports := strings.Split(line, ",")
		from := strings.TrimPrefix(strings.TrimPrefix(imports[0], module), "/")
		if from == "" {
			from = "."
		}
		seen[from] = true
		list, listed := allowed[from]
		if !listed {
			t.Errorf("package %s is not in the list of allowed imports: add it, with what it may import", from)
		}
		for _, imported := range imports[1:] {
			if to, ours := strings.CutPrefix(imported, module+"/"); ours && !slices.Contains(list, to) {
				t.Errorf("%s imports %s, which is not in its list", from, to)
			}
			room := strings.HasPrefix(from, "redisrepo/") && !strings.HasPrefix(from, "redisrepo/store")
			if slices.Contains(forbidden[from], imported) || room && slices.Contains(forbidden["redisrepo"], imported) {
				t.Errorf("%s imports %s, which is forbidden", from, imported)
			}
		}
	}
	for from := range allowed {
		if !seen[from] {
			t.Errorf("the list of allowed imports names %s, which does not exist", from)
		}
	}
}

func TestProgramLinksNoTestHelpers(t *testing.T) {
	t.Parallel()
	for _, linked := range goList(t, "-deps", ".") {
		name := strings.TrimPrefix(linked, module+"/")
		if name == "testing" || strings.HasPrefix(linked, module+"/tests/") {
			t.Errorf("the program links %s, which is for tests only", linked)
		}
	}
}

// generic are names of the schema that package endpoint uses with another meaning.
var generic = map[string]string{
	"RateLimit": "the header",
	"code":      "the member of an error's extensions",
	"cost":      "the name of the rate, and the key of its extension",
	"events":    "the name of a cache",
	"id":        "the member of a WebSocket message",
	"reason":    "the key of an attribute in the log",
	"reports":   "the name of the rate",
	"version":   "the member of the extension persistedQuery",
	"votes":     "the name of the rate",
}

// Package endpoint names no type and no field of the schema. It knows the rates, watches and errors of the site.
func TestEndpointNamesNothingOfTheSchema(t *testing.T) {
	t.Parallel()
	text := require.Value(os.ReadFile(filepath.Join(root, "schema.graphqls")))(t)
	schema := require.Value(gqlparser.LoadSchema(&graphql.Source{Name: "schema.graphqls", Input: string(text)}))(t)
	named := map[string]bool{}
	for name, definition := range schema.Types {
		if definition.BuiltIn || strings.HasPrefix(name, "__") {
			continue
		}
		named[name] = true
		for _, field := range definition.Fields {
			named[field.Name] = !strings.HasPrefix(field.Name, "__")
		}
	}
	if len(named) < 50 {
		t.Fatalf("%d names were found in the schema, want at least 50", len(named))
	}
	files, err := filepath.Glob(filepath.Join(root, "endpoint", "*.go"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files were found in endpoint (%v), want at least 10", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		positions := token.NewFileSet()
		file := require.Value(parser.ParseFile(positions, name, nil, parser.SkipObjectResolution))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && named[text] && generic[text] == "" {
				t.Errorf("%v: %q is a name of the schema, which endpoint must not contain", positions.Position(literal.Pos()), text)
			}
			return true
		})
	}
}

// gqlgen is satisfied with an older version, in which one request can crash the process.
func TestGraphQLParserIsNewEnough(t *testing.T) {
	t.Parallel()
	const minimum = "v2.5.64"
	if found := goList(t, "-m", "-f", "{{.Version}}", "github.com/vektah/gqlparser/v2")[0]; semver.Compare(found, minimum) < 0 {
		t.Errorf("gqlparser is %s, want %s or newer", found, minimum)
	}
}

// goList runs go list in the root of the module and returns the words of its output.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	list := exec.Command("go", append([]string{"list"}, args...)...)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

// floors are the top-level folders of the program, highest first: none imports one above it.
var floors = []string{".", "settings", "graph", "site", "telemetry", "webhooks", "exchange", "endpoint", "identity", "redisrepo"}

func TestFoldersImportOnlyThoseBelowThem(t *testing.T) {
	t.Parallel()
	floor := func(name string) int {
		folder, _, _ := strings.Cut(name, "/")
		return slices.Index(floors, folder)
	}
	for from, list := range allowed {
		if strings.HasPrefix(from, "tests/") {
			continue
		}
		if floor(from) < 0 {
			t.Errorf("%s is in no folder of the program", from)
		}
		for _, to := range list {
			if floor(to) < floor(from) {
				t.Errorf("%s may import %s, which is above it", from, to)
			}
		}
	}
}
