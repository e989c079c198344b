package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// spoiled has, for each root field of the schema that can fail, arguments with which it is refused, for an anonymous
// caller. A new field has to be added here, or to those that are never refused.
var spoiled = map[string]string{
	"Query.articles":           `(page: 0)`,
	"Query.articlesConnection": `(first: 0)`,
	"Query.article":            `(id: "x")`,
	"Query.articleByLink":      `(link: "x")`,
	"Query.group":              `(name: "a b")`,
	"Query.groups":             `(after: "x")`,
	"Query.user":               `(name: "")`,
	"Query.host":               `(name: "a b")`,
	"Query.node":               `(id: "x")`,
	"Query.nodes":              `(ids: ["x"])`,
	"Query.moderationLog":      ``,
	"Query.ranking":            `(first: 0)`,
	"Query.viewerVotes":        `(first: 0)`,
	"Query.events":             ``,
	"Mutation.post":            `(input: {title: ""})`,
	"Mutation.vote":            `(input: {article: "x"})`,
	"Mutation.regroup":         `(input: {article: "x"})`,
	"Mutation.editArticle":     `(input: {article: "x"})`,
	"Mutation.deleteArticle":   `(input: {article: "x"})`,
	"Mutation.endSessions":     `(input: {name: " "})`,
}

// neverRefused are the root fields that no caller and no argument is refused.
var neverRefused = []string{"Query.frontPage", "Query.site", "Query.viewer", "Query.rateLimit"}

// leaf returns the first leaf of a type, with the fields that lead to it.
func leaf(definition *ast.Definition) string {
	for _, field := range definition.Fields {
		if child := graph.Schema().Types[field.Type.Name()]; child.IsLeafType() && len(field.Arguments) == 0 {
			return field.Name
		}
	}
	for _, field := range definition.Fields {
		if !strings.HasPrefix(field.Name, "__") {
			return field.Name + " { " + leaf(graph.Schema().Types[field.Type.Name()]) + " }"
		}
	}
	return "__typename"
}

// rootField returns a root field with arguments.
func rootField(root *ast.Definition, name, arguments string) string {
	return name + arguments + " { " + leaf(graph.Schema().Types[root.Fields.ForName(name).Type.Name()]) + " }"
}

// A root field that is refused takes nothing from the others. The test goes through all of them.
func TestNoRootFieldIsEmptiedByAnother(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	s.Post("alice", "t")
	witness := map[string]string{"Query": `site { name }`, "Mutation": `witness: vote(input: {article: 1, direction: UP}) { userErrors { code } }`}
	var names []string
	for _, root := range []*ast.Definition{graph.Schema().Query, graph.Schema().Mutation} {
		operation := strings.ToLower(root.Name)
		for _, field := range root.Fields {
			name := root.Name + "." + field.Name
			arguments, refused := spoiled[name]
			if strings.HasPrefix(field.Name, "__") || slices.Contains(neverRefused, name) {
				continue
			}
			names = append(names, name)
			if !refused {
				t.Errorf("%s is a new root field: with which arguments is it refused?", name)
				continue
			}
			if field.Type.NonNull {
				t.Errorf("%s is %s, want it nullable: its refusal would empty the whole answer", name, field.Type)
			}
			query := fmt.Sprintf(`%s { %s %s }`, operation, witness[root.Name], rootField(root, field.Name, arguments))
			a := s.Ask("", query)
			if a.Data["site"] == nil && a.Data["witness"] == nil {
				t.Errorf("%s\n got %v, want the other field", query, a)
			}
			if payload := a.Data[field.Name]; len(a.Errors) == 0 && (root.Name == "Query" || strings.Contains(fmt.Sprint(payload), "[]")) {
				t.Errorf("%s\n got %v, want it refused", query, a)
			}
		}
	}
	for name := range spoiled {
		if !slices.Contains(names, name) {
			t.Errorf("%s is no root field of the schema any more", name)
		}
	}
}

// The errors of several fields are in the order of the document, whichever field is done first.
func TestErrorsOfElementsAreInOrder(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.SharedAnswers = 0 })
	for range 50 {
		a := s.Ask("", `{ b: nodes(ids: ["x", 1, "y"]) { id } a: nodes(ids: ["z"]) { id } c: nodes(ids: ["x"]) { id } }`)
		var paths []string
		for _, err := range a.Errors {
			paths = append(paths, fmt.Sprint(err.Path))
		}
		if got := strings.Join(paths, " "); got != "[b 0] [b 2] [a 0] [c 0]" {
			t.Fatalf("got errors at %s, want the order of the document", got)
		}
	}
}
