package rates_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func charge(rule string, most, amount int, user site.UserName) rates.Charge {
	return rates.Charge{Rule: rule, Most: most, Window: time.Minute, Amount: amount, User: user, Address: netip.MustParseAddr("192.0.2.1")}
}

// charged records charges and returns the Kept and Used of each as text.
func charged(s *repotest.Site, charges ...rates.Charge) string {
	s.T.Helper()
	balances := require.Value(s.Rates.Charge(s.Ctx, "cost", charges))(s.T)
	text := ""
	for i, b := range balances {
		text += fmt.Sprintf("%t %d ", b.Kept, b.Used)
		if fits := b.Wait == 0; b.Kept && !fits || b.Wait < 0 || b.Wait > charges[i].Window || (b.Left > 0) != (b.Used > 0) || b.Left > charges[i].Window {
			s.T.Errorf("got %+v in a window of %v, want no wait if it was kept, and Left while anything is used", b, charges[i].Window)
		}
	}
	return text
}

func TestChargesOfOneRuleAreAllOrNothing(t *testing.T) {
	t.Parallel()
	steps := []struct {
		charges []rates.Charge
		want    string
	}{
		{[]rates.Charge{charge("cost", 10, 4, "alice"), charge("cost", 20, 4, "")}, "true 4 true 4 "},
		{[]rates.Charge{charge("cost", 10, 7, "alice"), charge("cost", 20, 7, "")}, "false 4 false 4 "},
		{[]rates.Charge{charge("cost", 10, 6, "alice"), charge("cost", 20, 6, "")}, "true 10 true 10 "},
		// The address is at its limit, the user is not.
		{[]rates.Charge{charge("cost", 10, 6, "bob"), charge("cost", 15, 6, "")}, "false 0 false 10 "},
		// An exceeded rule does not affect the others, unless it is the gate.
		{[]rates.Charge{charge("cost", 10, 5, "bob"), charge("votes", 1, 2, "bob"), charge("posts", 1, 1, "bob")}, "true 5 false 0 true 1 "},
		{[]rates.Charge{charge("cost", 10, 6, "bob"), charge("votes", 1, 1, "bob")}, "false 5 true 0 "},
		{[]rates.Charge{charge("votes", 1, 2, "bob"), charge("posts", 2, 1, "bob")}, "false 0 true 2 "},
		{[]rates.Charge{charge("cost", 10, 0, "bob")}, "true 5 "},
		{nil, ""},
	}
	for _, partitions := range []int{1, 16} {
		t.Run(fmt.Sprint(partitions, " partitions"), func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, redisrepo.WithPartitions(partitions))
			for i, step := range steps {
				if got := charged(s, step.charges...); got != step.want {
					t.Errorf("step %d: charged %s, want %s", i, got, step.want)
				}
			}
		})
	}
}

// What is owed counts also beyond the limit, and nothing else does until there is room for it.
func TestOwedChargesAreRecordedBeyondTheLimit(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 16} {
		for _, most := range []int{10, 100_000} { // of the latter, points are leased
			t.Run(fmt.Sprint(partitions, " partitions, limit ", most), func(t *testing.T) {
				t.Parallel()
				s := repotest.New(t, nil, redisrepo.WithPartitions(partitions))
				for i, step := range []struct {
					amount int
					owed   bool
					kept   bool
					used   int
				}{
					{8 * most / 10, false, true, 8 * most / 10},
					{most / 10, true, true, 9 * most / 10},
					{most, true, true, 19 * most / 10},
					{most / 10, false, false, 19 * most / 10},
					{most / 10, true, true, 20 * most / 10},
				} {
					var charges []rates.Charge
					for _, user := range []site.UserName{"alice", ""} {
						c := charge("cost", most, step.amount, user)
						c.Owed, c.Leased = step.owed, true
						charges = append(charges, c)
					}
					balances := require.Value(s.Rates.Charge(s.Ctx, "cost", charges))(t)
					for _, b := range balances {
						if b.Kept != step.kept || b.Used != step.used {
							t.Errorf("step %d: got %+v, want kept %t and %d used", i, b, step.kept, step.used)
						}
					}
				}
			})
		}
	}
}

