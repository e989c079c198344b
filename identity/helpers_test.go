package identity_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/identity"
)

const (
	issuer   = "https://issuer.example/"
	audience = "frontpage"
	secret   = "0123456789abcdef0123456789abcdef"
)

// now is what the clocks of the tests show.
var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func clock() time.Time { return now }

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return newRSA(2048) })

func newRSA(bits int) *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return k
}

func newEC(curve elliptic.Curve) *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return k
}

func newEd() ed25519.PrivateKey {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	return k
}

func encode(text []byte) string { return base64.RawURLEncoding.EncodeToString(text) }

// jwk is a public key as a set has it. more are further members, such as `"use":"enc"`.
func jwk(id string, private crypto.Signer, more ...string) string {
	var members []string
	switch public := private.Public().(type) {
	case *rsa.PublicKey:
		members = []string{`"kty":"RSA"`, `"n":"` + encode(public.N.Bytes()) + `"`, `"e":"` + encode(big.NewInt(int64(public.E)).Bytes()) + `"`}
	case *ecdsa.PublicKey:
		point, err := public.Bytes()
		if err != nil {
			panic(err)
		}
		half := (len(point) - 1) / 2
		members = []string{`"kty":"EC"`, `"crv":"` + public.Params().Name + `"`, `"x":"` + encode(point[1:1+half]) + `"`, `"y":"` + encode(point[1+half:]) + `"`}
	case ed25519.PublicKey:
		members = []string{`"kty":"OKP"`, `"crv":"Ed25519"`, `"x":"` + encode(public) + `"`}
	}
	if id != "" {
		members = append(members, `"kid":"`+id+`"`)
	}
	return "{" + strings.Join(append(members, more...), ",") + "}"
}

func jwks(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

// Keys that sign in other ways than those that count.
type (
	hs512 string
	ps256 struct{ *rsa.PrivateKey }
)

// sign makes a token of any header and claims. The key alone says how it is signed:
// a string by HS256, others by RS256, ES256 or EdDSA, nil not at all.
func sign(header, claims string, key any) string {
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	hash := sha256.Sum256([]byte(text))
	var signature []byte
	var err error
	switch key := key.(type) {
	case string:
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(text))
		signature = mac.Sum(nil)
	case hs512:
		mac := hmac.New(sha512.New, []byte(key))
		mac.Write([]byte(text))
		signature = mac.Sum(nil)
	case ps256:
		signature, err = rsa.SignPSS(rand.Reader, key.PrivateKey, crypto.SHA256, hash[:], nil)
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
	}
	if err != nil {
		panic(err)
	}
	return text + "." + encode(signature)
}

// header is a token's, without a kid when id is empty.
func header(alg, id string) string {
	if id == "" {
		return `{"alg":"` + alg + `","typ":"JWT"}`
	}
	return `{"alg":"` + alg + `","kid":"` + id + `"}`
}

// claims are good ones of alice, for an hour, with changes: pairs of a name and
// a value in JSON, which is empty when there shall be no such claim.
func claims(changes ...string) string {
	names := []string{"iss", "aud", "sub", "exp"}
	values := map[string]string{"iss": `"` + issuer + `"`, "aud": `"` + audience + `"`, "sub": `"alice"`, "exp": seconds(time.Hour)}
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

// seconds is a time in a token, d after now.
func seconds(d time.Duration) string { return fmt.Sprint(now.Add(d).Unix()) }

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, o identity.Options) *identity.Verifier {
	t.Helper()
	if o.Now == nil {
		o.Now = clock
	}
	v, err := identity.New(t.Context(), o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return v
}

// want compares what a Verifier answers: code is empty when it accepts.
func want(t *testing.T, got identity.Person, err error, name string, code identity.Code) {
	t.Helper()
	var refused *identity.Error
	switch {
	case code == "" && err != nil:
		t.Errorf("refused: %v (%v)", err, errors.Unwrap(err))
	case code == "" && string(got.Name) != name:
		t.Errorf("the name is %q, want %q", got.Name, name)
	case code != "" && !errors.As(err, &refused):
		t.Errorf("got %+v, %v; want the code %s", got, err, code)
	case code != "" && refused.Code != code:
		t.Errorf("the code is %s (%v, %v), want %s", refused.Code, err, errors.Unwrap(err), code)
	case code != "" && got != (identity.Person{}):
		t.Errorf("a refusal comes with %+v", got)
	}
}

// record is a log to look into.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) count(part string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.text.String(), part)
}

func (r *record) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(r, &slog.HandlerOptions{Level: slog.LevelInfo}))
}
