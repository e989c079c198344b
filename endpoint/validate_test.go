package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/tests/sitetest"
)

func TestDefaultOptionsAreValid(t *testing.T) {
	t.Parallel()
	if err := endpoint.DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidateNamesTheOptionThatIsOutOfRange(t *testing.T) {
	t.Parallel()
	for option, change := range map[string]func(*endpoint.Options){
		"BodyLimit":          func(o *endpoint.Options) { o.BodyLimit = 0 },
		"Timeout":            func(o *endpoint.Options) { o.Timeout = time.Microsecond },
		"Origins":            func(o *endpoint.Options) { o.Origins = []string{"*", "example.org"} },
		"Limits.Tokens":      func(o *endpoint.Options) { o.Limits.Tokens = 0 },
		"Limits.Depth":       func(o *endpoint.Options) { o.Limits.Depth = 0 },
		"Limits.Aliases":     func(o *endpoint.Options) { o.Limits.Aliases = -1 },
		"Limits.RootFields":  func(o *endpoint.Options) { o.Limits.RootFields = 0 },
		"Limits.Directives":  func(o *endpoint.Options) { o.Limits.Directives = -1 },
		"Limits.Fields":      func(o *endpoint.Options) { o.Limits.Fields = 0 },
		"Limits.Cost":        func(o *endpoint.Options) { o.Limits.Cost = 0 },
		"Limits.PageSize":    func(o *endpoint.Options) { o.Limits.PageSize = 0 },
		"Streams.Ping":       func(o *endpoint.Options) { o.Streams.Ping = 99 * time.Millisecond },
		"Streams.PerAddress": func(o *endpoint.Options) { o.Streams.PerAddress = 0 },
		"Streams.PerViewer":  func(o *endpoint.Options) { o.Streams.PerViewer = 0 },
		"Streams.Operations": func(o *endpoint.Options) { o.Streams.Operations = 0 },
		"Rates.Cost":         func(o *endpoint.Options) { o.Rates.Cost.Most = -1 },
		"Rates.Votes":        func(o *endpoint.Options) { o.Rates.Votes = endpoint.Rate{Most: 1, Window: time.Second - 1} },
		"Rates.Posts": func(o *endpoint.Options) {
			o.Rates.Posts = endpoint.Rate{Most: endpoint.MaxRate + 1, Window: time.Second}
		},
		"Rates.Changes":   func(o *endpoint.Options) { o.Rates.Changes.Most = 1 },
		"Rates.Addresses": func(o *endpoint.Options) { o.Rates.Addresses = 0 },
	} {
		options := endpoint.DefaultOptions()
		change(&options)
		var invalid *endpoint.OptionError
		if err := options.Validate(); !errors.As(err, &invalid) || invalid.Option != option {
			t.Errorf("%s: got %v, want an OptionError for it", option, err)
		}
	}
}

// executions counts the operations that are executed.
func executions(n *atomic.Int64) func(*endpoint.Options) {
	return func(o *endpoint.Options) {
		o.Observers = append(o.Observers, endpoint.Observer{End: func(_ context.Context, outcome endpoint.Outcome) {
			if outcome.Source == endpoint.Executed {
				n.Add(1)
			}
		}})
	}
}

// What depends on the schema alone is executed once. Each further answer costs a point for each endpoint.PointBytes.
func TestIntrospectionIsMadeOnceAndChargedByItsBytes(t *testing.T) {
	t.Parallel()
	var executed atomic.Int64
	const most = 10_000
	s := sitetest.Open(t, pointsOf(most), executions(&executed))
	whole, used := "", 0
	for i := range 4 {
		res, body := s.PostJSON(fmt.Sprintf(`{"query":%q}`, standardIntrospection), "X-User-ID", "alice")
		user, address, _ := left(t, res.Header)
		points := len(body) / endpoint.PointBytes
		if i == 1 { // the header of the first one shows what was charged until it was executed
			used = most - user - points
		}
		if used += points; points < 50 || i > 0 && (user != most-used || address != 10*most-used) || i > 0 && body != whole {
			t.Errorf("answer %d of %d bytes: %d and %d points are left, want %d and %d, and equal answers", i, len(body), user, address, most-used, 10*most-used)
		}
		whole = body
	}
	if n := executed.Load(); n != 1 {
		t.Errorf("got %d executions, want 1", n)
	}
	const variable = `{"query":"query($name: String!) { __type(name: $name) { name } }","variables":{"name":%q}}`
	for _, name := range []string{"Article", "Group"} {
		if _, body := s.PostJSON(fmt.Sprintf(variable, name)); body != fmt.Sprintf(`{"data":{"__type":{"name":%q}}}`, name) {
			t.Errorf("__type by a variable: got %s, want %s", body, name)
		}
	}
	s.Post("alice", "first")
	mixed := fmt.Sprintf(`{"query":%q}`, strings.Replace(standardIntrospection, "{", "{ articles { title }", 1))
	s.PostJSON(mixed, "X-User-ID", "bob")
	s.Post("alice", "second")
	res, after := s.PostJSON(mixed, "X-User-ID", "bob")
	user, _, _ := left(t, res.Header)
	least, all := most-1000, most-400 // of the first one, and a little of the second
	if !strings.Contains(after, "second") || user < least || user > all {
		t.Errorf("articles beside the schema: got %.100s and %d points left, want the new article and %d to %d", after, user, least, all)
	}
}

// What is asked of the schema for the first time is executed, for a point for each 50 us, however short the response is.
func TestFirstIntrospectionCostsWhatItTakes(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, pointsOf(100_000))
	balance := func(query string) int {
		res, _ := s.PostJSON(fmt.Sprintf(`{"query":%q}`, query), "X-User-ID", "alice")
		user, _, _ := left(t, res.Header)
		return user
	}
	spent := func(query string) int {
		before := balance("{ __typename }")
		balance(query)
		return before - balance("{ __typename }") - 1
	}
	for query, least := range map[string]int{
		standardIntrospection: 400, `{ __schema { types { fields { type { fields { name } } } } } }`: 200, `{ __schema { types { name } } }`: 20,
		`{ __schema { types { fields { name @skip(if: true) } } } }`: 80,
	} {
		if first, again := spent(query), spent(query); first < least || 4*again > first {
			t.Errorf("%.100s: got %d points and %d the second time, want at least %d and a quarter of it", query, first, again, least)
		}
	}
}

