package search

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync"
)

const (
	// perWord and perArticle are about how many bytes a word and an article take besides their texts and numbers.
	perWord, perArticle = 120, 100
	// mostNew is how many words may wait to be sorted.
	mostNew = 1000
)

// index knows which articles have a word. It is safe for concurrent use.
type index struct {
	mu     sync.RWMutex
	ids    map[string]uint32 // of words, in lists
	lists  []list            // by id
	free   []uint32          // ids without a word
	sorted []string          // words; some may have no articles any more
	added  []string          // words that are not in sorted yet

	slots map[uint32]uint32 // where the articles are in docs, by their numbers
	docs  []doc             // about in the order of their posting times; slots are not used again
	since uint32            // articles that were posted before, Unix seconds, were dropped
	bytes int
}

// list is a word, and the slots of the articles that have it, ascending.
type list struct {
	word  string
	slots []uint32
}

// doc is an article, and the ids of its words, ascending. The zero value is a slot whose article was removed.
type doc struct {
	number, posted uint32
	words          []uint32
}

func newIndex() *index { return &index{ids: map[string]uint32{}, slots: map[uint32]uint32{}} }

// put adds an article, or replaces its words. When the index then takes more than limit bytes, it drops the tenth of the articles
// that was posted first.
func (x *index) put(number, posted uint32, found []word, limit int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if posted < x.since {
		return
	}
	slot, known := x.slots[number]
	if !known {
		slot = uint32(len(x.docs)) // #nosec G115 -- at most one for each number
		x.slots[number] = slot
		x.docs = append(x.docs, doc{number: number, posted: posted})
		x.bytes += perArticle
	}
	x.replace(slot, found)
	if x.bytes <= limit {
		return
	}
	times := make([]uint32, 0, len(x.slots))
	for _, slot := range x.slots {
		times = append(times, x.docs[slot].posted)
	}
	slices.Sort(times)
	x.since = max(times[len(times)/10], times[0]+1)
	for number, slot := range x.slots {
		if x.docs[slot].posted < x.since {
			x.drop(number, slot)
		}
	}
}

// remove removes an article, if it is there.
func (x *index) remove(number uint32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if slot, known := x.slots[number]; known {
		x.drop(number, slot)
	}
}

func (x *index) drop(number, slot uint32) {
	x.replace(slot, nil)
	delete(x.slots, number)
	x.docs[slot] = doc{}
	x.bytes -= perArticle
}

// replace replaces the words of an article.
func (x *index) replace(slot uint32, found []word) {
	before := x.docs[slot].words
	now := make([]uint32, 0, len(found))
	for _, w := range found {
		now = append(now, x.id(w.text))
	}
	slices.Sort(now)
	now = slices.Clip(slices.Compact(now))
	for _, id := range before {
		if _, has := slices.BinarySearch(now, id); !has {
			x.removeFrom(id, slot)
		}
	}
	for _, id := range now {
		if _, had := slices.BinarySearch(before, id); !had {
			x.addTo(id, slot)
		}
	}
	x.docs[slot].words = now
	x.bytes += 4 * (len(now) - len(before))
}

// id returns the id of a word, a new one for a new word.
func (x *index) id(text string) uint32 {
	if id, known := x.ids[text]; known {
		return id
	}
	text = strings.Clone(text) // not the whole title
	id := uint32(len(x.lists)) // #nosec G115 -- there are fewer words
	if last := len(x.free) - 1; last >= 0 {
		id, x.free = x.free[last], x.free[:last]
		x.lists[id] = list{word: text}
	} else {
		x.lists = append(x.lists, list{word: text})
	}
	x.ids[text] = id
	x.bytes += perWord + len(text)
	if x.added = append(x.added, text); len(x.added) > max(mostNew, len(x.sorted)/4) {
		x.sorted = slices.DeleteFunc(append(x.sorted, x.added...), func(text string) bool { _, known := x.ids[text]; return !known })
		x.added = nil
		slices.Sort(x.sorted)
		x.sorted = slices.Compact(x.sorted)
	}
	return id
}

func (x *index) addTo(id, slot uint32) {
	l := &x.lists[id]
	at := len(l.slots)
	if at > 0 && l.slots[at-1] > slot {
		at, _ = slices.BinarySearch(l.slots, slot)
	}
	l.slots = slices.Insert(l.slots, at, slot)
	x.bytes += 4
}

