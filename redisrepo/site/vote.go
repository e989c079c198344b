package site

import (
	"fmt"
	"math"
)

// Member is the member of cast:USER:MONTH that stands for the vote on an article.
func (v Vote) Member(id ArticleID) string {
	if v == Down {
		return "-" + id.Number()
	}
	return id.Number()
}

// VotePositions are the positions by their text in an entry of the log.
var VotePositions = map[string]Vote{"1": Up, "-1": Down, "0": None}

// Vote is a user's position on one article. Its value is what it adds to the article's net votes.
type Vote int

// The positions.
const (
	Down Vote = iota - 1
	None
	Up
)

var votes = map[Vote]string{Down: "down", None: "none", Up: "up"}

// String returns "down", "none" or "up".
func (v Vote) String() string {
	if text, ok := votes[v]; ok {
		return text
	}
	return fmt.Sprintf("Vote(%d)", int(v))
}

// Ranking is how votes count against age in the order ByScore: a score is the posting time plus what the votes are worth.
// It is the text linear, capped or halflife.
type Ranking int

// Rankings.
const (
	// Linear counts each net vote as VoteScore, as Redis in Action does. Legacy clients can vote only under
	// this ranking.
	Linear Ranking = iota
	// Capped is Linear, but votes add at most RankCap and take at most half of it.
	Capped
	// HalfLifeRanking ranks by a weight of 1 plus the net votes that halves every HalfLife.
	HalfLifeRanking
)

var rankings = map[Ranking]string{Linear: "linear", Capped: "capped", HalfLifeRanking: "halflife"}

func (k Ranking) String() string {
	if text, ok := rankings[k]; ok {
		return text
	}
	return fmt.Sprintf("Ranking(%d)", int(k))
}

// ParseRanking returns the Ranking with a text.
func ParseRanking(text string) (Ranking, error) {
	for k, name := range rankings {
		if text == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q is not linear, capped or halflife", text)
}

// Worth returns what net votes add to the posting time in a score, whole seconds if the votes are whole.
func (r Rules) Worth(votes float64) float64 {
	switch r.Ranking {
	case Capped:
		c := float64(Seconds(r.RankCap))
		return math.Max(-math.Floor(c/2), math.Min(float64(r.VoteScore)*votes, c))
	case HalfLifeRanking:
		w := math.Floor(float64(float64(Seconds(r.HalfLife))*log2(1+math.Abs(votes))) + 0.5)
		return math.Copysign(w, votes)
	default:
		return float64(r.VoteScore) * votes
	}
}

// log2 is the binary logarithm as worth.lua computes it. The conversions keep compilers from fusing a
// multiplication with an addition, which would round differently.
func log2(x float64) float64 {
	f, exponent := math.Frexp(x)
	if f < 0.7 {
		f, exponent = 2*f, exponent-1
	}
	s := (f - 1) / (f + 1)
	square, sum := s*s, 0.0
	for k := 25; k >= 1; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(exponent) + float64(sum*s*2.8853900817779268) // 2 / ln 2
}

// RankingText returns the rule for worth.lua.
func (r Rules) RankingText() string {
	switch r.Ranking {
	case Capped:
		return fmt.Sprintf("capped %d %d", r.VoteScore, Seconds(r.RankCap))
	case HalfLifeRanking:
		return fmt.Sprintf("halflife %d", Seconds(r.HalfLife))
	default:
		return fmt.Sprintf("linear %d", r.VoteScore)
	}
}
