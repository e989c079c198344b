package signin

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// keysPause is the least time between two requests for the provider's keys. An ID token that names an unknown key causes
// one.
const keysPause = 5 * time.Second

var errKeysPause = errors.New("the keys were read a moment ago")

// statusError is that a provider answered a request for something with a status of 400 or more. It leaves out what the
// body says, which may be about a user.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("the answer has status %d", e.status) }

// transport sends requests to the provider: those for its keys at most once in a while.
type transport struct {
	http.RoundTripper
	now func() time.Time

	mu   sync.Mutex
	keys string    // their address; empty until it is known
	next time.Time // when they may be asked for again
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet && !t.allows(req.URL.String()) {
		return nil, errKeysPause
	}
	res, err := t.RoundTripper.RoundTrip(req)
	if err == nil && req.Method == http.MethodGet && res.StatusCode >= http.StatusBadRequest {
		_ = res.Body.Close()
		return nil, &statusError{res.StatusCode}
	}
	return res, err
}

// allows reports whether an address may be asked for now.
func (t *transport) allows(address string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == "" || address != t.keys {
		return true
	}
	now := t.now()
	if now.Before(t.next) {
		return false
	}
	t.next = now.Add(keysPause)
	return true
}

// limit says where the keys are.
func (t *transport) limit(keys string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keys = keys
}
