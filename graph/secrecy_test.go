package graph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// argumentsOf are the arguments with which a field is asked: required ones, and those that let it say more.
var argumentsOf = map[string][]string{
	"Query.article":                 {`(id: 1)`, `(id: 2)`},
	"Query.articleByLink":           {`(link: "https://example.com/1")`},
	"Query.articlesConnection":      {``, `(order: TIME, unvotedOnly: true)`},
	"Query.events":                  {`(first: 50)`, `(kinds: [VOTED])`},
	"Query.frontPage":               {`(at: "2026-01-02T04:00:00.000Z")`},
	"Query.group":                   {`(name: "go")`},
	"Query.host":                    {`(name: "example.com")`},
	"Query.node":                    {`(id: "article:1")`, `(id: "user:alice")`, `(id: "group:go")`},
	"Query.nodes":                   {`(ids: ["1", "2", "user:alice", "group:go"])`},
	"Query.search":                  {`(query: "t")`, `(query: "t", filter: {groups: ["go"]})`},
	"Query.similarArticles":         {`(title: "t")`},
	"Query.ranking":                 {``, `(unvotedOnly: true)`, `(by: {formula: GRAVITY})`},
	"Query.user":                    {`(name: "alice")`, `(name: "bob")`},
	"Query.notice":                  {`(reference: "A-1", secret: "s")`},
	"Query.viewerVotes":             {``, `(direction: UP)`},
	"Query.moderationActions":       {``, `(target: "article:1")`},
	"Group.articlesConnection":      {``, `(unvotedOnly: true)`},
	"Group.ranking":                 {``, `(unvotedOnly: true)`},
	"Article.votesToReach":          {`(rank: 1)`},
	"Event.article":                 {``},
	"Mutation.post":                 {`(input: {title: "t", link: "https://example.com/1"})`, `(input: {title: "t", text: "x"})`},
	"Mutation.vote":                 {`(input: {article: 1})`, `(input: {article: 2, direction: DOWN})`, `(input: {article: 99})`},
	"Mutation.regroup":              {`(input: {article: 1, add: ["x"]})`},
	"Mutation.editArticle":          {`(input: {article: 1, title: "u"})`},
	"Mutation.deleteArticle":        {`(input: {article: 4})`},
	"Mutation.flag":                 {`(input: {target: 1, reason: SPAM})`, `(input: {target: 2, reason: ILLEGAL, note: "n"})`},
	"Mutation.notifyIllegalContent": {`(input: {locations: ["1"], explanation: "why it is illegal here", name: "n", email: "n@example.org", goodFaith: true, idempotencyKey: "k"})`},
	"Mutation.settleFlags":          {`(input: {target: 1, throughReport: "report:1.1", act: DISMISS})`},
	"Mutation.restoreArticle":       {`(input: {article: 4})`},
	"Mutation.endSessions":          {`(input: {name: "bob"})`},
	"Subscription.articleChanged":   {`(ids: [1, 2])`},
	"Mutation.describeGroup":        {`(input: {group: "zed"})`},
	"Mutation.denyUser":             {`(input: {user: "zed", reason: "x"})`},
	"Mutation.denyHost":             {`(input: {host: "zed.example", reason: "x"})`},
	"Mutation.eraseViewer":          {`(input: {confirm: "zed"})`},
	"Mutation.voidVotes":            {`(input: {article: 1, users: ["zed"], reason: "x"})`},
	"Mutation.addWebhook":           {`(input: {url: "https://127.0.0.1"})`},
	"Mutation.changeWebhook":        {`(input: {webhook: "webhook:zed", paused: true})`},
	"Mutation.removeWebhook":        {`(input: {webhook: "webhook:zed"})`},
	"Mutation.blockUser":            {`(input: {user: "zed"})`},
	"Mutation.save":                 {`(input: {article: 1})`, `(input: {article: 4, saved: false})`},
	"Mutation.follow":               {`(input: {target: "user:alice"})`, `(input: {target: "group:go"})`},
}

