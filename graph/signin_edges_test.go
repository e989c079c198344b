package graph_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/redisrepo"
	"frontpage/redistest"
)

func asClose(err error, how *websocket.CloseError) bool { return errors.As(err, how) }

func TestHeadersThatDoNotCount(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	free, byToken := newSite(t, client, redisrepo.BookRules()), newSite(t, client, redisrepo.BookRules(), bySecret(t))
	for _, tt := range []struct {
		at     *site
		header []string
		want   string
	}{
		{free, []string{"Authorization", "Bearer nonsense"}, "nobody"},
		{free, []string{"Authorization", "Bearer " + hsToken()}, "nobody"},
		{free, []string{"Authorization", "Basic x", "X-User-ID", "bob"}, "bob"},
		{byToken, []string{"X-User-ID", "bob"}, "nobody"},
		{byToken, []string{"X-User-ID", "bob", "Authorization", "Bearer " + hsToken()}, "alice"},
		{byToken, []string{"X-User-ID", strings.Repeat("u", 65)}, "nobody"},
		{byToken, []string{"Cookie", "token=" + hsToken()}, "nobody"},
		{byToken, []string{"X-User-ID", "bob", "X-User-Roles", "moderator", "Authorization", "Bearer " + hsToken()}, "alice"},
	} {
		if _, body := tt.at.get(whoAmI, tt.header...); nameIn(t, body) != tt.want {
			t.Errorf("%.60q: %s, want %s", tt.header, body, tt.want)
		}
	}
	// The role is in the token, too, and not in a header.
	const log = `{ moderationLog { nodes { by } } }`
	for claims, want := range map[string]string{`["moderator"]`: "", `["Moderator","admin"]`: "FORBIDDEN", `"reader moderator"`: "", `true`: "FORBIDDEN"} {
		_, body := byToken.get(log, "Authorization", "Bearer "+hsToken("roles", claims), "X-User-Roles", "moderator")
		if got := codeOf(t, body); got != want {
			t.Errorf("the roles %s: %s, want %q", claims, body, want)
		}
	}
}

func TestBadNamesInDevelopmentMode(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules())
	long := strings.Repeat("whisper", 10)
	for name, header := range map[string][]string{
		"too long":             {"X-User-ID", long},
		"a control character":  {"X-User-ID", "whisper\u0085"},
		"bad UTF-8":            {"X-User-ID", "whisper\xff"},
		"two names":            {"X-User-ID", "whisper", "X-User-ID", "bob"},
		"two lists of roles":   {"X-User-ID", "whisper", "X-User-Roles", "moderator", "X-User-Roles", "x"},
		"no-break space at it": {"X-User-ID", "whisper\u00a0"},
	} {
		post, body := s.postJSON(`{"query":"`+whoAmI+`"}`, header...)
		get, getBody := s.get(whoAmI, header...)
		events, eventsBody := s.get(whoAmI, append(header, "Accept", "text/event-stream")...)
		for _, res := range []*http.Response{post, get, events} {
			if res.StatusCode != 401 || res.Header.Get("Content-Type") != typeJSON || res.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: %d %v", name, res.StatusCode, res.Header)
			}
		}
		if codeOf(t, body) != "USER_NAME_INVALID" || getBody != body || eventsBody != body {
			t.Errorf("%s: %s, %s, %s", name, body, getBody, eventsBody)
		}
	}
	for name, payload := range map[string]string{
		"too long":            fmt.Sprintf(`{"X-User-ID":%q}`, long),
		"a control character": `{"X-User-ID":"whisper\u0007"}`,
		"a blank in front":    `{"X-User-ID":" whisper"}`,
		"a number":            `{"X-User-ID":5}`,
		"a list":              `{"X-User-ID":["whisper"]}`,
		"two names":           `{"X-User-ID":"whisper","x-user-id":"bob"}`,
		"a number as roles":   `{"X-User-ID":"whisper","X-User-Roles":1}`,
	} {
		w := s.open("X-User-ID", "bob")
		w.send(`{"type":"connection_init","payload":` + payload + `}`)
		if before, how := w.closed(); len(before) > 0 || how.Code != 4403 || !strings.HasPrefix(how.Reason, "USER_NAME_INVALID: ") {
			t.Errorf("%s: %v %v", name, before, how)
		}
	}
	if _, body := s.get(whoAmI, "X-User-ID", ""); nameIn(t, body) != "nobody" {
		t.Errorf("an empty name: %s", body)
	}
}

