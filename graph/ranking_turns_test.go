package graph_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// rankings is a hook that counts the rankings that are read at once. Those by HALF_LIFE wait until they may go on.
type rankingSite struct {
	running, most atomic.Int32
	goOn          chan struct{}
}

func (r *rankingSite) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	asks := func(formula string) bool {
		return slices.ContainsFunc(commands, func(c redis.Cmder) bool { return slices.Contains(c.Args(), any(formula)) })
	}
	if waits := asks("HALF_LIFE"); waits || asks("LINEAR") {
		for now := r.running.Add(1); ; {
			if most := r.most.Load(); most >= now || r.most.CompareAndSwap(most, now) {
				break
			}
		}
		defer r.running.Add(-1)
		if waits {
			select {
			case <-r.goOn:
			case <-ctx.Done():
			}
		}
	}
	return send(ctx, commands)
}

// However much an address asks for, its operations use half of the CPUs at once, also those whose answers others share. Those of
// other addresses need not wait for them.
func TestOperationsOfAnAddressTakeTurns(t *testing.T) {
	t.Parallel()
	client, hook := redistest.Start(t).Client, &rankingSite{goOn: make(chan struct{})}
	client.AddHook(redistest.Hook(hook.hook))
	s := sitetest.New(t, client, site.DefaultRules(), sitetest.WithRates(endpoint.Rates{Cost: endpoint.Rate{Most: 1_000_000, Window: time.Minute}}))
	s.Post("alice", "t")
	ask := func(halfLife int) string {
		return s.AskText("", fmt.Sprintf(`{ ranking(by: {formula: HALF_LIFE, halfLife: %d}, postedBefore: %q) { totalCount } }`, halfLife, after(time.Second)))
	}
	answers := make(chan string, max(1, runtime.GOMAXPROCS(0)/2))
	for n := range cap(answers) {
		go func() { answers <- ask(1000 + n) }()
	}
	require.Eventually(t, "as many rankings are read", func() bool { return int(hook.running.Load()) == cap(answers) })
	if body := ask(2000); sitetest.CodeOf(t, body) != "UNAVAILABLE" {
		t.Errorf("one operation more: got %s, want UNAVAILABLE", body)
	}
	const other = `{ ranking(by: {formula: LINEAR}, first: 1) { nodes { title } } }`
	if _, body, err := s.AskBy(sitetest.ClientFrom(t, "127.0.0.2"), other); err != nil || body != `{"data":{"ranking":{"nodes":[{"title":"t"}]}}}` {
		t.Errorf("a ranking for another address: got %s, %v, want one", body, err)
	}
	close(hook.goOn)
	for range cap(answers) {
		if body := <-answers; body != `{"data":{"ranking":{"totalCount":1}}}` {
			t.Errorf("got %s, want the number of articles", body)
		}
	}
}

func TestRankingsOfOneResponseAreReadOneAfterAnother(t *testing.T) {
	t.Parallel()
	client, hook := redistest.Start(t).Client, &rankingSite{}
	client.AddHook(redistest.Hook(hook.hook))
	s := sitetest.New(t, client, site.DefaultRules())
	s.Post("alice", "t")
	for n := range 10 {
		var query strings.Builder
		for i := range 10 {
			fmt.Fprintf(&query, " r%d: ranking(by: {formula: LINEAR, voteScore: %d}) { totalCount }", i, 1+10*n+i)
		}
		if a := s.Ask("", "{"+query.String()+" }"); len(a.Data) != 10 || len(a.Errors) > 0 {
			t.Fatalf("got %v, want 10 rankings", a)
		}
	}
	if most := hook.most.Load(); most != 1 {
		t.Errorf("%d rankings were read at once, want 1", most)
	}
}
