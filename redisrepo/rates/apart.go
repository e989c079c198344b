package rates

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Charges in several partitions: those of a user are in one, those of an address in another. Each partition decides on
// its own. What one has counted and another has refused is given back. If that fails, it stays counted: less is allowed
// for a window, but never more than the maximum.

// ErrUncounted is wrapped by the error of Charge if the site has several partitions, and one that counts a
// charge does not answer: all others may, so the caller should go on. Charge does not wait for a failover.
var ErrUncounted = fmt.Errorf("%w to charges", failover.ErrUnavailable)

// partCharges are the charges of one partition.
type partCharges struct {
	partition keys.Partition
	charges   []Charge
	at        []int // their indexes among all charges
	answer    *redis.Cmd
}

// needed reports whether the reply matters. What is only given back is lost without one, which must not stop others.
func (p *partCharges) needed() bool {
	return slices.ContainsFunc(p.charges, func(c Charge) bool { return c.Amount >= 0 })
}

func (r *Rates) partitionOf(s site.Subject) keys.Partition {
	name := s.User.Member()
	if s.User == "" {
		name = s.Address.String()
	}
	return r.store.Partitions[keys.SubjectIndex(len(r.store.Partitions), name)]
}

func (r *Rates) apart(charges []Charge) (parts []*partCharges) {
	byPartition := make(map[keys.Partition]*partCharges)
	for i, c := range charges {
		p := r.partitionOf(c.Subject())
		part := byPartition[p]
		if part == nil {
			part = &partCharges{partition: p}
			byPartition[p], parts = part, append(parts, part)
		}
		part.charges, part.at = append(part.charges, c), append(part.at, i)
	}
	return parts
}

// recordApart is record with several partitions.
func (r *Rates) recordApart(ctx context.Context, gate string, charges []Charge) ([]Balance, error) {
	parts := r.apart(charges)
	if err := r.callApart(ctx, gate, parts); err != nil {
		if err = failover.Wrap("charge", err); errors.Is(err, failover.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", ErrUncounted, err)
		}
		return nil, err
	}
	balances, counted := make([]Balance, len(charges)), make([]bool, len(charges))
	exceeded := make(map[string]bool)
	for _, part := range parts {
		answer, err := part.answer.Slice()
		if err != nil {
			continue // what was to be given back
		}
		found, err := parseBalances(answer, len(part.charges))
		if err != nil {
			return nil, err
		}
		here := make(map[string]bool) // exceeded in this partition
		for i, b := range found {
			if c := part.charges[i]; c.Amount >= 0 && !b.Kept {
				here[c.Rule], exceeded[c.Rule] = true, true
			}
		}
		for i, b := range found {
			c, at := part.charges[i], part.at[i]
			balances[at], counted[at] = b, c.Amount > 0 && !here[gate] && !here[c.Rule]
		}
	}
	var back []Charge
	for i, c := range charges {
		if c.Amount < 0 {
			continue
		}
		balances[i].Kept = !exceeded[c.Rule]
		if counted[i] && (exceeded[c.Rule] || exceeded[gate]) {
			if balances[i].Used = max(balances[i].Used-c.Amount, 0); balances[i].Used == 0 {
				balances[i].Left = 0
			}
			c.Amount = -c.Amount
			back = append(back, c)
		}
	}
	if len(back) > 0 {
		_ = r.callApart(ctx, "", r.apart(back))
	}
	return balances, nil
}

// callApart calls rate.lua in the partitions, in one round trip.
func (r *Rates) callApart(ctx context.Context, gate string, parts []*partCharges) error {
	_, err := r.store.Guard(ctx, func() (wire.Reply, error) {
		_ = r.store.Read(failover.Impatient(ctx), func(pipe redis.Pipeliner) { // each command has its own error
			for _, part := range parts {
				keys, args := r.rateCall(part.partition, gate, part.charges)
				part.answer = rateScript.EvalSha(ctx, pipe, keys, args...)
			}
		})
		for _, part := range parts {
			if err := part.answer.Err(); err != nil && part.needed() {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}
