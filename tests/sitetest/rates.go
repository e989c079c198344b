package sitetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// WithRates sets rate limits.
func WithRates(r endpoint.Rates) func(*endpoint.Options) {
	return func(o *endpoint.Options) { o.Rates = r }
}

// Import puts n articles of poster into the store, numbered from 1.
func Import(t *testing.T, client redis.UniversalClient, poster string, n int) *redisrepo.Repo {
	t.Helper()
	repo := require.Value(redisrepo.New(t.Context(), client, site.DefaultRules(), redisrepo.WithClock(func() time.Time { return Start })))(t)
	var batch []redisrepo.Imported
	for i := 1; i <= n; i++ {
		batch = append(batch, redisrepo.Imported{ID: site.ArticleID(i), Poster: site.UserName(poster), PostedAt: Start, Votes: 1,
			Draft: site.Draft{Title: fmt.Sprint("article ", i)}})
		if len(batch) < 500 && i < n {
			continue
		}
		_, errs := repo.Import(t.Context(), batch)
		require.NoError(t, errors.Join(errs...))
		batch = nil
	}
	return repo
}

// ClientFrom returns a client whose requests come from address, which is one of 127.0.0.0/8.
func ClientFrom(t *testing.T, address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, to)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// AskBy sends a query by POST through client. header holds pairs of name and value.
func (s *Site) AskBy(client *http.Client, query string, header ...string) (*http.Response, string, error) {
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		return nil, "", err
	}
	by := cmp.Or(client.Transport, http.DefaultTransport)
	return s.try(by, http.MethodPost, "", string(body), append([]string{"Content-Type", "application/json"}, header...)...)
}

// RateKeys returns the keys of all rate limit counters in the store, sorted and without their prefix "rate:".
func RateKeys(t *testing.T, client redis.UniversalClient) []string {
	t.Helper()
	keys := require.Value(client.Keys(t.Context(), "rate:*").Result())(t)
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, "rate:")
	}
	slices.Sort(keys)
	return keys
}

// RateCount returns the amount in the counter with this key, without its prefix "rate:".
func RateCount(t *testing.T, client redis.UniversalClient, key string) (count int) {
	t.Helper()
	// The amount of the newest part, two times, and the sum of the older parts: see rate.lua.
	for i, number := range strings.Fields(client.Get(t.Context(), "rate:"+key).Val()) {
		n := require.Value(strconv.Atoi(number))(t)
		if i == 0 || i == 3 {
			count += n
		}
	}
	return count
}

// Outcomes runs a document of mutations as user. It returns, for each alias, "done" or the code of its user
// error.
func (s *Site) Outcomes(user, document string) map[string]string {
	s.T.Helper()
	a := s.Ask(user, document)
	if len(a.Errors) > 0 {
		s.T.Fatalf("%s: got %v, want no errors", document, a.Errors)
	}
	outcome := map[string]string{}
	for alias, payload := range a.Data {
		outcome[alias] = "done"
		for _, e := range payload.(map[string]any)["userErrors"].([]any) {
			outcome[alias] = fmt.Sprint(e.(map[string]any)["code"])
		}
	}
	return outcome
}

// TallyOutcomes counts equal outcomes, for example "RATE_LIMITED 3, done 1".
func TallyOutcomes(outcome map[string]string) string {
	codes := []string{}
	for _, code := range outcome {
		codes = append(codes, strings.ReplaceAll(code, " ", "_"))
	}
	return Tally(codes)
}
