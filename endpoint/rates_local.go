package endpoint

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
)

// localSubjects is how many counters a process keeps; those used least recently are dropped first.
const localSubjects = 10_000

// localRates counts charges in this process, in windows that begin with their first charge. It is used only while
// Redis cannot count: what can go on then must, but not without limits.
type localRates struct {
	mu       sync.Mutex
	counters *simplelru.LRU[site.Subject, localCounter]
}

type localCounter struct {
	ends time.Time
	used int
}

func newLocalRates() *localRates {
	counters, err := simplelru.NewLRU[site.Subject, localCounter](localSubjects, nil)
	if err != nil {
		panic(err) // impossible: the size is positive
	}
	return &localRates{counters: counters}
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
