package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
)

// Rate is the maximum amount in any window of a length, whenever the window starts.
type Rate struct {
	Most   int // 0: unlimited
	Window time.Duration
}

// Rates are the limits of one user. Those of an address are Addresses times as high. Anonymous clients are limited by
// address only, users for whom a service acts by name only.
type Rates struct {
	Cost      Rate // points of complexity, of all operations
	Votes     Rate
	Posts     Rate
	Changes   Rate            // edits, regroupings and deletions
	Reports   Rate            // of articles, by users, and notices, which need no sign-in
	New       map[string]Rate // of new users, by rule, instead of the above; not of addresses
	Addresses int             // how many users' quota one address gets, at least 1
}

// The names of the rules, in headers and keys. Schema.Rule says which one counts a mutation.
const (
	RuleCost    = "cost"
	RuleVotes   = "votes"
	RulePosts   = "posts"
	RuleChanges = "changes"
	RuleReports = "reports"
)

// rule returns the rate of a rule.
func (r Rates) rule(name string) Rate {
	switch name {
	case RuleCost:
		return r.Cost
	case RuleVotes:
		return r.Votes
	case RulePosts:
		return r.Posts
	case RuleChanges:
		return r.Changes
	case RuleReports:
		return r.Reports
	}
	return Rate{}
}

// charges returns what an operation costs its viewer and the address, by all rules. ruleOf is Schema.Rule.
func (r Rates) charges(ruleOf map[string]string, v Viewer, o *operation) (charges []rates.Charge) {
	for _, rule := range rateRules {
		if r.rule(rule).Most > 0 || v.isNew {
			charges = r.charge(charges, v, rule, o.amount(rule, ruleOf))
		}
	}
	return charges
}

// charge adds what an amount is charged by a rule.
func (r Rates) charge(charges []rates.Charge, v Viewer, rule string, amount int) []rates.Charge {
	rate := r.rule(rule)
	own := rate
	if ofNew, found := r.New[rule]; found && v.isNew {
		own = ofNew
	}
	// Anonymous clients can only read and send notices.
	if amount == 0 || v.Name == "" && rule != RuleCost && rule != RuleReports {
		return charges
	}
	charge := rates.Charge{Rule: rule, Most: own.Most, Window: own.Window, Amount: amount, User: v.Name, Address: v.Network(), Leased: rule == RuleCost}
	if v.Name != "" && own.Most > 0 {
		charges = append(charges, charge)
	}
	if v.Via != "" || rate.Most == 0 {
		return charges // the address is the service's, for all its users
	}
	charge.User = ""
	charge.Most, charge.Window = rate.Most*max(r.Addresses, 1), rate.Window
	return append(charges, charge)
}

// amount returns how much of an activity the operation is.
func (o *operation) amount(rule string, ruleOf map[string]string) (n int) {
	if rule == RuleCost {
		besides, _ := o.ctx.Value(besidesKey{}).(int)
		if o.failed {
			return o.effort + besides
		}
		return max(o.cost, o.effort, 1) + besides
	}
	if o.failed || o.reads() {
		return 0
	}
	for _, field := range rootFields(o.asked) {
		if ruleOf[field.Name] == rule {
			n++
		}
	}
	return n
}

// meter charges operations before they run.
type meter struct {
	rates   Rates
	ruleOf  map[string]string // by mutation
	repo    *redisrepo.Repo
	local   localRates                          // counts what Redis cannot
	spent   *lru.Cache[site.Subject, time.Time] // clients without points, and until when their documents are not read
	refused refusals
}

// charge charges an operation by all rules, in one round trip, and refuses it if it costs more than is left.
//
// Exceeding the rule of a mutation does not refuse the operation: its resolver asks Exceeded and answers a user
// error. A document may have several mutations, and each has a payload of its own to say so.
func (m *meter) charge(o *operation) *refusal {
	if o.failed || !o.subscribes() {
		o.ctx = failover.FailFast(o.ctx)
	}
	v := ViewerOf(o.ctx)
	v.isNew = m.isNew(o, v)
	b := bill{charges: m.rates.charges(m.ruleOf, v, o), meter: m}
	if b.charges == nil {
		return nil
	}
	b.payers = b.charges
	var err error
	if b.balances, b.repo, err = m.record(o.ctx, RuleCost, b.charges); err != nil {
		return &refusal{status: http.StatusServiceUnavailable, errors: presentable(err), wait: retryAfter}
	}
	m.refused.count(b)
	o.ctx = context.WithValue(o.ctx, billKey{}, b)
	if wait := b.wait(RuleCost); wait > 0 {
		return rateLimited(wait)
	}
	return nil
}

// isNew reports whether the rates of new users apply to a mutation. While that cannot be told, they do not: what can go on must.
func (m *meter) isNew(o *operation, v Viewer) bool {
	if len(m.rates.New) == 0 || o.failed || o.reads() || !v.MayBeNew() {
		return false
	}
	until, err := m.repo.Newcomers.NewUntil(o.ctx, v.Name, v.Created)
	return err == nil && !until.IsZero()
}

