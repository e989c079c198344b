package graph_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/graph"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func TestFaultIsLoggedButNotShown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := sitetest.New(t, server.Client, site.DefaultRules())
	require.NoError(t, server.Client.Set(t.Context(), "score:", "not a sorted set", 0).Err())
	a := s.Ask("", `{ articles { id } }`)
	if len(a.Errors) != 1 || a.Errors[0].Message != "internal error" || a.Errors[0].Extensions.Code != "INTERNAL" {
		t.Errorf("got %v, want one error INTERNAL", a.Errors)
	}
	if log := s.Log.String(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "WRONGTYPE") || !strings.Contains(log, "path=articles") {
		t.Errorf("got log %q, want one line with the cause and the path", log)
	}
}

func TestUnreadableArticleIsLeftOutOfListings(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := sitetest.New(t, server.Client, site.DefaultRules())
	s.Post("alice", "good")
	s.Post("alice", "bad")
	require.NoError(t, server.Client.HSet(t.Context(), "article:2", "votes", "many").Err())
	s.Want("", `{ articles { id } }`, `{"articles": [{"id": "article:1"}]}`)
	if log := s.Log.String(); !strings.Contains(log, "article=article:2") {
		t.Errorf("got log %q, want the id of the unreadable article", log)
	}
}

func TestRedisOutageIsReportedAndSurvived(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t).Own()
	s := sitetest.New(t, server.Client, site.DefaultRules())
	id := s.Post("alice", "t", "go")
	server.Kill()
	for _, query := range []string{`{ articles { id } }`, `{ article(id: 1) { id } }`, `mutation { vote(input: {article: 1}) { changed userErrors { code } } }`} {
		began := time.Now()
		a := s.Ask("bob", query)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "UNAVAILABLE" || strings.Contains(a.Errors[0].Message, server.Socket()) {
			t.Errorf("%s: got %v, want UNAVAILABLE without the address of Redis", query, a)
		}
		if took := time.Since(began); took > require.Timeout {
			t.Errorf("%s: failed after %v, want at most %v", query, took, require.Timeout)
		}
	}
	server.Restart()
	s.Vote("bob", id, "UP") // the scripts are not loaded in the new server
	s.Want("bob", `{ articles { votes viewerVote } group(name: "go") { articles { id } } }`,
		`{"articles": [{"votes": 2, "viewerVote": "UP"}], "group": {"articles": [{"id": "article:1"}]}}`)
}

// A request whose other calls would fail at once after an outage still repeats a vote whose reply was lost.
func TestVoteAfterALostReplyIsAnswered(t *testing.T) {
	t.Parallel()
	options := *redistest.Start(t).Client.Options()
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	failover.LimitWaiting(client)
	h := new(redistest.LostReply)
	client.AddHook(h)
	s := sitetest.New(t, client, site.DefaultRules())
	id := s.Post("alice", "Title")
	s.Vote("warm", id, "UP")
	h.Armed.Store(true)
	s.Want("bob", `mutation($id: ID!) { vote(input: {article: $id}) { article { votes viewerVote } userErrors { code } } }`,
		`{"vote":{"article":{"votes":3,"viewerVote":"UP"},"userErrors":[]}}`, "id", id)
	if h.Armed.Load() {
		t.Error("no reply was lost")
	}
}

// malformed are values in JSON, which GraphQL reads as well, that most arguments or all cannot have.
var malformed = []string{
	`""`, `" "`, `"x"`, `"\u0000"`, `"１"`, `"article:0"`, `"2147483648"`, `0`, `-1`, `1.5`, `2147483648`, `9007199254740993`, `99999999999999999999`, `1e400`, `true`, `[]`, `[[]]`, `[null]`, `{}`,
	`"` + strings.Repeat("x", 3000) + `"`,
}

// inputSlot is a place in the arguments of a field for a value: of a scalar or an enum, or of any type with a default.
type inputSlot struct {
	name     string // such as Query.articles.page or VoteInput.direction
	field    string // whose argument it is, or is in
	of       *ast.Type
	fallback *ast.Value // the default; nil if it has none
	write    func(value string) string
}

// required are values of arguments and input fields beside a slot.
var required = map[string]string{
	"ID": `"1"`, "String": `"go"`, "URL": `"https://example.com/1"`, "Int": `1`, "DateTime": `"2026-01-01T00:00:00.000Z"`, "SettleAct": `DISMISS`, "ReportReason": `SPAM`, "Boolean": `true`,
	"PostInput": `{title: "t"}`, "VoteInput": `{article: 1}`, "RegroupInput": `{article: 1}`, "EditArticleInput": `{article: 1}`, "DeleteArticleInput": `{article: 99}`,
	"EndSessionsInput": `{name: "go"}`, "RestoreArticleInput": `{article: 1}`, "FlagInput": `{target: 1, reason: SPAM}`,
	"NoticeInput": `{locations: ["1"], explanation: "why it is illegal here", goodFaith: true}`, "SettleFlagsInput": `{target: 1, throughReport: "report:1.1", act: DISMISS}`,
	"DescribeGroupInput": `{group: "go"}`, "DenyUserInput": `{user: "go", reason: "x"}`, "DenyHostInput": `{host: "go.dev", reason: "x"}`, "BlockUserInput": `{user: "go"}`,
	"SaveInput": `{article: 1}`, "FollowInput": `{target: "group:go"}`, "EraseViewerInput": `{confirm: "x"}`, "AddWebhookInput": `{url: "https://x"}`,
	"ChangeWebhookInput": `{webhook: "x"}`, "RemoveWebhookInput": `{webhook: "x"}`, "VoidVotesInput": `{article: 1, users: ["go"], reason: "x"}`,
}

