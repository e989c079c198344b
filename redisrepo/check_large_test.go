package redisrepo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/transfer"
)

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
	s := newSite(t, nil, one)
	var articles []redisrepo.Imported
	for i := range 300 {
		articles = append(articles, old(site.ArticleID(i+1), time.Hour, i%3, "go"))
	}
	s.imports(append(articles, old(301, time.Hour, 3000, "go"), old(302, time.Hour, 6001, "go"))...)
	for i := range 250 {
		s.vote(301, site.UserName(fmt.Sprint("voter", i)), down)
	}
	s.list(best("go"))
	hook := new(unbounded)
	beside := s.reopened(s.client(observer(hook.note)), func(r *site.Rules) { r.VotingWindow = 2 * week })
	beside.wantClean()
	if entries, err := beside.Audit(s.ctx, 301); err != nil || len(entries) != 251 {
		t.Errorf("Audit = %d entries, %v, want 251", len(entries), err)
	}
	if records, errs, err := transfer.Records(s.ctx, beside.Repo, []site.ArticleID{302}); err != nil || errs[0] != nil || records[0].UnnamedUp != 6000 {
		t.Errorf("Records = %v, %v, %v, want 6000 voters without names", records, errs, err)
	}
	if len(hook.names) > 0 || hook.commands > 2500 {
		t.Errorf("commands that read all of a key: %v, the largest pipeline has %d; want none, and less than 2500", hook.names, hook.commands)
	}

	beside.list(best("go"))
	s.do("SADD voted:301 user:voter7")
	s.do("SADD downvoted:301 import:1234")
	s.do("ZREM score:go article:9")
	want := []string{
		"article:301: [import:1234 user:voter7] are in both sets of voters",
		"downvoted:301: has 251 members, not 250",
		"score:go: is not the intersection of group:go and score:",
		"voted:301: has 3001 members, not 3000",
	}
	found := beside.violations()
	for i, violation := range found {
		if violation == "article:301: [user:voter7 import:1234] are in both sets of voters" { // sets have no order
			found[i] = want[0]
		}
	}
	if !slices.Equal(found, want) {
		t.Errorf("Check reports %q, want %q", found, want)
	}
}
