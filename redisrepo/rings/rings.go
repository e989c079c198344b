package rings

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Ring is users who vote together above chance: two, or more if half of their pairs do.
type Ring struct {
	Users    []string // names, sorted
	Articles []int    // numbers of those on which at least 60 % of them voted in one direction, those of most of them first

	// Of the pair that is the least likely by chance:
	Together int     // the articles on which both voted in one direction
	Expected float64 // how many of these there would be by chance
	Surprise float64 // -log10 of the probability that chance makes any such pair on the site

	MedianGap *int // median of the seconds between consecutive votes of its users on one of Articles; nil without any
}

// UserCount is the number of users.
func (r *Ring) UserCount() int { return len(r.Users) }

// ArticleCount is the number of articles.
func (r *Ring) ArticleCount() int { return len(r.Articles) }

const (
	level      = 0.01    // the probability that chance alone makes any pair reported
	minShared  = 4       // articles of a pair
	maxPairs   = 100_000 // that are kept while they are looked for
	maxRings   = 1000    // that are returned
	ringShare  = 0.6     // of a ring's users, who voted on one of its articles
	pairsShare = 2       // one in how many pairs of a ring is reported itself, at least
)

// pair is two users who vote together above chance, by index.
type pair struct {
	u, v     int32
	together int32
	expected float64
	surprise float64
}

func (p pair) compare(q pair) int {
	return cmp.Or(cmp.Compare(q.surprise, p.surprise), cmp.Compare(p.u, q.u), cmp.Compare(p.v, q.v))
}

// Find returns the rings, the least likely first, at most 1,000. It may be called once only, and returns the error of
// ctx when that ends.
//
// Chance is a Poisson distribution that knows how popular each article is, and who reads which groups. With k voters of an
// article, at most 100 of which count, the first ones; with M the sum of k over the articles of a group, and S that of k²; and
// with d votes of a user within the group, u votes on an article with the probability d·k/M. So u and v are expected to vote
// together λ = Σ d(u)·d(v)·S/M² times, over all groups. They are reported if they did so c times, c ≥ 4, c > λ, and
// P(X ≥ c) < 0.01 / (N(N−1)/2) for N users: the correction of Bonferroni, as in Miller, Simultaneous Statistical
// Inference (1981), 1.4. A hypergeometric tail, which takes all articles for equally popular, reports readers of the front page.
//
// An article with several groups counts in one of them: the smallest with 100 articles, or the largest if none has.
//
// It takes up to 100 steps for each vote, and memory for the votes, two numbers for each user, and 200,000 pairs.
func (v *Votes) Find(ctx context.Context) ([]Ring, error) {
	v.first()
	c := newChance(v)
	n := len(v.names)
	// Two arrays of N: how often each user voted together with u, and with whom that was at least once.
	together, met := make([]int32, n), make([]int32, 0, n)
	var pairs []pair
	for u := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, i := range c.votesOf(u) {
			mine := v.votes[i]
			for _, other := range v.votes[c.articles[mine.article]:c.articles[mine.article+1]] {
				if int(other.voter) > u && other.up == mine.up {
					if together[other.voter]++; together[other.voter] == 1 {
						met = append(met, other.voter)
					}
				}
			}
		}
		for _, w := range met {
			if p, above := c.compare(u, int(w), int(together[w])); above {
				pairs = append(pairs, p)
			}
			together[w] = 0
		}
		met = met[:0]
		if len(pairs) >= 2*maxPairs {
			pairs = mostSurprising(pairs, maxPairs)
		}
	}
	return c.rings(ctx, mostSurprising(pairs, maxPairs))
}

func mostSurprising(pairs []pair, most int) []pair {
	slices.SortFunc(pairs, pair.compare)
	return pairs[:min(most, len(pairs))]
}

