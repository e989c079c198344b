package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// The viewer's votes come newest first, page by page, up or down only, with null for a deleted article, and only to the
// viewer.
func TestViewerVotesListsTheViewersVotes(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	for i := range 6 {
		s.Post("alice", fmt.Sprint("article ", i+1))
	}
	for i, direction := range []string{"UP", "DOWN", "UP", "UP", "NONE"} {
		s.Advance(time.Second)
		s.Vote("bob", fmt.Sprint("article:", i+1), direction)
	}
	s.Vote("carol", "article:6", "UP")
	must.Get(s.Repo.Delete(t.Context(), 3, site.Actor{Name: "alice"}))(t)
	ask := func(user, arguments string) string {
		_, body := s.PostJSON(fmt.Sprintf(`{"query": "{ viewerVotes%s { edges { direction node { id viewerVote } } nodes { id } pageInfo { hasPreviousPage hasNextPage endCursor } } }"}`, strings.ReplaceAll(arguments, `"`, `\"`)), "X-User-ID", user)
		return body
	}
	edge := func(id, direction string) string {
		if id == "3" {
			return fmt.Sprintf(`{"direction":%q,"node":null}`, direction)
		}
		return fmt.Sprintf(`{"direction":%q,"node":{"id":"article:%s","viewerVote":%q}}`, direction, id, direction)
	}
	for arguments, want := range map[string][]string{
		``:                  {edge("4", "UP"), edge("3", "UP"), edge("2", "DOWN"), edge("1", "UP")},
		`(direction: DOWN)`: {edge("2", "DOWN")},
		`(first: 2)`:        {edge("4", "UP"), edge("3", "UP")},
	} {
		if got := ask("bob", arguments); !strings.Contains(got, `"edges":[`+strings.Join(want, ",")+`]`) || strings.Contains(got, `"hasNextPage":true`) != (arguments == "(first: 2)") {
			t.Errorf("viewerVotes%s = %s, want %s", arguments, got, want)
		}
	}
	first := ask("bob", "(first: 2)")
	_, rest, _ := strings.Cut(first, `"endCursor":"`)
	cursor, _, _ := strings.Cut(rest, `"`)
	if got, want := ask("bob", fmt.Sprintf("(after: %q)", cursor)), edge("2", "DOWN")+","+edge("1", "UP"); !strings.Contains(got, `"edges":[`+want+`]`) || !strings.Contains(got, `"hasPreviousPage":true,"hasNextPage":false`) {
		t.Errorf("after the first page: %s, want %s", got, want)
	}
	for _, tt := range []struct{ user, arguments, code string }{
		{"", "", "UNAUTHENTICATED"}, {"bob", "(direction: NONE)", "BAD_USER_INPUT"}, {"bob", "(first: 101)", "BAD_USER_INPUT"},
		{"carol", fmt.Sprintf("(after: %q)", cursor), "BAD_USER_INPUT"},
	} {
		if got := ask(tt.user, tt.arguments); !strings.Contains(got, `"code":"`+tt.code+`"`) || !strings.Contains(got, `"viewerVotes":null`) {
			t.Errorf("%q: viewerVotes%s = %s, want the error %s", tt.user, tt.arguments, got, tt.code)
		}
	}
}

// unvotedOnly leaves out what the viewer voted on, and paging goes on to the end of the list.
func TestUnvotedOnlyLeavesOutVotedArticles(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	want := []string{}
	for i := range 40 {
		s.Advance(time.Second)
		id := s.Post("alice", fmt.Sprint("article ", i+1), "go")
		if i%7 == 3 || i%7 == 4 {
			want = append([]string{id}, want...)
		} else {
			s.Vote("bob", id, []string{"UP", "DOWN"}[i%2])
		}
	}
	for _, list := range []string{
		`list: articlesConnection(order: TIME, first: 3, after: $c, unvotedOnly: true)`,
		`list: articlesConnection(order: TIME, direction: ASC, last: 3, before: $c, unvotedOnly: true)`,
		`group(name: "go") { list: articlesConnection(order: TIME, first: 3, after: $c, unvotedOnly: true) } `,
		`list: ranking(by: {formula: LINEAR}, first: 3, after: $c, unvotedOnly: true)`,
		`list: ranking(by: {formula: GRAVITY}, span: DAY, first: 3, after: $c, unvotedOnly: true)`,
	} {
		got, cursor := []string{}, ""
		backward := strings.Contains(list, "last:")
		for range 5 { // pages: with one read for each it would be 14
			query := strings.ReplaceAll(`query($c: String) { `+list+` }`, "unvotedOnly: true)", "unvotedOnly: true) { nodes { id } pageInfo { hasPreviousPage hasNextPage startCursor endCursor } }")
			a := s.Ask("bob", query, "c", cursor)
			data := a.Data
			if group, ok := data["group"].(map[string]any); ok {
				data = group
			}
			page := data["list"].(map[string]any)
			ids := []string{}
			for _, node := range page["nodes"].([]any) {
				ids = append(ids, node.(map[string]any)["id"].(string))
			}
			info := page["pageInfo"].(map[string]any)
			more, next := info["hasNextPage"], info["endCursor"]
			if backward {
				for i := len(ids) - 1; i >= 0; i-- {
					got = append(got, ids[i])
				}
				more, next = info["hasPreviousPage"], info["startCursor"]
			} else {
				got = append(got, ids...)
			}
			if more != true {
				break
			}
			cursor = next.(string)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", list, got, want)
		}
	}
	for _, query := range []string{`{ articlesConnection(unvotedOnly: true) { nodes { id } } }`, `{ ranking(unvotedOnly: true) { nodes { id } } }`} {
		res, body := s.Get(query)
		if !strings.Contains(body, `"code":"UNAUTHENTICATED"`) || strings.HasPrefix(res.Header.Get("Cache-Control"), "public") {
			t.Errorf("%s of an anonymous caller: %q %s, want UNAUTHENTICATED, and nothing that is shared", query, res.Header.Get("Cache-Control"), body)
		}
	}
}
