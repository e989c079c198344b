package endpoint_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

func TestInitPayloadOverridesHandshakeIdentity(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	id := s.Post("alice", "t")
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
		w := s.Socket(tt.payload, header...)
		w.Subscribe("a", `{ viewer { name } }`, "")
		w.Want("next", "a", `{"data":{"viewer":`+tt.want+`}}`)
	}

	s.Vote("bob", id, "UP")
	bob, carol := s.Socket(`{"X-User-ID":"bob"}`), s.Socket("", "X-User-ID", "carol")
	for _, w := range []*sitetest.Socket{bob, carol} {
		w.Subscribe("a", `subscription { articleChanged(ids: [1]) { votes viewerVote viewerCanVote } }`, "")
	}
	bob.Settle(id, "a")
	n := carol.Settle(id, "a")
	bob.ReadVotes("a", n)
	s.Vote("carol", id, "DOWN")
	bob.Want("next", "a", fmt.Sprintf(`{"data":{"articleChanged":{"votes":%d,"viewerVote":"UP","viewerCanVote":true}}}`, n-1))
	carol.Want("next", "a", fmt.Sprintf(`{"data":{"articleChanged":{"votes":%d,"viewerVote":"DOWN","viewerCanVote":true}}}`, n-1))

	bad := strings.Repeat("u", 65)
	w := s.OpenSocket("X-User-ID", "bob")
	w.Send(fmt.Sprintf(`{"type":"connection_init","payload":{"X-User-ID":%q}}`, bad))
	if before, how := w.ReadClose(); len(before) > 0 || how.Code != 4403 || !strings.HasPrefix(how.Reason, "USER_NAME_INVALID: ") {
		t.Errorf("an invalid name in the payload: got %v and %v, want 4403 USER_NAME_INVALID", before, how)
	}
	_, res, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}}, "X-User-ID", bad)
	if err == nil || res == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("an invalid name in the handshake: got %v, %v, want 401", res, err)
	}
}

func TestOnlyAllowedOriginsMayOpenSockets(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	closed := sitetest.New(t, client, site.DefaultRules())
	some := sitetest.New(t, client, site.DefaultRules(), func(o *endpoint.Options) {
		o.Origins = []string{"https://friend.example", "https://*.friends.example"}
	})
	all := sitetest.New(t, client, site.DefaultRules(), func(o *endpoint.Options) { o.Origins = []string{"*"} })
	accepted := func(s *sitetest.Site, origin string) bool {
		var header []string
		if origin != "" {
			header = []string{"Origin", origin}
		}
		conn, res, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}}, header...)
		if err == nil {
			s.SocketOver(conn).Begin("")
		} else if res == nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: got %v, want 403", origin, err)
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
		for i, s := range []*sitetest.Site{closed, some, all} {
			sent := origin
			if origin == "own" {
				sent = s.URL
			}
			row[i] = accepted(s, sent)
		}
		got[origin] = row
	}
	for origin := range want {
		if !reflect.DeepEqual(got[origin], want[origin]) {
			t.Errorf("from %q, without allowed origins, with some and with *: got %v, want %v", origin, got[origin], want[origin])
		}
	}
}

func TestIPv6OriginMayOpenSockets(t *testing.T) {
	t.Parallel()
	const origin = "http://[::1]:3000"
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), func(o *endpoint.Options) { o.Origins = []string{origin} })
	if res, _ := s.PostJSON(`{"query":"{__typename}"}`, "Origin", origin); res.Header.Get("Access-Control-Allow-Origin") != origin {
		t.Errorf("over HTTP: got %v, want the origin to be allowed", res.Header)
	}
	conn, _, err := s.Dial(websocket.DialOptions{Subprotocols: []string{sitetest.Subprotocol}}, "Origin", origin)
	if err != nil {
		t.Fatal(err)
	}
	s.SocketOver(conn).Begin("")
}
