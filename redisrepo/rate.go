package redisrepo

import (
	"context"
	"fmt"
	"net/netip"
	"time"
)

// Charge is an amount of an activity that a rule limits.
type Charge struct {
	Rule   string        // name of the rule; of its charges in one call, all or none are recorded
	Most   int           // maximum amount in a window
	Window time.Duration // from its first charge, whole milliseconds
	Amount int

	// The subject: the user or, if the name is empty, the address.
	User    UserName
	Address netip.Addr
}

// Balance is the result of a charge.
type Balance struct {
	Kept bool          // whether all charges of the rule are within its limit
	Used int           // amount in the window, including this charge if it was recorded
	Left time.Duration // until the window ends and the whole amount is available again
}

// Charge records the charges in one round trip, and returns a balance for each. If one would exceed its
// rule's limit, none of that rule's is recorded; if the rule is gate, none at all. All processes on the
// store share the counts, and together never record more than Most in a window.
func (r *Repo) Charge(ctx context.Context, gate string, charges []Charge) ([]Balance, error) {
	if len(charges) == 0 {
		return nil, nil
	}
	p := r.partitions[0] // a script can only use the keys of one partition
	keys, args := make([]string, len(charges)), append(make([]any, 0, 1+4*len(charges)), gate)
	for i, c := range charges {
		subject := "address:" + c.Address.String()
		if c.User != "" {
			subject = c.User.member()
		}
		keys[i] = p.limit(c.Rule, subject)
		args = append(args,
			c.Rule,                  // ARGV[4i-2] rule
			c.Most,                  // ARGV[4i-1] most
			c.Window.Milliseconds(), // ARGV[4i] window
			c.Amount,                // ARGV[4i+1] amount
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
		if len(numbers) != 3 {
			return nil, fmt.Errorf("charge: the script replied %v", answer)
		}
		kept, _ := numbers[0].(int64)
		used, _ := numbers[1].(int64)
		left, _ := numbers[2].(int64)
		balances[i] = Balance{Kept: kept == 1, Used: int(used), Left: time.Duration(left) * time.Millisecond}
	}
	return balances, nil
}
