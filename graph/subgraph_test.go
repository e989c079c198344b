package graph_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/identity"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// A router gets objects by their references, all articles of a request in one round trip; nothing of that is there without the
// setting.
func TestRouterAsksForEntities(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.NewAbout(t, client, graph.Site{Subgraph: "the schema"}, site.DefaultRules())
	first, second := s.Post("alice", "one", "go"), s.Post("bob", "two")
	s.Want("", `{ _service { sdl } }`, `{"_service":{"sdl":"the schema"}}`)
	const query = `query ($of: [_Any!]!) { _entities(representations: $of) { __typename ... on Article { title } ... on User { name } ... on Group { name articleCount } ... on Host { name } } }`
	ask := func(references string) string {
		_, body := s.PostJSON(fmt.Sprintf(`{"query": %q, "variables": {"of": [%s]}}`, query, references))
		return body
	}
	references := fmt.Sprintf(`{"__typename": "Article", "id": "%s"}, {"__typename": "Group", "id": "group:go"}, {"__typename": "User", "id": "user:eve"}, {"__typename": "Article", "id": "article:99"}, {"__typename": "Host", "id": "host:go.dev"}, {"__typename": "Article", "id": "%s"}`, second, first)
	want := `{"data":{"_entities":[{"__typename":"Article","title":"two"},{"__typename":"Group","name":"go","articleCount":1},{"__typename":"User","name":"eve"},null,{"__typename":"Host","name":"go.dev"},{"__typename":"Article","title":"one"}]}}`
	ask(references) // what is read once only
	s.StopListening()
	s.Trips.Reset()
	if got := ask(references); strings.TrimSpace(got) != want {
		t.Errorf("_entities: %s\nwant %s", got, want)
	}
	trips, _ := s.Trips.Read()
	inline := strings.NewReplacer(`"__typename"`, "__typename", `"id"`, "id").Replace(references)
	if got := s.AskText("", strings.NewReplacer("query ($of: [_Any!]!) ", "", "$of", "["+inline+"]").Replace(query)); strings.TrimSpace(got) != want {
		t.Errorf("_entities of literals: %s\nwant %s", got, want)
	}
	if trips > 2 {
		t.Errorf("_entities took %d round trips, want 2: articles, and sizes of groups", trips)
	}
	for reference, message := range map[string]string{
		`{"__typename": "Article"}`:                      "a representation has __typename and id",
		`{"id": "article:1"}`:                            "is the id of another type",
		`{"__typename": "User", "id": "article:1"}`:      `\"article:1\" is the id of another type than \"User\"`,
		`{"__typename": "Article", "id": "nonsense:17"}`: "nothing here has the id",
		`{"__typename": "Article", "id": 17}`:            "a representation has __typename and id",
	} {
		if got := ask(reference); !strings.Contains(got, `"_entities":[null]`) || !strings.Contains(got, message) || !strings.Contains(got, `"path":["_entities",0]`) {
			t.Errorf("%s: %s, want %s", reference, got, message)
		}
	}
	for _, references := range []string{"", strings.TrimSuffix(strings.Repeat(`{"__typename": "User", "id": "user:eve"},`, 101), ",")} {
		if got := ask(references); !strings.Contains(got, "1 to 100 can be asked for") {
			t.Errorf("%d bytes of representations: %s", len(references), got)
		}
	}
	plain := sitetest.New(t, client, site.DefaultRules())
	for _, query := range []string{`{ _service { sdl } }`, `{ _entities(representations: []) { __typename } }`} {
		if got := plain.AskText("", query); !strings.Contains(got, "GRAPHQL_VALIDATION_FAILED") {
			t.Errorf("without the setting %s: %s", query, got)
		}
	}
	if got := plain.AskText("", `{ __schema { types { name possibleTypes { name } } queryType { fields { name } } } }`); strings.Contains(got, "_Entity") || strings.Contains(got, "_service") {
		t.Errorf("without the setting, introspection shows: %s", got)
	}
}

// Entities cost what nodes does, in points and in commands, and their answer is as cacheable.
func TestEntitiesCostWhatNodesDo(t *testing.T) {
	t.Parallel()
	about := graph.Site{Subgraph: "the schema"}
	s := sitetest.NewAbout(t, redistest.Start(t).Client, about, site.DefaultRules())
	s.PostMany("alice", 4, "go")
	o := endpoint.DefaultOptions()
	o.SharedAnswers = 0
	o.Rates = endpoint.Rates{Cost: endpoint.Rate{Most: 1e9, Window: require.Timeout}, Addresses: 1}
	o.Identity = require.Value(identity.New(t.Context(), identity.Options{Development: true, ValidName: endpoint.ValidName}))(t)
	log := slog.New(slog.DiscardHandler)
	handler := endpoint.New(graph.Served(s.Repo, about, log, o, func(r graph.ResolverRoot) graph.ResolverRoot { return r }), s.Repo, log, o)
	read := func(query, variables string) (points, commands, cache string) {
		s.Trips.Reset()
		answer := httptest.NewRecorder()
		target := "/query?query=" + url.QueryEscape(query) + "&variables=" + url.QueryEscape(variables)
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, target, nil))
		_, points, _ = strings.Cut(answer.Body.String(), `"cost":`)
		points, _, _ = strings.Cut(points, "}")
		_, all := s.Trips.Read()
		all = slices.DeleteFunc(all, func(command string) bool { return command == "evalsha" }) // a lease of points
		return points, sitetest.Tally(all), answer.Header().Get("Cache-Control")
	}
	const fields = ` { ... on Article { title groups { articleCount } } }`
	var representations []string
	for i := range 4 {
		representations = append(representations, fmt.Sprintf(`{"__typename": "Article", "id": "article:%d"}`, i+1))
	}
	variables := `{"of": [` + strings.Join(representations, ", ") + `]}`
	for _, cost := range []string{``, `rateLimit { cost } `} {
		points, commands, cache := read(`{ `+cost+`nodes(ids: ["1", "2", "3", "4"])`+fields+` }`, "")
		gotPoints, gotCommands, gotCache := read(`query ($of: [_Any!]!) { `+cost+`_entities(representations: $of)`+fields+` }`, variables)
		if gotPoints != points || gotCommands != commands || gotCache != cache || commands != "hgetall 4, scard 4" || (points == "") != (cost == "") {
			t.Errorf("_entities: %s points, %s and %q, want those of nodes: %s points, %s and %q", gotPoints, gotCommands, gotCache, points, commands, cache)
		}
	}
}