// slotsOf returns the places in a value.
func slotsOf(name string, of *ast.Type, fallback *ast.Value) (slots []inputSlot) {
	definition := graph.Schema().Types[of.Name()]
	if definition.Kind != ast.InputObject || fallback != nil {
		slots = append(slots, inputSlot{name, "", of, fallback, func(value string) string { return value }})
	}
	if definition.Kind != ast.InputObject {
		return slots
	}
	for _, field := range definition.Fields {
		others := ""
		for _, other := range definition.Fields {
			if other != field && other.Type.NonNull && other.DefaultValue == nil {
				others += other.Name + ": " + required[other.Type.Name()] + " "
			}
		}
		for _, inner := range slotsOf(definition.Name+"."+field.Name, field.Type, field.DefaultValue) {
			write := inner.write
			inner.write = func(value string) string { return "{" + others + field.Name + ": " + write(value) + "}" }
			slots = append(slots, inner)
		}
	}
	return slots
}

// argumentSlots returns a document for each place of a value in the arguments of fields that can be reached from a root.
// A document has %s for the definition of a variable, and a slot for the value.
func argumentSlots(operation string, root *ast.Definition) (all []inputSlot) {
	ways, queue := map[string]string{root.Name: "{ ~ }"}, []*ast.Definition{root}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, field := range queue[0].Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			child, given := graph.Schema().Types[field.Type.Name()], ""
			selection := ""
			if !child.IsLeafType() {
				selection = " { __typename }"
			}
			for _, a := range field.Arguments {
				others := ""
				for _, other := range field.Arguments {
					if other != a && other.Type.NonNull && other.DefaultValue == nil {
						others += other.Name + ": " + required[other.Type.Name()] + " "
					}
				}
				if a.Type.NonNull && a.DefaultValue == nil {
					given += a.Name + ": " + required[a.Type.Name()] + " "
				}
				way := ways[queue[0].Name]
				for _, s := range slotsOf(queue[0].Name+"."+field.Name+"."+a.Name, a.Type, a.DefaultValue) {
					write := s.write
					s.field = field.Name
					s.write = func(value string) string {
						return operation + "%s " + strings.Replace(way, "~", field.Name+"("+others+a.Name+": "+write(value)+")"+selection, 1)
					}
					all = append(all, s)
				}
			}
			if given != "" {
				given = "(" + given + ")"
			}
			for _, possible := range graph.Schema().GetPossibleTypes(child) {
				if ways[possible.Name] == "" {
					ways[possible.Name] = strings.Replace(ways[queue[0].Name], "~", field.Name+given+" { ... on "+possible.Name+" { ~ } }", 1)
					queue = append(queue, possible)
				}
			}
		}
	}
	return all
}

// Whatever an argument or a field of an input is, as a literal or as a variable, the caller learns that it is malformed,
// and the log has no error, which would alarm the operator. A malformed time is refused at the path of its field.
func TestNoMalformedArgumentIsAnInternalError(t *testing.T) {
	t.Parallel()
	rules := site.DefaultRules()
	rules.GroupTop = true
	s := sitetest.New(t, redistest.Start(t).Client, rules)
	s.Post("mod", "t", "go")
	schema, asked := graph.Schema(), 0
	for operation, root := range map[string]*ast.Definition{"query": schema.Query, "mutation": schema.Mutation} {
		for _, slot := range argumentSlots(operation, root) {
			isTime := slot.of.Name() == "DateTime"
			values := malformed
			if isTime {
				for text := range notDateTimes {
					values = append(values, string(require.Value(json.Marshal(text))(t)))
				}
			}
			for _, value := range values {
				literal, variables := fmt.Sprintf(slot.write(value), ""), "{}"
				for range 2 {
					body := fmt.Sprintf(`{"query": %s, "variables": %s}`, require.Value(json.Marshal(literal))(t), variables)
					_, answer := s.PostJSON(body, "X-User-ID", "mod", "X-User-Roles", "moderator")
					asked++
					refused := strings.Contains(answer, `"path":["`) && strings.Contains(answer, `"BAD_USER_INPUT"`) || strings.Contains(answer, `"GRAPHQL_VALIDATION_FAILED"`)
					argument := slot.name[strings.LastIndex(slot.name, ".")+1:]
					if strings.Contains(answer, `"`+argument+`"],"locations"`) && argument != slot.field || strings.Contains(answer, `"input"`) && strings.Contains(answer, `"path"`) {
						t.Errorf("%.300s\ngot %.300s, want a path of fields alone", body, answer)
					}
					if strings.Contains(answer, `"INTERNAL"`) || isTime && operation == "query" && !refused {
						t.Errorf("%.300s\ngot %.300s", body, answer)
					}
					literal, variables = fmt.Sprintf(slot.write("$v"), "($v: "+slot.of.String()+")"), `{"v": `+value+`}`
				}
			}
		}
	}
	for _, slot := range argumentSlots("subscription", schema.Subscription) {
		for _, value := range malformed {
			stream := s.Stream(fmt.Sprintf(slot.write(value), ""), "X-User-ID", "mod", "X-User-Roles", "moderator")
			asked++
			if first, _ := stream.Body.Peek(1); string(first) == ":" {
				stream.Cancel() // the value was accepted
			} else if answer := string(require.Value(io.ReadAll(stream.Body))(t)); strings.Contains(answer, `"INTERNAL"`) {
				t.Errorf("%s of a subscription: got %.300s", value, answer)
			}
		}
	}
	if _, fault, logged := strings.Cut(s.Log.String(), "level=ERROR"); logged || asked < 1000 {
		t.Errorf("%d malformed arguments; the log has %.500s", asked, fault)
	}
}
