package main

import (
	"bytes"
	"os"
	"slices"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
)

// header begins the schema for routers of Apollo Federation. Every subgraph has the interface Node, and may have the type
// PageInfo; the fields node and nodes would lead a router to one of them only.
const header = `# Generated from schema.graphqls by go generate: the schema of a site as a subgraph of Apollo Federation 2.
extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable"])

`

// entities are the types that other subgraphs can extend.
var entities = []string{"Article", "User", "Group", "Host"}

// writeSubgraph writes the schema for routers.
func writeSubgraph(file string) error {
	text, err := os.ReadFile("schema.graphqls")
	if err != nil {
		return err
	}
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(text)})
	if err != nil {
		return err
	}
	schema.Description = "" // of the schema definition, which is left out
	schema.SchemaDirectives = nil
	schema.Query.Fields = slices.DeleteFunc(schema.Query.Fields, func(f *ast.FieldDefinition) bool { return f.Name == "node" || f.Name == "nodes" })
	for _, name := range entities {
		mark(schema.Types[name], &ast.Directive{Name: "key", Arguments: ast.ArgumentList{{Name: "fields", Value: &ast.Value{Kind: ast.StringValue, Raw: "id"}}}})
	}
	mark(schema.Types["PageInfo"], &ast.Directive{Name: "shareable"})
	var out bytes.Buffer
	out.WriteString(header)
	formatter.NewFormatter(&out, formatter.WithIndent("  ")).FormatSchema(schema)
	return os.WriteFile(file, out.Bytes(), 0o644) // #nosec G306 -- a part of the repository
}

func mark(d *ast.Definition, directive *ast.Directive) {
	d.Directives = append(d.Directives, directive)
}
