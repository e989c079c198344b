package redisrepo_test

import (
	"fmt"
	"regexp"
	"slices"
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
		s.MustVote(1, "bob", up)
		s.MustVote(1, "bob", none)
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
		s.MustVote(a.ID, "bob", up) // a write to a listing does not renew its expiry
		s.MustVote(a.ID, "bob", none)
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
		s.MustVote(1, "bob", up)
		s.MustVote(1, "bob", none)
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

func TestRegroupAddsAndRemovesGroups(t *testing.T) {
	t.Parallel()
	names := func(from, to int) (names []string) {
		for i := from; i < to; i++ {
			names = append(names, fmt.Sprint("g", i))
		}
		return names
	}
	tests := map[string]struct {
		posted      []string
		user        site.UserName
		add, remove []string
		want        []site.GroupName
		refused     []string
	}{
		"into a group":                     {add: []string{"go"}, want: []site.GroupName{"go"}},
		"names are folded":                 {add: []string{"Go", "gO"}, want: []site.GroupName{"go"}},
		"names are sorted by their bytes":  {posted: []string{"b", "ä"}, add: []string{"a_b", "a-c", "ab", "a.b", "a"}, want: []site.GroupName{"a", "a-c", "a.b", "a_b", "ab", "b", "ä"}},
		"out of a group":                   {posted: []string{"go", "x"}, remove: []string{"GO"}, want: []site.GroupName{"x"}},
		"out of all":                       {posted: []string{"go"}, remove: []string{"go"}},
		"from one to another":              {posted: []string{"go"}, add: []string{"x"}, remove: []string{"go"}, want: []site.GroupName{"x"}},
		"into a group that it is in":       {posted: []string{"go"}, add: []string{"go"}, want: []site.GroupName{"go"}},
		"out of a group that it is not in": {posted: []string{"go"}, remove: []string{"x", "y"}, want: []site.GroupName{"go"}},
		"out of interesting's neighbour":   {posted: []string{"interesting2"}, remove: []string{"interesting2"}},

		"into 10 groups":                      {add: names(0, 10), want: groupNames(names(0, 10))},
		"into 11 groups":                      {add: names(0, 11), refused: []string{"TOO_LONG add"}},
		"into the 11th":                       {posted: names(0, 10), add: []string{"x"}, refused: []string{"TOO_LONG add"}},
		"into the 11th, out of another":       {posted: names(0, 10), add: []string{"g9", "x"}, remove: []string{"g0"}, want: groupNames(append(names(1, 10), "x"))},
		"into 100 names of one group":         {add: slices.Repeat([]string{"go"}, 100), want: []site.GroupName{"go"}},
		"into 101 names of one group":         {add: slices.Repeat([]string{"go"}, 101), refused: []string{"TOO_LONG add"}},
		"out of 100 groups":                   {posted: []string{"go"}, remove: names(0, 100), want: []site.GroupName{"go"}},
		"out of 101 groups":                   {posted: []string{"go"}, remove: names(0, 101), refused: []string{"TOO_LONG remove"}},
		"into interesting":                    {add: []string{"Interesting"}, refused: []string{"INVALID add.0"}},
		"out of interesting":                  {remove: []string{"go", "interesting"}, refused: []string{"INVALID remove.1"}},
		"into and out of the same":            {add: []string{"a", "Go"}, remove: []string{"b", "gO"}, refused: []string{"INVALID remove.1"}},
		"nowhere":                             {refused: []string{"INVALID add"}},
		"all bad names at once":               {add: []string{"", "ok", "a b"}, remove: []string{"/", "interesting"}, refused: []string{"INVALID add.0", "INVALID add.2", "INVALID remove.0", "INVALID remove.1"}},
		"another user's article":              {user: "bob", add: []string{"go"}, refused: []string{"FORBIDDEN article"}},
		"another user's, with a similar name": {user: "Alice", add: []string{"go"}, refused: []string{"FORBIDDEN article"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil)
			a := s.MustPost("alice", tt.posted...)
			before := s.Dump()
			user := a.Poster.Name
			if tt.user != "" {
				user = tt.user
			}
			b, err := s.Regroup(s.Ctx, a.ID, site.Actor{Name: user}, tt.add, tt.remove)
			if tt.refused != nil {
				repotest.WantRefused(t, err, tt.refused...)
				s.WantStore(before)
				return
			}
			if err != nil || !slices.Equal(b.Groups, tt.want) {
				t.Fatalf("Regroup = %+v, %v, want groups %v", b, err, tt.want)
			}
			repotest.WantEqual(t, b, s.Article(a.ID))
			var counts []string
			for _, name := range tt.want {
				counts = append(counts, fmt.Sprint(name, " 1"))
				s.WantList(repotest.Best(name), a.ID)
			}
			s.WantCounts(counts...)
			s.WantClean()
		})
	}
}

func groupNames(names []string) []site.GroupName {
	groups := make([]site.GroupName, len(names))
	for i, name := range names {
		groups[i] = site.GroupName(name)
	}
	return groups
}
