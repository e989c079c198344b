package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/graph"
	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// refusedInputs are values of inputs by their names, which are accepted from some callers and refused from others.
var refusedInputs = map[string][]string{
	"article":        {`"#1"`, `"#2"`, `"#3"`, `"#4"`, `"#5"`, `"#6"`, `"99"`, `"user:bob"`},
	"target":         {`"#1"`, `"#2"`, `"#3"`, `"#4"`, `"#5"`, `"#6"`, `"99"`, `"article:99"`, `"group:go"`, `"user:alice"`, `"user:bob"`, `"nonsense"`},
	"link":           {`"https://example.com/1"`, `"https://example.com/new"`, `"https://spam.example/"`, `"ftp://example.com/"`, `"https://example.com/3"`},
	"title":          {`"a title"`, `""`, `"t1"`, `"` + strings.Repeat("long ", 100) + `"`, `"\u0007"`},
	"text":           {`"a text"`, `""`, `"see https://spam.example/x"`, `"\u0007"`},
	"groups":         {`["go"]`, `["is.open", "is.done"]`, `["is.open"]`, `["not a group"]`, `["a","b","c","d","e","f","g","h","i","j","k"]`},
	"add":            {`["go"]`, `["is.open"]`, `["not a group"]`, `["a","b","c","d","e","f","g","h","i","j","k"]`},
	"remove":         {`["go"]`, `["is.open"]`, `["not a group"]`},
	"idempotencyKey": {`"key 1"`, `"key 2"`, `"key 3"`, `"new key"`, `""`},
	"note":           {`"a note"`, `"` + strings.Repeat("long ", 200) + `"`, `"\u0007"`},
	"reason":         {`"a reason"`, `""`, `"two\nlines"`},
	"decision":       {`"decided"`, `"two\nlines"`},
	"basis":          {`"rule 1"`, `"two\nlines"`},
	"user":           {`"alice"`, `"bob"`, `"mod"`, `"eve"`, `"zed"`, `""`},
	"users":          {`["bob"]`, `["zed"]`, `[]`, `[""]`},
	"name":           {`"alice"`, `"zed"`, `""`},
	"email":          {`"a@example.org"`, `"nonsense"`},
	"host":           {`"example.com"`, `"spam.example"`, `"other.example"`, `"not a host"`},
	"until":          {`"2025-01-02T03:04:05.000Z"`, `"2036-01-02T03:04:05.000Z"`},
	"url":            {`"https://example.com/hook"`, `"https://example.com/hooks"`, `"http://example.com/"`, `"nonsense"`},
	"webhook":        {`"webhook:aaaaaaaaaaaa"`, `"nonsense"`},
	"throughReport":  {`"report:#1.1"`, `"report:#5.1"`, `"report:#5.2"`, `"report:#2.9"`, `"nonsense"`},
	"ifRevision":     {`0`, `1`, `99`},
	"group":          {`"go"`, `"nosuch"`, `"not a group"`},
	"description":    {`"what it is about"`, `"two\nlines"`},
	"rules":          {`["be kind"]`, `[""]`},
	"locations":      {`["#1"]`, `["99"]`, `[]`, `["nonsense"]`},
	"explanation":    {`"why it is illegal in this country"`, `"short"`},
	"confirm":        {`"nonsense"`},
}

// callers are those who send requests, as headers.
var callers = map[string][]string{
	"anonymous": nil, "alice": {"X-User-ID", "alice"}, "bob": {"X-User-ID", "bob"}, "zed": {"X-User-ID", "zed"}, "Аlice": {"X-User-ID", "\u0410lice"},
	"eve, who is denied": {"X-User-ID", "eve"}, "full": {"X-User-ID", "full"},
	"a moderator": {"X-User-ID", "mod", "X-User-Roles", "moderator"}, "a service": {"X-User-ID", "bot", "X-User-Roles", "service"},
}

