package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/redisrepo"
)

// Rate is how much is allowed in a window that begins with first use.
type Rate struct {
	Most   int // 0: anything is
	Window time.Duration
}

// Rates are what one user may do, and one address as many times as much:
// anonymous readers have the address alone.
type Rates struct {
	Cost      Rate // points of complexity, of operations of any kind
	Votes     Rate
	Posts     Rate
	Changes   Rate // regroupings and deletions
	Addresses int  // how many users may be behind one address
}

// The names of the rules, in headers and keys. Schema.Rule says which one counts
// a mutation.
const (
	RuleCost    = "cost"
	RuleVotes   = "votes"
	RulePosts   = "posts"
	RuleChanges = "changes"
)

func (r Rates) rule(name string) Rate {
	return map[string]Rate{RuleCost: r.Cost, RuleVotes: r.Votes, RulePosts: r.Posts, RuleChanges: r.Changes}[name]
}

// charges are what an operation costs its viewer and the address, by all rules.
func (r Rates) charges(ruleOf map[string]string, v Viewer, o *graphql.OperationContext) []redisrepo.Charge {
	amounts := map[string]int{RuleCost: costOf(o)}
	if o.Operation.Operation == ast.Mutation {
		for _, field := range rootFields(o) {
			amounts[ruleOf[field.Name]]++
		}
	}
	var charges []redisrepo.Charge
	for _, rule := range []string{RuleCost, RuleVotes, RulePosts, RuleChanges} {
		rate, amount := r.rule(rule), amounts[rule]
		// Who is not signed in does nothing but read, and takes nothing from others.
		if rate.Most == 0 || amount == 0 || v.Name == "" && rule != RuleCost {
			continue
		}
		charge := redisrepo.Charge{Rule: rule, Most: rate.Most, Window: rate.Window, Amount: amount, User: v.Name, Address: v.Network()}
		if v.Name != "" {
			charges = append(charges, charge)
		}
		charge.User = ""
		charge.Most *= max(r.Addresses, 1)
		charges = append(charges, charge)
	}
	return charges
}

// meter counts what is done, before it is done.
type meter struct {
	rates  Rates
	ruleOf map[string]string // by mutation
	repo   *redisrepo.Repo
}

// bill is what an operation was charged.
type bill struct {
	charges  []redisrepo.Charge
	balances []redisrepo.Balance
}

type billKey struct{}

// charge counts an operation by all rules, in one round trip. One that costs
// more than is left has its answer then. What is over the limit of one kind of
// mutation is refused by its resolver.
func (m *meter) charge(o *operation) *refused {
	if o.answer != nil {
		return nil
	}
	b := bill{charges: m.rates.charges(m.ruleOf, ViewerOf(o.ctx), o.asked)}
	var err error
	if b.balances, err = m.repo.Charge(o.ctx, RuleCost, b.charges); err != nil {
		o.answer = o.exec.DispatchError(o.ctx, presentable(err))
		return &refused{code: codeUnavailable, status: http.StatusServiceUnavailable}
	}
	o.ctx = context.WithValue(o.ctx, billKey{}, b)
	if wait := b.wait(RuleCost); wait > 0 {
		why := &refused{code: codeRate, message: "you have asked for too much: " + tryAgain(wait), status: http.StatusTooManyRequests, wait: wait}
		o.answer = o.exec.DispatchError(o.ctx, why.list())
		return why
	}
	return nil
}

// wait is how long it takes until a rule that is broken can be kept, or 0.
func (b bill) wait(rule string) (wait time.Duration) {
	for i, balance := range b.balances {
		if b.charges[i].Rule == rule && !balance.Kept && balance.Used+b.charges[i].Amount > b.charges[i].Most {
			wait = max(wait, balance.Left)
		}
	}
	return wait
}

// header tells a client what it has left, by the draft
// https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
func (b bill) header(header http.Header) {
	var policies, limits []string
	for i, charge := range b.charges {
		name := charge.Rule
		if charge.User == "" {
			name += "-address"
		}
		policies = append(policies, fmt.Sprintf("%q;q=%d;w=%d", name, charge.Most, seconds(charge.Window)))
		limits = append(limits, fmt.Sprintf("%q;r=%d;t=%d", name, max(charge.Most-b.balances[i].Used, 0), seconds(b.balances[i].Left)))
	}
	if limits != nil {
		header.Set("RateLimit-Policy", strings.Join(policies, ", "))
		header.Set("RateLimit", strings.Join(limits, ", "))
	}
}

// CostBalance is what an operation was charged for its cost, and what is left;
// ok is false when there is no limit.
func CostBalance(ctx context.Context) (charge redisrepo.Charge, balance redisrepo.Balance, ok bool) {
	b, _ := ctx.Value(billKey{}).(bill)
	i := slices.IndexFunc(b.charges, func(c redisrepo.Charge) bool { return c.Rule == RuleCost })
	if i < 0 {
		return charge, balance, false
	}
	return b.charges[i], b.balances[i], true
}

// Exceeded is how long to wait until one more mutation of a rule is allowed, or 0
// when the operation is within it.
func Exceeded(ctx context.Context, rule string) time.Duration {
	b, _ := ctx.Value(billKey{}).(bill)
	return b.wait(rule)
}

func tryAgain(wait time.Duration) string {
	return fmt.Sprintf("try again in %d s", seconds(wait))
}

// seconds rounds up, so that who waits for them does not come too early.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
