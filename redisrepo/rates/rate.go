// Package rates limits the rates of users and addresses, by charges, balances, and leases that save round trips.
package rates

import (
	"context"
	"embed"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var rateScript = wire.Script(luaFiles, "rate.lua")

// Rates charges callers, in the store and from the leases of this process.
type Rates struct {
	store  *wire.Store
	leases leases
}

// New returns the Rates of a site.
func New(store *wire.Store) (*Rates, error) {
	all, err := simplelru.NewLRU[site.Subject, *lease](leaseSubjects, nil)
	return &Rates{store: store, leases: leases{all: all}}, err
}

// Charge is an amount of an activity that a rule limits.
type Charge struct {
	Rule   string        // name of the rule; of its charges in one call, all or none are recorded
	Most   int           // maximum amount in any window, whenever it starts
	Window time.Duration // whole milliseconds
	Amount int           // if negative, it is given back
	Owed   bool          // it is recorded even beyond the limit, for a completed activity
	Leased bool          // it may be paid from points that this process has leased, without a round trip

	// The subject: the user or, if the name is empty, the address.
	User    site.UserName
	Address netip.Addr
}

// Subject returns the user or address of the charge, and its rule.
func (c Charge) Subject() site.Subject {
	if c.User != "" {
		return site.Subject{Rule: c.Rule, User: c.User}
	}
	return site.Subject{Rule: c.Rule, Address: c.Address}
}

// Balance is the result of a charge.
type Balance struct {
	Kept bool          // whether all charges of the rule are within its limit
	Used int           // amount in the window that ends now, including this charge if it was recorded
	Wait time.Duration // until this charge is within its limit, if nothing else is charged; 0: it is now
	Left time.Duration // until the whole amount is available again, if nothing else is charged
}

// Seconds returns a wait in seconds, rounded up, so that a retry is not too early.
func Seconds(wait time.Duration) int { return int((wait + time.Second - 1) / time.Second) }

// Charge records the charges in at most one round trip, usually none if all are leased, and returns a balance for each.
// If one would exceed its rule's limit, none of that rule's is recorded; if the rule is gate, none at all. All
// processes on the store share the counts, and together never record more than Most in a window, except for owed
// charges. An amount counts for a window and at most a quarter longer, by the clock of Redis; if that is set back, for
// at most one more window.
//
// A leased charge may be refused before the limit, but not before half of it is used: each other process may have
// leased a 64th of the rest, see lease.go.
func (r *Rates) Charge(ctx context.Context, gate string, charges []Charge) ([]Balance, error) {
	if len(charges) == 0 {
		return nil, nil
	}
	now := r.store.Now()
	if balances, ok := r.leases.spend(charges, now); ok {
		return balances, nil
	}
	leasedOnly := !slices.ContainsFunc(charges, func(c Charge) bool { return !c.leased() })
	for extend := leasedOnly; ; extend = false {
		asks, back := r.leases.ask(charges, now, extend)
		called, extended := slices.Concat(charges, back), false
		for i, a := range asks {
			called[i].Amount += a.extend - a.have
			extended = extended || a.extend > 0
		}
		balances, err := r.record(ctx, gate, called)
		if err == nil {
			balances = balances[:len(charges)]
		}
		r.leases.settle(asks, balances, gate, charges, now)
		// Without a lease the charge may fit.
		if err != nil || !extended || !slices.ContainsFunc(balances, func(b Balance) bool { return !b.Kept }) {
			return balances, err
		}
	}
}

// record records charges in Redis: those of each subject in a partition of its own, so that one shard neither counts for
// the whole site nor can stop it.
func (r *Rates) record(ctx context.Context, gate string, charges []Charge) ([]Balance, error) {
	if len(r.store.Partitions) > 1 {
		return r.recordApart(ctx, gate, charges)
	}
	keys, args := r.rateCall(r.store.Partitions[0], gate, charges)
	answer, err := r.store.CallUnconfirmed(ctx, rateScript, keys, args)
	if err != nil {
		return nil, failover.Wrap("charge", err)
	}
	return parseBalances(answer, len(charges))
}

// rateCall returns the keys and arguments of rate.lua.
func (r *Rates) rateCall(p keys.Partition, gate string, charges []Charge) (keys []string, args []any) {
	now := "" // the clock of Redis
	if r.store.Clock != nil {
		now = strconv.FormatInt(r.store.Clock().UnixMilli(), 10)
	}
	keys, args = make([]string, len(charges)), append(make([]any, 0, 2+4*len(charges)), gate, now)
	for i, c := range charges {
		keys[i] = p.Rate(c.Subject())
		rule := c.Rule
		if c.Amount < 0 || c.Owed { // what is given back, or owed, neither exceeds a limit nor is kept from it
			rule = ""
		}
		args = append(args,
			rule,                       // ARGV[4i-1] rule
			c.Most,                     // ARGV[4i] most
			c.counted().Milliseconds(), // ARGV[4i+1] window
			c.Amount,                   // ARGV[4i+2] amount
		)
	}
	return keys, args
}

func parseBalances(answer wire.Reply, n int) ([]Balance, error) {
	if len(answer) == 0 {
		return nil, fmt.Errorf("charge: %w", wire.ErrNoStatus)
	}
	replies, _ := answer[len(answer)-1].([]any)
	if len(replies) != n {
		return nil, fmt.Errorf("charge: the script replied %v", answer)
	}
	balances := make([]Balance, n)
	for i := range balances {
		numbers, _ := replies[i].([]any)
		if len(numbers) != 4 {
			return nil, fmt.Errorf("charge: the script replied %v", answer)
		}
		b := wire.Reply(numbers)
		balances[i] = Balance{Kept: b.Number(0) == 1, Used: int(b.Number(1)), Wait: time.Duration(b.Number(2)) * time.Millisecond, Left: time.Duration(b.Number(3)) * time.Millisecond}
	}
	return balances, nil
}
