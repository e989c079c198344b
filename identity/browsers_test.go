package identity_test

import (
	"testing"

	"frontpage/identity"
)

func TestOnlyPathsOfThisSiteAreLocal(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"/a/1?x=1":               "/a/1?x=1",
		"/a%2F1":                 "/a%2F1",
		"/a/1#top":               "/a/1",
		"":                       "/",
		"a/1":                    "/",
		"//other.example/a":      "/",
		`/\other.example`:        "/",
		"https://other.example/": "/",
		"javascript:alert(1)":    "/",
		"/%zz":                   "/",
		"/23456789?01":           "/23456789?01",
		"/23456789?012":          "/",
	} {
		most := 12
		if got := identity.LocalPath(to, most).String(); got != want {
			t.Errorf("%q: got %q, want %q", to, got, want)
		}
	}
}

func TestCookiesAreSecureOnHTTPS(t *testing.T) {
	t.Parallel()
	for isSecure, want := range map[bool]string{
		true:  "__Host-frontpage-vote=x; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Lax",
		false: "frontpage-vote=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax",
	} {
		if got := identity.Cookie(identity.CookieName("vote", isSecure), "x", 60).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
