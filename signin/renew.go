package signin

import (
	"context"
	"errors"
	"net/http"
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
		if mine, err := s.repo.Load().RenewsSession(ctx, digest, renewPause); err != nil || !mine {
			return
		}
		if err := s.renew(ctx, id, v); err != nil {
			s.Counts.renewal(RenewalFailed)
			s.o.Log.WarnContext(ctx, "a session was not renewed: it goes on until it ends", "err", brief(err))
		}
	}()
}

// renew renews a session, or ends it if the provider says so.
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
		return err
	}
	if v, err = s.renewed(ctx, p, v, tokens); err != nil {
		return err
	}
	digest, key := sessionKeys(id)
	_, err = s.repo.Load().ReplaceSession(ctx, digest, seal(key, v), s.o.Lifetime)
	if err == nil {
		s.Counts.renewal(Renewed)
	}
	return err
}

// renewed returns a session with new tokens, and with the roles that the user has now if the provider says so.
func (s *SignIn) renewed(ctx context.Context, p *provider, v session, tokens *oauth2.Token) (session, error) {
	v.Renew, v.Until = s.renewAt(tokens), s.o.Now().Add(s.o.Lifetime)
	if tokens.RefreshToken != "" {
		v.Refresh = tokens.RefreshToken
	}
	raw, _ := tokens.Extra("id_token").(string)
	if raw == "" {
		return v, nil
	}
	id, err := p.ids.Verify(s.client(ctx), raw)
	if err != nil {
		return v, err
	}
	if account(id.Issuer, id.Subject) != v.Account {
		return v, errors.New("the provider renewed the session with another user")
	}
	u, err := s.user(s.client(ctx), p, id, tokens)
	if err != nil {
		return v, err
	}
	v.IDToken = raw
	v.Moderator = s.isModerator(u)
	return v, nil
}

// endedAtProvider reports whether the provider says that a grant is not valid any more.
func endedAtProvider(err error) bool {
	var refused *oauth2.RetrieveError
	return errors.As(err, &refused) && refused.ErrorCode == "invalid_grant" && refused.Response.StatusCode < http.StatusInternalServerError
}
