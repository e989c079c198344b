package identity_test

import (
	"context"
	"crypto/elliptic"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"frontpage/identity"
)

const (
	every = 5 * time.Minute
	pause = 10 * time.Second
)

// server is an issuer's, in this process: its time is that of a synctest bubble.
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

// fetched returns how often keys were fetched since it was last called.
func (s *server) fetched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.fetches = 0 }()
	return s.fetches
}

func says(status int, body string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
	}
}

func gone(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

func hangs(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// hangsWithin answers, and then its body does not come.
func hangsWithin(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(slow{req})}, nil
}

type slow struct{ *http.Request }

func (s slow) Read([]byte) (int, error) {
	<-s.Context().Done()
	return 0, s.Context().Err()
}

// pass lets time pass, and everything happen that is due by then.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// ask wants an answer at once: no time may pass meanwhile.
func ask(t *testing.T, v *identity.Verifier, token string, code identity.Code) {
	t.Helper()
	before := time.Now()
	person, err := v.FromToken(token)
	want(t, person, err, "alice", code)
	if took := time.Since(before); took != 0 {
		t.Errorf("an answer took %v", took)
	}
	synctest.Wait()
}

func wantFetches(t *testing.T, s *server, n int) {
	t.Helper()
	if got := s.fetched(); got != n {
		t.Errorf("the keys were fetched %d times, want %d", got, n)
	}
}

// openURL opens a Verifier whose keys come from s.
func openURL(t *testing.T, s *server, log *record) *identity.Verifier {
	t.Helper()
	return open(t, identity.Options{JWKSURL: "https://user:s3cret@issuer.example/jwks", Issuer: issuer, Audience: []string{audience},
		Refresh: every, Pause: pause, Transport: s, Log: log.logger()})
}

var (
	first, second           = newEC(elliptic.P256()), newEd()
	firstToken, secondToken = sign(header("ES256", "first"), claims(), first), sign(header("EdDSA", "second"), claims(), second)
	firstSet, secondSet     = jwks(jwk("first", first)), jwks(jwk("second", second))
	bothSet                 = jwks(jwk("first", first), jwk("second", second))
	unknownToken            = sign(header("ES256", "unknown"), claims(), first)
	reusedToken             = sign(header("EdDSA", "first"), claims(), second)
)

func TestRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, log := &server{answer: says(200, firstSet)}, new(record)
		v := openURL(t, s, log)
		wantFetches(t, s, 1)
		ask(t, v, firstToken, "")
		pass(time.Hour + time.Second)
		wantFetches(t, s, 12) // one every five minutes

		// A new key is known one fetch after it was first asked for.
		s.set(says(200, bothSet))
		pass(pause)
		wantFetches(t, s, 0)
		ask(t, v, secondToken, identity.KeyUnknown)
		wantFetches(t, s, 1)
		ask(t, v, secondToken, "")
		ask(t, v, firstToken, "")

		// An old key counts until the next fetch that does not have it.
		s.set(says(200, secondSet))
		ask(t, v, firstToken, "")
		pass(every)
		wantFetches(t, s, 1)
		ask(t, v, firstToken, identity.KeyUnknown)
		ask(t, v, secondToken, "")
		pass(pause)
		wantFetches(t, s, 1)

		// So does a key that was replaced under the same id.
		s.set(says(200, jwks(jwk("second", newEd()))))
		pass(every)
		ask(t, v, secondToken, identity.Invalid)
		if n := log.count("\n"); n != 1 || log.count("loaded the keys") != 1 || log.count("s3cret") != 0 {
			t.Errorf("the log is %s", log.text.String())
		}
	})
}

func TestReplacedUnderOneID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: says(200, jwks(jwk("first", newEd())))}
		v := openURL(t, s, new(record))
		s.set(says(200, jwks(jwk("first", second))))
		ask(t, v, reusedToken, identity.Invalid)
		pass(pause)
		ask(t, v, reusedToken, "")
		wantFetches(t, s, 2)
	})
}

// However many unknown keys are asked for, fetches keep their distance.
func TestFetchesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: says(200, firstSet)}
		v := openURL(t, s, new(record))
		wantFetches(t, s, 1)
		for range 600 { // ten minutes of them
			for range 5 {
				ask(t, v, unknownToken, identity.KeyUnknown)
			}
			pass(time.Second)
		}
		wantFetches(t, s, 60)
		pass(every - time.Second)
		wantFetches(t, s, 0)

		// A token that is refused anyway is no reason to fetch.
		for _, changes := range [][]string{{"exp", "1"}, {"iss", `"other"`}, {"nbf", seconds(time.Hour)}} {
			code := identity.Invalid
			if changes[0] == "exp" {
				code = identity.Expired
			}
			ask(t, v, sign(header("ES256", "unknown"), claims(changes...), first), code)
		}
		pass(time.Second)
		wantFetches(t, s, 1) // the regular one
		pass(pause)
		wantFetches(t, s, 0)
	})
}

