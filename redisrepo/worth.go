package redisrepo

import "fmt"

// Ranking is how votes count against age in the order ByScore: a score is the posting time plus what the votes are worth.
// It is the text linear, capped or halflife.
type Ranking int

// Rankings.
const (
	// Linear counts each net vote as VoteScore, as Redis in Action does. Only beside it can legacy clients vote.
	Linear Ranking = iota
	// Capped is Linear, but votes add at most RankCap and take at most half of it.
	Capped
	// HalfLifeRanking ranks by a weight of 1 plus the net votes that halves every HalfLife.
	HalfLifeRanking
)

var rankings = [...]string{"linear", "capped", "halflife"}

func (k Ranking) String() string {
	if k < 0 || int(k) >= len(rankings) {
		return fmt.Sprintf("Ranking(%d)", int(k))
	}
	return rankings[k]
}

// ParseRanking returns the Ranking with a text.
func ParseRanking(text string) (Ranking, error) {
	for k, name := range rankings {
		if text == name {
			return Ranking(k), nil
		}
	}
	return 0, fmt.Errorf("%q is not linear, capped or halflife", text)
}
