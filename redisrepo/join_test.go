package redisrepo_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// While the replica that is to confirm votes does not answer, no vote is acknowledged, although votes and reads of many
// callers share round trips.
func TestVotesThatNoReplicaConfirmsFailTogether(t *testing.T) { // with the race detector
	t.Parallel()
	port := redistest.UnusedPort(t)
	primary := require.Value(redistest.Open("--port", port, "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"))(t)
	t.Cleanup(primary.Close)
	replica := require.Value(redistest.Open("--replicaof", "127.0.0.1 "+port))(t)
	t.Cleanup(replica.Close)
	require.Eventually(t, "the replica is online", func() bool {
		return strings.Contains(primary.Client.Info(t.Context(), "replication").Val(), "state=online")
	})
	options := *primary.Client.Options()
	options.ReadTimeout = 5 * time.Second
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	failover.LimitWaiting(client)
	repo := require.Value(redisrepo.New(t.Context(), client, site.DefaultRules(), redisrepo.WithPartitions(1), redisrepo.WithAcks(1)))(t)
	require.NoError(t, wire.Join(t.Context(), client, wire.JoinWait))
	text := "text"
	var ids []site.ArticleID // votes on one article would wait for each other
	for range 16 {
		ids = append(ids, require.Value(repo.Post(t.Context(), "alice", site.Draft{Title: "title", Text: &text}))(t).ID)
	}
	require.Value(repo.Vote(t.Context(), ids[0], "bob", up, ""))(t)

	replica.Pause()
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			result, err := repo.Vote(t.Context(), id, "bob", down, "")
			if !errors.Is(err, failover.ErrUnavailable) {
				t.Errorf("Vote = %+v, %v, want that no replica has it", result, err)
			}
		})
		all.Go(func() {
			if found, errs := repo.Articles.ArticlesByID(t.Context(), []site.ArticleID{id}); errs[0] != nil || found[0].Title != "title" {
				t.Errorf("a read beside them: %v", errs[0])
			}
		})
	}
	all.Wait()
	replica.Resume()
	if result, err := repo.Vote(t.Context(), ids[1], "carol", up, ""); err != nil || !result.Changed {
		t.Errorf("Vote = %+v, %v after the replica went on", result, err)
	}
}
