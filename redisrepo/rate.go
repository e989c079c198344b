package redisrepo

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

// Charge is an amount of an activity that a rule limits.
type Charge struct {
	Rule   string        // name of the rule; of its charges in one call, all or none are recorded
	Most   int           // maximum amount in any window, whenever it starts
	Window time.Duration // whole milliseconds
	Amount int           // if negative, it is given back

	// The subject: the user or, if the name is empty, the address.
	User    UserName
	Address netip.Addr
}

// Balance is the result of a charge.
type Balance struct {
	Kept bool          // whether all charges of the rule are within its limit
	Used int           // amount in the window that ends now, including this charge if it was recorded
	Wait time.Duration // until this charge is within its limit, if nothing else is charged; 0: it is now
	Left time.Duration // until the whole amount is available again, if nothing else is charged
}

// Charge records the charges in one round trip, and returns a balance for each. If one would exceed its
// rule's limit, none of that rule's is recorded; if the rule is gate, none at all. All processes on the
// store share the counts, and together never record more than Most in a window. An amount counts for a window
// and at most an eighth longer, by the clock of Redis; while that is set back, for at most a window more.
func (r *Repo) Charge(ctx context.Context, gate string, charges []Charge) ([]Balance, error) {
	if len(charges) == 0 {
		return nil, nil
	}
	p := r.partitions[0] // a script can only use the keys of one partition
	keys, args := make([]string, len(charges)), append(make([]any, 0, 2+4*len(charges)), gate, r.scriptMilliseconds())
	for i, c := range charges {
		subject := "address:" + c.Address.String()
		if c.User != "" {
			subject = c.User.member()
		}
		keys[i] = p.rate(c.Rule, subject)
		args = append(args,
			c.Rule,                  // ARGV[4i-1] rule
			c.Most,                  // ARGV[4i] most
			c.Window.Milliseconds(), // ARGV[4i+1] window
			c.Amount,                // ARGV[4i+2] amount
		)
	}
	answer, err := r.write(ctx, rateScript, keys, args)
	if err != nil {
		return nil, storeError("charge", err)
	}
	replies, _ := answer[len(answer)-1].([]any)
	if len(replies) != len(charges) {
		return nil, fmt.Errorf("charge: the script replied %v", answer)
	}
	balances := make([]Balance, len(charges))
	for i := range charges {
		numbers, _ := replies[i].([]any)
		if len(numbers) != 4 {
			return nil, fmt.Errorf("charge: the script replied %v", answer)
		}
		kept, _ := numbers[0].(int64)
		used, _ := numbers[1].(int64)
		wait, _ := numbers[2].(int64)
		left, _ := numbers[3].(int64)
		balances[i] = Balance{Kept: kept == 1, Used: int(used), Wait: time.Duration(wait) * time.Millisecond, Left: time.Duration(left) * time.Millisecond}
	}
	return balances, nil
}

// scriptMilliseconds is the argument now of rate.lua: empty stands for the clock of Redis.
func (r *Repo) scriptMilliseconds() string {
	if r.clock == nil {
		return ""
	}
	return strconv.FormatInt(r.clock().UnixMilli(), 10)
}
