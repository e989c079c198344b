package identity_test

import (
	"context"
	"crypto/elliptic"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"frontpage/endpoint"
	"frontpage/identity"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

const (
	every = 5 * time.Minute
	pause = 10 * time.Second
)

// server is the issuer's server, in this process so that its clock is that of a synctest bubble.
type server struct {
	mu      sync.Mutex
	answer  func(*http.Request) (*http.Response, error)
	fetches int
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.fetches++
	answer := s.answer
	s.mu.Unlock()
	return answer(req)
}

func (s *server) set(answer func(*http.Request) (*http.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// fetched returns the number of fetches since its last call.
func (s *server) fetched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.fetches = 0 }()
	return s.fetches
}

func responds(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
	}
}

func gone(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// bodyHangs responds, but its body never arrives.
func bodyHangs(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(slow{req})}, nil
}

type slow struct{ *http.Request }

func (s slow) Read([]byte) (int, error) {
	<-s.Context().Done()
	return 0, s.Context().Err()
}

// pass advances the time and waits for everything that is due by then.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// wantAtOnce verifies a token, which must take no time.
func wantAtOnce(t *testing.T, v *identity.Verifier, token string, code identity.Code) {
	t.Helper()
	before := time.Now()
	caller, err := byToken(v, token)
	want(t, caller, err, "alice", code)
	if took := time.Since(before); took != 0 {
		t.Errorf("verification took %v, want no time", took)
	}
	synctest.Wait()
}

func wantFetches(t *testing.T, s *server, n int) {
	t.Helper()
	if got := s.fetched(); got != n {
		t.Errorf("fetches = %d, want %d", got, n)
	}
}

// openURL creates a Verifier that fetches its keys from s.
func openURL(t *testing.T, s *server, log *sitetest.Log) *identity.Verifier {
	t.Helper()
	return open(t, identity.Options{JWKS: "https://user:s3cret@issuer.example/jwks", Issuer: issuer, Audience: []string{audience},
		Refresh: every, Pause: pause, Transport: s, Log: log.Logger(slog.LevelInfo)})
}

var (
	first, second           = newEC(elliptic.P256()), newEd()
	firstToken, secondToken = sign(header("ES256", "first"), claims(), first), sign(header("EdDSA", "second"), claims(), second)
	firstSet, secondSet     = jwks(jwk("first", first)), jwks(jwk("second", second))
	bothSet                 = jwks(jwk("first", first), jwk("second", second))
	unknownToken            = sign(header("ES256", "unknown"), claims(), first)
	reusedToken             = sign(header("EdDSA", "first"), claims(), second)
)

func TestKeysAreAcceptedWhileTheIssuerReturnsThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, log := &server{answer: responds(200, firstSet)}, new(sitetest.Log)
		v := openURL(t, s, log)
		wantFetches(t, s, 1)
		wantAtOnce(t, v, firstToken, "")
		pass(time.Hour + time.Second)
		wantFetches(t, s, 12) // one every five minutes

		// A token with a new key causes one fetch, after which the key is known.
		s.set(responds(200, bothSet))
		pass(pause)
		wantFetches(t, s, 0)
		wantAtOnce(t, v, secondToken, identity.KeyUnknown)
		wantFetches(t, s, 1)
		wantAtOnce(t, v, secondToken, "")
		wantAtOnce(t, v, firstToken, "")

		// An old key is accepted until a fetch does not return it.
		s.set(responds(200, secondSet))
		wantAtOnce(t, v, firstToken, "")
		pass(every)
		wantFetches(t, s, 1)
		wantAtOnce(t, v, firstToken, identity.KeyUnknown)
		wantAtOnce(t, v, secondToken, "")
		pass(pause)
		wantFetches(t, s, 1)

		// So is a key that was replaced under the same id.
		s.set(responds(200, jwks(jwk("second", newEd()))))
		pass(every)
		wantAtOnce(t, v, secondToken, identity.Invalid)
		if n := strings.Count(log.String(), "\n"); n != 1 || strings.Count(log.String(), "loaded the keys") != 1 || strings.Count(log.String(), "s3cret") != 0 {
			t.Errorf("log = %s, want one line about loaded keys and no password", log)
		}
	})
}

