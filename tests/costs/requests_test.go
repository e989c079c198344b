package costs_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/tests/require"
)

// arguments are those that make a field cost the most, by the name of the field and of the argument, or of the argument alone.
// SIZE stands for the maximum size of a page, and N for another number each time.
var arguments = map[string]string{
	"first": "SIZE", "last": "", "after": "", "before": "", "pageSize": "SIZE", "page": "9", "order": "", "direction": "", "unvotedOnly": "true",
	"id": `"article:NEWEST"`, "ids": "IDS", "link": `"https://host1.example.org/1"`, "prefix": "", "contains": `"roup"`, "orderBy": "ARTICLE_COUNT",
	"group.name": `"all"`, "user.name": `"mod"`, "host.name": `"host1.example.org"`,
	"target": "", "days": "30", "missingReason": "", "kinds": "[MILESTONE]", "kind": "", "at": `"NOW"`, "ended": "true",
	"by": "{formula: HALF_LIFE, halfLife: N}", "span": "", "postedAfter": "", "postedBefore": "",
	"reference": `"ABCD"`, "secret": "", "rank": "1000", "hours": "720",
	"viewerExport.after": "", "query": `"article"`, "filter": "", "title": `"article of the site"`,
}

// besides are requests that the schema does not tell: other arguments that cost much.
func besides() (all []request) {
	for name, text := range map[string]string{
		"ranking of no group":        `{ group(name: "nosuchN") { ranking(first: 1) { totalCount } } }`,
		"ranking by TOP of no group": `{ group(name: "nosuchN") { ranking(by: {formula: TOP}, first: 1, span: ALL) { nodes { id } } } }`,
		"ranking of a small group":   `{ group(name: "group1") { ranking(by: {formula: GRAVITY, gravity: 0.N}, first: 100) { nodes { id } } } }`,
		"ranking by GRAVITY":         `{ ranking(by: {formula: GRAVITY, gravity: 1.N}, first: 100) { nodes { id } } }`,
		"ranking by LINEAR":          `{ ranking(by: {formula: LINEAR, voteScore: N}, first: 100) { nodes { id } } }`,
		"ranking by TOP":             `{ ranking(by: {formula: TOP}, first: 100, postedAfter: "2001-01-01T00:00:00.000Z") { nodes { id } } }`,
		"counts of rankings":         `{ ranking(first: 1) { totalCount } }`,
		"groups by size":             `{ groups(prefix: "group1", orderBy: ARTICLE_COUNT, first: 1) { nodes { name } } }`,
		"events of long ago":         `{ events(first: 1, kinds: [DELETED]) { edges { cursor } } }`,
		"15 aliases of voters":       "{ article(id: NEWEST) {" + repeated(`aI: voters(first: 1) { nodes { id } } `, 15) + "} }",
		"15 aliases of rankings":     "{ " + repeated(`aI: group(name: "nosuchI") { ranking(first: 1) { totalCount } } `, 15) + "}",
		"introspection":              "query QN { __schema { types { name description fields { name description args { name type { name ofType { name } } } type { name ofType { name ofType { name } } } } } } }",
		"a document of 1,400 tokens": "query QN { " + repeated("articles { ...f } ", 1) + "} fragment f on Article { " + strings.Repeat("id title ", 200) + "}",
		"an unknown field":           "{ articlesN { id } }",
	} {
		all = append(all, request{name: name, query: query{Query: text}, user: "mod", roles: "moderator"})
	}
	return all
}

func repeated(text string, n int) (all string) {
	for i := range n {
		all += strings.ReplaceAll(text, "I", fmt.Sprint(i))
	}
	return all
}

