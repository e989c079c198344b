package signin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"frontpage/identity"
	"frontpage/redisrepo/sessions"
	"frontpage/redisrepo/site"
)

// session is what the store has of a user who is signed in.
type session struct {
	Account   string    `json:"account"` // at the provider
	Name      string    `json:"name"`    // here
	Moderator bool      `json:"moderator,omitempty"`
	Created   time.Time `json:"created,omitzero"`   // as in identity.Caller
	IDToken   string    `json:"id_token,omitempty"` // for signing out at the provider
	Refresh   string    `json:"refresh,omitempty"`  // the refresh token; empty: the session cannot be renewed
	Renew     time.Time `json:"renew"`              // when the provider is to be asked whether it goes on
	Until     time.Time `json:"until"`              // when it ends if it is not renewed
	Mark      string    `json:"mark,omitempty"`     // of the user's sessions when it began; it ends when there is another one
}

// cookieSeconds is how long a browser keeps the cookie of a session, the most that browsers allow. The session ends by
// itself before.
const cookieSeconds = int(sessions.MaxSession / time.Second)

// sessionKeys returns the name and the key of the session with an id, the value of the cookie. Neither leads to the
// other, or back to the id.
func sessionKeys(id string) (digest string, key cipher.AEAD) {
	derive := func(of string, length int) []byte {
		derived, err := hkdf.Expand(sha256.New, []byte(id), "frontpage session "+of, length)
		if err != nil {
			panic(err) // impossible: the length is fixed
		}
		return derived
	}
	block, err := aes.NewCipher(derive("key", 32))
	if err != nil {
		panic(err) // impossible: the length is fixed
	}
	key, err = cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // impossible for AES
	}
	return hex.EncodeToString(derive("name", 16)), key
}

func seal(key cipher.AEAD, v session) []byte {
	plain, err := json.Marshal(v)
	if err != nil {
		panic(err) // impossible: these are texts and times
	}
	return key.Seal(nil, nil, plain, nil) // #nosec G407 -- the cipher draws the nonce itself
}

func unseal(key cipher.AEAD, sealed []byte) (v session, err error) {
	plain, err := key.Open(nil, nil, sealed, nil)
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(plain, &v)
}

// userBytes is the length of a user's digest.
const userBytes = 16

// userOf returns the digest of the user whose session has an id, which is a secret, a point and that digest: so the
// session and its user's mark are read at once. It is empty if the text is no id.
func userOf(id string) string {
	secret, user, _ := strings.Cut(id, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(secret)
	if digest, invalid := hex.DecodeString(user); invalid != nil || len(digest) != userBytes || err != nil || len(decoded) != secretBytes {
		return ""
	}
	return user
}

var errNotReady = errors.New("the store is not loaded yet")

// open stores a new session and returns its id.
func (s *SignIn) open(ctx context.Context, v session) (id string, err error) {
	user := sessions.UserDigest(site.UserName(v.Name))
	id = text(random(secretBytes)) + "." + user
	digest, key := sessionKeys(id)
	repo := s.repo.Load()
	if _, v.Mark, err = repo.Sessions.Session(ctx, digest, user); err != nil {
		return "", err
	}
	return id, repo.Sessions.KeepSession(ctx, digest, seal(key, v), s.o.Lifetime)
}

// read returns a session. The error is identity.EndedSession if it has ended.
func (s *SignIn) read(ctx context.Context, id string) (v session, err error) {
	repo, user := s.repo.Load(), userOf(id)
	switch {
	case user == "":
		return v, identity.EndedSession()
	case repo == nil:
		return v, errNotReady
	}
	digest, key := sessionKeys(id)
	sealed, mark, err := repo.Sessions.Session(ctx, digest, user)
	if err != nil {
		return v, err
	}
	if v, err = unseal(key, sealed); err != nil || sealed == nil || !s.o.Now().Before(v.Until) || mark != "" && mark != v.Mark {
		return v, identity.EndedSession()
	}
	return v, nil
}

// find implements identity.Sessions. It also begins a renewal that is due.
func (s *SignIn) find(ctx context.Context, id string) (identity.Caller, error) {
	v, err := s.read(ctx, id)
	if err != nil {
		return identity.Caller{}, err
	}
	if v.Refresh != "" && !s.o.Now().Before(v.Renew) {
		s.renewSoon(ctx, id, v)
	}
	return identity.Caller{Name: v.Name, Moderator: v.Moderator, Created: v.Created, Expires: time.Now().Add(s.o.Recheck)}, nil
}

// end removes a session.
func (s *SignIn) end(ctx context.Context, id string) error {
	digest, _ := sessionKeys(id)
	return s.repo.Load().Sessions.EndSession(ctx, digest)
}

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
			s.o.Log.WarnContext(ctx, "a session was not renewed: it stays valid until it expires", "err", err)
		}
	}()
}

// renew renews a session, or ends it if the provider says so. The error is one for the log.
func (s *SignIn) renew(ctx context.Context, id string, v session) error {
	p, err := s.provider(ctx)
	if err != nil {
		return err
	}
	tokens, err := p.TokenSource(s.client(ctx), &oauth2.Token{RefreshToken: v.Refresh}).Token()
	if endedAtProvider(err) {
		err = s.end(ctx, id)
		s.Counts.renewal(RenewalRefused)
		return err
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
