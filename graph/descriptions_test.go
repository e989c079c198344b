package graph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func TestModeratorsDescribeGroups(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	s := sitetest.New(t, client, site.DefaultRules())
	s.Want("alice", `mutation { post(input: {title: "One", text: "x", groups: ["go"]}) { userErrors { code } } }`, `{"post":{"userErrors":[]}}`)
	s.Want("alice", `{ group(name: "go") { description rules articleCount } }`, `{"group":{"articleCount":1,"description":null,"rules":[]}}`)
	describe := func(user, input, want string) {
		t.Helper()
		query := fmt.Sprintf(`mutation { describeGroup(input: {%s}) { group { name description rules articleCount } userErrors { code field } } }`, input)
		if user == "mod" {
			moderate(s, query, want)
		} else {
			s.Want(user, query, want)
		}
	}
	describe("", `group: "go"`, `{"describeGroup":{"group":null,"userErrors":[{"code":"UNAUTHENTICATED","field":null}]}}`)
	describe("alice", `group: "go"`, `{"describeGroup":{"group":null,"userErrors":[{"code":"FORBIDDEN","field":["group"]}]}}`)
	describe("mod", `group: "a b"`, `{"describeGroup":{"group":null,"userErrors":[{"code":"INVALID","field":["group"]}]}}`)
	describe("mod", fmt.Sprintf(`group: "go", description: %q, rules: [%q]`, strings.Repeat("x", 161), strings.Repeat("x", 201)),
		`{"describeGroup":{"group":null,"userErrors":[{"code":"TOO_LONG","field":["description"]},{"code":"TOO_LONG","field":["rules"]}]}}`)
	describe("mod", `group: "go", description: "a\nb"`, `{"describeGroup":{"group":null,"userErrors":[{"code":"INVALID","field":["description"]}]}}`)
	describe("mod", `group: "go", rules: [`+strings.Repeat(`"a",`, 11)+`]`, `{"describeGroup":{"group":null,"userErrors":[{"code":"TOO_LONG","field":["rules"]}]}}`)
	for range 2 { // a request that is sent again changes nothing
		describe("mod", `group: "GO", description: " All about Go. ", rules: ["No adverts", " ", "Be kind"]`,
			`{"describeGroup":{"group":{"articleCount":1,"description":"All about Go.","name":"go","rules":["No adverts","Be kind"]},"userErrors":[]}}`)
	}
	describe("mod", `group: "empty", description: "Nothing yet"`, `{"describeGroup":{"group":{"articleCount":0,"description":"Nothing yet","name":"empty","rules":[]},"userErrors":[]}}`)
	s.Want("", `{ group(name: "Go") { description } node(id: "group:empty") { ... on Group { description rules } } articles { groups { description rules } } groups(orderBy: ARTICLE_COUNT) { nodes { description articleCount } } byName: groups { edges { node { rules } } } }`,
		`{"articles":[{"groups":[{"description":"All about Go.","rules":["No adverts","Be kind"]}]}],"byName":{"edges":[{"node":{"rules":["No adverts","Be kind"]}}]},"group":{"description":"All about Go."},"groups":{"nodes":[{"articleCount":1,"description":"All about Go."}]},"node":{"description":"Nothing yet","rules":[]}}`)
	describe("mod", `group: "go"`, `{"describeGroup":{"group":{"articleCount":1,"description":null,"name":"go","rules":[]},"userErrors":[]}}`)
	s.Want("", `{ group(name: "go") { description rules } }`, `{"group":{"description":null,"rules":[]}}`)
	const most = 10
	rules := slices.Repeat([]string{fmt.Sprintf("%q", strings.Repeat("ä", 200))}, most)
	describe("mod", fmt.Sprintf(`group: "most", description: %q, rules: [%s]`, strings.Repeat("ä", 160), strings.Join(rules, ",")),
		fmt.Sprintf(`{"describeGroup":{"group":{"articleCount":0,"description":%q,"name":"most","rules":[%s]},"userErrors":[]}}`, strings.Repeat("ä", 160), strings.Join(rules, ",")))
	moderate(s, `{ moderationActions(target: "group:Go") { nodes { kind target by title article { id } } } moderationLog { nodes { kind } } }`,
		`{"moderationActions":{"nodes":[{"article":null,"by":"mod","kind":"EDITED","target":"group:go","title":null},{"article":null,"by":"mod","kind":"EDITED","target":"group:go","title":null}]},"moderationLog":{"nodes":[]}}`)
	require.NoError(t, client.Set(t.Context(), "described:", "wrong", 0).Err())
	if got := s.AskText("", `{ group(name: "go") { name articleCount } }`); got != `{"data":{"group":{"name":"go","articleCount":1}}}` {
		t.Errorf("a group without its description: %s", got)
	}
	if got := s.AskText("", `{ group(name: "go") { rules } }`); !strings.Contains(got, "INTERNAL") {
		t.Errorf("with a key of another type: %s", got)
	}
}