// No window, whenever it starts, holds more than the limit, and an amount counts for at most 9/8 of a window. Wait
// and Left are exact, a refused charge extends neither, and an amount can be given back.
func TestNoWindowHoldsMoreThanItsLimit(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{10 * time.Second, 7 * time.Minute} { // a shorter one ends by the clock of Redis, which does not wait for a busy machine
		t.Run(window.String(), func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, repotest.One)
			random := rand.New(rand.NewPCG(1, uint64(window)))
			const most = 20
			try := func(amount int) rates.Balance {
				t.Helper()
				charge := rates.Charge{Rule: "votes", Most: most, Window: window, Amount: amount, User: "alice"}
				return require.Value(s.Rates.Charge(s.Ctx, "", []rates.Charge{charge}))(t)[0]
			}
			type event struct {
				at     time.Duration
				amount int
			}
			var kept []event
			in := func(window, end time.Duration) (sum int) { // from end-window, exclusive, to end
				for _, e := range kept {
					if e.at > end-window && e.at <= end {
						sum += e.amount
					}
				}
				return sum
			}
			for range 2_000 {
				s.Clock.Advance(time.Duration(random.Int64N(1+window.Milliseconds()/int64(1+random.IntN(40)))) * time.Millisecond)
				amount := random.IntN(most/2) - 1
				b, now := try(amount), s.Clock.Now().Sub(repotest.Opened)
				if !b.Kept && random.IntN(2) == 0 { // a millisecond before Wait it is still refused, then not
					s.Clock.Advance(b.Wait - time.Millisecond)
					if early := try(amount); early.Kept || early.Wait != time.Millisecond {
						t.Fatalf("at %v: got %+v a millisecond before the end of %+v, want it refused", now, early, b)
					}
					s.Clock.Advance(time.Millisecond)
					if b, now = try(amount), s.Clock.Now().Sub(repotest.Opened); !b.Kept {
						t.Fatalf("at %v: got %+v after the wait, want it kept", now, b)
					}
				}
				if b.Kept {
					kept = append(kept, event{now, amount})
				}
				if amount < 0 {
					kept = kept[:0] // what was given back is no amount of any time: begin again
					s.Do("DEL rate:votes:user:alice")
					continue
				}
				if got := in(window, now); got > most || b.Used < got || b.Used > in(window*9/8, now) {
					t.Fatalf("at %v: got %d in the window and Used = %d, want at most %d, and no more than in 9/8 of it: %d", now, got, b.Used, most, in(window*9/8, now))
				}
				if kept = kept[max(0, len(kept)-100):]; b.Left > window || b.Left <= 0 && b.Used > 0 {
					t.Fatalf("at %v: got %+v, want Left within the window", now, b)
				}
				if random.IntN(50) == 0 {
					s.Clock.Advance(b.Left - time.Millisecond)
					if b := try(0); b.Used == 0 && b.Left != 0 {
						t.Fatalf("got %+v before Left, want something used", b)
					}
					s.Clock.Advance(time.Millisecond)
					if b := try(0); b.Used != 0 || b.Left != 0 {
						t.Fatalf("got %+v after Left, want nothing used", b)
					}
				}
			}
		})
	}
}

func TestAmountsCanBeGivenBack(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil)
	charged(s, charge("posts", 10, 3, "alice"))
	s.Clock.Advance(20 * time.Second) // into another part of the window
	charged(s, charge("posts", 10, 2, "alice"))
	for _, want := range []string{"true 4 ", "true 3 ", "true 2 ", "true 1 "} {
		if got := charged(s, charge("posts", 10, -1, "alice")); got != want {
			t.Errorf("charged %s, want %s", got, want)
		}
	}
	if got := charged(s, charge("posts", 10, -5, "alice")); got != "true 0 " {
		t.Errorf("charged %s, want true 0: never less", got)
	}
}

// A step of the clock of Redis prolongs no window by more than one, also if all charges since are refused.
func TestClockStepExtendsNoWindowByMoreThanOne(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	s.Clock.Advance(8 * 24 * time.Hour)
	charged(s, charge("votes", 2, 2, "alice"))
	s.Clock.Set(0)
	for second := range 60 {
		if got := charged(s, charge("votes", 2, 1, "alice")); got != "false 2 " {
			t.Fatalf("after %d s: charged %s, want false 2", second, got)
		}
		s.Clock.Advance(time.Second)
	}
	if got := charged(s, charge("votes", 2, 1, "alice")); got != "true 1 " {
		t.Errorf("after a window: charged %s, want true 1", got)
	}
	if left := s.TTL("rate:votes:user:alice"); left <= 0 || left > time.Minute {
		t.Errorf("the counter expires in %v, want at most a minute", left)
	}
}

