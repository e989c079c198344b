package check_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/transfer"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
)

// A cursor of SCAN means something else to a server that was restarted, or has taken over. A walk over 1,500 elements
// would miss some of those that the first replies did not have.
func TestWalksAreCompleteThoughTheServerIsRestarted(t *testing.T) {
	t.Parallel()
	const n = 1500
	count := func(t *testing.T, s *repotest.Site, text string) {
		t.Helper()
		found := 0
		checked, err := check.Check(s.Ctx, s.Repo, func(violation string) {
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
		call    func(t *testing.T, s *repotest.Site)
	}{
		"check of articles": {"zscan", "DEL posted:zoe", func(t *testing.T, s *repotest.Site) { count(t, s, "posted:") }},
		"check of hashes":   {"scan", "DEL time:", func(t *testing.T, s *repotest.Site) { count(t, s, "is in a hash") }},
		"check of a group":  {"sscan", "DEL time:", func(t *testing.T, s *repotest.Site) { count(t, s, "group:go: holds") }},
		"check of a listing": {"zscan", "DEL time: posted:zoe", func(t *testing.T, s *repotest.Site) {
			count(t, s, "is in score:")
		}},
		"check of voters": {"sscan", "COPY voted:9999 downvoted:9999 REPLACE", func(t *testing.T, s *repotest.Site) {
			found := ""
			_, err := check.Check(s.Ctx, s.Repo, func(violation string) {
				if strings.Contains(violation, "both sets") {
					found = violation
				}
			})
			if both := strings.Count(found, "voter"); err != nil || both != n+1 { // and the word in the text
				t.Errorf("Check = %v, and %d voters in both sets, want %d", err, both-1, n)
			}
		}},
		"audit": {"sscan", "PING", func(t *testing.T, s *repotest.Site) {
			if entries, err := s.Audit(s.Ctx, 9999); err != nil || len(entries) != n+1 {
				t.Errorf("Audit = %d entries, %v, want %d", len(entries), err, n+1)
			}
		}},
		"audit of records": {"hscan", "DEL voted:9999", func(t *testing.T, s *repotest.Site) {
			if entries, err := s.Audit(s.Ctx, 9999); err != nil || len(entries) != n {
				t.Errorf("Audit = %d entries, %v, want %d", len(entries), err, n)
			}
		}},
		"new rules": {"zscan", "PING", func(t *testing.T, s *repotest.Site) {
			s.Reopened(s.Server.Client, func(r *site.Rules) { r.VoteScore = 100 }).WantClean()
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, repotest.One)
			s.Server.Own()
			var articles []redisrepo.Imported
			if strings.Contains(name, "voters") || strings.Contains(name, "audit") {
				s.MustImport(repotest.Old(9999, time.Hour, 1))
				for i := range n {
					s.Do(fmt.Sprintf("SADD voted:9999 user:voter%d", i))
					s.Do(fmt.Sprintf("HSET audit:9999 user:voter%d", i), fmt.Sprintf("0 %d bucket", repotest.Opened.Unix()))
				}
			} else {
				for i := range n {
					articles = append(articles, repotest.Old(site.ArticleID(i+1), time.Hour, 1, "go"))
				}
				s.MustImport(articles...)
			}
			s.Do(tt.damage)
			scans := 0
			s.Server.Client.AddHook(redistest.Before(func(commands ...redis.Cmder) {
				for _, command := range commands {
					if command.Name() == tt.command {
						if scans++; scans == 4 {
							s.Server.Kill()
							s.Server.Restart()
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
	s := repotest.New(t, nil, redisrepo.WithPartitions(16))
	for range 100 {
		s.MustPost("alice", "go")
	}
	scans := 0
	s.Server.Client.AddHook(redistest.Before(func(commands ...redis.Cmder) {
		if commands[0].Name() == "scan" {
			scans++
		}
	}))
	if checked, err := check.Check(s.Ctx, s.Repo, func(violation string) { t.Error(violation) }); err != nil || checked.Articles != 100 || checked.Groups != 1 {
		t.Errorf("Check = %+v, %v, want 100 articles and a group", checked, err)
	}
	if keys := s.Do("DBSIZE").(int64); scans == 0 || int64(scans) > keys/500+2 {
		t.Errorf("%d scans of 500 keys for %d keys, want each key read once", scans, keys)
	}
}

// largest notes the largest number of keys of a script, of arguments of a command, and of
// commands in a pipeline.
type largest struct {
	mutex                     sync.Mutex
	keys, arguments, commands int
}

func (l *largest) add(commands ...redis.Cmder) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.commands = max(l.commands, len(commands))
	for _, command := range commands {
		l.arguments = max(l.arguments, len(command.Args()))
		if command.Name() == "evalsha" {
			keys, _ := command.Args()[2].(int)
			l.keys = max(l.keys, keys)
		}
	}
}

// unbounded notes commands whose cost grows with a key, and the largest pipeline.
type unbounded struct {
	largest
	names []string
}

func (u *unbounded) note(commands ...redis.Cmder) {
	u.add(commands...)
	u.mutex.Lock()
	defer u.mutex.Unlock()
	for _, command := range commands {
		args := command.Args()
		switch name := command.Name(); name {
		case "sinter", "smembers", "sunion", "sdiff", "zinter", "zinterstore", "zunion", "keys", "del":
			u.names = append(u.names, name)
		case "zrange":
			if fmt.Sprint(args[len(args)-1]) == "-1" || len(args) > 3 && fmt.Sprint(args[3]) == "-1" {
				u.names = append(u.names, name)
			}
		}
	}
}

// Check, Audit and a start under other rules run beside the site: no command of theirs may grow with an article's
// votes or a group's size.
func TestMaintenanceReadsLargeKeysInBatches(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	var articles []redisrepo.Imported
	for i := range 300 {
		articles = append(articles, repotest.Old(site.ArticleID(i+1), time.Hour, i%3, "go"))
	}
	s.MustImport(append(articles, repotest.Old(301, time.Hour, 3000, "go"), repotest.Old(302, time.Hour, 6001, "go"))...)
	for i := range 250 {
		s.MustVote(301, site.UserName(fmt.Sprint("voter", i)), site.Down)
	}
	s.List(repotest.Best("go"))
	hook := new(unbounded)
	beside := s.Reopened(s.Client(redistest.Before(hook.note)), func(r *site.Rules) { r.VotingWindow = 2 * repotest.Week })
	beside.WantClean()
	if entries, err := beside.Audit(s.Ctx, 301); err != nil || len(entries) != 251 {
		t.Errorf("Audit = %d entries, %v, want 251", len(entries), err)
	}
	if records, errs, err := transfer.Records(s.Ctx, beside.Repo, []site.ArticleID{302}); err != nil || errs[0] != nil || records[0].UnnamedUp != 6000 {
		t.Errorf("Records = %v, %v, %v, want 6000 voters without names", records, errs, err)
	}
	if len(hook.names) > 0 || hook.commands > 2500 {
		t.Errorf("commands that read all of a key: %v, the largest pipeline has %d; want none, and less than 2500", hook.names, hook.commands)
	}

	beside.List(repotest.Best("go"))
	s.Do("SADD voted:301 user:voter7")
	s.Do("SADD downvoted:301 import:1234")
	s.Do("ZREM score:go article:9")
	want := []string{
		"article:301: [import:1234 user:voter7] are in both sets of voters",
		"downvoted:301: has 251 members, not 250",
		"score:go: is not the intersection of group:go and score:",
		"voted:301: has 3001 members, not 3000",
	}
	found := beside.Violations()
	for i, violation := range found {
		if violation == "article:301: [user:voter7 import:1234] are in both sets of voters" { // sets have no order
			found[i] = want[0]
		}
	}
	if !slices.Equal(found, want) {
		t.Errorf("Check reports %q, want %q", found, want)
	}
}
