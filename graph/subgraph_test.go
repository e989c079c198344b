package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
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
	if trips, _ := s.Trips.Read(); trips > 2 {
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
