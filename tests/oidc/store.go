package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
	"golang.org/x/text/language"
)

const (
	subjectPrefix = "sub-"
	password      = "secret"
	clientSecret  = "the secret of the site"
)

// users are all those whom a login name describes.
type users struct{}

func (users) GetUserByID(id string) *storage.User {
	return users{}.GetUserByUsername(strings.TrimPrefix(id, subjectPrefix))
}

func (users) GetUserByUsername(login string) *storage.User {
	account, _, _ := strings.Cut(login, "+")
	name, _, _ := strings.Cut(account, "@")
	return &storage.User{ID: subjectPrefix + login, Username: name, Password: password, PreferredLanguage: language.English}
}

func (users) ExampleClientID() string { return "service" }

// client is a site. Each may be on any port of this machine.
type client struct {
	*storage.Client
	claims bool // whether its ID tokens have all claims
}

func (c client) IDTokenUserinfoClaimsAssertion() bool { return c.claims }
func (c client) RedirectURIGlobs() []string {
	return []string{"http://127.0.0.1:*/sign-in/callback", "https://news.example.org/sign-in/callback"}
}

func (c client) PostLogoutRedirectURIGlobs() []string {
	return []string{"http://127.0.0.1:*/", "https://news.example.org/"}
}

// store has keys that can be changed, users with roles, and tokens of any lifetime.
type store struct {
	*storage.Storage
	clients map[string]client

	mu       sync.Mutex
	key      key           // signs
	lifetime time.Duration // of access tokens
	roles    map[string]string
}

func newStore(s *storage.Storage) *store {
	web := storage.WebClient("frontpage", clientSecret)
	other := storage.WebClient("other", clientSecret)
	st := &store{
		Storage: s, clients: map[string]client{"frontpage": {web, false}, "other": {other, true}},
		lifetime: 5 * time.Minute, roles: map[string]string{},
	}
	st.rotate()
	return st
}

type key struct {
	id      string
	private *rsa.PrivateKey
}

func (k key) ID() string                                  { return k.id }
func (k key) Key() any                                    { return k.private }
func (k key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }

type publicKey struct{ key }

func (k publicKey) Key() any                           { return &k.private.PublicKey }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }

// rotate replaces the key that signs. The one before is published no longer.
func (s *store) rotate() {
	private := must(rsa.GenerateKey(rand.Reader, 2048))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key{rand.Text(), private}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (s *store) signs() key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

func (s *store) SigningKey(context.Context) (op.SigningKey, error) { return s.signs(), nil }

// sign returns a token with changed claims, signed again.
func (s *store) sign(token, changes string) string {
	parsed := must(jose.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256}))
	claims := map[string]any{}
	for _, text := range [][]byte{parsed.UnsafePayloadWithoutVerification(), []byte(changes)} {
		if err := json.Unmarshal(text, &claims); err != nil {
			panic(err)
		}
	}
	for name, value := range claims {
		if value == nil {
			delete(claims, name)
		}
	}
	key := s.signs()
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key.private, KeyID: key.id}}, nil))
	return must(must(signer.Sign(must(json.Marshal(claims)))).CompactSerialize())
}

func (s *store) KeySet(context.Context) ([]op.Key, error) { return []op.Key{publicKey{s.signs()}}, nil }

func (s *store) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

func (s *store) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	c, found := s.clients[id]
	if !found {
		return nil, errors.New("there is no such client")
	}
	return c, nil
}

func (s *store) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	if _, found := s.clients[id]; !found || secret != clientSecret {
		return errors.New("the client or its secret is wrong")
	}
	return nil
}

func (s *store) CreateAccessToken(ctx context.Context, request op.TokenRequest) (string, time.Time, error) {
	id, _, err := s.Storage.CreateAccessToken(ctx, request)
	return id, s.expiry(), err
}

func (s *store) CreateAccessAndRefreshTokens(ctx context.Context, request op.TokenRequest, current string) (string, string, time.Time, error) {
	id, refresh, _, err := s.Storage.CreateAccessAndRefreshTokens(ctx, request, current)
	return id, refresh, s.expiry(), err
}

func (s *store) expiry() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.lifetime)
}

func (s *store) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, token op.IDTokenRequest, scopes []string) error {
	s.addRoles(info, token.GetSubject())
	return s.Storage.SetUserinfoFromRequest(ctx, info, token, scopes)
}

func (s *store) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	s.addRoles(info, subject)
	return s.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin)
}

// addRoles adds the roles of the login name, or those that a test has given the subject since.
func (s *store) addRoles(info *oidc.UserInfo, subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, roles, found := strings.Cut(subject, "+")
	if now, changed := s.roles[subject]; changed {
		roles, found = now, true
	}
	if found {
		info.AppendClaims("roles", strings.Fields(roles))
	}
}