// Work charges points of RuleCost to the address of a request that is not an operation, and calls work, which counts as
// a running query of the address. If the points exceed the limit, or if the server is busy, Work does not call work and
// returns how long to wait. It fails if the store does not answer, or if the client disconnects.
func (h *Handler) Work(req *http.Request, points int, work func()) (wait time.Duration, err error) {
	ctx, address := req.Context(), NetworkOf(req, h.proxies)
	b := bill{charges: h.meter.rates.charge(nil, Viewer{Address: address}, RuleCost, points)}
	if b.charges != nil {
		if b.balances, b.repo, err = h.meter.record(ctx, RuleCost, b.charges); err != nil {
			return 0, err
		}
		h.meter.refused.count(b)
		if wait = b.wait(RuleCost); wait > 0 {
			return wait, nil
		}
	}
	if refused := h.exec.shares.acquire(ctx, queries, address); refused != nil {
		return refused.wait, ctx.Err()
	}
	defer h.exec.shares.release(queries, address)
	if refused := h.exec.slots.acquire(ctx, queries, netip.Addr{}); refused != nil {
		return refused.wait, ctx.Err()
	}
	defer h.exec.slots.release(queries, netip.Addr{})
	work()
	return 0, nil
}

type besidesKey struct{}

// Besides returns a context whose operation costs more points, for the use that is made of its response.
func Besides(ctx context.Context, points int) context.Context {
	return context.WithValue(ctx, besidesKey{}, points)
}

// record records charges. It returns the repo that did, or nil if this process alone counts them.
func (m *meter) record(ctx context.Context, gate string, charges []rates.Charge) ([]rates.Balance, *redisrepo.Repo, error) {
	balances, err := m.repo.Rates.Charge(ctx, gate, charges)
	// Reading must go on. While Redis refuses writes, the mutations themselves will fail; while a partition does not
	// answer, those of the others' articles need not.
	if errors.Is(err, failover.ErrReadOnly) || errors.Is(err, rates.ErrUncounted) {
		return m.local.charge(gate, charges, time.Now()), nil, nil
	}
	return balances, m.repo, err
}

// bill is what an operation was charged.
type bill struct {
	charges  []rates.Charge
	balances []rates.Balance
	repo     *redisrepo.Repo // which recorded it; nil: this process alone

	meter  *meter
	payers []rates.Charge // for whom Owe charges; also where nothing else of the caller is known
}

type billKey struct{}

// billOf returns the bill of the operation that ctx belongs to; it is empty if nothing was charged.
func billOf(ctx context.Context) bill {
	b, _ := ctx.Value(billKey{}).(bill)
	return b
}

// wait returns how long to wait until an exceeded rule allows the charge, or 0.
func (b bill) wait(rule string) (wait time.Duration) {
	for i, balance := range b.balances {
		if b.charges[i].Rule == rule {
			wait = max(wait, balance.Wait)
		}
	}
	return wait
}

// header sets the headers that show a client its quota, by the draft
// https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
func (b bill) header(header http.Header) {
	var policies, limits []byte
	for i, charge := range b.charges {
		name := charge.Rule
		if charge.User == "" {
			name += "-address"
		}
		if i > 0 {
			policies, limits = append(policies, ", "...), append(limits, ", "...)
		}
		policies = fmt.Appendf(policies, "%q;q=%d;w=%d", name, charge.Most, rates.Seconds(charge.Window))
		limits = fmt.Appendf(limits, "%q;r=%d;t=%d", name, max(charge.Most-b.balances[i].Used, 0), rates.Seconds(b.balances[i].Left))
	}
	if limits != nil {
		header.Set("RateLimit-Policy", string(policies))
		header.Set("RateLimit", string(limits))
	}
}

// CostBalance returns the operation's charge for its cost, and the balance after it. ok is false if the cost is not
// limited.
func CostBalance(ctx context.Context) (charge rates.Charge, balance rates.Balance, ok bool) {
	b := billOf(ctx)
	i := slices.IndexFunc(b.charges, func(c rates.Charge) bool { return c.Rule == RuleCost })
	if i < 0 {
		return charge, balance, false
	}
	return b.charges[i], b.balances[i], true
}

// Exceeded returns how long to wait until a rule allows the mutations of the operation; 0 if it allows them now.
func Exceeded(ctx context.Context, rule string) time.Duration { return billOf(ctx).wait(rule) }

// Counted reports whether a rule counts the mutations of the operation.
func Counted(ctx context.Context, rule string) bool {
	return slices.ContainsFunc(billOf(ctx).charges, func(c rates.Charge) bool { return c.Rule == rule })
}

// GiveBack refunds a rule's charge for one mutation of the operation.
func GiveBack(ctx context.Context, rule string) {
	b := billOf(ctx)
	var given []rates.Charge
	for i, charge := range b.charges {
		if charge.Rule == rule && b.balances[i].Kept {
			charge.Amount = -1
			given = append(given, charge)
		}
	}
	if b.repo != nil {
		_, _ = b.repo.Rates.Charge(ctx, "", given) // if this fails, the charge stays: the mutation is done
	}
}

// Owe charges the operation of ctx for points beyond its cost, once they are known. If several operations share a read,
// the one that executed it pays. The charge never refuses this operation, but may refuse later ones.
func Owe(ctx context.Context, points int) {
	b := billOf(ctx)
	if points <= 0 {
		return
	}
	var owed []rates.Charge
	for _, charge := range b.payers {
		if charge.Rule == RuleCost {
			charge.Amount, charge.Owed = points, true
			owed = append(owed, charge)
		}
	}
	if owed != nil {
		// A caller who has left pays, too. While the store does not answer, there is nothing to charge for.
		_, _, _ = b.meter.record(context.WithoutCancel(ctx), "", owed)
	}
}