// One who cannot pay for an answer about the schema gets no other one, and neither does one who knows that it is there.
func TestIntrospectionThatIsNotPaidIsRefused(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t, sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 15, Window: time.Minute}, Addresses: 100}))
	for i, ask := range []struct{ user, name, code string }{
		{"alice", "A", ""}, {"alice", "A", "RATE_LIMITED"}, {"alice", "B", "RATE_LIMITED"}, {"bob", "A", "RATE_LIMITED"}, {"", "A", ""},
	} {
		var header []string
		if ask.user != "" {
			header = []string{"X-User-ID", ask.user}
		}
		query := fmt.Sprintf(`query %s { __schema { types { description fields { name description args { name description } } } } }`, ask.name)
		if _, body := s.PostJSON(fmt.Sprintf(`{"query":%q}`, query), header...); sitetest.CodeOf(t, body) != ask.code {
			t.Errorf("request %d: got %.100s, want the code %q", i, body, ask.code)
		}
	}
}

func TestAliasesOfTheSchemaAreLimited(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	repeated := func(text string, n int) (all string) {
		for i := range n {
			all += strings.ReplaceAll(text, "N", fmt.Sprint(i))
		}
		return all
	}
	for query, asked := range map[string]int{
		"{ __schema { queryType { name } } __type(name: \"Article\") { name } }":                              0,
		`{ a: __type(name: "Article") { name } b: __type(name: "Group") { name } }`:                           0,
		`{ __schema { a: queryType { name } } }`:                                                              0,
		"{ " + repeated(`aN: __schema { types { name } } `, 15) + "}":                                         15,
		"{ " + repeated(`aN: __type(name: "Article") { name } `, 3) + "}":                                     3,
		"{ __schema { " + repeated(`aN: types { name } `, 14) + "} }":                                         15,
		"{ __schema { types { ...f } } } fragment f on __Type { " + repeated(`aN: fields { name } `, 7) + "}": 8,
		"{ ...f ... { ...f } } fragment f on Query { a: __schema { queryType { name } }}":                     0,
	} {
		a := s.Ask("", query)
		switch {
		case asked == 0 && len(a.Errors) > 0:
			t.Errorf("%s: got %v, want no errors", query, a.Errors)
		case asked > 0 && (len(a.Errors) != 1 || a.Errors[0].Extensions.Code != "ALIAS_LIMIT_EXCEEDED" || a.Errors[0].Extensions.Asked != asked || a.Errors[0].Extensions.Allowed != 2 || strings.Contains(a.Errors[0].Message, ",,")):
			t.Errorf("%s: got %v, want ALIAS_LIMIT_EXCEEDED of %d", query, a.Errors, asked)
		}
	}
}