func (x *index) removeFrom(id, slot uint32) {
	l := &x.lists[id]
	at, _ := slices.BinarySearch(l.slots, slot)
	l.slots = slices.Delete(l.slots, at, at+1)
	x.bytes -= 4
	if len(l.slots) == 0 { // nothing of an erased text stays
		delete(x.ids, l.word)
		x.bytes -= perWord + len(l.word)
		*l = list{}
		x.free = append(x.free, id)
	}
}

// set is a set of slots: those of one word, or of several.
type set struct {
	slots []uint32 // of one word
	bits  []uint64 // of several
	size  int      // not less than the number of articles
}

func (s *set) has(slot uint32) bool {
	if s.bits == nil {
		_, has := slices.BinarySearch(s.slots, slot)
		return has
	}
	at := int(slot / 64)
	return at < len(s.bits) && s.bits[at]&(1<<(slot%64)) != 0
}

// descending calls yield with the slots, the last first, until it returns false.
func (s *set) descending(yield func(uint32) bool) {
	for _, slot := range slices.Backward(s.slots) {
		if !yield(slot) {
			return
		}
	}
	for i, left := range slices.Backward(s.bits) {
		for left != 0 {
			bit := 63 - bits.LeadingZeros64(left)
			left &^= 1 << bit
			if !yield(uint32(64*i + bit)) { // #nosec G115 -- a slot
				return
			}
		}
	}
}

func union(sets ...set) set {
	if len(sets) == 1 {
		return sets[0]
	}
	all := set{bits: []uint64{}}
	for _, s := range sets {
		all.size += s.size
		for slot := range s.descending {
			if at := int(slot / 64); at >= len(all.bits) {
				all.bits = append(all.bits, make([]uint64, at+1-len(all.bits))...)
			}
			all.bits[slot/64] |= 1 << (slot % 64)
		}
	}
	return all
}

// wanted is what an article must have one of.
type wanted struct {
	word string
	how  likeness
}

// likeness is which words match a word of a query.
type likeness int

const (
	exact     likeness = iota
	beginning          // those that begin with it
	near               // those that one character makes of it, too
)

func (w wanted) matches(text string) bool {
	return text == w.word || w.how == beginning && strings.HasPrefix(text, w.word) || w.how == near && isNear(text, w.word)
}

// setOf returns the articles that have a word. The caller holds the mutex.
func (x *index) setOf(w wanted) set {
	if w.how == exact {
		return x.articles(w.word)
	}
	some := x.sorted
	if w.how == beginning {
		some = some[sort.SearchStrings(some, w.word):]
		some = some[:sort.Search(len(some), func(i int) bool { return !strings.HasPrefix(some[i], w.word) })]
	}
	var sets []set
	for _, texts := range [][]string{some, x.added} {
		for _, text := range texts {
			if w.matches(text) {
				sets = append(sets, x.articles(text))
			}
		}
	}
	return union(sets...)
}

// articles returns those that have exactly this word.
func (x *index) articles(text string) set {
	id, known := x.ids[text]
	if !known {
		return set{}
	}
	return set{slots: x.lists[id].slots, size: len(x.lists[id].slots)}
}

// newest returns the newest articles that have at least some of the words, those with more of them first. isPartial reports
// whether there are others.
func (x *index) newest(all []wanted, atLeast, most int) (numbers []uint32, isPartial bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	sets := make([]set, len(all))
	for i, w := range all {
		sets[i] = x.setOf(w)
	}
	slices.SortStableFunc(sets, func(a, b set) int { return cmp.Compare(a.size, b.size) })
	candidates := union(sets[:len(sets)-atLeast+1]...) // an article that is in none of these has too few words
	byCount := make([][]uint32, len(sets)+1)
	for slot := range candidates.descending {
		count := 0
		for i := range sets {
			if count+len(sets)-i < atLeast {
				break
			}
			if sets[i].has(slot) {
				count++
			}
		}
		if count < atLeast {
			continue
		}
		if len(byCount[count]) < most {
			byCount[count] = append(byCount[count], x.docs[slot].number)
			continue
		}
		isPartial = true
		if count == len(sets) {
			break
		}
	}
	for _, some := range slices.Backward(byCount) {
		numbers = append(numbers, some...)
	}
	if len(numbers) > most {
		numbers, isPartial = numbers[:most], true
	}
	return numbers, isPartial
}

// has reports whether an article is there, or was dropped.
func (x *index) has(number, posted uint32) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, known := x.slots[number]
	return known || posted < x.since
}

// numbers returns the numbers of all articles, in no order.
func (x *index) numbers() []uint32 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Collect(maps.Keys(x.slots))
}

// size returns the number of articles, about how many bytes they take, and before which posting time articles were dropped.
func (x *index) size() (articles, bytes int, since uint32) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots), x.bytes, x.since
}
