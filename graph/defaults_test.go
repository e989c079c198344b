package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// send posts a request as a client that accepts the media type of GraphQL, and returns the status and the body.
func send(t *testing.T, s *sitetest.Site, query, variables string) (int, string) {
	t.Helper()
	res, body := s.PostJSON(fmt.Sprintf(`{"query": %s, "variables": %s}`, require.Value(json.Marshal(query))(t), variables),
		"Accept", "application/graphql-response+json", "X-User-ID", "mod", "X-User-Roles", "moderator")
	return res.StatusCode, body
}

// At each place of the schema with a default that does not take null, null refuses the operation, as a literal and as a
// variable; without a value, and with a variable that has none, the place has its default.
func TestNullNeverStandsForADefault(t *testing.T) {
	t.Parallel()
	var executed atomic.Int64
	rules := site.DefaultRules()
	rules.GroupTop = true
	s := sitetest.New(t, redistest.Start(t).Client, rules, func(o *endpoint.Options) {
		o.Observers = append(o.Observers, endpoint.Observer{End: func(_ context.Context, outcome endpoint.Outcome) {
			if outcome.Source != endpoint.Refused {
				executed.Add(1)
			}
		}})
	})
	s.Post("mod", "t", "go")
	missing := map[string]bool{}
	for _, definition := range graph.Schema().Types {
		for _, field := range definition.Fields {
			if definition.Kind == ast.InputObject && field.Type.NonNull && field.DefaultValue != nil {
				missing[definition.Name+"."+field.Name] = true
			}
			for _, a := range field.Arguments {
				if a.Type.NonNull && a.DefaultValue != nil && !strings.HasPrefix(definition.Name, "__") {
					missing[definition.Name+"."+field.Name+"."+a.Name] = true
				}
			}
		}
	}
	places := len(missing)
	for _, root := range []*ast.Definition{graph.Schema().Query, graph.Schema().Mutation} {
		for _, slot := range argumentSlots(strings.ToLower(root.Name), root) {
			if slot.fallback == nil || !slot.of.NonNull {
				continue
			}
			delete(missing, slot.name)
			nullable := strings.TrimSuffix(slot.of.String(), "!")
			document := slot.write("$v")
			for name, tt := range map[string]struct{ query, variables string }{
				"a literal":                   {fmt.Sprintf(slot.write("null"), ""), `{}`},
				"a variable":                  {fmt.Sprintf(document, "($v: "+nullable+")"), `{"v": null}`},
				"a variable with a default":   {fmt.Sprintf(document, "($v: "+nullable+" = "+slot.fallback.String()+")"), `{"v": null}`},
				"the default of the variable": {fmt.Sprintf(document, "($v: "+nullable+" = null)"), `{}`},
			} {
				before := executed.Load()
				if status, body := send(t, s, tt.query, tt.variables); status != 422 || sitetest.CodeOf(t, body) != "GRAPHQL_VALIDATION_FAILED" || strings.Contains(body, `"path"`) || strings.Contains(body, `"data"`) || executed.Load() != before {
					t.Errorf("%s: null as %s: got %d %s, want GRAPHQL_VALIDATION_FAILED\n%s", slot.name, name, status, body, tt.query)
				}
			}
			located := regexp.MustCompile(`"locations":\[[^]]*\],`)
			_, body := send(t, s, fmt.Sprintf(slot.write(slot.fallback.String()), ""), `{}`)
			want := located.ReplaceAllString(body, "")
			for _, tt := range []struct{ query, variables string }{
				{fmt.Sprintf(document, "($v: "+nullable+")"), `{}`},
				{fmt.Sprintf(document, "($v: "+nullable+" = "+slot.fallback.String()+")"), `{}`},
				{fmt.Sprintf(document, "($v: "+slot.of.String()+" = "+slot.fallback.String()+")"), `{}`},
			} {
				if _, body := send(t, s, tt.query, tt.variables); located.ReplaceAllString(body, "") != want || strings.Contains(body, "GRAPHQL_VALIDATION_FAILED") {
					t.Errorf("%s without a value: got %s, want %s\n%s", slot.name, body, want, tt.query)
				}
			}
		}
	}
	if places < 40 || len(missing) > 0 {
		t.Errorf("%d places; the test does not reach %v", places, missing)
	}
	s.WantNoLog()
}

// What a mutation does is what it says: null is refused and nothing changes, and a missing variable is the default.
func TestNullIsNotTheOppositeOfADefault(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.Post("alice", "t", "go")
	for _, tt := range []struct{ variable, change, look, without string }{
		{"$v: VoteDirection", `vote(input: {article: 1, direction: $v})`, `article(id: 1) { viewerVote }`, `"UP"`},
		{"$v: Boolean", `save(input: {article: 1, saved: $v})`, `article(id: 1) { viewerHasSaved }`, `true`},
		{"$v: Boolean", `follow(input: {target: "group:go", following: $v})`, `group(name: "go") { viewerFollows }`, `true`},
		{"$v: Boolean", `blockUser(input: {user: "alice", blocked: $v})`, `user(name: "alice") { viewerHasBlocked }`, `true`},
		{"$v: Boolean", `denyHost(input: {host: "bad.example", reason: "x", denied: $v})`, `deniedHosts { nodes { host { name } } }`, `"bad.example"`},
		{"$v: Boolean", `denyHost(input: {host: "bad.example", reason: "x", subdomains: $v})`, `deniedHosts { nodes { subdomains } }`, `true`},
		{"$v: Boolean", `voidVotes(input: {article: 1, users: ["alice"], reason: "x", void: $v})`, `article(id: 1) { votes }`, `1}`},
	} {
		document := `mutation(` + tt.variable + `) { ` + tt.change + ` { userErrors { code } } }`
		if _, body := send(t, s, document, `{}`); !strings.Contains(body, `"userErrors":[]`) {
			t.Errorf("%s without the variable: got %s", tt.change, body)
		}
		if _, body := send(t, s, document, `{"v": null}`); sitetest.CodeOf(t, body) != "GRAPHQL_VALIDATION_FAILED" {
			t.Errorf("%s with null: got %s, want GRAPHQL_VALIDATION_FAILED", tt.change, body)
		}
		if _, body := send(t, s, `{ `+tt.look+` }`, `{}`); !strings.Contains(body, tt.without) {
			t.Errorf("%s without the variable, then with null: got %s, want %s", tt.change, body, tt.without)
		}
	}
}
