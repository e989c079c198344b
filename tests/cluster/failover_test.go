// Package cluster_test tests Frontpage on Redis Cluster and under Sentinels while their servers fail. Failures take
// seconds of real time, so the tests run one after the other.
package cluster_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"frontpage/redisrepo/store"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// The tests share one cluster, which is healthy before and after each of them.
func TestSiteOutlastsFailures(t *testing.T) {
	c := redistest.StartCluster(t, "--enable-debug-command", "local")
	for _, test := range []struct {
		name string
		run  func(*testing.T, *redistest.Cluster)
	}{
		{"scripts flushed on one node", scriptsFlushed},
		{"failover on command", failoverOnCommand},
		{"partition moved", partitionMoved},
		{"live updates after a move", liveUpdatesSurviveAMove},
		{"primary killed", primaryKilled},
		{"primary hangs", primaryHangs},
		{"replica lost", replicaLost},
		{"shard lost", shardLost},
		{"start with too few replicas", startWithTooFewReplicas},
		{"start during a failover", startDuringAFailover},
		{"start while a primary hangs", startWhileAPrimaryHangs},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, c.For(t)) }) {
			return // the cluster may be in any state
		}
		c.AwaitHealthy()
	}
}

// victim is the tag of the partition whose node fails.
var victim = tags[0]

func scriptsFlushed(t *testing.T, c *redistest.Cluster) {
	s := mustOpen(t, store.Options{URL: c.URL()})
	l := startLoad(t, s)
	for range 20 {
		require.NoError(t, c.Primary(victim).Client.ScriptFlush(t.Context()).Err())
		l.more(2)
	}
	l.verify(c.Client, tags...)
}

func failoverOnCommand(t *testing.T, c *redistest.Cluster) {
	l := startLoad(t, mustOpen(t, store.Options{URL: c.URL()}), mustOpen(t, store.Options{URL: c.URL()}))
	c.Failover(victim)
	l.more(50)
	c.AwaitHealthy()
	l.verify(c.Client, tags...)
}

func partitionMoved(t *testing.T, c *redistest.Cluster) {
	l := startLoad(t, mustOpen(t, store.Options{URL: c.URL()}), mustOpen(t, store.Options{URL: c.URL()}))
	m := c.StartMove(victim, c.Other(victim))
	l.more(0)
	m.MoveAll(50)
	m.Finish()
	l.more(50)
	if c.Primary(victim) != m.To() {
		t.Error("the partition is not where it was moved to")
	}
	l.verify(c.Client, tags...)
}

func primaryKilled(t *testing.T, c *redistest.Cluster) {
	l := startLoad(t, mustOpen(t, store.Options{URL: c.URL()}), mustOpen(t, store.Options{URL: c.URL()}))
	killed := c.Primary(victim)
	killed.Kill()
	c.AwaitFailover(victim, killed)
	l.more(50)
	killed.Restart()
	c.AwaitHealthy()
	l.more(50)
	l.verify(c.Client, tags...)
}

// A primary that hangs for longer than the node timeout keeps its connections, and wakes up believing that it still is
// one. Then Redis lists it as a healthy replica before it has received the data: writes must not wait for it.
func primaryHangs(t *testing.T, c *redistest.Cluster) {
	l := startLoad(t, mustOpen(t, store.Options{URL: c.URL()}), mustOpen(t, store.Options{URL: c.URL()}))
	paused := c.Primary(victim)
	paused.Pause()
	promoted := c.AwaitFailover(victim, paused)
	l.more(50)
	configure(t, promoted, "repl-diskless-sync-delay", "3600")
	require.NoError(t, promoted.Client.Do(t.Context(), "debug", "change-repl-id").Err()) // so that it has to send all data
	paused.Resume()
	require.Eventually(t, "healthy replica without the data", func() bool {
		return c.Replica(victim) == paused && strings.Contains(promoted.Client.Info(t.Context(), "replication").Val(), "state=wait_bgsave")
	})
	l.more(50)
	configure(t, promoted, "repl-diskless-sync-delay", "0")
	c.AwaitHealthy()
	l.more(50)
	l.verify(c.Client, tags...)
}

