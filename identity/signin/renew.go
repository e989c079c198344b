package signin

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/oauth2"
)

const (
	maxRenewals = 8           // that run at once in this process
	renewPause  = time.Minute // between two attempts for one session, in all processes
	minRenewal  = time.Second
)

// renewAt returns when a session is to be renewed: when the provider's tokens expire.
func (s *SignIn) renewAt(tokens *oauth2.Token) time.Time {
	now := s.o.Now()
	at := now.Add(s.o.Lifetime / 2)
	if tokens.ExpiresIn > 0 {
		if expires := now.Add(time.Duration(tokens.ExpiresIn) * time.Second); expires.Before(at) {
			at = expires
		}
	}
	if soonest := now.Add(minRenewal); at.Before(soonest) {
		at = soonest
	}
	return at
}

// renewSoon asks the provider in the background whether a session goes on. The request that shows that it is time does
// not wait: until the provider has answered, the session goes on as it is. If too many renewals run, a later request
// begins it.
func (s *SignIn) renewSoon(ctx context.Context, id string, v session) {
	select {
	case s.renewals <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-s.renewals }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewPause/2)
		defer cancel()
		digest, _ := sessionKeys(id)
		if mine, err := s.repo.Load().Sessions.RenewsSession(ctx, digest, renewPause); err != nil || !mine {
			return
		}
		if err := s.renew(ctx, id, v); err != nil {
			s.Counts.renewal(RenewalFailed)
			s.o.Log.WarnContext(ctx, "a session was not renewed: it goes on until it ends", "err", err)
		}
	}()
}

// renew renews a session, or ends it if the provider says so. The error is one for the log.
func (s *SignIn) renew(ctx context.Context, id string, v session) error {
	p, err := s.providers.get(ctx)
	if err != nil {
		return err
	}
	tokens, err := p.TokenSource(s.client(ctx), &oauth2.Token{RefreshToken: v.Refresh}).Token()
	if endedAtProvider(err) {
		s.Counts.renewal(RenewalRefused)
		return s.end(ctx, id)
	}
	if err != nil {
		return reason(err)
	}
	v, failed := s.renewed(s.client(ctx), p, v, tokens)
	digest, key := sessionKeys(id)
	_, err = s.repo.Load().Sessions.ReplaceSession(ctx, digest, seal(key, v), s.o.Lifetime)
	if err == nil && failed == nil {
		s.Counts.renewal(Renewed)
	}
	return errors.Join(failed, err)
}

// renewed returns a session with new tokens, and with the roles that the user has now. If these cannot be read, the user
// is no moderator until they can: the session is due again at once. The session that is returned with an error has the new
// refresh token, because the old one may not work any more.
func (s *SignIn) renewed(ctx context.Context, p *provider, v session, tokens *oauth2.Token) (session, error) {
	if tokens.RefreshToken != "" {
		v.Refresh = tokens.RefreshToken
	}
	raw, _ := tokens.Extra("id_token").(string)
	u, err := s.userNow(ctx, p, v, raw, tokens)
	v.Moderator = err == nil && s.isModerator(u)
	if err != nil {
		return v, reason(err)
	}
	v.Renew, v.Until = s.renewAt(tokens), s.o.Now().Add(s.o.Lifetime)
	if raw != "" {
		v.IDToken = raw
	}
	return v, nil
}

// userNow returns the user of a session as the provider describes it when it renews the session: by an ID token, which it
// may leave out (OpenID Connect Core 12.2), or else by the UserInfo endpoint. Without both there are no claims.
func (s *SignIn) userNow(ctx context.Context, p *provider, v session, raw string, tokens *oauth2.Token) (u user, err error) {
	if raw == "" {
		if u.subject = subjectOf(v.Account); s.o.RolesClaim != "" && p.UserInfoEndpoint() != "" {
			u.claims, err = s.userInfo(ctx, p, u.subject, tokens)
		}
		return u, err
	}
	id, err := s.verify(ctx, p, raw)
	if err != nil {
		return u, err
	}
	if id.Subject != subjectOf(v.Account) {
		return u, errOtherUser
	}
	return s.user(ctx, p, id, tokens)
}

// endedAtProvider reports whether the provider says that a session does not go on. That the site is refused, or that the
// provider is away, does not end it.
func endedAtProvider(err error) bool {
	var refusal *oauth2.RetrieveError
	return errors.As(err, &refusal) && !isAway(refusal) && slices.Contains(userCodes, refusal.ErrorCode)
}
