package endpoint_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// every selects all fields of an article.
const every = `id number title link text poster { id name } createdAt score votes upvotes downvotes isInteresting groups { id name articleCount } votingEndsAt viewerVote viewerCanVote `

func aliases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d: __typename", i)
	}
	return b.String()
}

// leaves returns n fields of an article, each about as often as another one.
func leaves(n int) string {
	names := strings.Fields("id number title link createdAt score votes upvotes downvotes isInteresting votingEndsAt viewerVote viewerCanVote revision editedAt")
	var b strings.Builder
	for i := range n {
		b.WriteString(" " + names[i%len(names)])
	}
	return b.String()
}

// Each limit accepts its number and refuses one more, with both numbers in the error.
func TestDocumentOverALimitIsRejected(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	small := sitetest.Open(t, func(o *endpoint.Options) {
		o.Limits = endpoint.Limits{Tokens: 20, Depth: 2, Aliases: 1, RootFields: 2, Directives: 1, Fields: 4, Cost: 10, PageSize: 25}
	})
	skip := strings.Repeat(` ...@skip(if: false) { __typename }`, 20)
	for _, tt := range []struct {
		s              *sitetest.Site
		query          string
		code           string // empty: accepted
		asked, allowed int
	}{
		{s, `{` + aliases(15) + ` }`, "", 0, 0},
		{s, `{` + aliases(16) + ` }`, "ALIAS_LIMIT_EXCEEDED", 16, 15},
		{s, `{` + strings.Repeat(" __typename", 20) + ` }`, "", 0, 0},
		{s, `{` + strings.Repeat(" __typename", 21) + ` }`, "ROOT_FIELD_LIMIT_EXCEEDED", 21, 20},
		{s, `{ article(id: 1) { id ...f } } fragment f on Article {` + leaves(498) + ` }`, "", 0, 0},
		{s, `{ article(id: 1) { id ...f } } fragment f on Article {` + leaves(499) + ` }`, "FIELD_LIMIT_EXCEEDED", 501, 500},
		{s, `{` + skip + ` }`, "", 0, 0},
		{s, `{` + skip[:len(skip)-len(`{ __typename }`)] + `@include(if: true) { __typename } }`, "DIRECTIVE_LIMIT_EXCEEDED", 21, 20},
		{s, deep("id"), "", 0, 0},
		{s, deep("poster { id }"), "DEPTH_LIMIT_EXCEEDED", 13, 12},
		{s, `{` + strings.Repeat(" __typename", 1499) + ` }`, "TOKEN_LIMIT_EXCEEDED", 1501, 1500},
		{s, `{ articles(pageSize: 100) { ` + every + `} }`, "", 0, 0},
		{s, `{ a: articlesConnection(first: 25) { nodes { ` + every + `} } b: articlesConnection(first: 25, order: TIME) { edges { cursor node { ` + every + `} } pageInfo { hasNextPage endCursor } totalCount } }`, "", 0, 0},
		{s, `{ articlesConnection(first: 100) { edges { cursor node { ` + every + `} } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount } }`, "", 0, 0},
		{s, `{ groups(first: 100) { nodes { name articleCount articles { id title } } } }`, "", 0, 0},
		{s, `{ articles { groups { articles { id } } } }`, "COMPLEXITY_LIMIT_EXCEEDED", 25 * (1 + 10*(1+25*2)), 10_000},
		{s, `{ articles(pageSize: 10) { groups { articles(pageSize: 5) { id } } } }`, "", 0, 0},
		{s, `{ articlesConnection(last: 100, before: "x") { nodes { groups { articlesConnection(first: 100) { totalCount } } } } }`, "COMPLEXITY_LIMIT_EXCEEDED", 100 * (1 + 1 + 10*(1+100*2)), 10_000},
		{small, `{ viewer { id } }`, "", 0, 0},
		{small, `{ article(id: 1) { poster { id } } }`, "DEPTH_LIMIT_EXCEEDED", 3, 2},
		{small, `{ articles(pageSize: 4) { id } }`, "", 0, 0},
		{small, `{ articles(pageSize: 6) { id } }`, "COMPLEXITY_LIMIT_EXCEEDED", 12, 10},
		{small, `{ articles(pageSize: -100) { id } }`, "BAD_USER_INPUT", 0, 0},
		{small, `{ nodes(ids: ["a", "b", "c", "d", "e", "f"]) { id } }`, "COMPLEXITY_LIMIT_EXCEEDED", 12, 10},
		{small, `{ groups { totalCount } }`, "COMPLEXITY_LIMIT_EXCEEDED", 50, 10},
		{small, `{ user(name: "a") { articlesConnection(first: 6) { totalCount } } }`, "DEPTH_LIMIT_EXCEEDED", 3, 2},
	} {
		a := tt.s.Ask("alice", tt.query)
		if tt.code == "" {
			for _, e := range a.Errors {
				if e.Extensions.Code != "BAD_USER_INPUT" {
					t.Errorf("%.100s: got %v, want it to be accepted", tt.query, e)
				}
			}
			continue
		}
		if len(a.Errors) != 1 {
			t.Errorf("%.100s: got %d errors, want 1: %.300v", tt.query, len(a.Errors), a.Errors)
			continue
		}
		e := a.Errors[0]
		if e.Extensions.Code != tt.code || e.Extensions.Asked != tt.asked || e.Extensions.Allowed != tt.allowed {
			t.Errorf("%.100s: got %+v, want %s, %d of %d", tt.query, e, tt.code, tt.asked, tt.allowed)
		}
		if numbers := fmt.Sprintf("%d", tt.asked); tt.asked > 0 && (!strings.Contains(e.Message, numbers) || !strings.Contains(e.Message, fmt.Sprint(tt.allowed))) {
			t.Errorf("%.100s: got %q, want it to say what was asked and what is allowed", tt.query, e.Message)
		}
	}
}

