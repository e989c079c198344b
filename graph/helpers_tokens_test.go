package graph_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/identity"
)

const (
	tokenIssuer   = "https://issuer.example/"
	tokenAudience = "frontpage"
	tokenSecret   = "sesame-0123456789abcdef-0123456789abcdef"
)

// keyring are an issuer's private keys.
type keyring struct {
	rsa, strangeRSA *rsa.PrivateKey
	ec, strangeEC   *ecdsa.PrivateKey
	ed              ed25519.PrivateKey
}

func newKeyring(t *testing.T) *keyring {
	t.Helper()
	var k keyring
	var errs [5]error
	k.rsa, errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	k.strangeRSA, errs[1] = rsa.GenerateKey(rand.Reader, 2048)
	k.ec, errs[2] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	k.strangeEC, errs[3] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, k.ed, errs[4] = ed25519.GenerateKey(rand.Reader)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &k
}

// file writes the public keys as a key set.
func (k *keyring) file(t *testing.T) string {
	t.Helper()
	set := `{"keys":[` + jwkOf("rsa", k.rsa) + "," + jwkOf("ec", k.ec) + "," + jwkOf("ed", k.ed) + `]}`
	path := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(path, []byte(set), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// publicPEM is the public RSA key as a file of it often looks.
func (k *keyring) publicPEM(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(k.rsa.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func base64URL(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

// jwkOf is a public key as a key set has it.
func jwkOf(id string, private crypto.Signer) string {
	switch public := private.Public().(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf(`{"kty":"RSA","kid":%q,"n":%q,"e":%q}`, id, base64URL(public.N.Bytes()), base64URL(big.NewInt(int64(public.E)).Bytes()))
	case *ecdsa.PublicKey:
		point, err := public.Bytes()
		if err != nil {
			panic(err)
		}
		return fmt.Sprintf(`{"kty":"EC","crv":"P-256","kid":%q,"x":%q,"y":%q}`, id, base64URL(point[1:33]), base64URL(point[33:]))
	case ed25519.PublicKey:
		return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q}`, id, base64URL(public))
	}
	panic("no such key")
}

// tokenOf makes a token of any header and claims. The key alone says how it is
// signed: a text by HS256, others by RS256, ES256 or EdDSA, nil not at all.
func tokenOf(header, claims string, key any) string {
	text := base64URL([]byte(header)) + "." + base64URL([]byte(claims))
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
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, []byte(text))
	}
	if err != nil {
		panic(err)
	}
	return text + "." + base64URL(signature)
}

// claimsOf are good ones of alice, for an hour, with changes: pairs of a name and
// a value in JSON, which is empty when there shall be no such claim.
func claimsOf(changes ...string) string {
	names := []string{"iss", "aud", "sub", "exp"}
	values := map[string]string{"iss": `"` + tokenIssuer + `"`, "aud": `"` + tokenAudience + `"`, "sub": `"alice"`, "exp": unixIn(time.Hour)}
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

// unixIn is a time as tokens have it.
func unixIn(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).Unix()) }

const headerHS = `{"alg":"HS256","typ":"JWT"}`

// hsToken is a token signed with the secret, with changes to its claims.
func hsToken(changes ...string) string { return tokenOf(headerHS, claimsOf(changes...), tokenSecret) }

// recognise makes identity options those of a site.
func recognise(t *testing.T, o identity.Options) func(*endpoint.Options) {
	t.Helper()
	v, err := identity.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return func(options *endpoint.Options) { options.Identity = v }
}

func bySecret(t *testing.T) func(*endpoint.Options) {
	t.Helper()
	return recognise(t, identity.Options{Secret: tokenSecret, Issuer: tokenIssuer, Audience: []string{tokenAudience}})
}
