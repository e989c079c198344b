package graph_test

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// bucketsOf returns the buckets of an article's voters, by name.
func bucketsOf(s *sitetest.Site, article site.ArticleID) map[string]string {
	s.T.Helper()
	repo := require.Value(redisrepo.New(s.T.Context(), s.Client, site.DefaultRules()))(s.T)
	entries := require.Value(repo.Audit(s.T.Context(), article))(s.T)
	buckets := map[string]string{}
	for _, e := range entries {
		if (e.At == nil) != (e.Bucket == "") {
			s.T.Errorf("got %+v, want both a time and a bucket, or neither", e)
		}
		buckets[string(e.Voter)] = e.Bucket
	}
	return buckets
}

func TestBucketsConcealAddresses(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	withSecret := func(secret string) func(*endpoint.Options) {
		return func(o *endpoint.Options) {
			o.AuditSecret, o.Proxies = secret, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		}
	}
	s := sitetest.New(t, client, site.DefaultRules(), withSecret(strings.Repeat("s", 32)))
	twin := sitetest.New(t, client, site.DefaultRules(), withSecret(strings.Repeat("s", 32)))
	other := sitetest.New(t, client, site.DefaultRules(), withSecret(strings.Repeat("t", 32)))
	none := sitetest.New(t, client, site.DefaultRules(), withSecret(""))
	s.Post("poster", "t")
	const up = `mutation { vote(input: {article: 1}) { changed } }`
	here, elsewhere := sitetest.ClientFrom(t, "127.0.0.1"), sitetest.ClientFrom(t, "127.0.0.77")
	vote := func(at *sitetest.Site, client int, header ...string) {
		t.Helper()
		c := here
		if client == 1 {
			c = elsewhere
		}
		if _, body, err := at.AskBy(c, up, header...); err != nil || body != `{"data":{"vote":{"changed":true}}}` {
			t.Errorf("vote: got %s, %v, want it to be counted", body, err)
		}
	}
	vote(s, 0, "X-User-ID", "a", "X-Forwarded-For", "203.0.113.9")
	vote(s, 0, "X-User-ID", "b", "X-Forwarded-For", "198.51.100.1, 203.0.113.9")
	vote(twin, 0, "X-User-ID", "c", "X-Forwarded-For", "203.0.113.9")
	vote(s, 0, "X-User-ID", "another", "X-Forwarded-For", "203.0.113.10")
	vote(other, 0, "X-User-ID", "another secret", "X-Forwarded-For", "203.0.113.9")
	vote(s, 1, "X-User-ID", "no proxy", "X-Forwarded-For", "203.0.113.9")
	vote(s, 1, "X-User-ID", "no proxy either")
	vote(none, 0, "X-User-ID", "without a secret", "X-Forwarded-For", "203.0.113.9")
	got := bucketsOf(s, 1)
	if got["poster"] != "" || got["without a secret"] != "" {
		t.Errorf("got %v, want no bucket without a vote or without a secret", got)
	}
	a, b := got["a"], got["no proxy"]
	if got["b"] != a || got["c"] != a || got["no proxy either"] != b {
		t.Errorf("got %v, want one bucket for each address", got)
	}
	different := []string{a, b, got["another"], got["another secret"]}
	slices.Sort(different)
	if len(slices.Compact(different)) != 4 {
		t.Errorf("got %v, want different buckets for different addresses and secrets", got)
	}
	for _, bucket := range different {
		if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(bucket) {
			t.Errorf("got bucket %q, want 12 hex digits", bucket)
		}
	}
	record := client.HGet(t.Context(), "audit:1", "user:a").Val()
	if !strings.Contains(record, a) || strings.Contains(record, "203.0.113.9") {
		t.Errorf("got record %q, want the bucket and no address", record)
	}
	// A vote over a socket comes from the address of the handshake.
	conn := s.Socket(`{"X-User-ID":"socket"}`, "X-Forwarded-For", "203.0.113.9")
	conn.Subscribe("a", up, "")
	conn.Want("next", "a", `{"data":{"vote":{"changed":true}}}`)
	if got := bucketsOf(s, 1)["socket"]; got != a {
		t.Errorf("over a socket: got bucket %q, want %q", got, a)
	}
}