// A response has at most endpoint.PointBytes for each point of its cost, though its values and aliases are the longest
// ones, and a short request cannot make a long one.
func TestResponseSizeIsBoundedByItsCost(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules(), pointsOf(1_000_000_000))
	poster := strings.Repeat("\U0001F600", 64)
	var groups []string
	for i := range site.MaxGroups {
		groups = append(groups, strings.Repeat("\U00010428", 63)+string(rune('a'+i)))
	}
	repo := require.Value(redisrepo.New(t.Context(), client, site.DefaultRules()))(t)
	for i := range 100 {
		text, link := strings.Repeat("\U0001F600", 10_000), fmt.Sprintf("http://example.org/%04d?", i)
		link += strings.Repeat(`"`, 2_000-len(link))
		d := site.Draft{Title: strings.Repeat("\U0001F600", 200), Text: &text, Link: &link, Groups: groups}
		require.Value(repo.Post(t.Context(), site.UserName(poster), d))(t)
	}
	alias := func(i int) string { return strings.Repeat("a", 98) + fmt.Sprintf("%02d: ", i) }
	many := func(field string) string {
		text := ""
		for i := range 15 {
			text += alias(i) + field + " "
		}
		return text
	}
	bad := strings.Repeat("\U000E0001", 40)
	for _, query := range []string{
		`articles(pageSize: 100) { ` + every + `}`,
		`articles(pageSize: 20) { ` + many("text") + `}`,
		`articles(pageSize: 100) { ` + many("link") + `}`,
		`articles(pageSize: 100) { ` + many("title") + `}`,
		`articles(pageSize: 100) { poster { ` + many("id") + `} groups { id name } }`,
		`articlesConnection(first: 100) { edges { ` + many("cursor") + `} }`,
		`groups(first: 100) { edges { cursor node { ` + many("id") + `} } }`,
	} {
		res, body := s.Get(`{ rateLimit { cost } ` + query + ` }`)
		var a struct {
			Data struct{ RateLimit struct{ Cost int } }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &a))
		if cost := a.Data.RateLimit.Cost; res.StatusCode != 200 || strings.Contains(body, `"errors"`) || cost == 0 || len(body) > cost*endpoint.PointBytes {
			t.Errorf("%.60s: got %d, %d bytes and a cost of %d, want at most %d bytes for each point: %.200s", query, res.StatusCode, len(body), cost, endpoint.PointBytes, body)
		}
	}
	for _, query := range []string{
		`mutation($names: [String!]!) { ` + many(`post(input: {title: "", text: "x", groups: $names}) { userErrors { code message field } }`) + `}`,
		`mutation($names: [String!]!) { ` + many(`regroup(input: {article: 1, add: $names, remove: $names}) { userErrors { code message field } }`) + `}`,
		`mutation($hundred: [String!]!) { ` + many(`regroup(input: {article: 1, add: $hundred, remove: $hundred}) { userErrors { code message field } }`) + `}`,
	} {
		var list []string
		for range 500 {
			list = append(list, bad)
		}
		if body := s.AskText("alice", query, "names", list, "hundred", list[:100]); len(body) > 15*20*1_000 || sitetest.CodeOf(t, body) == "INTERNAL" {
			t.Errorf("%.60s: got %d bytes, want at most 20 user errors in each payload: %.300s", query, len(body), body)
		}
	}
	long := strings.Repeat("a", 101)
	if a := s.Ask("", `{ articles { `+long+`: id } }`); len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "ALIAS_LIMIT_EXCEEDED" || a.Errors[0].Extensions.Asked != 101 {
		t.Errorf("an alias of 101 bytes: got %v, want ALIAS_LIMIT_EXCEEDED", a.Errors)
	}
	// The store may hold longer values than Frontpage writes.
	client.HSet(t.Context(), "article:1", "title", strings.Repeat("x", 3_000))
	small := sitetest.New(t, client, site.DefaultRules(), func(o *endpoint.Options) { o.Limits.Cost = 2 })
	if a := small.Ask("", `{ article(id: 1) { title } }`); a.Data != nil && a.Data["article"] == nil || len(a.Errors) > 0 {
		t.Errorf("a title of 3,000 bytes: got %v, want it", a)
	}
	client.HSet(t.Context(), "article:1", "title", strings.Repeat("x", 5_000))
	if a := small.Ask("", `{ article(id: 1) { title } }`); len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "RESPONSE_LIMIT_EXCEEDED" || a.Data["article"] != nil {
		t.Errorf("a title of 5,000 bytes: got %v, want RESPONSE_LIMIT_EXCEEDED", a)
	}
}

