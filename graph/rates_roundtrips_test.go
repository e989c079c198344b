package graph_test

import (
	"fmt"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redistest"
)

// All limits together cost one round trip, and none when they are off.
func TestLimitsCostOneRoundTrip(t *testing.T) {
	t.Parallel()
	minute := endpoint.Rate{Most: 100_000, Window: time.Minute}
	all := endpoint.Rates{Cost: minute, Votes: minute, Posts: minute, Changes: minute, Addresses: 10}
	for _, tt := range []struct {
		query   string
		alone   int // round trips without limits
		limited int // and with all of them
		votes   int // with that of votes alone
	}{
		{`{ viewer { name } }`, 0, 1, 0},
		{`{ rateLimit { remaining } }`, 0, 1, 0},
		{`{ articles { id title } }`, 2, 3, 2},
		{`{ articles { id viewerVote } }`, 3, 4, 3},
		{`{ article(id: 1) { id } }`, 1, 2, 1},
		{`mutation { vote(input: {article: 1}) { changed } }`, 1, 2, 2},
		{`mutation { post(input: {title: "t", text: "x"}) { article { id } } }`, 2, 3, 2},
		{`mutation { regroup(input: {article: 1, add: ["x"]}) { userErrors { code } } }`, 1, 2, 1},
		{`mutation { vote(input: {article: 1}) { changed } post(input: {title: "t", text: "x"}) { article { id } } deleteArticle(input: {article: 2}) { deletedId } }`, 4, 5, 5},
		{`{ nothing }`, 0, 0, 0},
	} {
		for name, at := range map[string]struct {
			rates endpoint.Rates
			want  int
		}{"without limits": {endpoint.Rates{}, tt.alone}, "with all": {all, tt.limited}, "with votes": {endpoint.Rates{Votes: minute, Addresses: 10}, tt.votes}} {
			client := redistest.Start(t).Client
			s := newSite(t, client, redisrepo.BookRules(), withRates(at.rates))
			for range 2 {
				s.post("alice", "t", "all")
			}
			s.raw("alice", tt.query) // it knows the scripts, and the document is known
			s.trips.reset()
			s.raw("alice", tt.query)
			if n, commands := s.trips.read(); n != at.want {
				t.Errorf("%s, %s: %d round trips with %v, want %d", tt.query, name, n, counted(commands), at.want)
			}
			if at.rates.Cost.Most == 0 && tt.votes == tt.alone {
				if keys := limitKeys(t, client); len(keys) > 0 {
					t.Errorf("%s, %s: counted: %v", tt.query, name, keys)
				}
			}
		}
	}
	w := newSite(t, redistest.Start(t).Client, redisrepo.BookRules(), withRates(all))
	id := w.post("alice", "t")
	socket := w.socket(`{"X-User-ID":"bob"}`)
	socket.watch("watch", id)
	w.trips.reset()
	for i := range 3 {
		socket.start(fmt.Sprint(i), whoAmI, "")
		socket.want("next", fmt.Sprint(i), `{"data":{"viewer":{"name":"bob"}}}`)
		socket.want("complete", fmt.Sprint(i), "")
	}
	if n, commands := w.trips.read(); n != 3 {
		t.Errorf("three operations on a socket: %d round trips with %v", n, commands)
	}
}
