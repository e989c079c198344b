package endpoint_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func persisted(hash string) string {
	return fmt.Sprintf(`"extensions":{"persistedQuery":{"version":1,"sha256Hash":%q}}`, hash)
}

const front = `{ articles { id } }`

func TestPersistedQueryRunsByItsHash(t *testing.T) {
	sitetest.EachStore(t, func(t *testing.T, s *sitetest.Site) {
		by := persisted(hashOf(front))
		const missing = `{"errors":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}`
		const found = `{"data":{"articles":[]}}`
		for _, accept := range []string{"application/json", "application/graphql-response+json"} {
			if res, body := s.PostJSON(`{`+by+`}`, "Accept", accept); res.StatusCode != 200 || body != missing {
				t.Errorf("before the text was sent: got %d %s, want 200 %s", res.StatusCode, body, missing)
			}
		}
		if _, body := s.PostJSON(fmt.Sprintf(`{"query":%q,%s}`, front, by)); body != found {
			t.Errorf("with its text: got %s, want %s", body, found)
		}
		if _, body := s.PostJSON(`{` + by + `}`); body != found {
			t.Errorf("by POST: got %s, want %s", body, found)
		}
		if _, body := s.Send("GET", "?extensions="+url.QueryEscape(strings.TrimPrefix(by, `"extensions":`)), ""); body != found {
			t.Errorf("by GET: got %s, want %s", body, found)
		}
		if _, body := s.PostJSON(fmt.Sprintf(`{"documentId":"sha256:%s"}`, hashOf(front))); body != found {
			t.Errorf("by documentId: got %s, want %s", body, found)
		}
		s.Trips.Reset()
		s.PostJSON(`{` + by + `}`)
		if n, commands := s.Trips.Read(); n != 1 {
			t.Errorf("a known hash: got commands %v, want one round trip", commands)
		}
		other := sitetest.New(t, s.Client, site.DefaultRules())
		if _, body := other.PostJSON(`{` + by + `}`); body != found {
			t.Errorf("in another process: got %s, want %s", body, found)
		}

		for name, body := range map[string]string{
			"the hash of another text": fmt.Sprintf(`{"query":%q,%s}`, front, persisted(hashOf("x"))),
			"an unsupported version":   `{"extensions":{"persistedQuery":{"version":2,"sha256Hash":"x"}}}`,
			"no hash":                  `{"extensions":{"persistedQuery":{"version":1}}}`,
			"a number":                 `{"extensions":{"persistedQuery":5}}`,
		} {
			if res, text := s.PostJSON(body); res.StatusCode != 400 || sitetest.CodeOf(t, text) != "BAD_REQUEST" {
				t.Errorf("%s: got %d %s, want 400 BAD_REQUEST", name, res.StatusCode, text)
			}
		}
		for _, hash := range []string{"x", strings.Repeat("*", 64), strings.Repeat("A", 64)} {
			if _, text := s.PostJSON(`{` + persisted(hash) + `}`); text != missing {
				t.Errorf("hash %s: got %s, want %s", hash, text, missing)
			}
		}
	})
}

func TestOnlyValidDocumentsArePersisted(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	for _, query := range []string{`{ nothing }`, `{ `, `{` + aliases(16) + ` }`, `{ articles { groups { articles { id } } } }`, `{ __typename } # ` + strings.Repeat("x", 20_000)} {
		s.PostJSON(fmt.Sprintf(`{"query":%q,%s}`, query, persisted(hashOf(query))))
		if _, body := s.PostJSON(`{` + persisted(hashOf(query)) + `}`); sitetest.CodeOf(t, body) != "PERSISTED_QUERY_NOT_FOUND" {
			t.Errorf("%.50s: got %s, want PERSISTED_QUERY_NOT_FOUND", query, body)
		}
	}
	if keys := s.Client.Keys(t.Context(), "query:*").Val(); len(keys) != 0 {
		t.Errorf("got keys %v, want none for documents that do not run", keys)
	}
	s.PostJSON(fmt.Sprintf(`{"query":%q,%s}`, front, persisted(hashOf(front))))
	key := "query:" + hashOf(front)[:3]
	if ttl := s.Client.TTL(t.Context(), key).Val().Hours(); ttl < 700 || s.Client.Get(t.Context(), key).Val() != front {
		t.Errorf("%s: got a TTL of %v hours, want the text for at least 700", key, ttl)
	}
	// A stored text that does not have its hash is not run.
	require.NoError(t, s.Client.Set(t.Context(), key, `{ viewer { id } }`, 0).Err())
	other := sitetest.New(t, s.Client, site.DefaultRules())
	if _, body := other.PostJSON(`{` + persisted(hashOf(front)) + `}`); sitetest.CodeOf(t, body) != "PERSISTED_QUERY_NOT_FOUND" {
		t.Errorf("a stored text of another hash: got %s, want PERSISTED_QUERY_NOT_FOUND", body)
	}
}

func TestPersistedQueriesWorkWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := sitetest.New(t, server.Client, site.DefaultRules())
	server.Kill()
	const query = `{ __typename }`
	if _, body := s.PostJSON(`{` + persisted(hashOf(query)) + `}`); sitetest.CodeOf(t, body) != "PERSISTED_QUERY_NOT_FOUND" {
		t.Errorf("before the text was sent: got %s, want PERSISTED_QUERY_NOT_FOUND", body)
	}
	for range 2 {
		if _, body := s.PostJSON(fmt.Sprintf(`{"query":%q,%s}`, query, persisted(hashOf(query)))); body != `{"data":{"__typename":"Query"}}` {
			t.Errorf("with its text: got %s, want data", body)
		}
	}
	if _, body := s.PostJSON(`{` + persisted(hashOf(query)) + `}`); body != `{"data":{"__typename":"Query"}}` {
		t.Errorf("by its hash, in the same process: got %s, want data", body)
	}
	if log := s.Log.String(); strings.Count(log, "\n") != 2 || strings.Contains(log, "level=ERROR") {
		t.Errorf("got log %s, want 2 warnings", log)
	}
}

func TestOnlyTrustedDocumentsRun(t *testing.T) {
	t.Parallel()
	limits := endpoint.DefaultLimits()
	for _, file := range []string{`[]`, `{"a": 5}`, `{"a": "{ nothing }"}`, `{"a": "{"}`, `{"a": ""}`, `{"a": "{` + aliases(16) + `}"}`} {
		if _, err := endpoint.ReadTrusted([]byte(file), graph.Schema(), graph.Scalars, limits); err == nil {
			t.Errorf("%s: got no error", file)
		}
	}
	file := fmt.Appendf(nil, `{%q: %q, "short": "mutation V($a: ID!) { vote(input: {article: $a}) { changed } }"}`, hashOf(front), front)
	trusted := require.Value(endpoint.ReadTrusted(file, graph.Schema(), graph.Scalars, limits))(t)
	s := sitetest.Open(t, func(o *endpoint.Options) { o.Trusted = trusted })
	for request, want := range map[string]string{
		`{` + persisted(hashOf(front)) + `}`:                                      `{"data":{"articles":[]}}`,
		fmt.Sprintf(`{"documentId":"sha256:%s"}`, hashOf(front)):                  `{"data":{"articles":[]}}`,
		fmt.Sprintf(`{"query":%q}`, front):                                        `{"data":{"articles":[]}}`,
		`{"documentId":"short","variables":{"a":"x"}}`:                            `"code":"BAD_USER_INPUT"`,
		`{"query":"{ viewer { id } }"}`:                                           `"code":"DOCUMENT_NOT_TRUSTED"`,
		`{"query":"{ articles { id } } "}`:                                        `"code":"DOCUMENT_NOT_TRUSTED"`,
		`{"query":"{"}`:                                                           `"code":"DOCUMENT_NOT_TRUSTED"`,
		`{"query":"{ __schema { queryType { name } } }"}`:                         `"code":"DOCUMENT_NOT_TRUSTED"`,
		`{"documentId":"nothing"}`:                                                `"code":"PERSISTED_QUERY_NOT_FOUND"`,
		fmt.Sprintf(`{"query":"{ viewer { id } }",%s}`, persisted(hashOf(front))): `"code":"DOCUMENT_NOT_TRUSTED"`,
	} {
		if _, body := s.PostJSON(request); !strings.Contains(body, want) {
			t.Errorf("%s: got %s, want %s", request, body, want)
		}
	}
	if n, commands := s.Trips.Read(); n > 0 && strings.Contains(fmt.Sprint(commands), "get") {
		t.Errorf("got commands %v, want none that reads a document", commands)
	}
}
