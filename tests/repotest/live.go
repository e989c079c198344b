package repotest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

func voter(i int) site.UserName { return site.UserName(fmt.Sprint("voter", i)) }

// Used has the site listen and write until the function that it returns is called.
func (s *Site) Used() (stop func()) {
	ctx, cancel := context.WithCancel(s.Ctx)
	var all sync.WaitGroup
	all.Go(func() { s.Live.Listen(ctx, func(error) {}) })
	ids := s.List(lists.AllArticles(site.ByTime, site.Descending))
	for w := range 3 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := 0; ctx.Err() == nil; i++ {
				id := ids[random.IntN(len(ids))]
				_, err := s.Vote(s.Ctx, id, voter(random.IntN(8)), site.Vote(random.IntN(3)-1), "bucket")
				switch i % 20 {
				case 5:
					_, _ = s.Delete(s.Ctx, id, Moderator, site.Why{})
				case 6:
					_, err = s.Undelete(s.Ctx, id, Moderator)
				case 7:
					_, err = s.Regroup(s.Ctx, id, Moderator, []string{"moved"}, []string{"go"})
				case 8:
					_, err = s.Post(s.Ctx, voter(w), site.Draft{Title: "live", Text: new("text"), Groups: []string{"live"}})
				}
				if refusal := (site.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
					s.T.Errorf("a write: %v", err)
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// Listens has the site listen until the test ends, and returns when it is subscribed.
func (s *Site) Listens() {
	s.T.Helper()
	ctx, cancel := context.WithCancel(s.Ctx)
	var listening sync.WaitGroup
	listening.Go(func() { s.Live.Listen(ctx, func(error) {}) })
	s.T.Cleanup(func() { cancel(); listening.Wait() })
	s.AwaitProcesses(1)
}

// AwaitProcesses waits until so many processes of the site listen.
func (s *Site) AwaitProcesses(n int64) {
	s.T.Helper()
	require.Eventually(s.T, "processes that listen", func() bool { return s.Do("PUBSUB NUMSUB changes:0").([]any)[1] == n })
}
