package redisrepo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// BenchmarkFeed reads the first and a later page of feeds on a site with 200,000 articles in 400 groups, by 2,000 users, and, with
// 10,000 followers, does what following the log instead would do for each post.
func BenchmarkFeed(b *testing.B) {
	const articles = 200_000
	for _, partitions := range []int{1, 16} {
		client := redistest.Start(b).Client
		r := require.Value(redisrepo.New(b.Context(), client, site.DefaultRules(), redisrepo.WithPartitions(partitions)))(b)
		now := float64(time.Now().Unix())
		for from := 1; from <= articles; from += 1000 {
			require.Value(client.Pipelined(b.Context(), func(pipe redis.Pipeliner) error {
				for i := from; i < from+1000; i++ {
					id := site.ArticleID(i)
					p, z := r.Store.Partition(id), redis.Z{Score: now - float64(articles-i)*60, Member: id.String()}
					pipe.ZAdd(b.Context(), p.Ranking(site.ByTime), z)
					pipe.SAdd(b.Context(), p.Group(site.GroupName(fmt.Sprint("g", i%400))), id.String())
					pipe.ZAdd(b.Context(), p.Posted(site.UserName(fmt.Sprint("u", i%2000))), z)
				}
				return nil
			}))(b)
		}
		for _, follows := range []int{10, saved.MaxFollowed} {
			reader := site.UserName(fmt.Sprint("reader", follows))
			for i := range follows / 2 {
				require.NoError(b, r.Saved.FollowTarget(b.Context(), reader, saved.Target{Group: site.GroupName(fmt.Sprint("g", i))}, true))
				require.NoError(b, r.Saved.FollowTarget(b.Context(), reader, saved.Target{User: site.UserName(fmt.Sprint("u", 1000+i))}, true))
			}
			var after *string
			for range 40 {
				_, info, _, err := r.Saved.Feed(b.Context(), reader, new(25), after)
				require.NoError(b, err)
				after = info.EndCursor
			}
			for name, from := range map[string]*string{"first": nil, "later": after} {
				b.Run(fmt.Sprintf("%s page of %d in %d partitions", name, follows, partitions), func(b *testing.B) {
					for b.Loop() {
						_, _, _, err := r.Saved.Feed(b.Context(), reader, new(25), from)
						require.NoError(b, err)
					}
				})
			}
			b.Run(fmt.Sprintf("listings of %d built in %d partitions", follows, partitions), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					require.Value(client.Pipelined(b.Context(), func(pipe redis.Pipeliner) error {
						for i := range follows / 2 {
							for _, p := range r.Store.Partitions {
								pipe.Unlink(b.Context(), p.Listing(site.ByTime, site.GroupName(fmt.Sprint("g", i))))
							}
						}
						return nil
					}))(b)
					b.StartTimer()
					_, _, _, err := r.Saved.Feed(b.Context(), reader, new(25), nil)
					require.NoError(b, err)
				}
			})
		}
	}
	client, member := redistest.Start(b).Client, 0
	post := func(count int) {
		for range count {
			member++
			for from := 0; from < 10_000; from += 100 {
				require.Value(client.Pipelined(b.Context(), func(pipe redis.Pipeliner) error {
					for i := from; i < from+100; i++ {
						key := fmt.Sprint("feed:", i)
						pipe.ZAdd(b.Context(), key, redis.Z{Score: float64(1_800_000_000 + member), Member: fmt.Sprint(100_000 + member)})
						pipe.ZRemRangeByRank(b.Context(), key, 0, -501)
					}
					return nil
				}))(b)
			}
		}
	}
	post(500)
	b.Run("one post for 10,000 followers", func(b *testing.B) {
		for b.Loop() {
			post(1)
		}
	})
	b.Logf("such a list takes %d bytes", client.MemoryUsage(b.Context(), "feed:7").Val())
}