// deep returns a query of twelve levels. last is the selection at the twelfth.
func deep(last string) string {
	const pair = `articlesConnection(first: 1) { edges { node { `
	return `{ ` + pair + `poster { ` + pair + `poster { ` + pair + last + strings.Repeat(` }`, 12)
}

func TestIntrospectionHasItsOwnLimits(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	if a := s.Ask("", standardIntrospection); len(a.Errors) > 0 || a.Data["__schema"] == nil {
		t.Errorf("the standard introspection query: got %v, want no errors", a.Errors)
	}
	a := s.Ask("", `{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }`)
	if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "INTROSPECTION_DEPTH_LIMIT_EXCEEDED" || a.Errors[0].Extensions.Allowed != 2 {
		t.Errorf("types within types: got %v, want INTROSPECTION_DEPTH_LIMIT_EXCEEDED", a.Errors)
	}
}

func TestDisabledIntrospectionRevealsNoNames(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Introspection = false })
	for _, query := range []string{standardIntrospection, `{ __type(name: "Article") { name } }`, `{ viewer { id } ... { __schema { queryType { name } } } }`} {
		a := s.Ask("", query)
		if len(a.Errors) == 0 || a.Errors[0].Extensions.Code != "INTROSPECTION_DISABLED" || a.Data != nil {
			t.Errorf("%.50s: got %v, want INTROSPECTION_DISABLED", query, a)
		}
	}
	for query, hidden := range map[string]string{
		`{ article { id } }`:                                            "did you mean",
		`{ articlez { id } }`:                                           "articles",
		`{ articles { idd } }`:                                          "number",
		`{ articles(pag: 1) { id } }`:                                   "pageSize",
		`{ articles(order: SCOR) { id } }`:                              "TIME",
		`{ articles }`:                                                  "title",
		`query($o: ArticleOrde) { articles { id } }`:                    "ArticleOrder",
		`{ articles { id ... on Articl { id } } }`:                      "Article,",
		`{ articles { ... on Use { id } } }`:                            "User",
		`mutation { vote(input: {articl: 1, article: 1}) { changed } }`: "direction",
		`mutation { vot(input: {}) { changed } }`:                       "regroup",
		`{ articles @skp { id } }`:                                      "@include",
	} {
		body := s.AskText("", query)
		if sitetest.CodeOf(t, body) != "GRAPHQL_VALIDATION_FAILED" || strings.Contains(body, hidden) || strings.Contains(strings.ToLower(body), "did you mean") {
			t.Errorf("%s: got %s, want GRAPHQL_VALIDATION_FAILED without %q", query, body, hidden)
		}
	}
	s.Want("", `{ __typename }`, `{"__typename": "Query"}`)
}