// chance knows how often users vote together by chance.
type chance struct {
	*Votes
	articles []int // where the votes on each article begin, and the end of the last
	begins   []int // where the votes of each user begin in byVoter, and the end of the last
	byVoter  []int32
	profiles [][]inClass // of each user, by class
	weights  []float64   // S/M² of each class
	correct  float64     // natural logarithm of the number of pairs
}

// inClass is how many votes of a user are on articles of a class.
type inClass struct {
	class int32
	votes float64
}

func newChance(v *Votes) *chance {
	c := &chance{Votes: v, articles: make([]int, len(v.ids)+1), begins: make([]int, len(v.names)+1), byVoter: make([]int32, len(v.votes)), profiles: make([][]inClass, len(v.names))}
	users := float64(len(v.names))
	c.correct = math.Log(max(users*(users-1)/2, 1))
	for _, each := range v.votes {
		c.articles[each.article+1]++
		c.begins[each.voter+1]++
	}
	addUp(c.articles)
	addUp(c.begins)
	next := slices.Clone(c.begins)
	for i, each := range v.votes {
		c.byVoter[next[each.voter]] = int32(i) // #nosec G115 -- at most MaxVotes
		next[each.voter]++
	}
	classes := v.classes()
	sums, squares := make([]float64, len(v.groups)+1), make([]float64, len(v.groups)+1)
	for article, class := range classes {
		k := float64(c.articles[article+1] - c.articles[article])
		sums[class] += k
		squares[class] += k * k
	}
	for class, m := range sums {
		c.weights = append(c.weights, 0)
		if m > 0 {
			c.weights[class] = squares[class] / (m * m)
		}
	}
	for u := range v.names {
		var of []int32
		for _, i := range c.votesOf(u) {
			of = append(of, classes[v.votes[i].article])
		}
		slices.Sort(of)
		for i, class := range of {
			if i == 0 || of[i-1] != class {
				c.profiles[u] = append(c.profiles[u], inClass{class: class})
			}
			c.profiles[u][len(c.profiles[u])-1].votes++
		}
	}
	return c
}

// addUp makes each number the sum of those up to it.
func addUp(counts []int) {
	for i := 1; i < len(counts); i++ {
		counts[i] += counts[i-1]
	}
}

// votesOf returns the indexes of a user's votes.
func (c *chance) votesOf(u int) []int32 { return c.byVoter[c.begins[u]:c.begins[u+1]] }

// expected is λ: how often two users vote together by chance.
func (c *chance) expected(u, v int) (lambda float64) {
	a, b := c.profiles[u], c.profiles[v]
	for len(a) > 0 && len(b) > 0 {
		switch cmp.Compare(a[0].class, b[0].class) {
		case -1:
			a = a[1:]
		case 1:
			b = b[1:]
		default:
			lambda += a[0].votes * b[0].votes * c.weights[a[0].class]
			a, b = a[1:], b[1:]
		}
	}
	return lambda
}

// compare reports whether two users voted together above chance.
func (c *chance) compare(u, v, together int) (pair, bool) {
	if together < minShared {
		return pair{}, false
	}
	lambda := c.expected(u, v)
	if float64(together) <= lambda {
		return pair{}, false
	}
	corrected := logTail(together, lambda) + c.correct
	if corrected >= math.Log(level) {
		return pair{}, false
	}
	return pair{int32(u), int32(v), int32(together), lambda, -corrected / math.Ln10}, true // #nosec G115 -- at most MaxVotes
}

// logTail is ln P(X ≥ c) of a Poisson distribution with the mean lambda, for c > lambda > 0: the logarithm of
// e^−λ·λ^c/c!, which is P(X = c), and of what the terms after it are of that.
func logTail(c int, lambda float64) float64 {
	gamma, _ := math.Lgamma(float64(c) + 1)
	sum, term := 1.0, 1.0
	for i := c + 1; term > sum*1e-17; i++ {
		term *= lambda / float64(i)
		sum += term
	}
	return -lambda + float64(c)*math.Log(lambda) - gamma + math.Log(sum)
}
