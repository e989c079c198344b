package graph_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontpage/endpoint"
	"frontpage/redisrepo"
	"frontpage/redistest"
)

// bucketsOf are the buckets of an article's voters, by name.
func (s *site) bucketsOf(article redisrepo.ArticleID) map[string]string {
	s.t.Helper()
	repo, err := redisrepo.New(s.t.Context(), s.client, redisrepo.BookRules())
	if err != nil {
		s.t.Fatal(err)
	}
	entries, err := repo.Audit(s.t.Context(), article)
	if err != nil {
		s.t.Fatal(err)
	}
	buckets := map[string]string{}
	for _, e := range entries {
		if (e.At == nil) != (e.Bucket == "") {
			s.t.Errorf("a time without a bucket, or a bucket without a time: %+v", e)
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
			o.AuditSecret, o.Proxies = secret, prefixes("127.0.0.1/32")
		}
	}
	s := newSite(t, client, redisrepo.BookRules(), withSecret(strings.Repeat("s", 32)))
	twin := newSite(t, client, redisrepo.BookRules(), withSecret(strings.Repeat("s", 32)))
	other := newSite(t, client, redisrepo.BookRules(), withSecret(strings.Repeat("t", 32)))
	none := newSite(t, client, redisrepo.BookRules(), withSecret(""))
	s.post("poster", "t")
	const up = `mutation { vote(input: {article: 1}) { changed } }`
	here, elsewhere := from(t, "127.0.0.1"), from(t, "127.0.0.77")
	vote := func(at *site, client int, header ...string) {
		t.Helper()
		c := here
		if client == 1 {
			c = elsewhere
		}
		if _, body, err := at.by(c, up, header...); err != nil || body != `{"data":{"vote":{"changed":true}}}` {
			t.Errorf("%s %v", body, err)
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
	got := s.bucketsOf(1)
	if got["poster"] != "" || got["without a secret"] != "" {
		t.Errorf("recorded without a vote, or without a secret: %v", got)
	}
	a, b := got["a"], got["no proxy"]
	if got["b"] != a || got["c"] != a || got["no proxy either"] != b {
		t.Errorf("one address has several buckets: %v", got)
	}
	different := []string{a, b, got["another"], got["another secret"]}
	slices.Sort(different)
	if len(slices.Compact(different)) != 4 {
		t.Errorf("several addresses have one bucket: %v", got)
	}
	for _, bucket := range different {
		if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(bucket) {
			t.Errorf("%q is no bucket", bucket)
		}
	}
	record := client.HGet(t.Context(), "audit:1", "user:a").Val()
	if !strings.Contains(record, a) || strings.Contains(record, "203.0.113.9") {
		t.Errorf("the record is %q", record)
	}
	// Over a socket it is the address of its handshake.
	conn := s.socket(`{"X-User-ID":"socket"}`, "X-Forwarded-For", "203.0.113.9")
	conn.start("a", up, "")
	conn.want("next", "a", `{"data":{"vote":{"changed":true}}}`)
	if got := s.bucketsOf(1)["socket"]; got != a {
		t.Errorf("over a socket the bucket is %q, want %q", got, a)
	}
}