// Writes go on without the replica that would confirm them, and do not wait for it once it counts as failed.
func replicaLost(t *testing.T, c *redistest.Cluster) {
	s := mustOpen(t, store.Options{URL: c.URL()})
	number, voters := s.postEverywhere("replica-lost")[0], 0
	primary, replica := c.Primary(victim), c.Replica(victim)
	const votes = 50
	confirmed := func() int { // of so many votes
		before := waits(t, primary)
		for range votes {
			voters++
			s.insist("replica-lost-"+strconv.Itoa(voters), voteUp(number))
		}
		return waits(t, primary) - before
	}
	if n := confirmed(); n < votes {
		t.Errorf("%d WAIT for %d votes, want one for each", n, votes)
	}
	replica.Kill()
	require.Eventually(t, "failed replica", func() bool {
		return strings.Contains(primary.Client.ClusterNodes(t.Context()).Val(), "slave,fail ")
	})
	s.insist("replica-lost", voteUp(number)) // by which the process notices it
	if n := confirmed(); n > votes/2 {
		t.Errorf("%d WAIT for %d votes without a replica, want few", n, votes)
	}
	replica.Restart()
	c.AwaitHealthy()
	require.Eventually(t, "confirmation by the replica that is back", func() bool { return confirmed() >= votes })
	s.wantClean()
}

func configure(t *testing.T, n *redistest.Server, name, value string) {
	t.Helper()
	require.NoError(t, n.Client.ConfigSet(t.Context(), name, value).Err())
}

// waits is how often a server was asked to wait for replicas.
func waits(t *testing.T, n *redistest.Server) int {
	t.Helper()
	stats := n.Client.Info(t.Context(), "commandstats").Val()
	_, line, _ := strings.Cut(stats, "cmdstat_wait:calls=")
	count, _, _ := strings.Cut(line, ",")
	number, _ := strconv.Atoi(count)
	return number
}

// While a shard is gone, readers and voters of the others go on, and those of the lost one do not wait for it, one at a
// time aside.
func shardLost(t *testing.T, c *redistest.Cluster) {
	s := mustOpen(t, store.Options{URL: c.URL()})
	numbers := s.postEverywhere(t.Name())
	primary, replica := c.Primary(victim), c.Replica(victim)
	lost := map[string]bool{}
	for _, tag := range tags {
		lost[tag] = c.Primary(tag) == primary
	}
	primary.Kill()
	replica.Kill()
	for i, tag := range tags {
		for n := range 60 { // some are counted in the lost shard
			if lost[tag] {
				continue
			}
			voter, address := "elsewhere"+strconv.Itoa(n), "192.0.2."+strconv.Itoa(n)
			if a := s.askFrom(address, voter, voteUp(numbers[i])); a.code() != "" {
				t.Fatalf("a vote on an article in another shard: %v", a.Errors)
			}
			if a := s.askFrom(address, "", readArticle(numbers[i])); a.code() != "" || a.Data.Article == nil {
				t.Fatalf("an article in another shard: %v", a.Errors)
			}
		}
	}
	// Each of these calls would take 4.5 s.
	var failed atomic.Int64
	ctx, enough := context.WithTimeout(t.Context(), require.Timeout)
	defer enough()
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for ctx.Err() == nil {
				query := voteUp(numbers[0])
				if i%2 == 0 {
					query = `{ articles { number } }`
				}
				if s.ask("late"+strconv.Itoa(i), query).code() != "UNAVAILABLE" {
					t.Errorf("%s: want UNAVAILABLE", query)
					return
				}
				if failed.Add(1) == 300 {
					enough()
				}
			}
		})
	}
	callers.Wait()
	if failed.Load() < 300 {
		t.Errorf("%d calls for a lost shard failed within %v, want them to fail at once", failed.Load(), require.Timeout)
	}
	primary.Restart()
	replica.Restart()
	c.AwaitHealthy()
	s.insist("afterwards", voteUp(numbers[0]))
	s.insist("", `{ articles { number } }`)
	s.wantClean()
}