// What is refused leaves the store as it is, byte for byte: all keys and values, except numbers of articles, which may be skipped.
func TestRefusedMutationsWriteNothing(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4} {
		t.Run(fmt.Sprint(partitions, " partitions"), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(49, uint64(partitions)))
			client := redistest.Start(t).Client
			rules := site.DefaultRules()
			rules.ReservedGroups = []site.GroupPattern{"is.*"}
			s := sitetest.NewWith(t, client, rules, redisrepo.WithPartitions(partitions))
			ids := strings.NewReplacer(prepareRefusals(s)...)
			for _, p := range s.Repo.Store.Partitions {
				require.NoError(t, s.Repo.Rankings.Fold(t.Context(), p, "")) // else the first write has that done in the background
			}
			before, refused := dump(s), map[string][]string{}
			for range programtest.Size(25, 600) {
				for _, mutation := range graph.Schema().Mutation.Fields {
					if strings.HasPrefix(mutation.Name, "__") {
						continue
					}
					names := slices.Sorted(maps.Keys(callers))
					caller := names[random.IntN(len(names))]
					query := fmt.Sprintf("mutation { %s(input: {%s}) { userErrors { code } } }", mutation.Name, ids.Replace(randomInput(random, mutation.Arguments[0].Type)))
					answer := s.PostQuery(query, callers[caller]...)
					code := refusalOf(t, answer)
					after := dump(s)
					if code != "" && !maps.Equal(before, after) {
						t.Errorf("%s by %s is refused with %s, but changes%s", query, caller, code, difference(before, after))
					}
					before = after
					refused[mutation.Name] = append(refused[mutation.Name], code)
				}
			}
			for mutation, codes := range refused {
				if !slices.ContainsFunc(codes, func(code string) bool { return code != "" }) {
					t.Errorf("%s was never refused", mutation)
				}
			}
		})
	}
}

// prepareRefusals gives a site articles of alice, 2 is of bob: the voting on 4 has ended, 3 is deleted, a report of 5 by bob is decided
// and one is open, and bob's vote on 6 is void. It returns their numbers after #1 to #6. It denies a user and a host, and has
// a user keep and block as much as is possible.
func prepareRefusals(s *sitetest.Site) (numbers []string) {
	ctx := context.Background()
	mod := site.Actor{Name: "mod", Moderator: true}
	of := map[int]site.ArticleID{}
	for _, n := range []int{4, 1, 2, 3, 5, 6} {
		user := site.UserName("alice")
		if n == 2 {
			user = "bob"
		}
		a := require.Value(s.Repo.Post(ctx, user, site.Draft{Title: fmt.Sprint("t", n), Link: new(fmt.Sprint("https://example.com/", n)), Groups: []string{"go"}, IdempotencyKey: new(fmt.Sprint("key ", n))}))(s.T)
		if of[n] = a.ID; n == 4 {
			s.Advance(8 * 24 * time.Hour)
		}
		numbers = append(numbers, fmt.Sprint("#", n), a.ID.Number())
	}
	require.Value(s.Repo.Delete(ctx, of[3], site.Actor{Name: "alice"}, site.Why{}))(s.T)
	require.Value(s.Repo.Reports.Flag(ctx, "bob", of[5], reports.Spam, ""))(s.T)
	require.NoError(s.T, s.Repo.Reports.Settle(ctx, of[5], mod, reports.Settling{Through: 1, State: reports.Dismissed}))
	require.Value(s.Repo.Reports.Flag(ctx, "zed", of[5], reports.Spam, ""))(s.T)
	require.Value(s.Repo.Vote(ctx, of[6], "bob", site.Up, ""))(s.T)
	_, _, err := s.Repo.VoidVotes(ctx, of[6], mod, []string{"bob"}, true, "spam")
	require.NoError(s.T, err)
	require.Value(s.Repo.Denials.DenyUser(ctx, "eve", nil, site.GroundRules, "spam", mod))(s.T)
	require.Value(s.Repo.Denials.DenyHost(ctx, "spam.example", true, true, "spam", mod))(s.T)
	full := saved.Record{Keeper: "full", Saved: map[string]float64{}, Following: map[string]float64{}}
	var blocked []site.UserName
	for n := range 1000 {
		blocked = append(blocked, site.UserName(fmt.Sprint("user", n)))
		full.Saved[fmt.Sprint(1000+n)] = float64(n)
		if n < saved.MaxFollowed {
			full.Following[fmt.Sprint("user:user", n)] = float64(n)
		}
	}
	require.NoError(s.T, s.Repo.Saved.Put(ctx, []saved.Record{full}))
	require.NoError(s.T, s.Repo.Denials.Put(ctx, []denials.Record{{Blocker: "full", Blocked: blocked}}))
	return numbers
}

