// Package rings finds users who vote together more often than chance explains. It only computes, and reads no store. A
// ring is a reason to look, not a proof: a household, fans of one poster and the readers of a newsletter vote together,
// too.
package rings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// MaxVotes is the maximum number of votes.
const MaxVotes = 2_000_000

// TooManyError says that there are more votes than MaxVotes.
type TooManyError struct{}

func (TooManyError) Error() string { return fmt.Sprintf("there are more than %d votes", MaxVotes) }

// Votes are the votes of a period, up or down. The zero value has none. It is not safe for concurrent use.
type Votes struct {
	names []string
	ids   []int
	votes []vote

	voters   map[string]int32
	articles map[int]int32
	groups   map[string][]int32 // the articles of each group
}

// vote has indexes of names and ids.
type vote struct {
	article, voter int32
	up             bool
	at             int64 // Unix seconds
}

// Add adds a vote of a user, by name, on an article, by number, at a time in Unix seconds. Of a user's votes on one
// article, only the latest is compared. It returns a TooManyError if there are MaxVotes already.
func (v *Votes) Add(voter string, article int, up bool, at int64) error {
	if len(v.votes) == MaxVotes {
		return TooManyError{}
	}
	if v.voters == nil {
		v.voters, v.articles, v.groups = map[string]int32{}, map[int]int32{}, map[string][]int32{}
	}
	v.votes = append(v.votes, vote{indexOf(v.articles, &v.ids, article), indexOf(v.voters, &v.names, voter), up, at})
	return nil
}

// indexOf returns the index of a value, which it adds to all if it is new.
func indexOf[T comparable](indexes map[T]int32, all *[]T, value T) int32 {
	index, found := indexes[value]
	if !found {
		index = int32(len(*all)) // #nosec G115 -- at most MaxVotes
		indexes[value] = index
		*all = append(*all, value)
	}
	return index
}

// Articles returns the articles that were voted on.
func (v *Votes) Articles() []int { return v.ids }

// SetGroups sets the groups of an article; the default is none. Articles without votes are ignored.
func (v *Votes) SetGroups(article int, groups []string) {
	if index, found := v.articles[article]; found {
		for _, group := range groups {
			v.groups[group] = append(v.groups[group], index)
		}
	}
}

const (
	// counted is how many of an article's voters are compared, the first ones: a ring votes early, and the work is bounded by it.
	counted = 100
	// minGroup is the number of articles of a group that says enough about who reads it.
	minGroup = 100
)

// first sorts the votes by article and time, and drops those that do not count.
func (v *Votes) first() {
	slices.SortFunc(v.votes, func(a, b vote) int {
		return cmp.Or(cmp.Compare(a.article, b.article), cmp.Compare(a.voter, b.voter), cmp.Compare(b.at, a.at))
	})
	v.votes = slices.CompactFunc(v.votes, func(a, b vote) bool { return a.article == b.article && a.voter == b.voter })
	slices.SortFunc(v.votes, func(a, b vote) int {
		return cmp.Or(cmp.Compare(a.article, b.article), cmp.Compare(a.at, b.at), cmp.Compare(a.voter, b.voter))
	})
	kept, of := v.votes[:0], 0
	for i, each := range v.votes {
		if of++; i == 0 || v.votes[i-1].article != each.article {
			of = 1
		}
		if of <= counted {
			kept = append(kept, each)
		}
	}
	v.votes = kept
}

// classes returns for each article the one of its groups within which its votes are compared, as a number: the smallest that has
// minGroup articles, or else the largest. Articles without a group are in the class 0.
func (v *Votes) classes() []int32 {
	names := slices.SortedFunc(maps.Keys(v.groups), func(a, b string) int { // the best first
		sizeA, sizeB := len(v.groups[a]), len(v.groups[b])
		largeA, largeB := sizeA >= minGroup, sizeB >= minGroup
		switch {
		case largeA && largeB:
			return cmp.Or(cmp.Compare(sizeA, sizeB), cmp.Compare(a, b))
		case largeA:
			return -1
		case largeB:
			return 1
		}
		return cmp.Or(cmp.Compare(sizeB, sizeA), cmp.Compare(a, b))
	})
	of := make([]int32, len(v.ids))
	for i, name := range names {
		for _, article := range v.groups[name] {
			if of[article] == 0 {
				of[article] = int32(i + 1) // #nosec G115 -- at most 10 for each article
			}
		}
	}
	return of
}
