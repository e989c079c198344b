package identity_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const (
	issuer   = sitetest.TokenIssuer
	audience = sitetest.TokenAudience
	secret   = "0123456789abcdef0123456789abcdef"
)

// now is the time of the tests' clocks.
var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func clock() time.Time { return now }

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return newRSA(2048) })

func newRSA(bits int) *rsa.PrivateKey { return require.Must(rsa.GenerateKey(rand.Reader, bits)) }

func newEC(curve elliptic.Curve) *ecdsa.PrivateKey {
	return require.Must(ecdsa.GenerateKey(curve, rand.Reader))
}

func newEd() ed25519.PrivateKey {
	_, k, err := ed25519.GenerateKey(rand.Reader)
	return require.Must(k, err)
}

var (
	jwk    = sitetest.JWK
	sign   = sitetest.SignToken
	encode = sitetest.Base64URL
)

func jwks(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

// Signatures with algorithms that are not accepted.
func hs512(text string) []byte {
	mac := hmac.New(sha512.New, []byte(secret))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func ps256(text string) []byte {
	hash := sha256.Sum256([]byte(text))
	return require.Must(rsa.SignPSS(rand.Reader, rsaKey(), crypto.SHA256, hash[:], nil))
}

// header is a token's header, without a kid if id is empty.
func header(alg, id string) string {
	if id == "" {
		return `{"alg":"` + alg + `","typ":"JWT"}`
	}
	return `{"alg":"` + alg + `","kid":"` + id + `"}`
}

// claims are valid claims of alice for an hour of the tests' clocks, with the changes of sitetest.Claims.
func claims(changes ...string) string {
	return sitetest.Claims(append([]string{"exp", seconds(time.Hour)}, changes...)...)
}

// seconds is the time d after now as a claim has it.
func seconds(d time.Duration) string { return fmt.Sprint(now.Add(d).Unix()) }

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// names are the environment variables of the program.
var names = map[string]string{
	"Secret": "JWT_SECRET", "JWKS": "JWKS",
	"Issuer": "JWT_ISSUER", "Audience": "JWT_AUDIENCE", "Leeway": "JWT_LEEWAY", "Refresh": "JWKS_REFRESH",
	"ProxyHeader": "PROXY_USER_HEADER", "RolesHeader": "PROXY_ROLES_HEADER", "Proxies": "TRUSTED_PROXIES", "Moderators": "MODERATORS",
}

func open(t *testing.T, o identity.Options) *identity.Verifier {
	t.Helper()
	o.ValidName, o.Names = endpoint.ValidName, names
	if o.Now == nil {
		o.Now = clock
	}
	return require.Value(identity.New(t.Context(), o))(t)
}

// request returns a request with the headers of the pairs.
func request(from string, pairs ...string) *http.Request {
	req := httptest.NewRequest(http.MethodPost, "/query", nil)
	req.RemoteAddr = from
	sitetest.AddHeaders(req.Header, pairs...)
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