// More confirmations than replicas are a warning at the start, and all replicas there are confirm.
func startWithTooFewReplicas(t *testing.T, c *redistest.Cluster) {
	s := mustOpen(t, store.Options{URL: c.URL() + "?acks=2"})
	if !strings.Contains(s.log.String(), "too few replicas for a failover that loses nothing: give these nodes 2 each") {
		t.Errorf("log = %s, want a warning", s.log)
	}
	primary := c.Primary(victim)
	before := waits(t, primary)
	number := s.postEverywhere(t.Name())[0]
	for i := range 10 {
		s.insist("too-few-"+strconv.Itoa(i), voteUp(number))
	}
	if n := waits(t, primary) - before; n < 10 {
		t.Errorf("%d WAIT for 10 votes with one of two replicas, want one for each", n)
	}
}

func startDuringAFailover(t *testing.T, c *redistest.Cluster) {
	before := mustOpen(t, store.Options{URL: c.URL()})
	if text := before.log.String(); text != "" {
		t.Errorf("log of opening a healthy cluster = %s, want nothing", text)
	}
	number := before.post(t.Name())
	killed := c.Primary(victim)
	killed.Kill()
	s := mustOpen(t, store.Options{URL: c.URL()})
	for _, want := range []string{"waiting for all shards of the Redis Cluster", "too few replicas", killed.Addr + " does not reply"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("log = %s, want it to contain %q", s.log, want)
		}
	}
	if a := s.insist("", readArticle(number)); a.Data.Article == nil {
		t.Error("the article that was posted before is missing")
	}
	s.post(t.Name() + "-after")
	killed.Restart()
}

// A node that hangs keeps its connections and accepts new ones.
func startWhileAPrimaryHangs(t *testing.T, c *redistest.Cluster) {
	number := mustOpen(t, store.Options{URL: c.URL()}).post(t.Name())
	paused := c.Primary(victim)
	paused.Pause()
	if a := mustOpen(t, store.Options{URL: c.URL()}).insist("", readArticle(number)); a.Data.Article == nil {
		t.Error("the article that was posted before is missing")
	}
	paused.Resume()
}

// The site has one partition, without a tag.
func underSentinels(s *redistest.Sentinels) store.Options {
	return store.Options{URL: s.URL() + "?partitions=1&acks=1"}
}

// With a replica that confirms writes, Sentinels lose none either.
func TestSiteOutlastsFailuresUnderSentinels(t *testing.T) {
	set := redistest.StartSentinels(t, 2)
	t.Run("primary killed", func(t *testing.T) {
		l := startLoad(t, mustOpen(t, underSentinels(set)), mustOpen(t, underSentinels(set)))
		killed := set.Primary()
		killed.Kill()
		s := mustOpen(t, underSentinels(set)) // waits
		if !strings.Contains(s.log.String(), "waiting for a primary that replies") {
			t.Errorf("log = %s, want it to say what the start waits for", s.log)
		}
		promoted := set.AwaitFailover(killed)
		if a := s.insist("", readArticle(l.numbers[0])); a.Data.Article == nil {
			t.Error("the article that was posted before is missing")
		}
		l.more(50)
		l.verify(promoted.Client, "")
		killed.Restart()
	})
	set.AwaitHealthy()
	t.Run("primary hangs", func(t *testing.T) {
		l := startLoad(t, mustOpen(t, underSentinels(set)), mustOpen(t, underSentinels(set)))
		paused := set.Primary()
		paused.Pause()
		promoted := set.AwaitFailover(paused)
		l.more(50)
		paused.Resume() // Sentinels make it a replica ten seconds later
		l.more(50)
		l.verify(promoted.Client, "")
	})
}
