package redisrepo_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

func (s *testSite) block(by site.UserName, name string, blocks bool) {
	s.t.Helper()
	require.Value(s.Denials.BlockUser(s.ctx, by, name, blocks))(s.t)
}

func (s *testSite) wantBlocked(by site.UserName, want ...site.UserName) {
	s.t.Helper()
	if got := require.Value(s.Denials.Blocked(s.ctx, by))(s.t); !slices.Equal(got, want) {
		s.t.Errorf("%s has blocked %q, want %q", by, got, want)
	}
}

func TestUsersBlockOthers(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		partitions := redisrepo.WithPartitions(len(tags))
		s := newSite(t, nil, partitions)
		other := s.reopened(s.client(twice(true)), nil, partitions)
		other.follow()
		for i := range 20 {
			other.block(site.UserName(fmt.Sprint("user ", i)), "troll", true)
		}
		other.block("user 7", "bob", true)
		s.block("alice", "bob", true)
		require.NoError(t, s.Denials.ReadDenials(s.ctx))
		s.wantBlocked("user 7", "bob", "troll")
		other.block("user 7", "troll", false)
		other.block("user 7", "carol", false)
		s.wantBlocked("user 7", "bob")
		s.wantBlocked("user 19", "troll")
		s.wantBlocked("troll")
		require.Eventually(t, "blocks in another process", func() bool { return other.Denials.HasBlocks("alice") })
		again := s.reopened(s.client(), nil, partitions)
		again.wantBlocked("alice", "bob")
		again.wantBlocked("bob")

		_, err := s.Denials.BlockUser(s.ctx, "alice", "alice", true)
		wantRefused(t, err, "FORBIDDEN user")
		_, err = s.Denials.BlockUser(s.ctx, "alice", "", true)
		wantRefused(t, err, "INVALID user")
		for i := range denials.MaxBlocked - 1 {
			s.block("alice", fmt.Sprint("t", i), true)
		}
		_, err = s.Denials.BlockUser(s.ctx, "alice", "one more", true)
		wantRefused(t, err, "LIMIT_EXCEEDED user")
		s.block("alice", "bob", true) // already
		s.block("alice", "bob", false)
		s.block("alice", "one more", true)
		s.wantClean()

		s.do("FLUSHALL") // a store that went back
		require.NoError(t, s.Denials.ReadDenials(s.ctx))
		if s.Denials.HasBlocks("alice") {
			t.Error("what the store has lost is remembered")
		}
	})
}

// For users who have never blocked another one no store is called.
func TestWithoutBlocksNothingIsRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, one)
	s.block("alice", "bob", true)
	sent := 0
	other := s.reopened(s.client(redistest.Before(func(commands ...redis.Cmder) { sent += len(commands) })), nil)
	sent = 0
	if other.wantBlocked("carol"); sent > 0 {
		t.Errorf("%d commands were sent", sent)
	}
}