// realTime are the fields with the real time of the store's entries, and the one that tells moderators and services who
// voted.
var realTime = []string{"EventEdge.cursor", "EventConnection.pageInfo", "Event.at", "Event.id", "ModerationEntry.id", "ModerationEdge.cursor", "ModerationConnection.pageInfo", "Event.by", "RateLimitedError.retryAfter",
	"ModerationAction.id", "ActionEdge.cursor", "ActionConnection.pageInfo", "PublicLogEdge.cursor", "PublicLogConnection.pageInfo"}

// fieldQuery asks for one field of the schema, and its own fields without selections.
type fieldQuery struct{ field, query string }

// fieldQueries returns a query for each field that can be reached from a root, through the first way that leads to it.
func fieldQueries(t *testing.T, operation string, root *ast.Definition) (all []fieldQuery) {
	t.Helper()
	schema := graph.Schema()
	ways := map[string]string{root.Name: operation + " { %s }"}
	queue := []*ast.Definition{root}
	for ; len(queue) > 0; queue = queue[1:] {
		way := ways[queue[0].Name]
		if queue[0].IsAbstractType() {
			for _, possible := range schema.GetPossibleTypes(queue[0]) {
				if ways[possible.Name] == "" {
					ways[possible.Name] = fmt.Sprintf(way, "... on "+possible.Name+" { %s }")
					queue = append(queue, possible)
				}
			}
		}
		for _, field := range queue[0].Fields {
			name := queue[0].Name + "." + field.Name
			if strings.HasPrefix(field.Name, "__") || slices.Contains(realTime, name) {
				continue
			}
			arguments, given := argumentsOf[name]
			for _, a := range field.Arguments {
				if a.Type.NonNull && a.DefaultValue == nil && !given {
					t.Errorf("%s requires %s: add it to argumentsOf", name, a.Name)
				}
			}
			if !given {
				arguments = []string{""}
			}
			child := schema.Types[field.Type.Name()]
			for _, a := range arguments {
				all = append(all, fieldQuery{name, fmt.Sprintf(way, field.Name+a+leaves(child))})
			}
			if !child.IsLeafType() && ways[child.Name] == "" {
				ways[child.Name] = fmt.Sprintf(way, field.Name+arguments[0]+" { %s }")
				queue = append(queue, child)
			}
		}
	}
	return all
}

// leaves selects the fields of a type that have no fields and require no arguments.
func leaves(definition *ast.Definition) string {
	if definition.IsLeafType() {
		return ""
	}
	names := []string{"__typename"}
	for _, field := range definition.Fields {
		required := slices.ContainsFunc(field.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil })
		if graph.Schema().Types[field.Type.Name()].IsLeafType() && !required && !slices.Contains(realTime, definition.Name+"."+field.Name) {
			names = append(names, field.Name)
		}
	}
	return " { " + strings.Join(names, " ") + " }"
}

// votedBy returns a site on which two users voted, in the order of their names.
func votedBy(t *testing.T, first, second string) *sitetest.Site {
	t.Helper()
	rules := site.DefaultRules()
	rules.GroupTop, rules.Milestones = true, []int{2}
	client := redistest.Start(t).Client
	sitetest.New(t, client, rules)
	require.NoError(t, client.HSet(t.Context(), "meta:", "cursor_key", "that of all these sites").Err())
	s := sitetest.New(t, client, rules)
	for i := range 4 {
		s.Ask("dave", `mutation($l: URL) { post(input: {title: "t", link: $l, groups: ["go"]}) { article { id } } }`, "l", fmt.Sprint("https://example.com/", i+1))
		s.Advance(time.Second)
	}
	s.Vote(first, "article:1", "UP")
	s.Vote(second, "article:2", "DOWN")
	s.Vote(second, "article:3", "UP")
	s.Vote("carol", "article:3", "UP")
	s.Advance(time.Hour)
	s.Vote(first, "article:4", "UP")
	s.Vote(second, "article:4", "NONE")
	return s
}

