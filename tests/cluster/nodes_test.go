// Package cluster_test tests Frontpage on Redis Cluster while nodes fail. Each test starts six nodes, so they run one
// after the other.
package cluster_test

import (
	"testing"

	"frontpage/redistest"
)

// The other tests rely on these helpers.
func TestNodesMoveSlotsFailOverAndHeal(t *testing.T) {
	c := redistest.StartCluster(t)
	const key = "{a}key"
	set := func(when string) {
		t.Helper()
		if err := c.Client.Set(t.Context(), key, when, 0).Err(); err != nil {
			t.Fatalf("set the key %s: %v", when, err)
		}
	}
	set("at first")
	to := c.Other(key)
	c.Move(key, to)
	if c.Primary(key) != to {
		t.Error("the slot is not where it was moved to")
	}
	set("after the move")

	killed := c.Primary(key)
	killed.Kill()
	promoted := c.AwaitFailover(key, killed)
	set("after the kill")
	killed.Restart()
	c.AwaitHealthy()
	if c.Replica(key) != killed {
		t.Error("the killed primary did not come back as a replica")
	}

	promoted.Pause()
	if c.AwaitFailover(key, promoted) != killed {
		t.Error("the replica of the paused primary was not promoted")
	}
	promoted.Resume()
	c.AwaitHealthy()

	if err := c.Replica(key).Client.ClusterFailover(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if c.AwaitFailover(key, killed) != promoted {
		t.Error("the replica was not promoted on command")
	}
	set("at last")
}
