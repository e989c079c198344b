package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"frontpage/identity"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
)

// start sends a user to the provider.
func (s *SignIn) start(w http.ResponseWriter, req *http.Request) {
	to := s.returnPath(req.FormValue("return"))
	p, err := s.provider(req.Context())
	if err != nil {
		failed := unanswered(err)
		s.Counts.signIn(failed.outcome)
		s.o.Log.WarnContext(req.Context(), "the OIDC provider cannot be used", "outcome", failed.outcome, "err", failed.cause)
		again(w, failed.status, failed.text, to)
		return
	}
	secret := s.flowSecret(req)
	if secret == nil {
		secret = random(secretBytes)
	}
	// The browser sends it back with the provider's redirection, which is a link from another site.
	http.SetCookie(w, identity.Cookie(s.cookieName("flow"), text(secret), flowSeconds))
	f := begin(secret, to, s.o.Now())
	private(w.Header())
	http.Redirect(w, req, p.AuthCodeURL(f.state, oidc.Nonce(f.nonce), oauth2.S256ChallengeOption(f.verifier)), http.StatusFound)
}

// finish signs in a user whom the provider has sent back.
func (s *SignIn) finish(w http.ResponseWriter, req *http.Request) {
	query := req.URL.Query()
	f, ours := resume(s.flowSecret(req), query.Get("state"), s.o.Now())
	if !ours {
		s.Counts.signIn(Refused)
		again(w, http.StatusBadRequest, "This sign-in was not begun in this browser, or more than an hour ago.", "/")
		return
	}
	failed := s.admit(req, f)
	var v session
	if failed == nil {
		v, failed = s.accept(req.Context(), query, f)
	}
	if failed != nil {
		s.Counts.signIn(failed.outcome)
		s.o.Log.WarnContext(req.Context(), "a user was not signed in", "outcome", failed.outcome, "err", failed.cause)
		if failed.wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(rates.Seconds(failed.wait)))
		}
		again(w, failed.status, failed.text, f.to)
		return
	}
	id, err := s.open(req.Context(), v)
	if err != nil {
		s.Counts.signIn(Failed)
		s.o.Log.WarnContext(req.Context(), "a session cannot be stored", "err", err)
		again(w, http.StatusServiceUnavailable, storeAway, f.to)
		return
	}
	if before, err := req.Cookie(s.cookieName("session")); err == nil && userOf(before.Value) != "" {
		_ = s.end(req.Context(), before.Value) // no browser has it any more: it ends by itself, at the latest
	}
	s.Counts.signIn(SignedIn)
	http.SetCookie(w, s.Sessions().Set(id, cookieSeconds))
	private(w.Header())
	http.Redirect(w, req, f.to, http.StatusSeeOther)
}

const storeAway = "The site cannot reach its store."

// failure is why a user was not signed in.
type failure struct {
	outcome Outcome
	status  int
	text    string // for the user
	cause   error  // for the log: neither a name nor a part of what the provider answered
	wait    time.Duration
}

func refused(text string, cause error) *failure {
	return &failure{outcome: Refused, status: http.StatusForbidden, text: text, cause: cause}
}

// unstored is the failure of a sign-in without the store.
func unstored(cause error) *failure {
	return &failure{outcome: Failed, status: http.StatusServiceUnavailable, text: storeAway, cause: cause}
}

// accept turns what the provider has sent the user back with into a session.
func (s *SignIn) accept(ctx context.Context, query url.Values, f flow) (session, *failure) {
	if code := query.Get("error"); code != "" {
		return session{}, answered(code)
	}
	if issuer := query.Get("iss"); issuer != "" && issuer != s.o.Issuer {
		return session{}, refused("Another sign-in service has answered.", errors.New("the answer names another issuer"))
	}
	p, err := s.provider(ctx)
	if err != nil {
		return session{}, unanswered(err)
	}
	ctx = s.client(ctx)
	tokens, err := p.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(f.verifier))
	if err != nil {
		return session{}, unanswered(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := s.verify(ctx, p, raw)
	if err == nil && subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.nonce)) != 1 {
		err = &tokenError{text: "has the nonce of another sign-in"}
	}
	var invalid *tokenError
	switch {
	case errors.As(err, &invalid) && invalid.away:
		return session{}, &failure{outcome: ProviderAway, status: http.StatusServiceUnavailable,
			text: "What the sign-in service says about you cannot be checked now. Try again in a few seconds.", cause: err}
	case err != nil:
		return session{}, refused("What the sign-in service says about you is not valid.", err)
	}
	u, err := s.user(ctx, p, id, tokens)
	if err != nil {
		return session{}, unanswered(err)
	}
	return s.sessionOf(ctx, u, tokens, raw)
}

