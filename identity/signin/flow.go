package signin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"frontpage/identity"
	"frontpage/redisrepo/rates"
)

const (
	secretBytes = 32
	flowSeconds = 60 * 60 // for which a browser keeps its secret, since the last sign-in began
	maxReturn   = 500     // bytes of the path to come back to

	flowTime  = flowSeconds * time.Second // in which a sign-in has to end
	flowAhead = time.Minute               // by which the clock of another process may be ahead
)

// flow is one sign-in. All of it but its id, which is the time and a random text, and the path to come back to is derived
// from a secret, which only the browser has: so the server keeps nothing until it ends, and a browser may have begun
// several.
type flow struct {
	state    string // proves at the end that this browser began it
	nonce    string // proves that the ID token is for it
	verifier string // proves to the provider that who ends it began it
	to       string // the path to come back to
}

// begin returns a new flow.
func begin(secret []byte, to string, now time.Time) flow {
	return derive(secret, strconv.FormatInt(now.Unix(), 36)+"-"+text(random(16)), to)
}

// resume returns the flow of a state, if the browser with the secret began it at most an hour ago. A browser without a
// secret began none.
func resume(secret []byte, state string, now time.Time) (flow, bool) {
	parts := strings.Split(state, ".")
	if len(parts) != 3 || len(secret) == 0 {
		return flow{}, false
	}
	began, _, _ := strings.Cut(parts[0], "-")
	seconds, err := strconv.ParseInt(began, 36, 64)
	if age := now.Sub(time.Unix(seconds, 0)); err != nil || age > flowTime || age < -flowAhead {
		return flow{}, false
	}
	to, err := base64.RawURLEncoding.DecodeString(parts[1])
	f := derive(secret, parts[0], string(to))
	return f, err == nil && hmac.Equal([]byte(f.state), []byte(state))
}

func derive(secret []byte, id, to string) flow {
	part := func(of string) string {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(of + "\n" + id + "\n" + to))
		return text(mac.Sum(nil))
	}
	return flow{
		state: id + "." + text([]byte(to)) + "." + part("state"),
		nonce: part("nonce"), verifier: part("verifier"), to: to,
	}
}

func text(value []byte) string { return base64.RawURLEncoding.EncodeToString(value) }

func random(n int) []byte {
	value := make([]byte, n)
	_, _ = rand.Read(value) // never fails
	return value
}

// flowSecret returns the browser's secret, or nil if it has none.
func (s *SignIn) flowSecret(req *http.Request) []byte {
	cookies := req.CookiesNamed(s.cookieName("flow"))
	if len(cookies) != 1 {
		return nil
	}
	secret, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	if err != nil || len(secret) != secretBytes {
		return nil
	}
	return secret
}

// returnPath returns the path and query to come back to. It is a path of this site: one of another site, or of signing in,
// becomes /.
func (s *SignIn) returnPath(to string) string {
	u := identity.LocalPath(strings.TrimPrefix(to, s.o.PublicURL), maxReturn)
	if strings.HasPrefix(u.Path, "/sign") {
		return "/"
	}
	return u.String()
}

// What one address may do: each end of a sign-in is a request to the provider.
const (
	ruleSignIns   = "sign-ins"
	maxSignIns    = 30
	signInsWindow = time.Minute
)

// admit returns why the end of a sign-in is not even looked at: its address has ended too many, or this one has ended
// before. All processes count together.
func (s *SignIn) admit(req *http.Request, f flow) *failure {
	repo := s.repo.Load()
	if repo == nil {
		return unstored(errNotReady)
	}
	balances, err := repo.Rates.Charge(req.Context(), "", []rates.Charge{{
		Rule: ruleSignIns, Most: maxSignIns, Window: signInsWindow, Amount: 1, Address: s.o.Client(req),
	}})
	if err != nil {
		return unstored(err)
	}
	if wait := balances[0].Wait; !balances[0].Kept {
		return &failure{
			outcome: Refused, status: http.StatusTooManyRequests, wait: wait, cause: errors.New("its address ends too many sign-ins"),
			text: fmt.Sprintf("Too many users of your network sign in at once. Try again in %d s.", rates.Seconds(wait)),
		}
	}
	// Longer than the state is accepted, however far another process' clock is ahead.
	first, err := repo.Sessions.UseState(req.Context(), f.state, flowTime+2*flowAhead)
	switch {
	case err != nil:
		return unstored(err)
	case !first:
		return usedUp("it has ended before")
	}
	return nil
}