func TestProcessesTogetherNeverExceedALimit(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	sites := []*repotest.Site{s, s.Reopened(s.Client(), nil)}
	var kept atomic.Int64
	repotest.Together(40, func(i int) {
		for range 50 {
			balances, err := sites[i%2].Rates.Charge(s.Ctx, "cost", []rates.Charge{charge("votes", 100, 1, "alice"), charge("votes", 1000, 1, "")})
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
	if addresses := s.Raw.Keys(s.Ctx, "rate:*").Val(); len(addresses) != 2 || !slices.Contains(addresses, "rate:votes:address:192.0.2.1") {
		t.Errorf("keys = %q, want one of alice and one of her address", addresses)
	}
}

// lost is a hook that fails the commands on keys with a tag, as if their shard was gone.
type lost struct{ tag atomic.Value }

func (l *lost) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	tag, _ := l.tag.Load().(string)
	var sent []redis.Cmder
	var failed error
	for _, c := range commands {
		if tag != "" && strings.Contains(fmt.Sprint(c.Args()...), tag) {
			failed = io.EOF
			c.SetErr(failed)
		} else {
			sent = append(sent, c)
		}
	}
	if len(sent) > 0 {
		failed = errors.Join(failed, send(ctx, sent))
	}
	return failed
}

// Subjects are counted in all partitions, so a shard that is gone stops only those that it counts, and giving back what
// others have leased there stops no charge.
func TestLostPartitionStopsOnlyItsOwnSubjects(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, redisrepo.WithPartitions(16))
	hook := new(lost)
	r := s.Reopened(s.Client(redistest.Hook(hook.hook)), nil, redisrepo.WithPartitions(16))
	one := func(user site.UserName) error {
		c := charge("cost", 1_000_000, 100, user)
		c.Leased = true
		for range 3 { // the third is counted down from a lease
			if _, err := r.Rates.Charge(s.Ctx, "cost", []rates.Charge{c}); err != nil {
				return err
			}
		}
		return nil
	}
	users, used := make([]site.UserName, 200), map[string]int{}
	for i := range users {
		users[i] = site.UserName(fmt.Sprint("user", i))
		require.NoError(t, one(users[i]))
		tag, _, _ := strings.Cut(s.Raw.Keys(s.Ctx, "*rate:cost:"+"user:"+string(users[i])).Val()[0], "rate:")
		used[tag]++
	}
	if len(used) != 16 {
		t.Errorf("the users are counted in %v, want all partitions", used)
	}
	hook.tag.Store(repotest.Tags(16)[0])
	s.Clock.Advance(3 * time.Second) // so that leases are given back
	failed := 0
	for _, user := range users {
		if err := one(user); errors.Is(err, rates.ErrUncounted) && errors.Is(err, failover.ErrUnavailable) {
			failed++
		} else if err != nil {
			t.Errorf("the charge of %s failed with %v, want ErrUncounted", user, err)
		}
	}
	if want := used[repotest.Tags(16)[0]]; failed != want {
		t.Errorf("%d charges failed, want the %d that the lost partition counts", failed, want)
	}
}

// What one partition counted and another refused is given back.
func TestRefusedChargesAreGivenBackInPartitions(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, redisrepo.WithPartitions(16))
	for range 5 {
		charged(s, charge("cost", 10, 7, "alice"), charge("cost", 1000, 7, ""))
	}
	if got := charged(s, charge("cost", 10, 0, "alice"), charge("cost", 1000, 0, "")); got != "true 7 true 7 " {
		t.Errorf("charged %s, want what was allowed once: true 7 true 7", got)
	}
	// The gate is exceeded in another partition than the votes are counted in.
	charged(s, charge("cost", 10, 7, "alice"), charge("votes", 10, 1, ""))
	if got := charged(s, charge("votes", 10, 0, "")); got != "true 0 " {
		t.Errorf("charged %s, want no vote: true 0", got)
	}
}
