package sitetest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/tests/require"
)

// The issuer, audience and secret of the tests' tokens.
const (
	TokenIssuer   = "https://issuer.example/"
	TokenAudience = "frontpage"
	TokenSecret   = "sesame-0123456789abcdef-0123456789abcdef"
)

// Keyring holds an issuer's private keys, and others that the issuer does not publish.
type Keyring struct {
	RSA           *rsa.PrivateKey
	EC, StrangeEC *ecdsa.PrivateKey
	Ed25519       ed25519.PrivateKey
}

// NewKeyring makes keys for signing tokens.
func NewKeyring(t *testing.T) *Keyring {
	t.Helper()
	var k Keyring
	var errs [4]error
	k.RSA, errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	k.EC, errs[1] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	k.StrangeEC, errs[2] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, k.Ed25519, errs[3] = ed25519.GenerateKey(rand.Reader)
	require.NoError(t, errors.Join(errs[:]...))
	return &k
}

// File writes the public keys to a file as a JSON Web Key Set, and returns its path.
func (k *Keyring) File(t *testing.T) string {
	t.Helper()
	set := `{"keys":[` + JWK("rsa", k.RSA) + "," + JWK("ec", k.EC) + "," + JWK("ed", k.Ed25519) + `]}`
	path := filepath.Join(t.TempDir(), "jwks.json")
	require.NoError(t, os.WriteFile(path, []byte(set), 0o600))
	return path
}

// Base64URL encodes without padding.
func Base64URL(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

// JWK returns the public key of private as a JSON Web Key. more are additional members, such as `"use":"enc"`.
func JWK(id string, private crypto.Signer, more ...string) string {
	var members []string
	switch public := private.Public().(type) {
	case *rsa.PublicKey:
		members = []string{`"kty":"RSA"`, `"n":"` + Base64URL(public.N.Bytes()) + `"`, `"e":"` + Base64URL(big.NewInt(int64(public.E)).Bytes()) + `"`}
	case *ecdsa.PublicKey:
		point := require.Must(public.Bytes())
		x, y := Base64URL(point[1:1+len(point)/2]), Base64URL(point[1+len(point)/2:])
		members = []string{`"kty":"EC"`, `"crv":"` + public.Params().Name + `"`, `"x":"` + x + `"`, `"y":"` + y + `"`}
	case ed25519.PublicKey:
		members = []string{`"kty":"OKP"`, `"crv":"Ed25519"`, `"x":"` + Base64URL(public) + `"`}
	default:
		panic("unsupported type of key")
	}
	return "{" + strings.Join(append(members, more...), ",") + `,"kid":"` + id + `"}`
}

// SignToken makes a token of any header and claims. The type of key determines the algorithm, even against the header:
// HS256 for a string; RS256, ES256 or EdDSA for a private key; for a function, its result for the signed text; no
// signature for nil.
func SignToken(header, claims string, key any) string {
	text := Base64URL([]byte(header)) + "." + Base64URL([]byte(claims))
	hash := sha256.Sum256([]byte(text))
	var signature []byte
	var err error
	switch key := key.(type) {
	case string:
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(text))
		signature = mac.Sum(nil)
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, hash[:])
	case *ecdsa.PrivateKey:
		var r, s *big.Int
		if r, s, err = ecdsa.Sign(rand.Reader, key, hash[:]); err == nil {
			size := (key.Params().BitSize + 7) / 8
			signature = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
		}
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, []byte(text))
	case func(string) []byte:
		signature = key(text)
	}
	if err != nil {
		panic(err)
	}
	return text + "." + Base64URL(signature)
}

// Claims returns valid claims of alice that expire in an hour. changes holds pairs of a name and a JSON
// value; an empty value removes the claim.
func Claims(changes ...string) string {
	names := []string{"iss", "aud", "sub", "exp"}
	values := map[string]string{"iss": `"` + TokenIssuer + `"`, "aud": `"` + TokenAudience + `"`, "sub": `"alice"`, "exp": UnixIn(time.Hour)}
	for i := 0; i < len(changes); i += 2 {
		if _, found := values[changes[i]]; !found {
			names = append(names, changes[i])
		}
		values[changes[i]] = changes[i+1]
	}
	var members []string
	for _, name := range names {
		if values[name] != "" {
			members = append(members, fmt.Sprintf("%q:%s", name, values[name]))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// UnixIn returns the Unix time at d from now, in seconds as in claims.
func UnixIn(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).Unix()) }

// HeaderHS is the header of a token signed with a secret.
const HeaderHS = `{"alg":"HS256","typ":"JWT"}`

// Token returns a token signed with TokenSecret, with changes to its claims.
func Token(changes ...string) string { return SignToken(HeaderHS, Claims(changes...), TokenSecret) }

// WithIdentity sets how callers are authenticated.
func WithIdentity(t *testing.T, o identity.Options) func(*endpoint.Options) {
	t.Helper()
	o.ValidName = endpoint.ValidName
	v := require.Value(identity.New(t.Context(), o))(t)
	return func(options *endpoint.Options) { options.Identity = v }
}

// WithSecret accepts tokens signed with the shared secret of the tests.
func WithSecret(t *testing.T) func(*endpoint.Options) {
	t.Helper()
	return WithIdentity(t, identity.Options{Secret: TokenSecret, Issuer: TokenIssuer, Audience: []string{TokenAudience}})
}
