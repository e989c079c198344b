package rates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// How leases work:
//
// A charge with Leased is usually not worth a round trip. When a subject comes back soon, the process records more in
// Redis than the charge, a lease, and counts later charges down from it. A lease doubles each time that it is used up,
// up to a share of what is left of the limit, and its points can be spent for leaseTime. What is left of it then is given
// back with the next charge, if there is one soon. A client that asks once is charged for that alone.
//
// Points are spent up to leaseTime after Redis recorded them. Giving back takes the newest points from the count and
// leaves those of the lease, which are up to two leaseTimes older. So a recorded point may stand for one that was spent
// up to three leaseTimes later: Redis counts leased rules in a window that is longer by as much (Charge.counted), and no
// window has more than the maximum.
//
// A process that dies gives nothing back. A lease is at most what its subject has spent right before: at least half of
// the points that Redis counts are spent.

const (
	// leaseParts is how many leaseTimes a window has.
	leaseParts = 32
	// leaseMinimum is the smallest limit of which points are leased.
	leaseMinimum = 10_000
	// leaseShare is the part of what is left of a limit that a lease may have.
	leaseShare = 64
	// leaseSubjects is how many leases a process keeps, in about 3 MB; those used least recently are dropped first.
	leaseSubjects = 10_000
	// leasesReturned is how many leases of other subjects a call gives back at most.
	leasesReturned = 8
)

// leasable reports whether processes lease points of the limit. The share of a smaller one would be less than a page.
func (c Charge) leasable() bool { return c.Leased && c.Most >= leaseMinimum }

// leased reports whether a process may lease points for the charge.
func (c Charge) leased() bool { return c.leasable() && c.Amount >= 0 }

func (c Charge) leaseTime() time.Duration { return c.Window / leaseParts }

// counted is the window in which Redis counts.
func (c Charge) counted() time.Duration {
	if c.leasable() {
		return c.Window + 3*c.leaseTime()
	}
	return c.Window
}

// leases are the leases of this process.
type leases struct {
	mu  sync.Mutex
	all *simplelru.LRU[site.Subject, *lease]
}

// lease is what a subject has left. A subject without one has a lease of 0 for leaseTime after a charge.
type lease struct {
	charge  Charge    // of the subject; its amount is of no use
	left    int       // recorded in Redis, but not spent
	size    int       // when it was last extended
	expires time.Time // until when it can be spent
	used    int       // in Redis, by its last reply
	empty   time.Time // when nothing will count any more, by its last reply
	asking  bool      // a call that extends it is under way
}

// balance is the balance of a charge that was counted down from the lease.
func (l *lease) balance(now time.Time) Balance {
	return Balance{Kept: true, Used: max(l.used-l.left, 0), Left: max(l.empty.Sub(now), 0)}
}

// add adds recorded points that can be spent until they expire.
func (l *lease) add(points int, expires time.Time) {
	if l.left == 0 || expires.Before(l.expires) {
		l.expires = expires
	}
	l.left += points
}

// giveBack takes what is left of the lease, and returns the charge that gives it back. ok is false if nothing is left, or
// what is left is too old.
func (l *lease) giveBack(now time.Time) (c Charge, ok bool) {
	if l.left == 0 || !now.Before(l.expires.Add(l.charge.leaseTime())) {
		return Charge{}, false
	}
	c = l.charge
	c.Amount, l.left = -l.left, 0
	return c, true
}

// spend counts charges down from leases, or reports false if a call is needed.
func (s *leases) spend(charges []Charge, now time.Time) ([]Balance, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var few [2]*lease
	found := few[:0]
	for _, c := range charges {
		l, _ := s.all.Get(c.Subject())
		if l == nil || !c.leased() || l.left < c.Amount || !now.Before(l.expires) || l.charge.Most != c.Most || l.charge.Window != c.Window {
			return nil, false
		}
		found = append(found, l)
	}
	balances := make([]Balance, len(charges))
	for i, l := range found {
		l.left -= charges[i].Amount
		balances[i] = l.balance(now)
	}
	return balances, true
}

// asked is what a call asks for a charge that is not counted down.
type asked struct {
	lease   *lease    // nil: the charge is not leased
	have    int       // points of the lease that the charge spends
	expires time.Time // of those
	extend  int       // points by which the lease is to be extended
	asking  bool      // whether it is this call that extends the lease
}

