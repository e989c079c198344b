package rings

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
)

// rings returns the rings that pairs make, and the pairs that are in none.
func (c *chance) rings(ctx context.Context, pairs []pair) ([]Ring, error) {
	g := graph{}
	for _, p := range pairs {
		g[p.u], g[p.v] = append(g[p.u], p.v), append(g[p.v], p.u)
	}
	ringOf := map[int32]int{} // from 1
	var members [][]int32
	for parts := g.parts(); len(parts) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		ring := part.core()
		switch rest := part.filter(ring, false); {
		case len(ring) == 0:
			continue
		case len(rest) > 0:
			parts = append(parts, rest.parts()...)
		}
		if inner := part.filter(ring, true).parts(); len(inner) > 1 { // two rings that have nothing to do with each other
			parts = append(parts, inner...)
			continue
		}
		members = append(members, ring)
		for _, user := range ring {
			ringOf[user] = len(members)
		}
	}
	found := make([]Ring, 0, min(len(pairs), maxRings))
	seen := map[int]bool{}
	for _, p := range pairs { // the most surprising first, so the first pair of a ring stands for the ring
		users, of := []int32{p.u, p.v}, ringOf[p.u]
		if of > 0 && of == ringOf[p.v] {
			if seen[of] {
				continue
			}
			users, seen[of] = members[of-1], true
		}
		if len(found) == maxRings {
			break
		}
		ring := Ring{Together: int(p.together), Expected: p.expected, Surprise: p.surprise}
		c.describe(&ring, users)
		found = append(found, ring)
	}
	return found, nil
}

// describe sets the users, the articles and the median gap of a ring.
func (c *chance) describe(r *Ring, users []int32) {
	type side struct {
		article int32
		up      bool
	}
	times := map[side][]int64{}
	for _, u := range users {
		r.Users = append(r.Users, c.names[u])
		for _, i := range c.votesOf(int(u)) {
			each := c.votes[i]
			times[side{each.article, each.up}] = append(times[side{each.article, each.up}], each.at)
		}
	}
	slices.Sort(r.Users)
	least := int(math.Ceil(ringShare * float64(len(users))))
	var shared []side
	var gaps []int
	for s, at := range times {
		if len(at) < least {
			continue
		}
		shared = append(shared, s)
		slices.Sort(at)
		for i := 1; i < len(at); i++ {
			gaps = append(gaps, int(at[i]-at[i-1]))
		}
	}
	slices.SortFunc(shared, func(a, b side) int {
		return cmp.Or(cmp.Compare(len(times[b]), len(times[a])), cmp.Compare(c.ids[a.article], c.ids[b.article]))
	})
	for _, s := range shared {
		r.Articles = append(r.Articles, c.ids[s.article])
	}
	if slices.Sort(gaps); len(gaps) > 0 {
		r.MedianGap = &gaps[(len(gaps)-1)/2]
	}
}

// graph has the users with whom each one was paired.
type graph map[int32][]int32

// parts returns the connected parts of the graph, by their lowest user.
func (g graph) parts() (parts []graph) {
	seen := map[int32]bool{}
	for _, start := range g.users() {
		if seen[start] {
			continue
		}
		part, next := graph{}, []int32{start}
		for seen[start] = true; len(next) > 0; {
			u := next[len(next)-1]
			next, part[u] = next[:len(next)-1], g[u]
			for _, v := range g[u] {
				if !seen[v] {
					seen[v] = true
					next = append(next, v)
				}
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// users returns the users of the graph, sorted.
func (g graph) users() []int32 {
	return slices.Sorted(maps.Keys(g))
}

// core takes away the user with the fewest partners, until half of the pairs of the others are in the graph. It returns these
// others, sorted, or nil if fewer than three are left.
func (g graph) core() []int32 {
	left, degrees, joined := g.users(), map[int32]int{}, 0
	for u, partners := range g {
		degrees[u] = len(partners)
		joined += len(partners)
	}
	joined /= 2
	for len(left) >= 3 {
		fewest := 0
		for i, u := range left {
			if degrees[u] < degrees[left[fewest]] {
				fewest = i
			}
		}
		away := left[fewest]
		if degrees[away] > 0 && pairsShare*joined >= len(left)*(len(left)-1)/2 {
			return left
		}
		left = slices.Delete(left, fewest, fewest+1)
		joined -= degrees[away]
		delete(degrees, away)
		for _, v := range g[away] {
			if _, is := degrees[v]; is {
				degrees[v]--
			}
		}
	}
	return nil
}

// filter returns the graph of those who are among the users, which are sorted, or of those who are not. Who has no partner then
// is left out.
func (g graph) filter(users []int32, among bool) graph {
	has := func(u int32) bool {
		_, found := slices.BinarySearch(users, u)
		return found == among
	}
	some := graph{}
	for u, partners := range g {
		if !has(u) {
			continue
		}
		for _, v := range partners {
			if has(v) {
				some[u] = append(some[u], v)
			}
		}
	}
	return some
}
