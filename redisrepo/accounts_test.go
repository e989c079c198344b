package redisrepo_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/redisrepo"
)

func TestAccountsGetNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, tags := range layouts {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		long := strings.Repeat("é", 64)
		for _, tt := range []struct{ account, wanted, want string }{
			{"a", "Alice", "Alice"},
			{"a", "Alice", "Alice"},
			{"b", "Alice", "Alice-2"},
			{"c", "alice", "alice-3"},
			{"d", "ＡＬＩＣＥ", "ＡＬＩＣＥ-4"}, // full-width letters
			{"a", "Alicia", "Alice"},  // a name is kept
			{"e", "Alicia", "Alicia"},
			{"f", "alice-2", "alice-2-2"},
			{"b", "Alice", "Alice-2"},
			{"g", "zoë", "zoë"},
			{"h", "zoe\u0308", "zoe\u0308-2"}, // composed otherwise
			{"i", long, long},
			{"j", long, strings.Repeat("é", 62) + "-2"},
		} {
			got, err := s.AccountName(s.ctx, tt.account, tt.wanted)
			if err != nil || string(got) != tt.want {
				t.Errorf("%s, who wants %s: got %s, %v, want %s", tt.account, tt.wanted, got, err, tt.want)
			}
		}
		var refused redisrepo.Refusal
		if _, err := s.AccountName(s.ctx, "k", strings.Repeat("x", 65)); !errors.As(err, &refused) {
			t.Errorf("got %v, want a refusal", err)
		}
	}
}

func TestAccountsThatWantOneNameAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	var names sync.Map
	var all sync.WaitGroup
	for account := range 10 {
		for range 3 { // several processes, one account
			all.Go(func() {
				name, err := s.AccountName(s.ctx, fmt.Sprint(account), "sam")
				if err != nil {
					t.Error(err)
				}
				if other, found := names.LoadOrStore(name, account); found && other != account {
					t.Errorf("accounts %v and %v have the name %s", other, account, name)
				}
			})
		}
	}
	all.Wait()
	for account := range 10 {
		name, err := s.AccountName(s.ctx, fmt.Sprint(account), "other")
		if owner, found := names.Load(name); err != nil || !found || owner != account {
			t.Errorf("account %d: got %s, %v, which account %v had", account, name, err, owner)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	for _, tags := range layouts {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		want := func(digest, value string) {
			t.Helper()
			if got, err := s.Session(s.ctx, digest); err != nil || string(got) != value {
				t.Errorf("session %s: got %q, %v, want %q", digest, got, err, value)
			}
		}
		keep := func(digest, value string, lifetime time.Duration) {
			t.Helper()
			if err := s.KeepSession(s.ctx, digest, []byte(value), lifetime); err != nil {
				t.Fatal(err)
			}
		}
		replace := func(digest, value string, want bool) {
			t.Helper()
			if replaced, err := s.ReplaceSession(s.ctx, digest, []byte(value), time.Hour); err != nil || replaced != want {
				t.Errorf("replacing session %s: got %t, %v, want %t", digest, replaced, err, want)
			}
		}
		want("aa", "")
		keep("aa", "one", time.Hour)
		keep("bb", "two", time.Millisecond)
		want("aa", "one")
		replace("aa", "three", true)
		want("aa", "three")
		if err := s.EndSession(s.ctx, "aa"); err != nil {
			t.Fatal(err)
		}
		want("aa", "")
		replace("aa", "four", false) // a renewal does not bring back what has ended
		want("aa", "")
		eventually(t, "the session has expired", func() bool {
			value, err := s.Session(s.ctx, "bb")
			return err == nil && value == nil
		})
		for i, first := range []bool{true, false} {
			if renews, err := s.RenewsSession(s.ctx, "cc", time.Hour); err != nil || renews != first {
				t.Errorf("renewal %d: got %t, %v, want %t", i, renews, err, first)
			}
		}
	}
}
