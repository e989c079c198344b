package endpoint_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

func asClose(err error, how *websocket.CloseError) bool { return errors.As(err, how) }

func TestIdentityHeadersOfOtherModesAreIgnored(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	free, byToken := sitetest.New(t, client, site.DefaultRules()), sitetest.New(t, client, site.DefaultRules(), sitetest.WithSecret(t))
	for _, tt := range []struct {
		at     *sitetest.Site
		header []string
		want   string
	}{
		{free, []string{"Authorization", "Bearer nonsense"}, "anonymous"},
		{free, []string{"Authorization", "Bearer " + sitetest.Token()}, "anonymous"},
		{free, []string{"Authorization", "Basic x", "X-User-ID", "bob"}, "bob"},
		{byToken, []string{"X-User-ID", "bob"}, "anonymous"},
		{byToken, []string{"X-User-ID", "bob", "Authorization", "Bearer " + sitetest.Token()}, "alice"},
		{byToken, []string{"X-User-ID", strings.Repeat("u", 65)}, "anonymous"},
		{byToken, []string{"Cookie", "token=" + sitetest.Token()}, "anonymous"},
		{byToken, []string{"X-User-ID", "bob", "X-User-Roles", "moderator", "Authorization", "Bearer " + sitetest.Token()}, "alice"},
	} {
		if _, body := tt.at.Get(whoAmI, tt.header...); nameIn(t, body) != tt.want {
			t.Errorf("%.60q: got %s, want %s", tt.header, body, tt.want)
		}
	}
	// Roles come from the token, too, and not from a header.
	const log = `{ moderationLog { nodes { by } } }`
	for claims, want := range map[string]string{`["moderator"]`: "", `["Moderator","admin"]`: "FORBIDDEN", `"reader moderator"`: "", `true`: "FORBIDDEN"} {
		_, body := byToken.Get(log, "Authorization", "Bearer "+sitetest.Token("roles", claims), "X-User-Roles", "moderator")
		if got := sitetest.CodeOf(t, body); got != want {
			t.Errorf("the roles %s: got %s, want code %q", claims, body, want)
		}
	}
}

func TestInvalidNamesAreRejectedInDevelopmentMode(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	long := strings.Repeat("whisper", 10)
	for name, header := range map[string][]string{
		"too long":            {"X-User-ID", long},
		"a control character": {"X-User-ID", "whisper\u0085"},
		"invalid UTF-8":       {"X-User-ID", "whisper\xff"},
		"two names":           {"X-User-ID", "whisper", "X-User-ID", "bob"},
		"two lists of roles":  {"X-User-ID", "whisper", "X-User-Roles", "moderator", "X-User-Roles", "x"},
		"a no-break space":    {"X-User-ID", "whisper\u00a0"},
		"that of commands":    {"X-User-ID", "Command Line"},
	} {
		post, body := s.PostJSON(`{"query":"`+whoAmI+`"}`, header...)
		get, getBody := s.Get(whoAmI, header...)
		events, eventsBody := s.Get(whoAmI, append(header, "Accept", "text/event-stream")...)
		for _, res := range []*http.Response{post, get, events} {
			if res.StatusCode != 401 || res.Header.Get("Content-Type") != typeJSON || res.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: got %d %v, want 401", name, res.StatusCode, res.Header)
			}
		}
		if sitetest.CodeOf(t, body) != "USER_NAME_INVALID" || getBody != body || eventsBody != body {
			t.Errorf("%s: got %s, %s, %s, want the same USER_NAME_INVALID", name, body, getBody, eventsBody)
		}
	}
	for name, payload := range map[string]string{
		"too long":            fmt.Sprintf(`{"X-User-ID":%q}`, long),
		"a control character": `{"X-User-ID":"whisper\u0007"}`,
		"a leading blank":     `{"X-User-ID":" whisper"}`,
		"a number":            `{"X-User-ID":5}`,
		"a list":              `{"X-User-ID":["whisper"]}`,
		"two names":           `{"X-User-ID":"whisper","x-user-id":"bob"}`,
		"a number as roles":   `{"X-User-ID":"whisper","X-User-Roles":1}`,
	} {
		w := s.OpenSocket("X-User-ID", "bob")
		w.Send(`{"type":"connection_init","payload":` + payload + `}`)
		if before, how := w.ReadClose(); len(before) > 0 || how.Code != 4403 || !strings.HasPrefix(how.Reason, "USER_NAME_INVALID: ") {
			t.Errorf("%s: got %v and %v, want 4403 USER_NAME_INVALID", name, before, how)
		}
	}
	if _, body := s.Get(whoAmI, "X-User-ID", ""); nameIn(t, body) != "anonymous" {
		t.Errorf("an empty name: got %s, want anonymous", body)
	}
}

