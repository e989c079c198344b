package redisrepo

import (
	"context"
	"fmt"
	"net/netip"
	"time"
)

// Charge is an amount of something that somebody does, and how much of it is
// allowed.
type Charge struct {
	Rule   string        // its name; the charges of one rule stand together
	Most   int           // what is allowed in a window
	Window time.Duration // from the first charge on; whole milliseconds
	Amount int

	// Who is charged: the user or, with an empty name, the address.
	User    UserName
	Address netip.Addr
}

// Balance is what became of a charge.
type Balance struct {
	Kept bool          // whether the rule is kept, and so the charge was counted
	Used int           // in the window, this charge included if it was counted
	Left time.Duration // until the window ends and everything is allowed again
}

// Charge counts all charges in one round trip, but none of a rule of which one
// would be over its limit. When that is the rule first, nothing is counted. The
// slots are those of charges. All processes on the store count together, and
// what they let through is never more than Most in a window.
func (r *Repo) Charge(ctx context.Context, first string, charges []Charge) ([]Balance, error) {
	if len(charges) == 0 {
		return nil, nil
	}
	p := r.partitions[0] // one script has the keys of one partition
	keys, args := make([]string, len(charges)), append(make([]any, 0, 1+4*len(charges)), first)
	for i, c := range charges {
		who := "address:" + c.Address.String()
		if c.User != "" {
			who = c.User.member()
		}
		keys[i] = p.limit(c.Rule, who)
		args = append(args, c.Rule, c.Most, c.Window.Milliseconds(), c.Amount)
	}
	answer, err := r.run(ctx, rateScript, keys, args)
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
