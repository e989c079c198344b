// Package costs_test measures what requests to a site cost: points, and milliseconds of the server and of Redis.
package costs_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

var (
	articles = flag.Int("articles", programtest.Size(2_000, 100_000), "articles of the site")
	filled   = flag.String("redis", "", "socket of a Redis to use, which is filled if it is empty; without it, a Redis is started")
	only     = flag.String("only", "", "measure the requests whose names match this regular expression; empty: all")
	binary   = flag.String("program", "", "a built program to measure instead of this one")
)

func TestMain(m *testing.M) { os.Exit(programtest.Main(m)) }

// store returns a Redis with the site, its URL and the id of its process.
func store(t testing.TB) (client *redis.Client, url string, pid int) {
	t.Helper()
	if *filled == "" {
		s := redistest.Start(t)
		client, url = s.Client, s.URL()
	} else {
		client, url = redis.NewClient(&redis.Options{Network: "unix", Addr: *filled, ReadTimeout: time.Minute}), "unix://"+*filled
	}
	if require.Value(client.DBSize(t.Context()).Result())(t) == 0 {
		fill(t, client)
	}
	_, err := fmt.Sscanf(require.Value(client.InfoMap(t.Context(), "server").Result())(t)["Server"]["process_id"], "%d", &pid)
	require.NoError(t, err)
	return client, url, pid
}

// rules are those of the site: the default ones, and rankings of groups.
func rules() site.Rules {
	r := site.DefaultRules()
	r.GroupTop = true
	return r
}

// fill imports articles, the newest of them posted now.
func fill(t testing.TB, client *redis.Client) {
	t.Helper()
	repo := require.Value(redisrepo.New(t.Context(), client, rules()))(t)
	now, random := time.Now(), rand.New(rand.NewPCG(1, 1))
	batch := make([]redisrepo.Imported, 0, 1000)
	for i := range *articles {
		link := fmt.Sprintf("https://host%d.example.org/%d", i%1000, i)
		batch = append(batch, redisrepo.Imported{
			ID: site.ArticleID(i + 1), Poster: site.UserName(fmt.Sprint("poster", i%5000)),
			PostedAt: now.Add(-time.Duration(*articles-i-1) * 10 * time.Minute), Votes: random.IntN(300),
			Draft: site.Draft{Title: fmt.Sprint("An article of usual length, number ", i), Link: &link, Groups: []string{"all", fmt.Sprint("group", i%10_000)}},
		})
		if len(batch) < cap(batch) && i < *articles-1 {
			continue
		}
		_, errs := repo.Import(t.Context(), batch)
		require.NoError(t, errors.Join(errs...))
		batch = batch[:0]
	}
}