// A description costs a round trip if it is asked for, for all groups of a page together, and none otherwise.
func TestDescriptionsCostOneRoundTrip(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for i := range 5 {
		s.Want("alice", fmt.Sprintf(`mutation { post(input: {title: "One", text: "x", groups: ["g%d", "h%d"]}) { userErrors { code } } }`, i, i), `{"post":{"userErrors":[]}}`)
	}
	trips := func(query string) int {
		s.Trips.Reset()
		s.AskText("", query)
		n, _ := s.Trips.Read()
		return n
	}
	for _, query := range []string{`{ groups { nodes { name %s } } }`, `{ articles { groups { name %s } } }`, `{ group(name: "g1") { name %s } }`} {
		if without, with := trips(fmt.Sprintf(query, "")), trips(fmt.Sprintf(query, "description rules")); with != without+1 {
			t.Errorf("%s: %d round trips with descriptions, %d without", query, with, without)
		}
	}
}

// Groups are found by any part of their names, in both orders, each once, also while others are described.
func TestGroupsAreFoundByAnyPart(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	var want []string
	for i := range 60 {
		name := []string{"github.com", "gitlab.org", "hub"}[i%3] + fmt.Sprint(i/3)
		for n := range 1 + i%2 {
			s.Want("alice", fmt.Sprintf(`mutation { post(input: {title: "%d", text: "x", groups: ["%s"]}) { userErrors { code } } }`, n, name), `{"post":{"userErrors":[]}}`)
		}
		if strings.Contains(name, "hub") {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			require.Value(s.Repo.Descriptions.DescribeGroup(t.Context(), fmt.Sprint("hub", i), "About it", nil, site.Actor{Name: "mod", Moderator: true}))(t)
		})
	}
	for _, order := range []string{"NAME", "ARTICLE_COUNT"} {
		var got []string
		after := ""
		for range 10 {
			var answer struct {
				Data struct {
					Groups struct {
						TotalCount int
						Nodes      []struct {
							Name         string
							ArticleCount int
						}
						PageInfo struct {
							HasNextPage bool
							EndCursor   string
						}
					}
				}
			}
			require.NoError(t, json.Unmarshal([]byte(s.AskText("", fmt.Sprintf(`{ groups(contains: "HUB", orderBy: %s, first: 7, after: %q) { totalCount nodes { name articleCount } pageInfo { hasNextPage endCursor } } }`, order, after))), &answer))
			if answer.Data.Groups.TotalCount != len(want) {
				t.Errorf("%s: totalCount is %d, want %d", order, answer.Data.Groups.TotalCount, len(want))
			}
			for _, node := range answer.Data.Groups.Nodes {
				got = append(got, node.Name)
			}
			if after = answer.Data.Groups.PageInfo.EndCursor; !answer.Data.Groups.PageInfo.HasNextPage {
				break
			}
		}
		if order == "ARTICLE_COUNT" {
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", order, got, want)
		}
	}
	all.Wait()
	for query, want := range map[string]string{
		`{ groups(contains: "b.com", prefix: "git") { nodes { name } } }`: "contains cannot be combined with prefix",
		`{ groups(contains: "b.com", after: "x") { nodes { name } } }`:    "after is not a cursor",
	} {
		if got := s.AskText("", query); !strings.Contains(got, want) {
			t.Errorf("%s: %s", query, got)
		}
	}
	s.Want("", `{ none: groups(contains: "a b") { totalCount nodes { name } } empty: groups(contains: "", prefix: "hub1", first: 1) { nodes { name } } }`,
		`{"empty":{"nodes":[{"name":"hub1"}]},"none":{"nodes":[],"totalCount":0}}`)
	s.Want("", `{ groups(contains: "b.com1", last: 2, orderBy: ARTICLE_COUNT) { nodes { name articleCount } pageInfo { hasPreviousPage hasNextPage } } }`,
		`{"groups":{"nodes":[{"articleCount":1,"name":"github.com16"},{"articleCount":1,"name":"github.com18"}],"pageInfo":{"hasNextPage":false,"hasPreviousPage":true}}}`)
	s.Want("", `{ groups(contains: "b.com1", first: 3) { nodes { name } } }`, `{"groups":{"nodes":[{"name":"github.com1"},{"name":"github.com10"},{"name":"github.com11"}]}}`)
}
