package lists_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestEmptyGroupLeavesNoKey(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	before := s.Dump()
	s.WantList(repotest.Best("empty"))
	s.WantList(repotest.Best("interesting"))
	s.WantList(lists.PostedBy("empty"))
	if counts, err := s.Articles.ArticleCounts(s.Ctx, []site.GroupName{"empty"}); err != nil || counts[0] != 0 {
		t.Errorf("ArticleCounts = %v, %v, want 0", counts, err)
	}
	s.WantCounts()
	s.WantStore(before)
}

func TestGroupEndsWithItsLastArticle(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.Events = 0 }, repotest.One) // events stay
	a := s.MustPost("alice", "keep")
	before := s.Dump()
	s.MustRegroup(a, []string{"go"}, nil)
	s.List(repotest.Best("go"))
	s.MustRegroup(a, nil, []string{"go"})
	s.Do("HSET article:1 revision 1") // that of a new article,
	s.Do("HDEL article:1 edition")    // which was never changed
	s.WantStore(before)
}

func TestListingIsKeptForGroupCacheTTL(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice", "go")
	for _, order := range []string{"score", "time"} {
		read, key := repotest.Best("go"), order+":go"
		if order == "time" {
			read = lists.InGroup("go", site.ByTime, site.Ascending)
		}
		s.List(read)
		if left := s.TTL(key); left > time.Minute || left < time.Minute-10*time.Second {
			t.Errorf("%s expires in %v, want a minute", key, left)
		}
		s.Do("PEXPIRE", key, 20_000)
		s.List(read)
		if left := s.TTL(key); left > time.Minute || left < time.Minute-10*time.Second {
			t.Errorf("read again, %s expires in %v, want a minute", key, left)
		}
		s.Do("PEXPIRE", key, 20_000)
		s.MustVote(1, "bob", site.Up)
		s.MustVote(1, "bob", site.None)
		s.MustPost("alice", "go")
		if left := s.TTL(key); left > 20*time.Second || left < 10*time.Second {
			t.Errorf("written, but not read, %s expires in %v, want 20 seconds", key, left)
		}
	}
}

func TestUnreadListingExpires(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.GroupCacheTTL = time.Second })
	a := s.MustPost("alice", "go")
	s.List(repotest.Best("go"))
	deadline, tick := time.After(require.Timeout), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for s.Do("EXISTS score:go") == int64(1) {
		s.MustVote(a.ID, "bob", site.Up) // a write to a listing does not renew its expiry
		s.MustVote(a.ID, "bob", site.None)
		select {
		case <-deadline:
			t.Fatal("score:go still exists, want it to have expired")
		case <-tick.C:
		}
	}
	s.WantList(repotest.Best("go"), a.ID)
	s.WantClean()
}

func TestStoredListingIsComparedAtMostOnceASecond(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.MustPost("alice", "go")
	s.List(repotest.Best("go"))
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	s.Do("SREM group:go article:1")
	s.Do("PEXPIRE score:go 60000")
	s.WantList(repotest.Best("go"), 1)
	if left := s.TTL("score:go"); left > time.Minute {
		t.Errorf("score:go expires in %v, want an unchanged expiry", left)
	}
}

// An unchanged listing is compared, and not built again.
func TestStoredListingIsBuiltOnce(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	for range 3 {
		s.MustPost("alice", "go")
	}
	s.Do("CONFIG RESETSTAT")
	for range 4 {
		s.WantList(repotest.Best("go"), 3, 2, 1)
		s.Do("PEXPIRE score:go 30000")
		s.MustVote(1, "bob", site.Up)
		s.MustVote(1, "bob", site.None)
	}
	if built := regexp.MustCompile(`cmdstat_zinterstore:calls=(\d+)`).FindStringSubmatch(s.Do("INFO commandstats").(string)); len(built) != 2 || built[1] != "1" {
		t.Errorf("ZINTERSTORE calls = %q, want 1", built)
	}
}

// With several partitions the number of groups takes reading all their names: it is kept for a while.
func TestGroupCountIsKeptInPartitions(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, redisrepo.WithPartitions(16))
	want := func(n int) {
		t.Helper()
		if got, err := s.Lists.GroupCount(s.Ctx, lists.GroupList{}); err != nil || got != n {
			t.Errorf("GroupCount = %d, %v, want %d", got, err, n)
		}
	}
	for i := range 40 {
		s.MustPost("alice", "a", fmt.Sprint("b", i%20))
	}
	want(21)
	s.MustPost("alice", "new")
	s.Clock.Advance(5*time.Second - 1)
	want(21)
	s.Clock.Advance(1)
	want(22)
}
