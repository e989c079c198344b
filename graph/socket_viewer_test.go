package graph_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redistest"
)

func TestWhoIsAskingOnASocket(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	id := s.post("alice", "t")
	for _, tt := range []struct{ payload, header, want string }{
		{"", "", "null"},
		{"", "bob", `{"name":"bob"}`},
		{`null`, "bob", `{"name":"bob"}`},
		{`{"other":"eve"}`, "bob", `{"name":"bob"}`},
		{`{"X-User-ID":"carol"}`, "", `{"name":"carol"}`},
		{`{"x-user-id":"carol"}`, "bob", `{"name":"carol"}`},
		{`{"X-USER-Id":"carol"}`, "bob", `{"name":"carol"}`},
	} {
		var header []string
		if tt.header != "" {
			header = []string{"X-User-ID", tt.header}
		}
		w := s.socket(tt.payload, header...)
		w.start("a", `{ viewer { name } }`, "")
		w.want("next", "a", `{"data":{"viewer":`+tt.want+`}}`)
	}

	s.vote("bob", id, "UP")
	bob, carol := s.socket(`{"X-User-ID":"bob"}`), s.socket("", "X-User-ID", "carol")
	for _, w := range []*wire{bob, carol} {
		w.start("a", `subscription { articleChanged(ids: [1]) { votes viewerVote viewerCanVote } }`, "")
	}
	bob.settle(id, "a")
	n := carol.settle(id, "a")
	bob.told("a", n)
	s.vote("carol", id, "DOWN")
	bob.want("next", "a", fmt.Sprintf(`{"data":{"articleChanged":{"votes":%d,"viewerVote":"UP","viewerCanVote":true}}}`, n-1))
	carol.want("next", "a", fmt.Sprintf(`{"data":{"articleChanged":{"votes":%d,"viewerVote":"DOWN","viewerCanVote":true}}}`, n-1))

	bad := strings.Repeat("u", 65)
	w := s.open("X-User-ID", "bob")
	w.send(fmt.Sprintf(`{"type":"connection_init","payload":{"X-User-ID":%q}}`, bad))
	if before, how := w.closed(); len(before) > 0 || how.Code != 4403 || !strings.HasPrefix(how.Reason, "USER_NAME_INVALID: ") {
		t.Errorf("a bad name in the payload: %v, %v", before, how)
	}
	_, res, err := s.dial(websocket.DialOptions{Subprotocols: []string{subprotocol}}, "X-User-ID", bad)
	if err == nil || res == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a bad name in the handshake: %v %v", res, err)
	}
}

func TestOriginsOfSockets(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	closed := newSite(t, client, redisrepo.BookRules())
	some := newSite(t, client, redisrepo.BookRules(), func(o *endpoint.Options) {
		o.Origins = []string{"https://friend.example", "https://*.friends.example"}
	})
	all := newSite(t, client, redisrepo.BookRules(), func(o *endpoint.Options) { o.Origins = []string{"*"} })
	accepted := func(s *site, origin string) bool {
		var header []string
		if origin != "" {
			header = []string{"Origin", origin}
		}
		conn, res, err := s.dial(websocket.DialOptions{Subprotocols: []string{subprotocol}}, header...)
		if err == nil {
			s.wire(conn).begin("")
		} else if res == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %v", origin, err)
		}
		return err == nil
	}
	got := map[string][3]bool{}
	want := map[string][3]bool{
		"":                            {true, true, true},
		"own":                         {true, true, true},
		"https://friend.example":      {false, true, true},
		"https://a.friends.example":   {false, true, true},
		"http://friend.example":       {false, false, true},
		"https://friend.example:8443": {false, false, true},
		"https://foe.example":         {false, false, true},
		"https://friends.example":     {false, false, true},
		"http://127.0.0.1:1":          {false, false, true},
		"null":                        {false, false, true},
	}
	for origin := range want {
		var row [3]bool
		for i, s := range []*site{closed, some, all} {
			sent := origin
			if origin == "own" {
				sent = s.url
			}
			row[i] = accepted(s, sent)
		}
		got[origin] = row
	}
	for origin := range want {
		if !reflect.DeepEqual(got[origin], want[origin]) {
			t.Errorf("from %q: without a list, with one, with *: %v, want %v", origin, got[origin], want[origin])
		}
	}
}

func TestAPageOnAnIPv6AddressMayOpenSockets(t *testing.T) {
	t.Parallel()
	const origin = "http://[::1]:3000"
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules(), func(o *endpoint.Options) { o.Origins = []string{origin} })
	if res, _ := s.postJSON(`{"query":"{__typename}"}`, "Origin", origin); res.Header.Get("Access-Control-Allow-Origin") != origin {
		t.Errorf("over HTTP: %v", res.Header)
	}
	conn, _, err := s.dial(websocket.DialOptions{Subprotocols: []string{subprotocol}}, "Origin", origin)
	if err != nil {
		t.Fatal(err)
	}
	s.wire(conn).begin("")
}
