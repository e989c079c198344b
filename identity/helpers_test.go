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
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/identity"
	"frontpage/must"
	"frontpage/redisrepo/site"
)

const (
	issuer   = "https://issuer.example/"
	audience = "frontpage"
	secret   = "0123456789abcdef0123456789abcdef"
)

// now is the time of the tests' clocks.
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

// jwk is a public key as a member of a set. more are additional members, such as `"use":"enc"`.
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

// Keys that sign with algorithms that are not accepted.
type (
	hs512 string
	ps256 struct{ *rsa.PrivateKey }
)

// sign creates a token from any header and claims. The key alone determines the algorithm: a string means
// HS256, other keys RS256, ES256 or EdDSA, and nil no signature.
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

// header is a token's header, without a kid if id is empty.
func header(alg, id string) string {
	if id == "" {
		return `{"alg":"` + alg + `","typ":"JWT"}`
	}
	return `{"alg":"` + alg + `","kid":"` + id + `"}`
}

// claims are valid claims of alice for an hour, with changes: pairs of a name and a value in JSON. An empty
// value removes the claim.
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

// seconds is the time d after now as a claim has it.
func seconds(d time.Duration) string { return fmt.Sprint(now.Add(d).Unix()) }

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// validName is the rule of the program.
func validName(name string) error {
	_, err := site.ParseUserName(name)
	return err
}

// names are the environment variables of the program.
var names = map[string]string{
	"Secret": "JWT_SECRET", "JWKS": "JWKS",
	"Issuer": "JWT_ISSUER", "Audience": "JWT_AUDIENCE", "Leeway": "JWT_LEEWAY", "Refresh": "JWKS_REFRESH",
	"ProxyHeader": "PROXY_USER_HEADER", "RolesHeader": "PROXY_ROLES_HEADER", "Proxies": "TRUSTED_PROXIES", "Moderators": "MODERATORS",
}

func open(t *testing.T, o identity.Options) *identity.Verifier {
	t.Helper()
	o.ValidName, o.Names = validName, names
	if o.Now == nil {
		o.Now = clock
	}
	v := must.Get(identity.New(t.Context(), o))(t)
	return v
}

// request returns a request with the headers of the pairs.
func request(from string, pairs ...string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/query", nil)
	req.RemoteAddr = from
	for i := 0; i < len(pairs); i += 2 {
		req.Header.Add(pairs[i], pairs[i+1])
	}
	return req
}

const anywhere = "192.0.2.1:1234"

// byToken authenticates a request with the token.
func byToken(v *identity.Verifier, token string) (identity.Caller, error) {
	return v.FromRequest(request(anywhere, "Authorization", "Bearer "+token))
}

// want compares the result of a Verifier. An empty code means that the caller is accepted.
func want(t *testing.T, got identity.Caller, err error, name string, code identity.Code) {
	t.Helper()
	var refusal *identity.Refusal
	switch {
	case code == "" && err != nil:
		t.Errorf("rejected: %v (%v)", err, errors.Unwrap(err))
	case code == "" && got.Name != name:
		t.Errorf("Name = %q, want %q", got.Name, name)
	case code != "" && !errors.As(err, &refusal):
		t.Errorf("got %+v, %v; want the code %s", got, err, code)
	case code != "" && refusal.Code != code:
		t.Errorf("code = %s (%v, %v), want %s", refusal.Code, err, errors.Unwrap(err), code)
	case code != "" && got != (identity.Caller{}):
		t.Errorf("a refusal comes with the caller %+v", got)
	}
}

// record collects a log.
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
