package endpoint_test

import (
	"fmt"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// All rate limits together cost a mutation one round trip. They cost nothing if they are off, and reads of an active client
// nothing, either: a lease pays for them.
func TestRateLimitsCostAtMostOneRoundTrip(t *testing.T) {
	t.Parallel()
	minute := endpoint.Rate{Most: 100_000, Window: time.Minute}
	all := endpoint.Rates{Cost: minute, Votes: minute, Posts: minute, Changes: minute, Addresses: 10}
	for _, tt := range []struct {
		query   string
		alone   int // round trips without limits
		limited int // with all limits
		votes   int // with the limit of votes alone
	}{
		{`{ viewer { name } }`, 0, 0, 0},
		{`{ rateLimit { remaining } }`, 0, 0, 0},
		{`{ articles { id title } }`, 2, 2, 2},
		{`{ articles { id viewerVote } }`, 3, 3, 3},
		{`{ article(id: 1) { id } }`, 1, 1, 1},
		{`mutation { vote(input: {article: 1}) { changed } }`, 1, 2, 2},
		{`mutation { post(input: {title: "t", text: "x"}) { article { id } } }`, 2, 3, 2},
		{`mutation { regroup(input: {article: 1, add: ["x"]}) { userErrors { code } } }`, 1, 2, 1},
		{`mutation { vote(input: {article: 1}) { changed } post(input: {title: "t", text: "x"}) { article { id } } deleteArticle(input: {article: 2}) { deletedId } }`, 4, 5, 5},
		{`{ nothing }`, 0, 0, 0},
	} {
		for name, at := range map[string]struct {
			rates endpoint.Rates
			want  int
		}{"without limits": {endpoint.Rates{}, tt.alone}, "with all limits": {all, tt.limited}, "with the limit of votes": {endpoint.Rates{Votes: minute, Addresses: 10}, tt.votes}} {
			client := redistest.Start(t).Client
			s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(at.rates))
			for range 2 {
				s.Post("alice", "t", "all")
			}
			s.StopListening()
			s.AskText("alice", tt.query) // loads the scripts, caches the document and takes a lease
			s.Trips.Reset()
			s.AskText("alice", tt.query)
			if n, commands := s.Trips.Read(); n != at.want {
				t.Errorf("%s, %s: got %d round trips with %v, want %d", tt.query, name, n, sitetest.Tally(commands), at.want)
			}
			if at.rates.Cost.Most == 0 && tt.votes == tt.alone {
				if keys := sitetest.RateKeys(t, client); len(keys) > 0 {
					t.Errorf("%s, %s: got the counters %v, want none", tt.query, name, keys)
				}
			}
		}
	}
	w := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), sitetest.WithRates(all))
	w.StopListening()
	socket := w.Socket(`{"X-User-ID":"bob"}`)
	for i := range 4 {
		if i == 1 {
			w.Trips.Reset()
		}
		socket.Subscribe(fmt.Sprint(i), whoAmI, "")
		socket.Want("next", fmt.Sprint(i), `{"data":{"viewer":{"name":"bob"}}}`)
		socket.Want("complete", fmt.Sprint(i), "")
	}
	if n, commands := w.Trips.Read(); n != 2 { // the second one takes a lease of two more
		t.Errorf("three operations on a socket: got %d round trips with %v, want 2", n, commands)
	}
}