// SECURITY.md promises that the log contains no names and no part of rejected credentials.
func TestLogContainsNoRejectedCredentials(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	free, byToken := sitetest.New(t, client, site.DefaultRules()), sitetest.New(t, client, site.DefaultRules(), sitetest.WithSecret(t))
	for _, name := range []string{"whisper\u0085", "whisper\u00a0", strings.Repeat("whisper", 10)} {
		free.Get(whoAmI, "X-User-ID", name)
	}
	w := free.OpenSocket()
	w.Send(`{"type":"connection_init","payload":{"X-User-ID":" whisper"}}`)
	w.ReadClose()
	for _, token := range []string{
		sitetest.Token("sub", `"whisper\u0007"`), sitetest.Token("sub", `" whisper"`), sitetest.Token("aud", `"whisper"`), sitetest.Token("iss", `"whisper"`), sitetest.Token("exp", `"whisper"`),
		sitetest.SignToken(`{"alg":"whisper"}`, sitetest.Claims(), sitetest.TokenSecret), sitetest.SignToken(`{"alg":"HS256","crit":["whisper"]}`, sitetest.Claims(), sitetest.TokenSecret),
		sitetest.SignToken(sitetest.HeaderHS, "whisper", sitetest.TokenSecret), sitetest.SignToken("whisper", sitetest.Claims(), sitetest.TokenSecret), "whisper", "whisper.whisper.whisper",
	} {
		byToken.Get(whoAmI, "Authorization", "Bearer "+token)
	}
	for mode, log := range map[string]string{"in development mode": free.Log.String(), "by token": byToken.Log.String()} {
		if strings.Count(log, "not authenticated") < 4 {
			t.Errorf("%s: got log %s, want a line for each refusal", mode, log)
		}
		for line := range strings.Lines(log) {
			if strings.Contains(line, "whisper") {
				t.Errorf("%s: got log line %s, want no part of the credentials", mode, line)
			}
		}
	}
}

// When a token has expired, including its leeway of 30 s, the streams that it opened end.
func TestExpiredTokenEndsOpenStreams(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules(), sitetest.WithSecret(t))
	began := time.Now()
	ends := began.Add(3 * time.Second).Truncate(time.Second)
	short := "Bearer " + sitetest.Token("exp", fmt.Sprint(ends.Add(-30*time.Second).Unix()))
	long := "Bearer " + sitetest.Token()
	byHeader, byPayload := s.Socket("", "Authorization", short), s.Socket(fmt.Sprintf(`{"Authorization":%q}`, short), "Authorization", long)
	lasting := s.Socket(fmt.Sprintf(`{"Authorization":%q}`, long), "Authorization", short)
	quiet := s.Socket(fmt.Sprintf(`{"Authorization":%q}`, short))
	for _, w := range []*sitetest.Socket{byHeader, byPayload, lasting} {
		w.Subscribe("a", watchAll, "")
	}
	events := s.Stream(watchAll, "Authorization", short)
	events.Comment()
	for name, w := range map[string]*sitetest.Socket{"by the handshake": byHeader, "by the payload": byPayload, "without an operation": quiet} {
		before, how := w.ReadClose()
		if len(before) > 0 || how.Code != 4403 || !strings.HasPrefix(how.Reason, "TOKEN_EXPIRED: ") {
			t.Errorf("%s: got %v after %v, want 4403 TOKEN_EXPIRED", name, how, before)
		}
		if early := time.Until(ends); early > 0 {
			t.Errorf("%s: ended %v before the token expired, want no earlier end", name, early)
		}
	}
	rest := new(strings.Builder)
	defer time.AfterFunc(sitetest.Patience, events.Cancel).Stop()
	if _, err := events.Body.WriteTo(rest); err != nil || strings.Contains(rest.String(), "event:") {
		t.Errorf("event stream: got %q, %v, want its end without events", rest, err)
	}
	if late := time.Since(ends); late < 0 || late > 10*time.Second {
		t.Errorf("the streams ended %v after the token expired, want at most 10s", late)
	}
	if res, body := s.Get(whoAmI, "Authorization", short); res.StatusCode != 401 || sitetest.CodeOf(t, body) != "TOKEN_EXPIRED" {
		t.Errorf("the expired token: got %d %s, want 401 TOKEN_EXPIRED", res.StatusCode, body)
	}
	lasting.Subscribe("b", whoAmI, "")
	lasting.Want("next", "b", `{"data":{"viewer":{"name":"alice"}}}`)
}
