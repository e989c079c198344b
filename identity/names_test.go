package identity_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"frontpage/identity"
	"frontpage/must"
)

func TestIssuedTokenNamesItsUserByEachConfiguredClaim(t *testing.T) {
	t.Parallel()
	var issuerAsked, subjectAsked, wantedName string
	o := identity.Options{
		Secret: secret, Issuer: issuer, NameClaim: "site.name", RolesClaim: "site.roles", ValidName: func(string) error { return nil },
		Accounts: &identity.Accounts{Issuer: "https://login.example", NameClaim: "nick", Find: func(_ context.Context, issuer, subject, wanted string) (string, error) {
			issuerAsked, subjectAsked, wantedName = issuer, subject, wanted
			return "found", nil
		}},
	}
	for _, of := range []string{issuer, "https://login.example"} {
		o.Issuer = of
		token := must.Get(identity.Issue(o, "alice", []string{"moderator"}, time.Hour))(t)
		v := must.Get(identity.New(t.Context(), o))(t)
		req := must.Get(http.NewRequest(http.MethodGet, "/", nil))(t)
		req.Header.Set("Authorization", "Bearer "+token)
		caller, err := v.FromRequest(req)
		if err != nil || caller.Name != "found" || !caller.Moderator || issuerAsked != of || subjectAsked != "alice" || wantedName != "alice" {
			t.Errorf("%s: got %+v, %v for %q, %q, %q", of, caller, err, issuerAsked, subjectAsked, wantedName)
		}
	}
	o.Accounts = nil
	if _, err := identity.New(t.Context(), o); err == nil {
		t.Error("a claim other than sub needs accounts")
	}
}
