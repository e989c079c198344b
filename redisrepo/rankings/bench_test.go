package rankings_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

var (
	rankedArticles = flag.Int("ranked-articles", 20_000, "articles of BenchmarkRankings")
	rankedDays     = flag.Int("ranked-days", 365, "days over which they were posted")
)

// BenchmarkRankings measures pages of 25 articles by every formula and of every span: the median time of the script in
// Redis (INFO commandstats), the CPU of Redis' main thread for all of the page, and the members of lists that were looked at.
func BenchmarkRankings(b *testing.B) {
	server := redistest.Start(b)
	server.Client.ConfigSet(b.Context(), "appendonly", "no")
	repo := require.Value(redisrepo.New(b.Context(), server.Client, site.DefaultRules(), redisrepo.WithPartitions(1),
		redisrepo.WithClock(func() time.Time { return repotest.Opened })))(b)
	postRanked(b, server.Client, *rankedArticles, *rankedDays)
	gravity, top, halfLife, linear := rankings.RankGravity, rankings.RankTop, rankings.RankHalfLife, rankings.RankLinear
	for _, page := range []struct {
		name    string
		formula rankings.RankFormula
		span    rankings.Span
		number  int
	}{
		{"top/day", top, rankings.SpanDay, 1},
		{"top/week", top, rankings.SpanWeek, 1},
		{"top/month", top, rankings.SpanMonth, 1},
		{"top/year", top, rankings.SpanYear, 1},
		{"top/all", top, rankings.SpanAll, 1},
		{"half-life/day", halfLife, rankings.SpanDay, 1},
		{"half-life/week", halfLife, rankings.SpanWeek, 1},
		{"half-life/month", halfLife, rankings.SpanMonth, 1},
		{"half-life/year", halfLife, rankings.SpanYear, 1},
		{"half-life/all", halfLife, rankings.SpanAll, 1},
		{"gravity/day", gravity, rankings.SpanDay, 1},
		{"gravity/week", gravity, rankings.SpanWeek, 1},
		{"gravity/month", gravity, rankings.SpanMonth, 1},
		{"gravity/year", gravity, rankings.SpanYear, 1},
		{"gravity/all", gravity, rankings.SpanAll, 1},
		{"linear/day", linear, rankings.SpanDay, 1},
		{"linear/week", linear, rankings.SpanWeek, 1},
		{"linear/month", linear, rankings.SpanMonth, 1},
		{"linear/year", linear, rankings.SpanYear, 1},
		{"linear/all", linear, rankings.SpanAll, 1},
		{"top/year, page 2", top, rankings.SpanYear, 2},
		{"top/all, page 40", top, rankings.SpanAll, 40},
		{"half-life/all, page 40", halfLife, rankings.SpanAll, 40},
		{"gravity/all, page 40", gravity, rankings.SpanAll, 40},
		{"linear/all, page 40", linear, rankings.SpanAll, 40},
	} {
		b.Run(page.name, func(b *testing.B) {
			list := require.Value(repo.Rankings.RankedList(rankings.RankQuery{By: rankings.RankBy{Formula: page.formula}, Span: &page.span}))(b)
			var after *string
			for range page.number - 1 {
				before, err := repo.Rankings.Rank(b.Context(), list, nil, after)
				if err != nil || before.Info.EndCursor == nil {
					b.Fatal(before.Info, err)
				}
				after = before.Info.EndCursor
			}
			if _, err := repo.Rankings.Rank(b.Context(), list, nil, after); err != nil { // it learns which lists there are
				b.Fatal(err)
			}
			var took []float64
			looked, cpu := 0, 0.0
			for b.Loop() {
				server.Client.ConfigResetStat(b.Context())
				before := mainThread(b, server.Client)
				found := require.Value(repo.Rankings.Rank(b.Context(), list, nil, after))(b)
				cpu += mainThread(b, server.Client) - before
				took, looked = append(took, evalTime(b, server.Client)), found.Looked
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2], "µs/page")
			b.ReportMetric(1e6*cpu/float64(len(took)), "cpu-µs/page")
			b.ReportMetric(float64(looked), "looked")
		})
	}
}

// evalTime returns how long scripts took since the statistics were reset, in microseconds.
func evalTime(b *testing.B, client *redis.Client) float64 {
	return field(b, client, "commandstats", "cmdstat_evalsha:calls=1,usec=")
}

// mainThread returns the CPU time of Redis' main thread, in seconds.
func mainThread(b *testing.B, client *redis.Client) float64 {
	return field(b, client, "cpu", "used_cpu_user_main_thread:") + field(b, client, "cpu", "used_cpu_sys_main_thread:")
}

// field returns the number after a text in a section of INFO.
func field(b *testing.B, client *redis.Client, section, before string) float64 {
	b.Helper()
	_, rest, _ := strings.Cut(client.Info(b.Context(), section).Val(), before)
	text, _, _ := strings.Cut(rest, "\r\n")
	text, _, _ = strings.Cut(text, ",")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.Fatalf("%s %s: %v", section, before, err)
	}
	return n
}

// postRanked adds what a ranking reads of articles that were posted evenly over the last days: half of them have 1 to 3
// votes, a hundredth more than 130.
func postRanked(b *testing.B, client *redis.Client, articles, days int) {
	b.Helper()
	random, ctx := rand.New(rand.NewPCG(1, 2)), context.Background()
	options := *client.Options()
	options.ReadTimeout, options.WriteTimeout = -1, -1 // a busy machine may take longer for thousands of commands
	client = redis.NewClient(&options)
	defer func() { _ = client.Close() }()
	now := repotest.Opened.Unix()
	folded := now/dayOf - 9
	length := int64(days) * dayOf
	lists, peaks := map[string][]redis.Z{}, map[string]float64{}
	flush := func() {
		require.Value(client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for key, members := range lists {
				pipe.ZAdd(ctx, key, members...)
			}
			return nil
		}))(b)
		clear(lists)
	}
	for n := 1; n <= articles; n++ {
		posted := now - length + length*int64(n)/int64(articles)
		votes := math.Floor(math.Exp(math.Abs(random.NormFloat64()) * 1.9))
		keys := []string{fmt.Sprintf("top:h:%d", posted/hourOf)}
		if posted/dayOf <= folded {
			keys = []string{fmt.Sprintf("top:d:%d", posted/dayOf), fmt.Sprintf("top:m:%d", posted/monthOf)}
		}
		member := "article:" + strconv.Itoa(n)
		for _, key := range keys {
			lists[key] = append(lists[key], redis.Z{Score: votes, Member: member})
			peak := strings.Replace(key, "top:", "p:", 1)
			peaks[peak] = max(peaks[peak], votes)
		}
		lists["time:"] = append(lists["time:"], redis.Z{Score: float64(posted), Member: member})
		lists["score:"] = append(lists["score:"], redis.Z{Score: float64(posted) + 432*votes, Member: member})
		if n%5000 == 0 {
			flush()
		}
	}
	flush()
	fields := []any{"folded", folded}
	for peak, votes := range peaks {
		fields = append(fields, peak, votes)
	}
	client.HSet(ctx, "clock:", fields...)
	memory := field(b, client, "memory", "used_memory:")
	b.Logf("%d articles over %d days: %.2f GB", articles, days, memory/1e9)
}
