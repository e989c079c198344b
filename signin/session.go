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
	"time"

	"frontpage/identity"
)

// session is what the store has of a user who is signed in.
type session struct {
	Account   string    `json:"account"` // at the provider
	Name      string    `json:"name"`    // here
	Moderator bool      `json:"moderator,omitempty"`
	IDToken   string    `json:"id_token,omitempty"` // for signing out at the provider
	Refresh   string    `json:"refresh,omitempty"`  // the refresh token; empty: the session cannot be renewed
	Renew     time.Time `json:"renew"`              // when the provider is to be asked whether it goes on
	Until     time.Time `json:"until"`              // when it ends if it is not renewed
}

// cookieSeconds is how long a browser keeps the cookie of a session, the most that browsers allow. The session ends by
// itself before.
const cookieSeconds = 400 * 24 * 60 * 60

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

// isID reports whether a text has the form of a session's id.
func isID(id string) bool {
	decoded, err := base64.RawURLEncoding.DecodeString(id)
	return err == nil && len(decoded) == secretBytes
}

var errNotReady = errors.New("the store is not loaded yet")

// open stores a new session and returns its id.
func (s *SignIn) open(ctx context.Context, v session) (id string, err error) {
	id = text(random(secretBytes))
	digest, key := sessionKeys(id)
	return id, s.repo.Load().KeepSession(ctx, digest, seal(key, v), s.o.Lifetime)
}

// read returns a session. The error is identity.EndedSession if it has ended.
func (s *SignIn) read(ctx context.Context, id string) (v session, err error) {
	repo := s.repo.Load()
	switch {
	case !isID(id):
		return v, identity.EndedSession()
	case repo == nil:
		return v, errNotReady
	}
	digest, key := sessionKeys(id)
	sealed, err := repo.Session(ctx, digest)
	if err != nil {
		return v, err
	}
	if v, err = unseal(key, sealed); err != nil || sealed == nil || !s.o.Now().Before(v.Until) {
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
	return identity.Caller{Name: v.Name, Moderator: v.Moderator, Expires: time.Now().Add(s.o.Recheck)}, nil
}

// end removes a session.
func (s *SignIn) end(ctx context.Context, id string) error {
	digest, _ := sessionKeys(id)
	return s.repo.Load().EndSession(ctx, digest)
}
