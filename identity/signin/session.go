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
	"strings"
	"time"

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
