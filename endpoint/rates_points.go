package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
)

// A document that this process does not know yet is parsed and validated, which takes up to 10 ms. So it costs a point,
// and one more for each of these tokens and bytes, even if it is refused; one that runs costs that at least.
const (
	tokensPerPoint = 10
	bytesPerPoint  = 1_000
)

// effortOf returns what it costs to read a document and the request around it.
func (e *executor) effortOf(asked *request) int {
	if asked.Query == "" {
		return 0 // an unknown hash
	}
	return 1 + min(countTokens(asked.Query), e.limits.Tokens)/tokensPerPoint + max(len(asked.Query), len(asked.raw.text))/bytesPerPoint
}

// chargeRefused charges the effort for an operation that is refused. It returns the refusal to send.
func (m *meter) chargeRefused(o *operation, refused *refusal) *refusal {
	o.failed = true
	if o.effort == 0 || refused.code == codeRate {
		return refused
	}
	if over := m.charge(o); over != nil && over.code == codeRate {
		m.spend(billOf(o.ctx), time.Now())
		return over
	}
	return refused
}

// maxSpent is how long the documents of a client whose points are spent are not read. Its points may suffice for smaller
// ones meanwhile.
const maxSpent = 5 * time.Second

// spend notes the clients that had no points left for a document that was refused. They get no other validated for a while,
// since the answer to that could not be charged either.
func (m *meter) spend(b bill, now time.Time) {
	for i, balance := range b.balances {
		if balance.Wait > 0 {
			m.spent.Add(b.charges[i].Subject(), now.Add(min(balance.Wait, maxSpent)))
		}
	}
}

// unread refuses a document that the process does not know, if the client's points are spent.
func (m *meter) unread(ctx context.Context) *refusal {
	if m.spent.Len() == 0 {
		return nil
	}
	now := time.Now()
	for _, c := range m.rates.charge(nil, ViewerOf(ctx), RuleCost, 1) {
		if until, ok := m.spent.Get(c.Subject()); ok && now.Before(until) {
			return rateLimited(until.Sub(now))
		}
	}
	return nil
}

func rateLimited(wait time.Duration) *refusal {
	return &refusal{
		code: codeRate, message: fmt.Sprintf("rate limit exceeded: try again in %d s", rates.Seconds(wait)),
		status: http.StatusTooManyRequests, wait: wait,
	}
}

// localSubjects is how many counters a process keeps; those used least recently are dropped first.
const localSubjects = 10_000

func newSubjects[V any]() *lru.Cache[site.Subject, V] {
	subjects, err := lru.New[site.Subject, V](localSubjects)
	if err != nil {
		panic(err) // impossible: the size is positive
	}
	return subjects
}

// localRates counts charges in this process, in windows that begin with their first charge. It is used only while
// Redis cannot count: what can go on then must, but not without limits.
type localRates struct {
	mu       sync.Mutex
	counters *lru.Cache[site.Subject, localCounter]
}

type localCounter struct {
	ends time.Time
	used int
}

// charge is redisrepo.Repo.Charge for this process alone.
func (l *localRates) charge(gate string, charges []rates.Charge, now time.Time) []rates.Balance {
	l.mu.Lock()
	defer l.mu.Unlock()
	exceeded, counters := map[string]bool{}, make([]localCounter, len(charges))
	for i, c := range charges {
		counters[i], _ = l.counters.Get(c.Subject())
		if !now.Before(counters[i].ends) {
			counters[i] = localCounter{ends: now.Add(c.Window)}
		}
		exceeded[c.Rule] = exceeded[c.Rule] || !c.Owed && counters[i].used+c.Amount > c.Most
	}
	balances := make([]rates.Balance, len(charges))
	for i, c := range charges {
		left := counters[i].ends.Sub(now)
		balances[i] = rates.Balance{Kept: !exceeded[c.Rule], Left: left}
		if counters[i].used+c.Amount > c.Most {
			balances[i].Wait = left
		}
		if !exceeded[gate] && !exceeded[c.Rule] {
			counters[i].used += c.Amount
			l.counters.Add(c.Subject(), counters[i])
		}
		balances[i].Used = counters[i].used
	}
	return balances
}