func TestAKeyReplacedUnderItsIDIsFetched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: responds(200, jwks(jwk("first", newEd())))}
		v := openURL(t, s, new(sitetest.Log))
		s.set(responds(200, jwks(jwk("first", second))))
		wantAtOnce(t, v, reusedToken, identity.Invalid)
		pass(pause)
		wantAtOnce(t, v, reusedToken, "")
		wantFetches(t, s, 2)
	})
}

// However many tokens name unknown keys, fetches keep their minimum distance.
func TestFetchesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: responds(200, firstSet)}
		v := openURL(t, s, new(sitetest.Log))
		wantFetches(t, s, 1)
		for range 600 { // ten minutes of them
			for range 5 {
				wantAtOnce(t, v, unknownToken, identity.KeyUnknown)
			}
			pass(time.Second)
		}
		wantFetches(t, s, 60)
		pass(every - time.Second)
		wantFetches(t, s, 0)

		// A token that is rejected anyway causes no fetch.
		for _, changes := range [][]string{{"exp", "1"}, {"iss", `"other"`}, {"nbf", seconds(time.Hour)}} {
			code := identity.Invalid
			if changes[0] == "exp" {
				code = identity.Expired
			}
			wantAtOnce(t, v, sign(header("ES256", "unknown"), claims(changes...), first), code)
		}
		pass(time.Second)
		wantFetches(t, s, 1) // the regular one
		pass(pause)
		wantFetches(t, s, 0)
	})
}

// Whatever the issuer does, no caller waits, and a new key is known soon after the issuer is back.
func TestTheLastKeysStayInUseDuringAnOutage(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"connection refused":        gone,
		"it hangs":                  hangs,
		"its body hangs":            bodyHangs,
		"an error":                  responds(503, secondSet),
		"not found":                 responds(404, "not found"),
		"an empty body":             responds(200, ""),
		"no content":                responds(204, ""),
		"garbage":                   responds(200, "<html>Sign in</html>"),
		"a truncated body":          responds(200, secondSet[:len(secondSet)-2]),
		"another object":            responds(200, `{"error":"busy"}`),
		"no keys":                   responds(200, `{"keys":[]}`),
		"keys are null":             responds(200, `{"keys":null}`),
		"keys are an object":        responds(200, `{"keys":{}}`),
		"no key for signatures":     responds(200, jwks(jwk("first", first, `"use":"enc"`))),
		"a key that is not a point": responds(200, jwks(strings.NewReplacer(`"x"`, `"y"`, `"y"`, `"x"`).Replace(jwk("first", first)))),
		"a point out of range":      responds(200, jwks(strings.Replace(jwk("first", first), `"x":"`, `"x":"____`, 1))),
		"a weak exponent":           responds(200, jwks(strings.Replace(jwk("first", rsaKey()), `"AQAB"`, `"AQ"`, 1))),
		"more than a megabyte":      responds(200, strings.Repeat(" ", 1<<20)+secondSet),
		"a redirect": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"https://evil.example/jwks"}}, Body: http.NoBody}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, log := &server{answer: responds(200, firstSet)}, new(sitetest.Log)
				v := openURL(t, s, log)
				wantFetches(t, s, 1)
				s.set(answer)
				for range 60 { // an hour of it
					wantAtOnce(t, v, firstToken, "")
					wantAtOnce(t, v, secondToken, identity.KeyUnknown)
					pass(time.Minute)
				}
				if n := s.fetched(); n < 60 || n > 6*60 {
					t.Errorf("fetches in an hour = %d, want 60 to 360", n)
				}
				if n := strings.Count(log.String(), "level=WARN"); n != 1 || strings.Count(log.String(), "s3cret") != 0 {
					t.Errorf("warnings = %d, want 1, and no password: %s", n, log)
				}
				s.set(responds(200, bothSet))
				pass(pause + 5*time.Second)
				wantAtOnce(t, v, firstToken, "")
				wantAtOnce(t, v, secondToken, "")
				if strings.Count(log.String(), "loaded the keys") != 2 {
					t.Errorf("log = %s, want two lines about loaded keys", log)
				}
				s.fetched()
				pass(2 * pause)
				wantFetches(t, s, 0) // no request for a load is left from the outage
			})
		})
	}
}