// randomInput returns an input of a type at random, without its braces.
func randomInput(random *rand.Rand, of *ast.Type) string {
	var b strings.Builder
	for _, field := range graph.Schema().Types[of.Name()].Fields {
		if !field.Type.NonNull && random.IntN(2) == 0 || field.DefaultValue != nil && random.IntN(2) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s: %s ", field.Name, randomValue(random, field))
	}
	return b.String()
}

func randomValue(random *rand.Rand, field *ast.FieldDefinition) string {
	of := graph.Schema().Types[field.Type.Name()]
	values := refusedInputs[field.Name]
	switch {
	case of.Kind == ast.Enum && field.Type.Elem == nil:
		return of.EnumValues[random.IntN(len(of.EnumValues))].Name
	case of.Kind == ast.Enum:
		return "[" + of.EnumValues[random.IntN(len(of.EnumValues))].Name + "]"
	case of.Name == "Boolean":
		return fmt.Sprint(random.IntN(2) == 0)
	case len(values) == 0:
		panic("no values for " + field.Name)
	}
	return values[random.IntN(len(values))]
}

// refusalOf returns the code with which a mutation was refused, or empty.
func refusalOf(t *testing.T, answer string) string {
	t.Helper()
	var a struct {
		Data   map[string]*struct{ UserErrors []struct{ Code string } }
		Errors []sitetest.Error
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &a))
	if len(a.Errors) > 0 {
		if a.Errors[0].Extensions.Code == "INTERNAL" {
			t.Errorf("got %s", answer)
		}
		return a.Errors[0].Extensions.Code
	}
	for _, payload := range a.Data {
		for _, e := range payload.UserErrors {
			return e.Code
		}
	}
	return ""
}

// dump returns what each key of the store holds, except counters of articles.
func dump(s *sitetest.Site) map[string]string {
	s.T.Helper()
	ctx := context.Background()
	require.NoError(s.T, s.Repo.Views.CatchUpAll(ctx)) // else a read may have that done meanwhile
	keys := require.Value(s.Client.Keys(ctx, "*").Result())(s.T)
	keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasSuffix(key, "article:") })
	types, contents := make([]*redis.StatusCmd, len(keys)), make([]redis.Cmder, len(keys))
	require.Value(s.Client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			types[i] = pipe.Type(ctx, key)
		}
		return nil
	}))(s.T)
	_, _ = s.Client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			switch types[i].Val() {
			case "hash": // the order in a dump changes while Redis enlarges the table
				contents[i] = pipe.HGetAll(ctx, key)
			case "set":
				contents[i] = pipe.SMembers(ctx, key)
			default:
				contents[i] = pipe.Dump(ctx, key)
			}
		}
		return nil
	})
	all := map[string]string{}
	for i, key := range keys {
		switch c := contents[i].(type) {
		case *redis.MapStringStringCmd:
			all[key] = fmt.Sprint(c.Val())
		case *redis.StringSliceCmd:
			all[key] = fmt.Sprint(slices.Sorted(slices.Values(c.Val())))
		case *redis.StringCmd:
			all[key] = c.Val()
		}
	}
	return all
}

func difference(before, after map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if before[key] != after[key] {
			fmt.Fprintf(&b, " %s", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[key]; !ok {
			fmt.Fprintf(&b, " -%s", key)
		}
	}
	return b.String()
}
