package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// control lets tests change what the provider does.
type control struct {
	store *store
	next  http.Handler

	mu       sync.Mutex
	away     bool           // answers with 503
	idToken  string         // replaces the ID token of the next answer
	claims   string         // JSON; replace those of the ID token in the next answer, null: leave one out
	without  bool           // refresh grants bring no ID token
	renewals int            // number of answered refresh grants
	requests map[string]int // by path
}

func (c *control) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if what, ok := strings.CutPrefix(req.URL.Path, "/control/"); ok {
		c.change(w, req, what)
		return
	}
	c.mu.Lock()
	away := c.away
	c.requests[req.URL.Path]++
	c.mu.Unlock()
	switch {
	case away:
		http.Error(w, "away", http.StatusServiceUnavailable)
	case req.URL.Path == "/oauth/token":
		c.token(w, req)
	default:
		c.next.ServeHTTP(w, req)
	}
}

// change does what a test asks for.
func (c *control) change(w http.ResponseWriter, req *http.Request, what string) {
	value := req.FormValue("value")
	switch what {
	case "rotate": // the signing key
		c.store.rotate()
	case "revoke": // all grants of a subject
		_ = c.store.TerminateSession(req.Context(), value, "frontpage")
	case "lifetime": // of access tokens, seconds
		seconds, _ := strconv.Atoi(value)
		c.store.mu.Lock()
		c.store.lifetime = time.Duration(seconds) * time.Second
		c.store.mu.Unlock()
	case "roles": // of a subject: SUBJECT ROLE...
		subject, roles, _ := strings.Cut(value, " ")
		c.store.mu.Lock()
		c.store.roles[subject] = roles
		c.store.mu.Unlock()
	default:
		c.changeAnswers(w, what, value)
	}
}

func (c *control) changeAnswers(w http.ResponseWriter, what, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch what {
	case "away": // true or false
		c.away = value == "true"
	case "id-token": // the ID token of the next answer
		c.idToken = value
	case "claims":
		c.claims = value
	case "without-id-token": // true or false
		c.without = value == "true"
	case "requests": // of a path
		fmt.Fprint(w, c.requests[value])
	case "renewals":
		fmt.Fprint(w, c.renewals)
	default:
		http.Error(w, "there is no such control", http.StatusNotFound)
	}
}

// token answers a request for tokens.
func (c *control) token(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	c.next.ServeHTTP(answer, req)
	c.mu.Lock()
	defer c.mu.Unlock()
	renewal := strings.Contains(string(body), "grant_type=refresh_token")
	text := answer.Body.Bytes()
	var members map[string]any
	if answer.Code == http.StatusOK && json.Unmarshal(text, &members) == nil {
		if renewal {
			c.renewals++
		}
		text = c.edit(members, renewal)
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(text)
}

// edit changes the members of an answer as tests have asked for.
func (c *control) edit(members map[string]any, renewal bool) []byte {
	if c.idToken != "" {
		members["id_token"], c.idToken = c.idToken, ""
	}
	if c.claims != "" {
		members["id_token"], c.claims = c.store.sign(members["id_token"].(string), c.claims), ""
	}
	if c.without && renewal {
		delete(members, "id_token")
	}
	text, _ := json.Marshal(members)
	return text
}
