// Package secretbox encrypts confidential data in the store, such as contacts of notices, with a key that is not in the
// store.
package secretbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// MinSecret is the minimum length of a secret, bytes.
const MinSecret = 32

// ErrUnreadable is the error of Open for data that was sealed with another secret, purpose or associated data, or was
// changed.
var ErrUnreadable = errors.New("it was sealed with another secret, or was changed")

// Box seals with the first of its secrets, and opens what was sealed with any of them. It is safe for concurrent use.
type Box struct{ secrets []string }

// New returns a box. It needs at least one secret, and each must have MinSecret bytes or more.
func New(secrets ...string) (*Box, error) {
	if len(secrets) == 0 {
		return nil, errors.New("there is no secret")
	}
	for i, secret := range secrets {
		if len(secret) < MinSecret {
			return nil, fmt.Errorf("secret %d has %d bytes, want at least %d", i+1, len(secret), MinSecret)
		}
	}
	return &Box{secrets}, nil
}

// Split returns the secrets of a setting, which are separated by commas or line breaks.
func Split(text string) (secrets []string) {
	for secret := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == '\n' || c == '\r' }) {
		if secret = strings.TrimSpace(secret); secret != "" {
			secrets = append(secrets, secret)
		}
	}
	return secrets
}

// Seal encrypts a text with AES-256-GCM. Open needs the same purpose, which has its own key, and the same associated
// data, which identify the owner of the text.
func (b *Box) Seal(purpose string, text, associated []byte) ([]byte, error) {
	gcm, err := cipherOf(b.secrets[0], purpose)
	if err != nil {
		return nil, err
	}
	return gcm.Seal(nil, nil, text, associated), nil // #nosec G407 -- this cipher makes a random nonce itself
}

// Open decrypts what Seal returned. The error is ErrUnreadable if no secret opens it.
func (b *Box) Open(purpose string, sealed, associated []byte) ([]byte, error) {
	for _, secret := range b.secrets {
		gcm, err := cipherOf(secret, purpose)
		if err != nil {
			return nil, err
		}
		if text, err := gcm.Open(nil, nil, sealed, associated); err == nil {
			return text, nil
		}
	}
	return nil, ErrUnreadable
}

// Digest returns a digest of a text, 32 bytes, keyed by the first secret. It depends on secret, purpose and text only.
func (b *Box) Digest(purpose, text string) ([]byte, error) {
	key, err := keyOf(b.secrets[0], purpose)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil), nil
}

func keyOf(secret, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(secret), nil, "frontpage "+purpose, 32)
}

func cipherOf(secret, purpose string) (cipher.AEAD, error) {
	key, err := keyOf(secret, purpose)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
