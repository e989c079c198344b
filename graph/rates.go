package graph

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

// The names of the rules, in headers and keys.
const (
	ruleCost    = "cost"
	ruleVotes   = "votes"
	rulePosts   = "posts"
	ruleChanges = "changes"
)

// ruleOf says by which rule a mutation is counted.
var ruleOf = map[string]string{"vote": ruleVotes, "post": rulePosts, "regroup": ruleChanges, "deleteArticle": ruleChanges}

func (r Rates) rule(name string) Rate {
	return map[string]Rate{ruleCost: r.Cost, ruleVotes: r.Votes, rulePosts: r.Posts, ruleChanges: r.Changes}[name]
}

// charges are what an operation costs its viewer and the address, by all rules.
func (r Rates) charges(v viewer, o *graphql.OperationContext) []redisrepo.Charge {
	amounts := map[string]int{ruleCost: costOf(o)}
	if o.Operation.Operation == ast.Mutation {
		for _, field := range graphql.CollectFields(o, o.Operation.SelectionSet, []string{"Mutation"}) {
			amounts[ruleOf[field.Name]]++
		}
	}
	var charges []redisrepo.Charge
	for _, rule := range []string{ruleCost, ruleVotes, rulePosts, ruleChanges} {
		rate, amount := r.rule(rule), amounts[rule]
		// Who is not signed in does nothing but read, and takes nothing from others.
		if rate.Most == 0 || amount == 0 || v.Name == "" && rule != ruleCost {
			continue
		}
		charge := redisrepo.Charge{Rule: rule, Most: rate.Most, Window: rate.Window, Amount: amount, User: v.Name, Address: v.site()}
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
	rates Rates
	repo  *redisrepo.Repo
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
	b := bill{charges: m.rates.charges(viewerOf(o.ctx), o.asked)}
	var err error
	if b.balances, err = m.repo.Charge(o.ctx, ruleCost, b.charges); err != nil {
		o.answer = o.exec.DispatchError(o.ctx, presentable(err))
		return &refused{code: codeUnavailable, status: http.StatusServiceUnavailable}
	}
	o.ctx = context.WithValue(o.ctx, billKey{}, b)
	if wait := b.wait(ruleCost); wait > 0 {
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

// RateLimit is what the viewer has left.
type RateLimit struct {
	Limit, Cost, Remaining int
	ResetAt                time.Time
}

// rateLimit is what is left of the points of complexity; nil when there is no limit.
func rateLimit(ctx context.Context) *RateLimit {
	b, _ := ctx.Value(billKey{}).(bill)
	i := slices.IndexFunc(b.charges, func(c redisrepo.Charge) bool { return c.Rule == ruleCost })
	if i < 0 {
		return nil
	}
	charge, balance := b.charges[i], b.balances[i]
	return &RateLimit{
		Limit: charge.Most, Cost: charge.Amount, Remaining: max(charge.Most-balance.Used, 0),
		ResetAt: time.Now().Add(balance.Left + time.Second - 1).UTC().Truncate(time.Second), // not too early
	}
}

// rateError refuses one mutation for now.
type rateError struct{ wait time.Duration }

func (e *rateError) Error() string { return "that is too many at once: " + tryAgain(e.wait) }

// withinRate refuses what is over the limit of its kind.
func withinRate(ctx context.Context, rule string) error {
	b, _ := ctx.Value(billKey{}).(bill)
	if wait := b.wait(rule); wait > 0 {
		return &rateError{wait}
	}
	return nil
}

func tryAgain(wait time.Duration) string {
	return fmt.Sprintf("try again in %d s", seconds(wait))
}

// seconds rounds up, so that who waits for them does not come too early.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