// Two sites that differ only in who voted how answer every field of the schema with the same bytes, to every other caller.
// What moderators and services learn of voters is Event.by alone, and what moderators ask for: Article.voters and User.votesCast.
func TestNoFieldTellsOneUsersVotesToAnother(t *testing.T) {
	t.Parallel()
	here, there := votedBy(t, "alice", "bob"), votedBy(t, "bob", "alice")
	schema := graph.Schema()
	queries := append(fieldQueries(t, "query", schema.Query), fieldQueries(t, "mutation", schema.Mutation)...)
	asked := map[string]bool{}
	for _, caller := range [][]string{{}, {"X-User-ID", "carol"}, {"X-User-ID", "mod", "X-User-Roles", "moderator"}, {"X-User-ID", "bot", "X-User-Roles", "service"}} {
		for _, q := range queries {
			if slices.Contains(caller, "moderator") && (strings.Contains(q.query, " voters ") || strings.Contains(q.query, " votesCast ")) {
				continue
			}
			body := string(require.Value(json.Marshal(map[string]string{"query": q.query}))(t))
			_, a := here.PostJSON(body, caller...)
			_, b := there.PostJSON(body, caller...)
			if a != b {
				t.Errorf("%s, asked by %v: %s\ngot %s\nand %s", q.field, caller, q.query, a, b)
			}
			if strings.Contains(a, "GRAPHQL_") || strings.Contains(a, `"INTERNAL"`) {
				t.Errorf("%s: %s\ngot %s, want an answer", q.field, q.query, a)
			}
			asked[q.field] = true
		}
	}
	for name, definition := range schema.Types {
		for _, field := range definition.Fields {
			field := name + "." + field.Name
			if definition.Kind == ast.Object && definition != schema.Subscription && name != "PostedEdge" && name != "FlaggedChange" && !strings.HasPrefix(name, "__") && !strings.Contains(field, ".__") && !asked[field] && !slices.Contains(realTime, field) {
				t.Errorf("%s was never asked for", field)
			}
		}
	}
	// The sites do differ: the voters themselves see it.
	for _, query := range []string{`{ article(id: 1) { viewerVote } }`, `{ viewerVotes { nodes { id } } }`} {
		if a, b := here.AskText("alice", query), there.AskText("alice", query); a == b {
			t.Errorf("%s of a voter: got %s on both sites", query, a)
		}
	}
}

// Events about a vote do not depend on who cast it, except for the voter.
func TestNoEventTellsOneUsersVotesToAnother(t *testing.T) {
	t.Parallel()
	events := map[string][]string{}
	for _, voters := range [][2]string{{"alice", "bob"}, {"bob", "alice"}} {
		s := votedBy(t, voters[0], voters[1])
		article := leaves(graph.Schema().Types["Article"])
		for _, caller := range []string{"", "carol"} {
			changes := s.Stream(`subscription { articleChanged(ids: [1])`+article+` }`, "X-User-ID", caller)
			s.Vote(voters[1], "article:1", "UP")
			_, data := changes.Next()
			s.Vote(voters[0], "article:1", "NONE")
			_, more := changes.Next()
			s.Vote(voters[1], "article:1", "NONE")
			s.Vote(voters[0], "article:1", "UP")
			changes.Cancel()
			events[caller] = append(events[caller], data+more)
		}
		refused := s.AskText("carol", `subscription { event { node { by } } }`)
		events["feed"] = append(events["feed"], refused)
	}
	for caller, seen := range events {
		if seen[0] != seen[1] || seen[0] == "" {
			t.Errorf("events of %q: got\n%s\nand\n%s", caller, seen[0], seen[1])
		}
	}
}
