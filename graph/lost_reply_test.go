package graph_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// A request whose other calls would fail at once after an outage still repeats a vote whose reply was lost.
func TestVoteAfterALostReplyIsAnswered(t *testing.T) {
	t.Parallel()
	options := *redistest.Start(t).Client.Options()
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	failover.LimitWaiting(client)
	h := new(redistest.LostReply)
	client.AddHook(h)
	s := sitetest.New(t, client, site.DefaultRules())
	id := s.Post("alice", "Title")
	s.Vote("warm", id, "UP")
	h.Armed.Store(true)
	s.Want("bob", `mutation($id: ID!) { vote(input: {article: $id}) { article { votes viewerVote } userErrors { code } } }`,
		`{"vote":{"article":{"votes":3,"viewerVote":"UP"},"userErrors":[]}}`, "id", id)
	if h.Armed.Load() {
		t.Error("no reply was lost")
	}
}
