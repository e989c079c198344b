package redisrepo_test

import (
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/redisrepo"
)

func charge(rule string, most, amount int, user redisrepo.UserName) redisrepo.Charge {
	return redisrepo.Charge{Rule: rule, Most: most, Window: time.Minute, Amount: amount, User: user, Address: netip.MustParseAddr("192.0.2.1")}
}

// charged records charges and returns the Kept and Used of each as text.
func (s *site) charged(charges ...redisrepo.Charge) string {
	s.t.Helper()
	balances, err := s.Charge(s.ctx, "cost", charges)
	if err != nil {
		s.t.Fatalf("Charge: %v", err)
	}
	text := ""
	for i, b := range balances {
		text += fmt.Sprintf("%t %d ", b.Kept, b.Used)
		if b.Left <= 0 || b.Left > charges[i].Window {
			s.t.Errorf("Left = %v in a window of %v, want more than 0 and at most the window", b.Left, charges[i].Window)
		}
	}
	return text
}

func TestChargesOfOneRuleAreAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for i, step := range []struct {
		charges []redisrepo.Charge
		want    string
	}{
		{[]redisrepo.Charge{charge("cost", 10, 4, "alice"), charge("cost", 20, 4, "")}, "true 4 true 4 "},
		{[]redisrepo.Charge{charge("cost", 10, 7, "alice"), charge("cost", 20, 7, "")}, "false 4 false 4 "},
		{[]redisrepo.Charge{charge("cost", 10, 6, "alice"), charge("cost", 20, 6, "")}, "true 10 true 10 "},
		// The address is at its limit, the user is not.
		{[]redisrepo.Charge{charge("cost", 10, 6, "bob"), charge("cost", 15, 6, "")}, "false 0 false 10 "},
		// An exceeded rule does not affect the others, unless it is the gate.
		{[]redisrepo.Charge{charge("cost", 10, 5, "bob"), charge("votes", 1, 2, "bob"), charge("posts", 1, 1, "bob")}, "true 5 false 0 true 1 "},
		{[]redisrepo.Charge{charge("cost", 10, 6, "bob"), charge("votes", 1, 1, "bob")}, "false 5 true 0 "},
		{[]redisrepo.Charge{charge("votes", 1, 2, "bob"), charge("posts", 2, 1, "bob")}, "false 0 true 2 "},
		{[]redisrepo.Charge{charge("cost", 10, 0, "bob")}, "true 5 "},
		{nil, ""},
	} {
		if got := s.charged(step.charges...); got != step.want {
			t.Errorf("step %d: charged %s, want %s", i, got, step.want)
		}
	}
}

func TestRateWindowEndsAndIsNotExtended(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.charged(charge("votes", 2, 1, "alice"))
	const key = "limit:votes:user:alice"
	s.do("PEXPIRE", key, 30_000)
	s.charged(charge("votes", 2, 1, "alice"))
	if left := s.ttl(key); left > 30*time.Second || left < 20*time.Second {
		t.Errorf("the window ends in %v, want 20 to 30 s: a charge must not extend it", left)
	}
	if got := s.charged(charge("votes", 2, 1, "alice")); got != "false 2 " {
		t.Errorf("charged %s, want false 2", got)
	}
	s.do("DEL", key) // as if it had expired
	if got := s.charged(charge("votes", 2, 1, "alice")); got != "true 1 " {
		t.Errorf("charged %s in the next window, want true 1", got)
	}
	// A key that lost its expiry gets one again.
	s.do("PERSIST", key)
	s.charged(charge("votes", 2, 1, "alice"))
	if s.ttl(key) <= 0 {
		t.Error("the key does not expire, want it to expire with the window")
	}
}

func TestProcessesTogetherNeverExceedALimit(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	sites := []*site{s, s.reopened(s.client(), nil)}
	var kept atomic.Int64
	together(40, func(i int) {
		for range 50 {
			balances, err := sites[i%2].Charge(s.ctx, "cost", []redisrepo.Charge{charge("votes", 100, 1, "alice"), charge("votes", 1000, 1, "")})
			if err != nil {
				t.Error(err)
			} else if balances[0].Kept {
				kept.Add(1)
			}
		}
	})
	if kept.Load() != 100 {
		t.Errorf("%d charges were kept, want 100", kept.Load())
	}
	if addresses := s.raw.Keys(s.ctx, "limit:*").Val(); len(addresses) != 2 || !slices.Contains(addresses, "limit:votes:address:192.0.2.1") {
		t.Errorf("keys = %q, want one of alice and one of her address", addresses)
	}
}

func TestChargesWorkWithPartitions(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, redisrepo.WithPartitions("{a}", "{b}"))
	if got := s.charged(charge("votes", 2, 1, "alice"), charge("votes", 2, 1, "")); got != "true 1 true 1 " {
		t.Errorf("charged %s, want true 1 true 1", got)
	}
	if n := s.do("EXISTS {a}limit:votes:user:alice {a}limit:votes:address:192.0.2.1"); n != int64(2) {
		t.Errorf("%v of the keys are in the first partition, want 2", n)
	}
}