func TestNewSucceedsWithoutTheIssuer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){"connection refused": gone, "it hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, log := &server{answer: answer}, new(sitetest.Log)
				before := time.Now()
				v := openURL(t, s, log)
				if took := time.Since(before); took > 5*time.Second {
					t.Errorf("New took %v, want at most 5 s", took)
				}
				if strings.Count(log.String(), "level=WARN") != 1 {
					t.Error("the missing keys are not logged as a warning")
				}
				wantAtOnce(t, v, firstToken, identity.KeyUnknown)
				wantAtOnce(t, v, sign(header("ES256", ""), claims(), first), identity.KeyUnknown)
				pass(time.Hour)
				wantAtOnce(t, v, firstToken, identity.KeyUnknown)
				s.set(responds(200, firstSet))
				pass(pause + 5*time.Second)
				wantAtOnce(t, v, firstToken, "")
			})
		})
	}
}

func TestLoadingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: responds(200, firstSet)}
		ctx, cancel := context.WithCancel(t.Context())
		o := identity.Options{JWKS: "https://issuer.example/jwks", Issuer: issuer, Audience: []string{audience}, Transport: s, Now: clock, ValidName: endpoint.ValidName}
		v := require.Value(identity.New(ctx, o))(t)
		cancel()
		pass(time.Hour)
		wantFetches(t, s, 1)
		wantAtOnce(t, v, firstToken, "")
		wantAtOnce(t, v, secondToken, identity.KeyUnknown)
	})
}

func TestAKeyFileIsReloaded(t *testing.T) {
	t.Parallel()
	path := write(t, firstSet)
	replace := func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		v := open(t, identity.Options{JWKS: path, Issuer: issuer, Audience: []string{audience}})
		wantAtOnce(t, v, firstToken, "")
		wantAtOnce(t, v, sign(header("EdDSA", ""), claims(), second), identity.KeyUnknown)
		replace(`{"ke`) // while it is being written
		pass(5 * time.Minute)
		wantAtOnce(t, v, firstToken, "")
		replace(secondSet)
		pass(10 * time.Second)
		wantAtOnce(t, v, firstToken, identity.KeyUnknown)
		wantAtOnce(t, v, secondToken, "")
		require.NoError(t, os.Remove(path))
		pass(time.Hour)
		wantAtOnce(t, v, secondToken, "")
	})
}

// The same over a real connection, with many callers at once.
func TestNoCallerWaitsForAFetch(t *testing.T) {
	t.Parallel()
	var set atomic.Pointer[string]
	set.Store(&firstSet)
	held := make(chan struct{})
	var fetches atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch fetches.Add(1) {
		case 1:
			fmt.Fprint(w, *set.Load())
		case 2:
			<-held // the caller must have been rejected by then
			http.Redirect(w, req, "/elsewhere", http.StatusFound)
		default:
			if req.URL.Path != "/jwks" {
				t.Error("a redirect was followed")
			}
			fmt.Fprint(w, *set.Load())
		}
	}))
	defer s.Close()
	v := open(t, identity.Options{JWKS: s.URL + "/jwks", Issuer: issuer, Audience: []string{audience}, Pause: time.Millisecond})
	set.Store(&bothSet)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			caller, err := byToken(v, secondToken)
			want(t, caller, err, "", identity.KeyUnknown)
			caller, err = byToken(v, firstToken)
			want(t, caller, err, "alice", "")
		})
	}
	all.Wait()
	close(held)
	require.Eventually(t, "the second key is loaded", func() bool { _, err := byToken(v, secondToken); return err == nil })
}
