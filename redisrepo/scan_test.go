package redisrepo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/site"
)

// A cursor of SCAN means something else to a server that was restarted, or has taken over. A walk over 1,500 elements
// would miss some of those that the first replies did not have.
func TestWalksAreCompleteThoughTheServerIsRestarted(t *testing.T) {
	t.Parallel()
	const n = 1500
	count := func(t *testing.T, s *testSite, text string) {
		t.Helper()
		found := 0
		checked, err := check.Check(s.ctx, s.Repo, func(violation string) {
			if strings.Contains(violation, text) {
				found++
			}
		})
		if err != nil || found != n || text == "posted:" && checked.Articles != n {
			t.Errorf("Check = %+v, %v, and %d violations with %q; want %d, each once", checked, err, found, text, n)
		}
	}
	tests := map[string]struct {
		command string // before the fourth of which the server is restarted
		damage  string
		call    func(t *testing.T, s *testSite)
	}{
		"check of articles": {"zscan", "DEL posted:zoe", func(t *testing.T, s *testSite) { count(t, s, "posted:") }},
		"check of hashes":   {"scan", "DEL time:", func(t *testing.T, s *testSite) { count(t, s, "is in a hash") }},
		"check of a group":  {"sscan", "DEL time:", func(t *testing.T, s *testSite) { count(t, s, "group:go: holds") }},
		"check of a listing": {"zscan", "DEL time: posted:zoe", func(t *testing.T, s *testSite) {
			count(t, s, "is in score:")
		}},
		"check of voters": {"sscan", "COPY voted:9999 downvoted:9999 REPLACE", func(t *testing.T, s *testSite) {
			found := ""
			_, err := check.Check(s.ctx, s.Repo, func(violation string) {
				if strings.Contains(violation, "both sets") {
					found = violation
				}
			})
			if both := strings.Count(found, "voter"); err != nil || both != n+1 { // and the word in the text
				t.Errorf("Check = %v, and %d voters in both sets, want %d", err, both-1, n)
			}
		}},
		"audit": {"sscan", "PING", func(t *testing.T, s *testSite) {
			if entries, err := s.Audit(s.ctx, 9999); err != nil || len(entries) != n+1 {
				t.Errorf("Audit = %d entries, %v, want %d", len(entries), err, n+1)
			}
		}},
		"audit of records": {"hscan", "DEL voted:9999", func(t *testing.T, s *testSite) {
			if entries, err := s.Audit(s.ctx, 9999); err != nil || len(entries) != n {
				t.Errorf("Audit = %d entries, %v, want %d", len(entries), err, n)
			}
		}},
		"new rules": {"zscan", "PING", func(t *testing.T, s *testSite) {
			s.reopened(s.server.Client, func(r *site.Rules) { r.VoteScore = 100 }).wantClean()
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, one)
			s.server.Own()
			var articles []redisrepo.Imported
			if strings.Contains(name, "voters") || strings.Contains(name, "audit") {
				s.imports(old(9999, time.Hour, 1))
				for i := range n {
					s.do(fmt.Sprintf("SADD voted:9999 user:voter%d", i))
					s.do(fmt.Sprintf("HSET audit:9999 user:voter%d", i), fmt.Sprintf("0 %d bucket", opened.Unix()))
				}
			} else {
				for i := range n {
					articles = append(articles, old(site.ArticleID(i+1), time.Hour, 1, "go"))
				}
				s.imports(articles...)
			}
			s.do(tt.damage)
			scans := 0
			s.server.Client.AddHook(observer(func(commands ...redis.Cmder) {
				for _, command := range commands {
					if command.Name() == tt.command {
						if scans++; scans == 4 {
							s.server.Kill()
							s.server.Restart()
						}
					}
				}
			}))
			tt.call(t, s)
			if scans < 8 {
				t.Errorf("%d calls of %s, want more than before the restart", scans, tt.command)
			}
		})
	}
}

// The keys of a server are read once, not once for each of its partitions.
func TestCheckReadsTheKeysOfAServerOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, inSixteen())
	for range 100 {
		s.post("alice", "go")
	}
	scans := 0
	s.server.Client.AddHook(observer(func(commands ...redis.Cmder) {
		if commands[0].Name() == "scan" {
			scans++
		}
	}))
	if checked, err := check.Check(s.ctx, s.Repo, func(violation string) { t.Error(violation) }); err != nil || checked.Articles != 100 || checked.Groups != 1 {
		t.Errorf("Check = %+v, %v, want 100 articles and a group", checked, err)
	}
	if keys := s.do("DBSIZE").(int64); scans == 0 || int64(scans) > keys/500+2 {
		t.Errorf("%d scans of 500 keys for %d keys, want each key read once", scans, keys)
	}
}