// ask takes what the leases have for charges, and decides by how much they are extended. It returns leases to give back.
func (s *leases) ask(charges []Charge, now time.Time, extend bool) (asks []asked, back []Charge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	giveBack := func(l *lease) {
		if c, ok := l.giveBack(now); ok {
			back = append(back, c)
		}
	}
	asks = make([]asked, len(charges))
	for i, c := range charges {
		if !c.leased() {
			continue
		}
		l, known := s.all.Get(c.Subject())
		if known && (l.charge.Most != c.Most || l.charge.Window != c.Window) { // the settings differ: start again
			s.all.Remove(c.Subject())
			known = false
		}
		if !known {
			if s.all.Len() >= leaseSubjects {
				_, oldest, _ := s.all.RemoveOldest()
				giveBack(oldest)
			}
			l = &lease{charge: c, expires: now.Add(c.leaseTime())}
			s.all.Add(c.Subject(), l)
		}
		a := asked{lease: l, expires: l.expires}
		switch {
		case !extend || !known || l.asking:
		case now.Before(l.expires) && l.left < c.Amount: // it is used up
			a.asking, a.extend = true, max(2*l.size, c.Amount)
		case !now.Before(l.expires) && now.Before(l.expires.Add(c.leaseTime())): // as much as was spent of it
			a.asking, a.extend = true, l.size-l.left
		}
		a.extend = max(min(a.extend, (c.Most-l.used)/leaseShare), 0)
		switch {
		case now.Before(l.expires):
			a.have = min(l.left, c.Amount)
			l.left -= a.have
		case now.Before(l.expires.Add(c.leaseTime())): // give it back
			a.have, l.left = l.left, 0
		default:
			l.left = 0
		}
		l.asking = l.asking || a.asking
		asks[i] = a
	}
	for len(back) < leasesReturned {
		key, oldest, ok := s.all.GetOldest()
		if !ok || oldest.asking || now.Before(oldest.expires.Add(oldest.charge.leaseTime()/2)) {
			break
		}
		giveBack(oldest)
		s.all.Remove(key)
	}
	return asks, back
}

// settle takes note of the balances after a call, nil if it failed, and turns them into those of the subjects: leased
// points are not spent yet.
func (s *leases) settle(asks []asked, balances []Balance, gate string, charges []Charge, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := balances == nil
	for i := range balances {
		refused = refused || charges[i].Rule == gate && !balances[i].Kept
	}
	for i, a := range asks {
		l := a.lease
		if l == nil {
			continue
		}
		if a.asking {
			l.asking = false
		}
		if refused || !balances[i].Kept {
			if a.have > 0 && now.Before(a.expires) {
				l.add(a.have, a.expires)
			}
		} else if a.asking || l.left == 0 && !now.Before(l.expires) {
			l.size = a.extend
			l.add(a.extend, now.Add(charges[i].leaseTime()))
		}
		if balances != nil {
			l.used, l.empty = balances[i].Used, now.Add(balances[i].Left)
			balances[i].Used = max(l.used-l.left, 0)
		}
	}
}

// ReturnLeases gives back leased points that this process has not spent. Call it at shutdown: concurrent charges are
// lost.
func (r *Rates) ReturnLeases(ctx context.Context) error {
	now := r.store.Now()
	s := &r.leases
	s.mu.Lock()
	var back []Charge
	for _, l := range s.all.Values() {
		if c, ok := l.giveBack(now); ok {
			back = append(back, c)
		}
	}
	s.all.Purge()
	s.mu.Unlock()
	for some := range slices.Chunk(back, wire.BatchSize) {
		if _, err := r.record(ctx, "", some); err != nil {
			return err
		}
	}
	return nil
}

// Charges in several partitions: those of a user are in one, those of an address in another. Each partition decides on
// its own. What one has counted and another has refused is given back. If that fails, it stays counted: less is allowed
// for a window, but never more than the maximum.

// ErrUncounted is wrapped by the error of Charge if one of several partitions, which counts a charge, does not answer:
// the others may, so the caller should continue. Charge does not wait for a failover.
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

func (r *Rates) apart(charges []Charge) (parts []*partCharges) {
	byPartition := make(map[keys.Partition]*partCharges)
	for i, c := range charges {
		name := c.User.Member()
		if c.User == "" {
			name = c.Address.String()
		}
		p := r.store.Partitions[keys.SubjectIndex(len(r.store.Partitions), name)]
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
