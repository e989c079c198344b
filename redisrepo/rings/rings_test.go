package rings_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"frontpage/redisrepo/rings"
	"frontpage/tests/require"
)

// The tail of the distribution is the one that exact sums give, down to the smallest probabilities.
func TestTailIsExact(t *testing.T) {
	t.Parallel()
	for _, c := range []int{4, 5, 9, 30, 100, 500} {
		for _, lambda := range []float64{1e-6, 1e-3, 0.25, 1, 3.75, 25, 99.5, 400} {
			if lambda >= float64(c) {
				continue
			}
			exact, term := new(big.Rat), big.NewRat(1, 1)
			mean := new(big.Rat).SetFloat64(lambda)
			for k := 1; k <= c+1000; k++ {
				f := new(big.Float).SetPrec(400).SetRat(term) // bounded: the exact fraction grows with each term
				term, _ = f.Rat(nil)
				if term.Mul(term, mean).Mul(term, big.NewRat(1, int64(k))); k >= c {
					exact.Add(exact, term)
				}
				if k > c && new(big.Rat).Mul(term, big.NewRat(1e18, 1)).Cmp(exact) < 0 {
					break
				}
			}
			sum := new(big.Float).SetPrec(400).SetRat(exact)
			exponent := sum.MantExp(sum)
			mantissa, _ := sum.Float64()
			want := math.Log(mantissa) + float64(exponent)*math.Ln2 - lambda
			if got := rings.LogTail(c, lambda); math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
				t.Errorf("ln P(X ≥ %d) with the mean %v is %v, want %v", c, lambda, got, want)
			}
		}
	}
}

// cast is a vote of a test.
type cast struct {
	voter   string
	article int
	up      bool
	at      int64
}

func find(t *testing.T, votes []cast, groups map[int]string) []rings.Ring {
	t.Helper()
	var all rings.Votes
	for _, c := range votes {
		require.NoError(t, all.Add(c.voter, c.article, c.up, c.at))
	}
	for article, group := range groups {
		all.SetGroups(article, []string{group})
	}
	return require.Value(all.Find(t.Context()))(t)
}

// expectation computes by the definitions what Find computes by steps.
type expectation struct {
	together map[[2]string]int
	expected map[[2]string]float64
	reported map[[2]string]float64 // to the surprise
}

func oracle(votes []cast, groups map[int]string) expectation {
	last := map[string]map[int]cast{}
	for _, c := range votes {
		if last[c.voter] == nil {
			last[c.voter] = map[int]cast{}
		}
		if was, found := last[c.voter][c.article]; !found || c.at >= was.at {
			last[c.voter][c.article] = c
		}
	}
	k, users := map[int]float64{}, slices.Sorted(maps.Keys(last))
	for _, of := range last {
		for article := range of {
			k[article]++
		}
	}
	m, s := map[string]float64{}, map[string]float64{}
	for article, voters := range k {
		m[groups[article]] += voters
		s[groups[article]] += voters * voters
	}
	e := expectation{map[[2]string]int{}, map[[2]string]float64{}, map[[2]string]float64{}}
	for i, u := range users {
		for _, v := range users[i+1:] {
			both := [2]string{u, v}
			for g := range m {
				inGroup := func(user string) (d float64) {
					for article := range last[user] {
						if groups[article] == g {
							d++
						}
					}
					return d
				}
				e.expected[both] += inGroup(u) * inGroup(v) * s[g] / (m[g] * m[g])
			}
			for article, c := range last[u] {
				if other, found := last[v][article]; found && other.up == c.up {
					e.together[both]++
				}
			}
			lambda, c := e.expected[both], e.together[both]
			tail, term := 1.0, math.Exp(-lambda) // 1 − P(X < c)
			for n := range c {
				tail -= term
				term *= lambda / float64(n+1)
			}
			if tail < 1e-9 { // the sum has no digits left
				tail = 0
				for n := c; n < c+200; n++ {
					tail += term
					term *= lambda / float64(n+1)
				}
			}
			pairs := float64(len(users)*(len(users)-1)) / 2
			if c >= 4 && float64(c) > lambda && tail < 0.01/pairs {
				e.reported[both] = -math.Log10(tail * pairs)
			}
		}
	}
	return e
}