// Without introspection no error about a document or its variables has a name of the schema that is not in the
// document. There is one document for each rule of the validator, and one for each way in which variables fail.
func TestErrorsTellNoNameThatWasNotSent(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Introspection = false })
	names := map[string]bool{}
	for _, d := range graph.Schema().Types {
		names[d.Name] = true
		for _, f := range d.Fields {
			names[f.Name] = true
			for _, a := range f.Arguments {
				names[a.Name] = true
			}
		}
		for _, v := range d.EnumValues {
			names[v.Name] = true
		}
	}
	word := regexp.MustCompile(`[_A-Za-z][_0-9A-Za-z]*`)
	inQuotes := regexp.MustCompile(`"[^"]*"`)
	for query, variables := range map[string]any{
		`{ article { id } }`:                                                                         nil,
		`mutation { post(input: {}) { changed } }`:                                                   nil,
		`mutation { vote(input: {article: 1, direction: X}) { changed } }`:                           nil,
		`mutation { vote(input: {article: null}) { changed } }`:                                      nil,
		`mutation { vote(input: {article: 1, article: 2, x: 3}) { changed } }`:                       nil,
		`mutation { vote(input: 5) { changed } }`:                                                    nil,
		`mutation { vote(input: {article: {}}) { changed } }`:                                        nil,
		`{ articles(order: X) { id } }`:                                                              nil,
		`{ articles(order: "X") { id } }`:                                                            nil,
		`{ articles(order: 5) { id } }`:                                                              nil,
		`{ articles(order: {}) { id } }`:                                                             nil,
		`{ articles }`:                                                                               nil,
		`{ articles { id { x } } }`:                                                                  nil,
		`{ articles(page: "x", pageSize: 1.5) { id } }`:                                              nil,
		`{ articles(pag: 1) { id } }`:                                                                nil,
		`{ articlez { id } }`:                                                                        nil,
		`{ articles { titel } }`:                                                                     nil,
		`{ nodes(ids: [{a: 1}]) { id } }`:                                                            nil,
		`{ nodes(ids: 1.5) { id titel } }`:                                                           nil,
		`{ user(name: 5) { id } group(name: true) { id } }`:                                          nil,
		`{ articles { ... on User { id } ...f } } fragment f on User { id }`:                         nil,
		`{ node(id: 1) { ... on PageInfo { hasNextPage } } }`:                                        nil,
		`{ ...f } fragment f on Articl { id }`:                                                       nil,
		`{ ...f } fragment f on URL { id }`:                                                          nil,
		`{ ...f } fragment f on Query { ...f }`:                                                      nil,
		`{ ...g viewer { id } } fragment f on Query { viewer { id } } fragment f on User { id }`:     nil,
		`{ viewer { id } } { viewer { id } } query a { viewer { id } } query a { viewer { id } }`:    nil,
		`{ viewer @x { id } user(name: "a", name: "b") @skip { id @skip(if: 1) @skip(iff: true) } }`: nil,
		`query @skip(if: true) { viewer { id } }`:                                                    nil,
		`{ viewer { a: id a: name } }`:                                                               nil,
		`query($a: Int, $a: Int, $b: Article, $c: Nothing) { articles(page: $a, order: $d) { id } }`: nil,
		`query($a: Int) { article(id: $a) { id } articles(page: $a) { id } }`:                        nil,
		`subscription { articlePosted { node { id } } articleChanged(ids: [1]) { id } __typename }`:  nil,
		`subscription { articleChanged { id } }`:                                                     nil,
		`{ viewer { id }`:                                                                            nil,
		`query($v: PostInput!) { __typename @skip(if: $v) }`:                                         map[string]any{"v": 1},
		`mutation($v: PostInput!) { post(input: $v) { __typename } }`:                                map[string]any{"v": map[string]any{}},
		`mutation($v:PostInput!) { post(input: $v) { __typename } }`:                                 map[string]any{"v": map[string]any{"a": 1}},
		`mutation($v :PostInput!) { post(input: $v) { __typename } }`:                                map[string]any{"v": map[string]any{"title": nil}},
		`mutation($v : PostInput!) { post(input: $v) { __typename } }`:                               map[string]any{"v": map[string]any{"title": 5, "groups": 5}},
		`mutation($v : PostInput! ) { post(input: $v) { __typename } }`:                              map[string]any{"v": []any{5}},
		`mutation($v: VoteInput!) { vote(input: $v) { __typename } }`:                                map[string]any{"v": map[string]any{"article": 1, "direction": "X"}},
		`mutation($v:VoteInput!) { vote(input: $v) { __typename } }`:                                 map[string]any{"v": map[string]any{"article": map[string]any{}}},
		`query($v: ArticleOrder!) { articles(order: $v) { id } }`:                                    map[string]any{"v": "X"},
		`query($v:ArticleOrder!) { articles(order: $v) { id } }`:                                     map[string]any{"v": 5},
		`query($v: Int!) { articles(page: $v) { id } }`:                                              map[string]any{},
		`query($v:Int!) { articles(page: $v) { id } }`:                                               map[string]any{"v": "x"},
	} {
		res, body := s.PostJSON(fmt.Sprintf(`{"query":%s,"variables":%s}`, require.Value(json.Marshal(query))(t), require.Value(json.Marshal(variables))(t)), "X-User-ID", "alice")
		var a sitetest.Answer
		if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Errors) == 0 || a.Data != nil {
			t.Errorf("%s: got %d %s, want it refused", query, res.StatusCode, body)
		}
		sent := map[string]bool{}
		for _, w := range word.FindAllString(query, -1) {
			sent[w] = true
		}
		for _, e := range a.Errors {
			texts := inQuotes.FindAllString(e.Message, -1)
			for _, step := range e.Path {
				texts = append(texts, fmt.Sprint(step))
			}
			for _, w := range word.FindAllString(e.Message, -1) {
				if d := graph.Schema().Types[w]; d != nil && !d.BuiltIn {
					texts = append(texts, w)
				}
			}
			for _, w := range word.FindAllString(strings.Join(texts, " "), -1) {
				if names[w] && !sent[w] {
					t.Errorf("%s: got %s, want no %s", query, body, w)
				}
			}
		}
	}
}