// sessionOf returns the session of a user, who gets a name of this site.
func (s *SignIn) sessionOf(ctx context.Context, u user, tokens *oauth2.Token, idToken string) (session, *failure) {
	wanted := u.name(s.o.NameClaim)
	if s.o.ValidName(wanted) != nil {
		wanted = "" // which is enough for an account that has a name here
	}
	v := session{
		Account: account(s.o.Issuer, u.subject), IDToken: idToken, Refresh: tokens.RefreshToken,
		Moderator: s.isModerator(u), Created: identity.TimeIn(u.claim(s.o.CreatedClaim)),
		Renew: s.renewAt(tokens), Until: s.o.Now().Add(s.o.Lifetime),
	}
	name, err := s.repo.Load().Sessions.AccountName(ctx, v.Account, wanted)
	var full site.Refusal
	switch {
	case errors.As(err, &full) && wanted == "":
		return v, refused("Your account at the sign-in service has no name that can be used here. Choose one there: 1 to 64 characters.",
			errors.New("the claim "+s.o.NameClaim+" is not a user name"))
	case errors.As(err, &full):
		return v, refused("Your account at the sign-in service has a name that too many users have. Choose another one there.",
			errors.New("too many accounts want one name"))
	case err != nil:
		return v, unstored(err)
	}
	v.Name = string(name)
	return v, nil
}

// account identifies a user: a provider gives no subject twice.
func account(issuer, subject string) string { return issuer + "\n" + subject }

// subjectOf returns the subject of an account.
func subjectOf(account string) string {
	_, subject, _ := strings.Cut(account, "\n")
	return subject
}

// answered is the failure of a user whom the provider sends back with a code.
func answered(code string) *failure {
	cause := errors.New(printable(code))
	switch {
	case slices.Contains(awayCodes, code):
		return away(cause)
	case slices.Contains(siteCodes, code):
		return misconfigured(cause)
	}
	return refused(notSignedIn, cause)
}

const notSignedIn = "The sign-in service has not signed you in."

// unanswered says why the provider gave no tokens.
func unanswered(err error) *failure {
	var refusal *oauth2.RetrieveError
	switch {
	case errors.As(err, new(*settingError)):
		return misconfigured(err)
	case !errors.As(err, &refusal) || isAway(refusal):
		return away(reason(err))
	case refusal.ErrorCode == "invalid_grant":
		return usedUp("invalid_grant")
	case slices.Contains(userCodes, refusal.ErrorCode):
		return refused(notSignedIn, reason(err))
	}
	// The rest of the answer may have secrets.
	return misconfigured(fmt.Errorf("the provider refuses the client: %w", reason(err)))
}

// away is the failure of a sign-in that may work in a moment.
func away(cause error) *failure {
	return &failure{outcome: ProviderAway, status: http.StatusServiceUnavailable,
		text: "The sign-in service does not answer or has a fault. The site can be read meanwhile.", cause: cause}
}

// misconfigured is the failure of all sign-ins until the operator changes something.
func misconfigured(cause error) *failure {
	return &failure{outcome: Failed, status: http.StatusBadGateway, text: "The operator of this site has to look at its settings for the sign-in service.", cause: cause}
}

// usedUp is the failure of a sign-in that has ended before.
func usedUp(cause string) *failure {
	return &failure{outcome: Refused, status: http.StatusBadRequest, text: "This sign-in has been used already, or took too long.", cause: errors.New(cause)}
}

// printable returns a code of the provider for the log: anyone can send any text in its place.
func printable(code string) string {
	for _, c := range code {
		if (c < 'a' || c > 'z') && c != '_' {
			return "an unknown error"
		}
	}
	return code[:min(len(code), 40)]
}

// out ends the session of a user, here and at the provider.
func (s *SignIn) out(w http.ResponseWriter, req *http.Request) {
	private(w.Header())
	w.Header().Set("Clear-Site-Data", `"cache"`) // or the browser's Back shows pages of the user
	sessions := s.Sessions()
	cookie, err := req.Cookie(sessions.Cookie)
	if err != nil {
		http.Redirect(w, req, "/", http.StatusSeeOther)
		return
	}
	v, err := s.read(req.Context(), cookie.Value)
	if err == nil {
		err = s.end(req.Context(), cookie.Value)
	}
	var ended *identity.Refusal
	if err != nil && !errors.As(err, &ended) {
		s.o.Log.WarnContext(req.Context(), "a session cannot be ended", "err", err)
		w.Header().Set("Retry-After", "10")
		show(w, http.StatusServiceUnavailable, page{Title: "You are still signed in", Text: storeAway + " Try to sign out again in a moment.", To: "/", Link: "Back"})
		return
	}
	http.SetCookie(w, sessions.Clear())
	to := s.endSession(req.Context(), v)
	if to == "" {
		http.Redirect(w, req, "/", http.StatusSeeOther)
		return
	}
	// A policy of form-action 'self' also forbids a redirection of the form to the provider.
	show(w, http.StatusOK, page{Title: "You have signed out of this site", Text: "Next, you sign out of the sign-in service.", To: to, Link: "Continue", At: to})
}

// endSession returns where a user signs out at the provider; empty if that is not possible.
func (s *SignIn) endSession(ctx context.Context, v session) string {
	p, err := s.provider(ctx)
	if err != nil || p.endSession == "" || v.IDToken == "" {
		return ""
	}
	to, err := url.Parse(p.endSession)
	if err != nil || to.Scheme != "https" && to.Scheme != "http" {
		return ""
	}
	query := to.Query()
	query.Set("id_token_hint", v.IDToken)
	query.Set("client_id", s.o.ClientID)
	query.Set("post_logout_redirect_uri", s.o.PublicURL+"/")
	to.RawQuery = query.Encode()
	return to.String()
}