// SECURITY.md: the log has no names, and of what is refused no part.
func TestTheLogHasNoPartOfWhoIsRefused(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	free, byToken := newSite(t, client, redisrepo.BookRules()), newSite(t, client, redisrepo.BookRules(), bySecret(t))
	for _, name := range []string{"whisper\u0085", "whisper\u00a0", strings.Repeat("whisper", 10)} {
		free.get(whoAmI, "X-User-ID", name)
	}
	w := free.open()
	w.send(`{"type":"connection_init","payload":{"X-User-ID":" whisper"}}`)
	w.closed()
	for _, token := range []string{
		hsToken("sub", `"whisper\u0007"`), hsToken("sub", `" whisper"`), hsToken("aud", `"whisper"`), hsToken("iss", `"whisper"`), hsToken("exp", `"whisper"`),
		tokenOf(`{"alg":"whisper"}`, claimsOf(), tokenSecret), tokenOf(`{"alg":"HS256","crit":["whisper"]}`, claimsOf(), tokenSecret),
		tokenOf(headerHS, "whisper", tokenSecret), tokenOf("whisper", claimsOf(), tokenSecret), "whisper", "whisper.whisper.whisper",
	} {
		byToken.get(whoAmI, "Authorization", "Bearer "+token)
	}
	for mode, log := range map[string]string{"in development mode": free.log.String(), "by token": byToken.log.String()} {
		if strings.Count(log, "not recognised") < 4 {
			t.Errorf("%s: refusals are not in the log: %s", mode, log)
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, "whisper") {
				t.Errorf("%s the log says %s", mode, line)
			}
		}
	}
}

// A token's expiry ends what it opened. The leeway of 30 s belongs to its time.
func TestATokenExpiresWhileStreamsAreOpen(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Start(t).Client, redisrepo.BookRules(), bySecret(t))
	began := time.Now()
	ends := began.Add(3 * time.Second).Truncate(time.Second)
	short := "Bearer " + hsToken("exp", fmt.Sprint(ends.Add(-30*time.Second).Unix()))
	long := "Bearer " + hsToken()
	byHeader, byPayload := s.socket("", "Authorization", short), s.socket(fmt.Sprintf(`{"Authorization":%q}`, short), "Authorization", long)
	lasting := s.socket(fmt.Sprintf(`{"Authorization":%q}`, long), "Authorization", short)
	quiet := s.socket(fmt.Sprintf(`{"Authorization":%q}`, short))
	for _, w := range []*wire{byHeader, byPayload, lasting} {
		w.start("a", watchAll, "")
	}
	events := s.stream(watchAll, "Authorization", short)
	events.comment()
	for name, w := range map[string]*wire{"by the handshake": byHeader, "by the payload": byPayload, "without an operation": quiet} {
		before, how := w.closed()
		if len(before) > 0 || how.Code != 4403 || !strings.HasPrefix(how.Reason, "TOKEN_EXPIRED: ") {
			t.Errorf("%s: %v after %v", name, how, before)
		}
		if early := time.Until(ends); early > 0 {
			t.Errorf("%s: ended %v before the token expired", name, early)
		}
	}
	rest := new(strings.Builder)
	defer time.AfterFunc(patience, events.cancel).Stop()
	if _, err := events.body.WriteTo(rest); err != nil || strings.Contains(rest.String(), "event:") {
		t.Errorf("the event stream ended with %v after %q", err, rest)
	}
	if late := time.Since(ends); late < 0 || late > 10*time.Second {
		t.Errorf("the streams ended %v after the token expired", late)
	}
	if res, body := s.get(whoAmI, "Authorization", short); res.StatusCode != 401 || codeOf(t, body) != "TOKEN_EXPIRED" {
		t.Errorf("the same token again: %d %s", res.StatusCode, body)
	}
	lasting.start("b", whoAmI, "")
	lasting.want("next", "b", `{"data":{"viewer":{"name":"alice"}}}`)
}