// Whatever the issuer does, the last keys count, nobody waits, and a new key is
// known soon after the issuer is back.
func TestOutages(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"gone":                      gone,
		"it hangs":                  hangs,
		"its answer hangs":          hangsWithin,
		"an error":                  says(503, secondSet),
		"not found":                 says(404, "not found"),
		"nothing":                   says(200, ""),
		"no content":                says(204, ""),
		"garbage":                   says(200, "<html>Sign in</html>"),
		"half an answer":            says(200, secondSet[:len(secondSet)-2]),
		"another object":            says(200, `{"error":"busy"}`),
		"no keys":                   says(200, `{"keys":[]}`),
		"keys are null":             says(200, `{"keys":null}`),
		"keys are an object":        says(200, `{"keys":{}}`),
		"no key for signatures":     says(200, jwks(jwk("first", first, `"use":"enc"`))),
		"a key that is not a point": says(200, jwks(strings.NewReplacer(`"x"`, `"y"`, `"y"`, `"x"`).Replace(jwk("first", first)))),
		"a point out of all bounds": says(200, jwks(strings.Replace(jwk("first", first), `"x":"`, `"x":"____`, 1))),
		"a weak exponent":           says(200, jwks(strings.Replace(jwk("first", rsaKey()), `"AQAB"`, `"AQ"`, 1))),
		"more than a megabyte":      says(200, strings.Repeat(" ", 1<<20)+secondSet),
		"elsewhere": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"https://evil.example/jwks"}}, Body: http.NoBody}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, log := &server{answer: says(200, firstSet)}, new(record)
				v := openURL(t, s, log)
				wantFetches(t, s, 1)
				s.set(answer)
				for range 60 { // an hour of it
					ask(t, v, firstToken, "")
					ask(t, v, secondToken, identity.KeyUnknown)
					pass(time.Minute)
				}
				if n := s.fetched(); n < 60 || n > 6*60 {
					t.Errorf("%d fetches in an hour", n)
				}
				if n := log.count(`"level":"WARN"`); n != 1 || log.count("s3cret") != 0 {
					t.Errorf("%d warnings in %s", n, log.text.String())
				}
				s.set(says(200, bothSet))
				pass(pause + 5*time.Second)
				ask(t, v, firstToken, "")
				ask(t, v, secondToken, "")
				if log.count("loaded the keys") != 2 {
					t.Error("the log does not say that the keys are back")
				}
				s.fetched()
				pass(2 * pause)
				wantFetches(t, s, 0) // whoever asked during the outage has the answer
			})
		})
	}
}

func TestStartWithoutIssuer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){"gone": gone, "it hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, log := &server{answer: answer}, new(record)
				before := time.Now()
				v := openURL(t, s, log)
				if took := time.Since(before); took > 5*time.Second {
					t.Errorf("the start took %v", took)
				}
				if log.count(`"level":"WARN"`) != 1 {
					t.Error("the log does not say that there are no keys")
				}
				ask(t, v, firstToken, identity.KeyUnknown)
				ask(t, v, sign(header("ES256", ""), claims(), first), identity.KeyUnknown)
				pass(time.Hour)
				ask(t, v, firstToken, identity.KeyUnknown)
				s.set(says(200, firstSet))
				pass(pause + 5*time.Second)
				ask(t, v, firstToken, "")
			})
		})
	}
}

func TestLoadingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: says(200, firstSet)}
		ctx, cancel := context.WithCancel(t.Context())
		v, err := identity.New(ctx, identity.Options{JWKSURL: "https://issuer.example/jwks", Issuer: issuer, Audience: []string{audience}, Transport: s, Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		pass(time.Hour)
		wantFetches(t, s, 1)
		ask(t, v, firstToken, "")
		ask(t, v, secondToken, identity.KeyUnknown)
	})
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	path := write(t, firstSet)
	replace := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		v := open(t, identity.Options{JWKSFile: path, Issuer: issuer, Audience: []string{audience}})
		ask(t, v, firstToken, "")
		ask(t, v, sign(header("EdDSA", ""), claims(), second), identity.KeyUnknown)
		replace(`{"ke`) // as somebody writes it
		pass(5 * time.Minute)
		ask(t, v, firstToken, "")
		replace(secondSet)
		pass(10 * time.Second)
		ask(t, v, firstToken, identity.KeyUnknown)
		ask(t, v, secondToken, "")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		ask(t, v, secondToken, "")
	})
}

// The same once more over a real connection, and with many at once.
func TestRealServer(t *testing.T) {
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
			<-held // the asker must have its answer by then
			http.Redirect(w, req, "/elsewhere", http.StatusFound)
		default:
			if req.URL.Path != "/jwks" {
				t.Error("a redirect was followed")
			}
			fmt.Fprint(w, *set.Load())
		}
	}))
	defer s.Close()
	v := open(t, identity.Options{JWKSURL: s.URL + "/jwks", Issuer: issuer, Audience: []string{audience}, Pause: time.Millisecond})
	set.Store(&bothSet)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			person, err := v.FromToken(secondToken)
			want(t, person, err, "", identity.KeyUnknown)
			person, err = v.FromToken(firstToken)
			want(t, person, err, "alice", "")
		})
	}
	all.Wait()
	close(held)
	late := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := v.FromToken(secondToken); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the second key never came")
		}
	}
}