func pairOf(u, v string) [2]string {
	return [2]string{min(u, v), max(u, v)}
}

// On small sites, what is found is what brute force finds: the same pairs with the same numbers, each in a ring of which half of
// the pairs are above chance, or alone.
func TestRingsAreThoseOfTheOracle(t *testing.T) {
	t.Parallel()
	all, larger := 0, 0
	for seed := range uint64(40) {
		votes, groups := smallSite(rand.New(rand.NewPCG(seed, 1)))
		want, found := oracle(votes, groups), find(t, votes, groups)
		covered, ringOf := map[[2]string]bool{}, map[string]int{}
		for i, r := range found {
			best, above := 0.0, 0
			for j, u := range r.Users {
				for _, v := range r.Users[j+1:] {
					if surprise, is := want.reported[pairOf(u, v)]; is {
						above++
						best = max(best, surprise)
						covered[pairOf(u, v)] = true
					}
				}
				if len(r.Users) > 2 {
					if ringOf[u] > 0 {
						t.Errorf("seed %d: %s is in two rings", seed, u)
					}
					ringOf[u] = i + 1
				}
			}
			if n := len(r.Users); 2*above < n*(n-1)/2 || n < 2 {
				t.Errorf("seed %d: %d of the pairs of %v are above chance", seed, above, r.Users)
			}
			if math.Abs(best-r.Surprise) > 1e-6*best {
				t.Errorf("seed %d: the surprise of %v is %v, want %v", seed, r.Users, r.Surprise, best)
			}
			if len(r.Users) == 2 {
				pair := pairOf(r.Users[0], r.Users[1])
				if r.Together != want.together[pair] || math.Abs(r.Expected-want.expected[pair]) > 1e-9 || len(r.Articles) != r.Together || r.MedianGap == nil {
					t.Errorf("seed %d: got %+v, want %d together and %v expected", seed, r, want.together[pair], want.expected[pair])
				}
			} else {
				larger++
			}
		}
		for _, r := range found {
			if len(r.Users) == 2 && ringOf[r.Users[0]] > 0 && ringOf[r.Users[0]] == ringOf[r.Users[1]] {
				t.Errorf("seed %d: the pair %v is in a ring, too", seed, r.Users)
			}
		}
		for pair := range want.reported {
			all++
			if !covered[pair] {
				t.Errorf("seed %d: %v is above chance and was not found", seed, pair)
			}
		}
		if !slices.IsSortedFunc(found, func(a, b rings.Ring) int { return -cmpFloat(a.Surprise, b.Surprise) }) {
			t.Errorf("seed %d: the most surprising are not first", seed)
		}
	}
	if all < 100 || larger < 10 {
		t.Errorf("the oracle found %d pairs, and there were %d larger rings: the test is too easy", all, larger)
	}
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// smallSite has three groups, users who vote by chance up and down, some twice on an article, and one to three rings.
func smallSite(r *rand.Rand) (votes []cast, groups map[int]string) {
	const articles = 900
	groups = map[int]string{}
	for article := 1; article <= articles; article++ {
		groups[article] = fmt.Sprint("g", article%3)
	}
	for u := range 30 {
		for range 3 + r.IntN(12) {
			votes = append(votes, cast{fmt.Sprintf("user%02d", u), 1 + r.IntN(articles), r.IntN(4) < 3, r.Int64N(1000)})
		}
	}
	for range 1 + r.IntN(3) {
		first, size, from := r.IntN(25), 2+r.IntN(4), r.IntN(articles)
		up := r.IntN(2) == 0
		for u := first; u < first+size; u++ {
			for article := range 12 {
				if r.IntN(10) > 0 {
					votes = append(votes, cast{fmt.Sprintf("user%02d", u), 1 + (from+article)%articles, up, 2000 + r.Int64N(100)})
				}
			}
		}
	}
	return votes, groups
}

// On a site with groups, popular articles and busy users, a planted ring is found, and no other user is reported: neither
// those who read the same groups, nor a household, nor the voters of the most popular articles.
func TestPlantedRingIsFoundAlone(t *testing.T) {
	t.Parallel()
	const users, articles, groups, ringSize = 4000, 6000, 30, 12
	r := rand.New(rand.NewPCG(7, 7))
	of := map[int]string{}
	inGroup := make([][]int, groups)
	for article := 1; article <= articles; article++ {
		group := article % groups
		of[article] = fmt.Sprint("g", group)
		inGroup[group] = append(inGroup[group], article)
	}
	popularity := rand.NewZipf(r, 1.3, 3, articles/groups-1)
	busy := rand.NewZipf(r, 1.2, 20, 400)
	var votes []cast
	seen := map[[2]int]bool{}
	vote := func(u, article int, at int64) {
		if !seen[[2]int{u, article}] {
			seen[[2]int{u, article}] = true
			votes = append(votes, cast{fmt.Sprint("user", u), article, true, at})
		}
	}
	reads := func(u int, of []int, at int64) {
		for range 10 + busy.Uint64() {
			group := of[r.IntN(len(of))]
			vote(u, inGroup[group][popularity.Uint64()], at+r.Int64N(2_000_000))
		}
	}
	for u := range users {
		var some []int
		for range 1 + r.IntN(4) {
			some = append(some, r.IntN(groups))
		}
		reads(u, some, 0)
		if u%10 == 0 { // a household: another user who reads the same groups, at the same times
			reads(u+users, some, 0)
		}
	}
	for article := range 10 { // of different groups, among the less popular
		for u := range ringSize {
			if r.IntN(10) < 8 {
				vote(2*users+u, inGroup[3*article][100], int64(article)*10_000+r.Int64N(60))
			}
		}
	}
	for u := range ringSize { // who also read what others read
		reads(2*users+u, []int{u}, 0)
	}
	found, in := find(t, votes, of), map[string]bool{}
	for _, ring := range found {
		for _, u := range ring.Users {
			var number int
			require.Value(fmt.Sscanf(u, "user%d", &number))(t)
			if number < 2*users {
				t.Errorf("%s is reported, in %+v", u, ring)
			}
			in[u] = true
		}
	}
	if len(found) == 0 || len(found[0].Users) < ringSize/2 || len(in) < ringSize-4 {
		t.Fatalf("with %d votes, %d of %d are found, in %d rings: %+v", len(votes), len(in), ringSize, len(found), found)
	}
	if first := found[0]; first.MedianGap == nil || *first.MedianGap > 60 || len(first.Articles) < 8 {
		t.Errorf("the ring is %+v", first)
	}
}

func TestVotesAreLimited(t *testing.T) {
	t.Parallel()
	var votes rings.Votes
	for i := range rings.MaxVotes {
		require.NoError(t, votes.Add(fmt.Sprint(i/1000), 1+i%1000, true, 0))
	}
	if err := votes.Add("one", 1, true, 0); !errors.As(err, new(rings.TooManyError)) {
		t.Errorf("one more vote: %v, want a TooManyError", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if found, err := votes.Find(ctx); !errors.Is(err, context.Canceled) || found != nil {
		t.Errorf("without a caller: %v, %v", found, err)
	}
}

// Without votes, or with those of one user, there is nothing to compare.
func TestNoRings(t *testing.T) {
	t.Parallel()
	if found := find(t, nil, nil); len(found) > 0 {
		t.Errorf("without votes: %v", found)
	}
	var votes []cast
	for article := 1; article <= 10; article++ {
		votes = append(votes, cast{"alice", article, true, 0})
	}
	if found := find(t, votes, nil); len(found) > 0 {
		t.Errorf("one user: %v", found)
	}
}
