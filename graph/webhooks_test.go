package graph_test

import (
	"regexp"
	"strings"
	"testing"

	"frontpage/tests/sitetest"
)

// Moderators add, change and remove endpoints; a secret is shown once.
func TestModeratorsChangeWebhooks(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	const fields = `webhook { id url kinds paused undelivered } secret userErrors { code field message } }`
	change := func(call string) string {
		t.Helper()
		return asText(t, as(s, "mod", "moderator", `mutation { w: `+call+` { `+fields+` }`))
	}
	added := change(`addWebhook(input: {url: "https://example.org/events", kinds: [VOTED, POSTED, VOTED]})`)
	found := regexp.MustCompile(`^\{"w":\{"secret":"(whsec_[A-Za-z0-9+/]{43}=)","userErrors":\[\],"webhook":\{"id":"(webhook:[a-z2-7]{12})","kinds":\["POSTED","VOTED"\],"paused":null,"undelivered":0,"url":"https://example.org/events"\}\}\}$`).FindStringSubmatch(added)
	if found == nil {
		t.Fatalf("addWebhook: %s", added)
	}
	secret, id := found[1], found[2]
	paused := change(`changeWebhook(input: {webhook: "` + id + `", paused: true, kinds: [], url: "https://example.com/"})`)
	if want := `{"w":{"secret":null,"userErrors":[],"webhook":{"id":"` + id + `","kinds":[],"paused":"a moderator paused it","undelivered":0,"url":"https://example.com/"}}}`; paused != want {
		t.Errorf("changeWebhook: %s\nwant %s", paused, want)
	}
	if got := change(`changeWebhook(input: {webhook: "` + id + `", newSecret: true, paused: false})`); !strings.Contains(got, `"secret":"whsec_`) || strings.Contains(got, secret) || !strings.Contains(got, `"paused":null`) {
		t.Errorf("a new secret: %s", got)
	}
	for call, want := range map[string]string{
		`addWebhook(input: {url: "https://127.0.0.1/"})`:                 `"code":"INVALID","field":["url"],"message":"127.0.0.1 is not a public address, and FRONTPAGE_WEBHOOK_ORIGINS does not allow it"`,
		`addWebhook(input: {url: "https://example.com/"})`:               `"code":"INVALID","field":["url"],"message":"` + id + ` has this address: remove it, or have it get a new secret"`,
		`changeWebhook(input: {webhook: "webhook:aaaa", paused: true})`:  `"code":"NOT_FOUND","field":["webhook"]`,
		`changeWebhook(input: {webhook: "../x", paused: true})`:          `"code":"NOT_FOUND","field":["webhook"]`,
		`changeWebhook(input: {webhook: "` + id + `", url: "http://x"})`: `"code":"INVALID","field":["url"]`,
	} {
		if got := change(call); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", call, got, want)
		}
	}
	const all = `{ webhooks { id url createdAt } }`
	for user, want := range map[string]string{"": "FORBIDDEN", "alice": "FORBIDDEN"} {
		if got := asText(t, s.Ask(user, all)); got != `{"webhooks":null} `+want {
			t.Errorf("webhooks for %q: %s", user, got)
		}
	}
	if got := asText(t, s.Ask("alice", `mutation { w: removeWebhook(input: {webhook: "`+id+`"}) { `+fields+` }`)); !strings.Contains(got, `"code":"FORBIDDEN"`) {
		t.Errorf("removeWebhook by a user: %s", got)
	}
	if got := asText(t, as(s, "mod", "moderator", all)); got != `{"webhooks":[{"createdAt":"2026-01-02T03:04:05.000Z","id":"`+id+`","url":"https://example.com/"}]}` {
		t.Errorf("webhooks: %s", got)
	}
	for range 2 {
		if got := change(`removeWebhook(input: {webhook: "` + id + `"})`); got != `{"w":{"secret":null,"userErrors":[],"webhook":null}}` {
			t.Errorf("removeWebhook: %s", got)
		}
	}
	if got := asText(t, as(s, "mod", "moderator", all)); got != `{"webhooks":[]}` {
		t.Errorf("webhooks after all: %s", got)
	}
}
