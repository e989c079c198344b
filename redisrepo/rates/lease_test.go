package rates_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

const leasedMost, leasedWindow = 100_000, 64 * time.Second

// leased charges a user, or an address if the name is empty, and reports whether that was within the limit.
func leased(t *testing.T, repo *redisrepo.Repo, user site.UserName, amount int) (rates.Balance, bool) {
	t.Helper()
	c := rates.Charge{Rule: "cost", Most: leasedMost, Window: leasedWindow, Amount: amount, Leased: true, Address: netip.MustParseAddr("192.0.2.1")}
	charges := []rates.Charge{c}
	if user != "" {
		c.User = user
		charges[0].Most *= 10
		charges = append([]rates.Charge{c}, charges...)
	}
	balances := require.Value(repo.Rates.Charge(t.Context(), "cost", charges))(t)
	kept := !slices.ContainsFunc(balances, func(b rates.Balance) bool { return !b.Kept })
	if kept != (balances[0].Wait == 0) {
		t.Errorf("balance = %+v, want a wait if and only if the charge is refused", balances[0])
	}
	return balances[0], kept
}

// However three processes are asked, no window has more than the maximum, and none refuses before half of it is used.
func TestLeasesKeepTheLimitInAnyWindow(t *testing.T) { // with the race detector
	t.Parallel()
	for seed := range programtest.Size[uint64](1, 4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			s := repotest.New(t, nil)
			repos := []*redisrepo.Repo{s.Repo, s.Reopened(s.Server.Client, nil).Repo, s.Reopened(s.Client(), nil).Repo}
			type spent struct {
				at     time.Duration
				amount int
			}
			var kept []spent
			within := func(window time.Duration) (sum int) {
				for _, k := range slices.Backward(kept) {
					if k.at <= s.Clock.Now().Sub(repotest.Opened)-window {
						break
					}
					sum += k.amount
				}
				return sum
			}
			pause, process, refusals := time.Millisecond, 0, 0
			for range 4000 {
				switch random.IntN(40) {
				case 0:
					pause = time.Duration(1+random.IntN(400)) * time.Millisecond
				case 1:
					process = random.IntN(len(repos))
				case 2:
					s.Clock.Advance(time.Duration(random.IntN(5000)) * time.Millisecond)
				case 3:
					require.NoError(t, repos[process].Rates.ReturnLeases(s.Ctx))
				}
				s.Clock.Advance(pause)
				amount := 1 + random.IntN(2000)
				if _, ok := leased(t, repos[process], "alice", amount); ok {
					kept = append(kept, spent{s.Clock.Now().Sub(repotest.Opened), amount})
				} else {
					refusals++
					if used := within(leasedWindow * 5 / 4); used+amount < leasedMost/2 {
						t.Fatalf("%d points are refused after %d, want at least half of %d", amount, used, leasedMost)
					}
				}
				if used := within(leasedWindow); used > leasedMost {
					t.Fatalf("%d points in a window, want at most %d", used, leasedMost)
				}
			}
			if refusals == 0 || refusals > 3000 {
				t.Errorf("%d of 4000 charges are refused, want a run that reaches the limit and goes on", refusals)
			}
		})
	}
}

// Everything is used in the end: a process refuses only when nothing is left of its lease and of the limit.
func TestConcurrentLeasesAddUpToTheLimit(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil)
	var total atomic.Int64
	var all sync.WaitGroup
	for range 3 {
		repo := s.Reopened(s.Client(), nil).Repo
		for range 8 {
			all.Go(func() {
				for refused := 0; refused < 100; {
					if _, ok := leased(t, repo, "alice", 10); ok {
						total.Add(10)
					} else {
						refused++
					}
				}
			})
		}
	}
	all.Wait()
	if got := total.Load(); got > leasedMost || got <= leasedMost-3*10 { // each process may have less than a charge left
		t.Errorf("%d points were used, want %d, or less by at most a charge for each process", got, leasedMost)
	}
}

// The counts are exact: the clock stands still, so that every lease is used up.
func TestLeasesSaveRoundTrips(t *testing.T) { // with the race detector
	t.Parallel()
	for _, tt := range []struct {
		name              string
		requests, amount  int
		pause             time.Duration
		clients, mostTrip int
	}{
		{"one busy client", 1000, 175, 0, 1, 19},
		{"one client, ten requests a second", 1000, 10, 100 * time.Millisecond, 1, 55},
		{"clients that ask once", 1000, 175, time.Millisecond, 1000, 1000},
		{"a client that asks every minute", 10, 175, time.Minute, 1, 10},
		{"requests as dear as the largest lease", 50, 15_000, 0, 1, 49},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			counted := new(repotest.Counter)
			beside := repotest.New(t, nil)
			s := beside.Reopened(beside.Client(redistest.Before(counted.Add)), nil)
			counted.Reset()
			for i := range tt.requests {
				c := rates.Charge{Rule: "cost", Most: 10 * leasedMost, Window: leasedWindow, Amount: tt.amount, Leased: true,
					Address: netip.AddrFrom4([4]byte{192, 0, byte(i % tt.clients >> 8), byte(i % tt.clients)})}
				b, err := s.Rates.Charge(s.Ctx, "cost", []rates.Charge{c})
				if err != nil || !b[0].Kept {
					t.Fatalf("request %d: %+v, %v", i, b, err)
				}
				if used := tt.amount * (i/tt.clients + 1); tt.pause == 0 && b[0].Used != used {
					t.Fatalf("after request %d %d points are used, want %d", i, b[0].Used, used)
				}
				s.Clock.Advance(tt.pause)
			}
			if got := counted.Reset(); got.Trips != tt.mostTrip {
				t.Errorf("%d requests made %d round trips, want %d", tt.requests, got.Trips, tt.mostTrip)
			}
		})
	}
}

// What a process has leased is given back when it stops, and counts for one window if it is killed.
func TestLeasesEnd(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil)
	const each, times = 100, 50
	use := func(repo *redisrepo.Repo) {
		t.Helper()
		for range times {
			if _, ok := leased(t, repo, "alice", each); !ok {
				t.Fatal("a charge is refused, want it within the limit")
			}
		}
	}
	used := func() int {
		t.Helper()
		b, _ := leased(t, s.Reopened(s.Client(), nil).Repo, "alice", 1)
		return b.Used - 1
	}
	stopped, killed := s.Reopened(s.Client(), nil).Repo, s.Reopened(s.Client(), nil).Repo
	use(stopped)
	if got := used(); got <= each*times || got > 2*each*times {
		t.Errorf("%d points are counted, want more than the %d that were used, and at most twice as many", got, each*times)
	}
	require.NoError(t, stopped.Rates.ReturnLeases(s.Ctx))
	if got := used(); got != each*times+1 {
		t.Errorf("%d points are counted after the end of the process, want %d", got, each*times+1)
	}
	use(killed)
	s.Clock.Advance(leasedWindow * 5 / 4)
	if got := used(); got != 0 {
		t.Errorf("%d points are counted a window later, want none", got)
	}
}