// fields returns a query for each field of the schema that has arguments or fields of its own, up to four below the root, and for
// all other fields beside each other.
func fields(t testing.TB) (all []request) {
	t.Helper()
	text := require.Value(os.ReadFile("../../schema.graphqls"))(t)
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: string(text)})
	var add func(path []string, of *ast.Definition, open, closed string, seen []string)
	add = func(path []string, of *ast.Definition, open, closed string, seen []string) {
		var leaves []string
		for _, f := range of.Fields {
			definition := schema.Types[f.Type.Name()]
			if definition.IsLeafType() && len(f.Arguments) == 0 && !strings.HasPrefix(f.Name, "__") {
				leaves = append(leaves, f.Name)
			}
		}
		if len(path) > 0 {
			if leaves == nil {
				leaves = []string{"__typename"}
			}
			all = append(all, request{name: strings.Join(path, "."), query: query{Query: open + strings.Join(leaves, " ") + closed}, user: "mod", roles: "moderator"})
		}
		if len(path) == 4 {
			return
		}
		for _, f := range of.Fields {
			definition := schema.Types[f.Type.Name()]
			if strings.HasPrefix(f.Name, "__") || slices.Contains(seen, definition.Name) || f.Name == "nodes" && len(path) > 0 && f.Type.Elem != nil && of.Fields.ForName("edges") != nil {
				continue // what edges have
			}
			next := append(slices.Clone(path), f.Name)
			asked := f.Name + given(t, of, f)
			switch {
			case !definition.IsLeafType():
				add(next, definition, open+asked+" { ", " }"+closed, append(slices.Clone(seen), definition.Name))
			case len(f.Arguments) > 0:
				all = append(all, request{name: strings.Join(next, "."), query: query{Query: open + asked + closed}, user: "mod", roles: "moderator"})
			}
		}
	}
	add(nil, schema.Query, "{ ", " }", nil)
	return all
}

// given returns the arguments of a field. It fails for one that arguments lacks.
func given(t testing.TB, of *ast.Definition, f *ast.FieldDefinition) string {
	t.Helper()
	var all []string
	for _, a := range f.Arguments {
		value, known := arguments[f.Name+"."+a.Name]
		if !known {
			value, known = arguments[a.Name]
		}
		if !known {
			t.Errorf("%s.%s has an argument %s that this test does not know: add its most costly value to arguments", of.Name, f.Name, a.Name)
		}
		if value != "" {
			all = append(all, a.Name+": "+value)
		}
	}
	if all == nil {
		return ""
	}
	return "(" + strings.Join(all, ", ") + ")"
}

var pattern = regexp.MustCompile(`"((?:GET )?/[^"]*)"`)

// pages returns a request for each path that the source of the pages and of the feeds names.
func pages(t testing.TB) (all []request) {
	t.Helper()
	values := strings.NewReplacer("GET ", "", "{$}", "", "{group}", "all", "{user}", "mod", "{host}", "host1.example.org", "{number}", "NEWEST", "{span}", "all",
		"{day}", time.Now().UTC().Format(time.DateOnly), "{part}", "1.xml")
	seen := map[string]bool{"/embed/vote.js": true, "/embed/window.js": true, "/embed/votes": true, "/embed/vote": true} // without origins
	for _, file := range []string{"site/pages/kinds.go", "site/pages/pages.go", "site/feeds/feeds.go"} {
		text := string(require.Value(os.ReadFile("../../" + file))(t))
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			path := values.Replace(found[1])
			if file == "site/feeds/feeds.go" && !strings.Contains(path, ".") {
				path = strings.TrimSuffix(path, "/") + "/feed.atom"
			}
			if !seen[path] && !strings.ContainsAny(path, "{%") {
				seen[path] = true
				all = append(all, request{name: path, path: path + "?x=N"})
			}
		}
	}
	for _, path := range []string{"/nope", "/a/x", "/a/2000000000", "/u/unknown", "/g/nosuch", "/g/nosuch/top/all", "/?after=x"} {
		all = append(all, request{name: path, path: path})
	}
	return all
}

// at fills in what a request leaves open, for the n-th time.
func (r request) at(n, size int) request {
	var ids []string
	for i := range size {
		ids = append(ids, fmt.Sprintf(`"article:%d"`, *articles-i))
	}
	fill := strings.NewReplacer("SIZE", fmt.Sprint(size), "IDS", "["+strings.Join(ids, ", ")+"]", "NEWEST", fmt.Sprint(*articles),
		"NOW", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "0.N", fmt.Sprint("0.", 10000+n), "1.N", fmt.Sprint("1.", 10000+n), "QN", fmt.Sprint("Q", n),
		"N}", fmt.Sprint(1_000_000+n, "}"), `suchN`, fmt.Sprint("such", n), "articlesN", fmt.Sprint("articles", n), "x=N", fmt.Sprint("x=", n))
	r.path, r.Query = fill.Replace(r.path), fill.Replace(r.Query)
	return r
}
