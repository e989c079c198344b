package endpoint_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// A user who has used up one limit does not get around another by exceeding both in one document, whether or
// not the cost is limited.
func TestExceededLimitDoesNotDisableAnother(t *testing.T) {
	t.Parallel()
	for name, cost := range map[string]endpoint.Rate{"cost limited": {Most: 100_000, Window: time.Minute}, "cost unlimited": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.Start(t).Client
			sitetest.Import(t, client, "poster", 10)
			s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{
				Cost: cost, Votes: endpoint.Rate{Most: 1, Window: time.Minute}, Posts: endpoint.Rate{Most: 2, Window: time.Minute}, Changes: endpoint.Rate{Most: 2, Window: time.Minute}, Addresses: 10}))
			done := map[string]int{}
			for i := range 10 {
				for alias, result := range s.Outcomes("bob", fmt.Sprintf(`mutation {
					vote: vote(input: {article: %d}) { userErrors { code } }
					post: post(input: {title: "t", text: "x"}) { userErrors { code } }
					change: regroup(input: {article: 11, add: ["g%d"]}) { userErrors { code } } }`, i+1, i)) {
					if result != "RATE_LIMITED" {
						done[alias]++
					}
				}
			}
			if want := map[string]int{"vote": 1, "post": 2, "change": 2}; !reflect.DeepEqual(done, want) {
				t.Errorf("ten documents: got %v, want %v", done, want)
			}
		})
	}
}

func TestUsersOfOneAddressShareItsLimit(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	sitetest.Import(t, client, "poster", 3)
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Votes: endpoint.Rate{Most: 2, Window: time.Minute}, Addresses: 3}))
	here, there := sitetest.ClientFrom(t, "127.0.0.1"), sitetest.ClientFrom(t, "127.0.0.77")
	vote := func(client int, user string, article int) string {
		t.Helper()
		_, body, err := s.AskBy([]*http.Client{here, there}[client], fmt.Sprintf(`mutation { vote(input: {article: %d}) { changed userErrors { code } } }`, article), "X-User-ID", user)
		if err != nil {
			t.Fatal(err)
		}
		switch body {
		case `{"data":{"vote":{"changed":true,"userErrors":[]}}}`:
			return "done"
		case `{"data":{"vote":{"changed":false,"userErrors":[{"code":"RATE_LIMITED"}]}}}`:
			return "limited"
		}
		return body
	}
	var got []string
	for _, step := range []struct {
		client  int
		user    string
		article int
	}{
		{0, "a", 1}, {0, "a", 2}, {0, "a", 3}, // over the user's own limit, which is not charged to the address
		{0, "b", 1}, {0, "b", 2}, {0, "c", 1}, {0, "c", 2}, {0, "d", 1}, {0, "e", 1}, // over the address's limit of six
		{1, "a", 3}, {1, "d", 1}, {1, "d", 2}, {1, "d", 3}, // from another address: the user's limit is the same
	} {
		got = append(got, vote(step.client, step.user, step.article))
	}
	want := []string{"done", "done", "limited", "done", "done", "done", "done", "limited", "limited", "limited", "done", "done", "limited"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Anonymous clients are charged by address alone.
func TestAnonymousClientsCountByAddressOnly(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 10, Window: time.Minute}, Addresses: 2}))
	statuses := map[int]int{}
	for range 8 { // each of 4 points
		res, body := s.Get(`{ a: viewer { name } b: viewer { name } }`)
		if statuses[res.StatusCode]++; res.StatusCode == 429 && sitetest.CodeOf(t, body) != "RATE_LIMITED" {
			t.Errorf("got %s, want RATE_LIMITED", body)
		}
	}
	if want := map[int]int{200: 5, 429: 3}; !reflect.DeepEqual(statuses, want) {
		t.Errorf("got statuses %v, want %v", statuses, want)
	}
	if res, _ := s.Get(`{ viewer { name } }`, "X-User-ID", "bob"); res.StatusCode != 429 {
		t.Errorf("a user of the same address: got %d, want 429", res.StatusCode)
	}
}