// Requests like these have crashed or exhausted other GraphQL servers.
func TestMaliciousDocumentsCauseNoServerError(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	s.PostMany("alice", 25, "all")
	// twice makes a chain of fragments that each spread the next one twice: the last is spread 2^levels times.
	twice := func(levels int, on, start, spread, last string) string {
		var b strings.Builder
		fmt.Fprintf(&b, start, "f0")
		for i := range levels {
			next := fmt.Sprint("f", i+1)
			fmt.Fprintf(&b, " fragment f%d on %s { %s }", i, on, strings.ReplaceAll(spread, "NEXT", next))
		}
		fmt.Fprintf(&b, " fragment f%d on %s { %s }", levels, on, last)
		return b.String()
	}
	var fragments strings.Builder
	for i := range 500 {
		fmt.Fprintf(&fragments, " fragment f%d on Query {", i)
		for j := range 39 {
			fmt.Fprintf(&fragments, " ...f%d", (i+j+1)%500)
		}
		fragments.WriteString(" }")
	}
	var pages strings.Builder
	for i := range 100 {
		fmt.Fprintf(&pages, " a%d: articles { id groups { id name } }", i)
	}
	introspection := twice(22, "__Type", `{ __schema { types { ...%s } } }`, `...NEXT ...NEXT`, `name`)
	attacks := map[string]string{
		"750,000 nested selections":              strings.Repeat("{a", 750_000),
		"1,000,000 nested lists":                 "{a(b:" + strings.Repeat("[", 1_000_000),
		"500,000 nested selections, closed":      strings.Repeat("{a", 500_000) + strings.Repeat("}", 500_000),
		"introspection by fragments, 22 levels":  introspection,
		"introspection by fragments, 30 levels":  twice(30, "__Type", `{ __schema { types { ...%s } } }`, `...NEXT ...NEXT`, `name`),
		"types of types by fragments, 30 levels": twice(30, "__Type", `{ __type(name: "Article") { ...%s } }`, `ofType { ...NEXT } ofType { ...NEXT }`, `name`),
		"complexity by fragments, 24 levels":     twice(24, "Query", `{ ...%s }`, `...NEXT ...NEXT`, `viewer { id }`),
		"complexity by fragments, 30 levels":     twice(30, "Query", `{ ...%s }`, `...NEXT ...NEXT`, `viewer { id }`),
		"depth by fragments":                     twice(30, "Group", `{ group(name: "all") { ...%s } }`, `articles { groups { ...NEXT } }`, `name`),
		"circular fragments":                     `{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }`,
		"one field 3,000 times":                  "{" + strings.Repeat("articles{page} ", 3000) + "}",
		"one valid field 3,000 times":            "{" + strings.Repeat("articles{id} ", 3000) + "}",
		"__typename 10,000 times":                "{" + strings.Repeat("__typename ", 10_000) + "}",
		"500 fragments of 39 spreads":            "{ ...f0 }" + fragments.String(),
		"10,000 aliases":                         "{" + aliases(10_000) + " }",
		"10,000 unknown directives":              "{ __typename " + strings.Repeat("@aa ", 10_000) + "}",
		"700 unknown directives":                 "{ __typename " + strings.Repeat("@aa ", 700) + "}",
		"100 aliases of a page with groups":      "{" + pages.String() + " }",
		"types of the schema under 15 aliases":   "{ __schema {" + strings.ReplaceAll(aliases(15), "__typename", "types { name description fields { name description type { fields { name description args { name description } } } } }") + " } }",
		"60,000 comments":                        "{ __typename " + strings.Repeat("#\n", 60_000) + "}",
		"a string of 100,000 characters":         `{ user(name: "` + strings.Repeat("x", 100_000) + `") { id } }`,
		"a block string of 100,000 line ends":    `{ user(name: """` + strings.Repeat("\n", 100_000) + `""") { id } }`,
		"a name of 100,000 characters":           `{ ` + strings.Repeat("x", 100_000) + ` }`,
		"20 pages of 100":                        "{" + strings.ReplaceAll(aliases(15), "__typename", "articles(pageSize: 100) { id title }") + " }",
		"nested lists":                           `{ articles(pageSize: 100) { groups { articles(pageSize: 100) { groups { articles(pageSize: 100) { id } } } } } }`,
		"an empty selection":                     `{}`,
		"only blanks":                            strings.Repeat(" ", 100_000),
		"invalid UTF-8":                          "{ \xff\xfe\x00 }",
	}
	for name, query := range attacks {
		body := require.Value(json.Marshal(map[string]string{"query": query}))(t)
		res, posted := s.PostJSON(string(body))
		got, gotBody := s.Get(query)
		for _, answered := range []struct {
			status int
			body   string
		}{{res.StatusCode, posted}, {got.StatusCode, gotBody}} {
			code := sitetest.CodeOf(t, answered.body)
			if answered.status >= 500 || code == "INTERNAL" || code == "UNAVAILABLE" || len(answered.body) > 2<<20 { // the schema itself takes a tenth of that
				t.Errorf("%s: got %d and %d bytes: %.300s", name, answered.status, len(answered.body), answered.body)
			}
		}
	}
	variables := map[string]string{
		"nested lists":               strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"40,000 strings":             `["` + strings.Repeat(`","`, 40_000) + `"]`,
		"a number of 100,000 digits": strings.Repeat("9", 100_000),
	}
	for name, value := range variables {
		for _, query := range []string{`query($v: [String!]!) { nodes(ids: []) { id } __typename @skip(if: false) }`,
			`mutation($v: [String!]!) { regroup(input: {article: 1, add: $v}) { userErrors { code } } }`,
			`query($v: Int) { articles(pageSize: $v) { id } }`,
			`query($v: ID!) { article(id: $v) { id } }`} {
			res, body := s.PostJSON(fmt.Sprintf(`{"query":%q,"variables":{"v":%s}}`, query, value), "X-User-ID", "alice")
			if res.StatusCode >= 500 || strings.Contains(body, "INTERNAL") || len(body) > 10_000 {
				t.Errorf("%s in %s: got %d %.300s", name, query, res.StatusCode, body)
			}
		}
	}
	s.Want("", `{ articles(pageSize: 1) { __typename } }`, `{"articles": [{"__typename": "Article"}]}`)
	s.WantNoLog()
}

// standardIntrospection is the query that tools send: getIntrospectionQuery of graphql-js.
const standardIntrospection = `query IntrospectionQuery { __schema { queryType { name kind } mutationType { name kind } subscriptionType { name kind }
	types { ...FullType } directives { name description locations args { ...InputValue } } } }
fragment FullType on __Type { kind name description
	fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
	inputFields { ...InputValue } interfaces { ...TypeRef }
	enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
	ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }`
