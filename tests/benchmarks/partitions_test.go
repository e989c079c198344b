package benchmarks_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// BenchmarkPartitions measures in one Redis what pages and votes cost on a site with 1, 16 and 64 partitions: the CPU of
// Redis, the commands that it ran, those in scripts included, and the round trips. A page here is its ids and articles.
func BenchmarkPartitions(b *testing.B) {
	for _, articles := range []int{1_000, 20_000} {
		b.Run(fmt.Sprint(articles), func(b *testing.B) {
			for _, n := range []int{1, 16, 64} {
				b.Run(fmt.Sprint(n), func(b *testing.B) { benchPartitions(b, articles, n) })
			}
		})
	}
}

func benchPartitions(b *testing.B, articles, partitions int) {
	client, repo := benchSite(b, articles, redisrepo.WithPartitions(partitions))
	trips := 0
	client.AddHook(redistest.Before(func(...redis.Cmder) { trips++ }))
	all := lists.AllArticles(site.ByScore, site.Descending)
	group := lists.InGroup("fifth", site.ByScore, site.Descending)
	size := 25
	walk := func(l lists.Listing, after *string) func() ([]site.ArticleID, error) {
		return func() ([]site.ArticleID, error) {
			edges, _, err := repo.Lists.Walk(b.Context(), l, site.PageRequest{First: &size, After: after})
			var ids []site.ArticleID
			for _, e := range edges {
				ids = append(ids, e.ID)
			}
			return ids, err
		}
	}
	number := func(l lists.Listing, page int) func() ([]site.ArticleID, error) {
		return func() ([]site.ArticleID, error) { return repo.Lists.List(b.Context(), l, page, &size) }
	}
	// middle is a cursor in the middle of a listing.
	middle := func(l lists.Listing) *string {
		var after *string
		for range articles / 5 / 2 / 100 {
			hundred := 100
			_, info, err := repo.Lists.Walk(b.Context(), l, site.PageRequest{First: &hundred, After: after})
			require.NoError(b, err)
			after = info.EndCursor
		}
		return after
	}
	for _, page := range []struct {
		name string
		ids  func() ([]site.ArticleID, error)
	}{
		{"page", number(all, 1)},
		{"page/40", number(all, 40)},
		{"page/300", number(all, 300)},
		{"cursor/first", walk(all, nil)},
		{"cursor/middle", walk(all, middle(all))},
		{"group", number(group, 1)},
		{"group/40", number(group, 40)},
		{"group/cursor/first", walk(group, nil)},
		{"group/cursor/middle", walk(group, middle(group))},
		{"poster", number(lists.PostedBy("poster1"), 1)},
	} {
		b.Run(page.name, func(b *testing.B) {
			measure(b, client, &trips, func() error {
				ids, err := page.ids()
				if err == nil && len(ids) > 0 {
					_, errs := repo.Articles.ArticlesByID(b.Context(), ids)
					err = errs[0]
				}
				return err
			})
		})
	}
	calls := 0
	b.Run("vote", func(b *testing.B) {
		measure(b, client, &trips, func() error {
			calls++
			_, err := repo.Vote(b.Context(), site.ArticleID(articles-calls%100*5-1), site.UserName(fmt.Sprint("voter", calls)), site.Up, "")
			return err
		})
	})
	b.Run("post", func(b *testing.B) {
		measure(b, client, &trips, func() error {
			calls++
			link := fmt.Sprint("https://example.com/", calls)
			_, err := repo.Post(b.Context(), "poster", site.Draft{Title: "title", Link: &link})
			return err
		})
	})
}

// measure runs call b.N times, and reports what each costs Redis.
func measure(b *testing.B, client *redis.Client, trips *int, call func() error) {
	require.NoError(b, call()) // builds listings
	cpu, commands := redisCost(b, client)
	*trips = 0
	n := 0
	for b.Loop() {
		n++
		require.NoError(b, call())
	}
	made := *trips
	cpuAfter, commandsAfter := redisCost(b, client)
	b.ReportMetric(0, "ns/op") // that of this process means nothing here
	b.ReportMetric((cpuAfter-cpu)*1e6/float64(n), "redis-µs/op")
	b.ReportMetric(float64(commandsAfter-commands)/float64(n), "commands/op")
	b.ReportMetric(float64(made)/float64(n), "trips/op")
}

// redisCost returns the CPU time of Redis, in seconds, and the number of commands that it has run, but not INFO.
func redisCost(b *testing.B, client *redis.Client) (cpu float64, commands int) {
	info := require.Value(client.Info(b.Context(), "cpu", "commandstats").Result())(b)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case strings.HasPrefix(name, "used_cpu_") && strings.HasSuffix(name, "_main_thread"):
			seconds, _ := strconv.ParseFloat(value, 64)
			cpu += seconds
		case strings.HasPrefix(name, "cmdstat_") && name != "cmdstat_info":
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			n, _ := strconv.Atoi(calls)
			commands += n
		}
	}
	return cpu, commands
}
