package search

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	// perWord and perArticle are about how many bytes a word and an article take besides their texts and numbers.
	perWord, perArticle = 120, 60
)

// index knows which articles have a word. It is safe for concurrent use.
type index struct {
	mu    sync.RWMutex
	ids   map[string]uint32 // of words
	words []string          // by id, empty for an id without a word
	lists [][]uint32        // by id: the slots of the articles that have the word, ascending
	free  []uint32          // ids without a word

	slots map[uint32]uint32 // where the articles are in docs, by their numbers
	docs  []doc             // about in the order of their posting times; slots are not used again
	spans []uint32          // the ids of the words of all articles
	spare int               // elements of spans that belong to no article
	since uint32            // articles that were posted before, Unix seconds, were dropped
	bytes int
}

// doc is an article, and where the ids of its words are in spans, ascending. The zero value is a slot whose article was removed.
type doc struct{ number, posted, start, end uint32 }

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
	d := &x.docs[slot]
	before := x.spans[d.start:d.end]
	now := make([]uint32, 0, len(found))
	for _, w := range found {
		now = append(now, x.id(w.text))
	}
	slices.Sort(now)
	now = slices.Compact(now)
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
	x.bytes += 4 * (len(now) - len(before))
	x.spare += len(before)
	x.span(d, now)
	if x.spare <= len(x.spans)/2 {
		return
	}
	old := x.spans
	x.spans, x.spare = make([]uint32, 0, len(old)-x.spare), 0
	for i := range x.docs {
		d := &x.docs[i]
		x.span(d, old[d.start:d.end])
	}
}

// span notes the ids of an article's words.
func (x *index) span(d *doc, ids []uint32) {
	d.start = uint32(len(x.spans)) // #nosec G115 -- there is memory for fewer
	x.spans = append(x.spans, ids...)
	d.end = uint32(len(x.spans)) // #nosec G115
}

// id returns the id of a word, a new one for a new word.
func (x *index) id(text string) uint32 {
	if id, known := x.ids[text]; known {
		return id
	}
	text = strings.Clone(text) // not the whole title
	id := uint32(len(x.words)) // #nosec G115 -- there are fewer words
	if last := len(x.free) - 1; last >= 0 {
		id, x.free = x.free[last], x.free[:last]
		x.words[id] = text
	} else {
		x.words = append(x.words, text)
		x.lists = append(x.lists, nil)
	}
	x.ids[text] = id
	x.bytes += perWord + len(text)
	return id
}

func (x *index) addTo(id, slot uint32) {
	slots := x.lists[id]
	at, _ := slices.BinarySearch(slots, slot)
	x.lists[id] = slices.Insert(slots, at, slot)
	x.bytes += 4
}

func (x *index) removeFrom(id, slot uint32) {
	slots := x.lists[id]
	at, _ := slices.BinarySearch(slots, slot)
	x.lists[id] = slices.Delete(slots, at, at+1)
	x.bytes -= 4
	if len(slots) == 1 { // nothing of an erased text stays
		text := x.words[id]
		delete(x.ids, text)
		x.bytes -= perWord + len(text)
		x.words[id], x.lists[id] = "", nil
		x.free = append(x.free, id)
	}
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

func (w *wanted) matches(text string) bool {
	switch w.how {
	case beginning:
		return strings.HasPrefix(text, w.word)
	case near:
		return text == w.word || isNear(text, w.word)
	default:
		return text == w.word
	}
}

// tally counts the wanted words of an article. A query has fewer words than a byte can count.
type tally struct {
	count, last uint8 // last: the word that was counted last, from 1
}

// newest returns the newest articles that have at least some of the words, those with more of them first. isPartial reports
// whether there are others. It looks once at each word of the index and at each article of a word: no query takes longer.
func (x *index) newest(all []wanted, atLeast, most int) (numbers []uint32, isPartial bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	tallies := make([]tally, len(x.docs))
	for i, ids := range x.matching(all) {
		for _, id := range ids {
			for _, slot := range x.lists[id] {
				if t := &tallies[slot]; int(t.last) != i+1 {
					t.count++
					t.last = uint8(i + 1) // #nosec G115 -- a query has at most MaxQuery words
				}
			}
		}
	}
	byCount := make([][]uint32, len(all)+1)
	for slot, t := range slices.Backward(tallies) {
		if int(t.count) < atLeast {
			continue
		}
		if len(byCount[t.count]) < most {
			byCount[t.count] = append(byCount[t.count], x.docs[slot].number)
			continue
		}
		isPartial = true
		if int(t.count) == len(all) {
			break
		}
	}
	slices.Reverse(byCount)
	numbers = slices.Concat(byCount...)
	if len(numbers) > most {
		return numbers[:most], true
	}
	return numbers, isPartial
}

// matching returns the ids of the words that match each wanted one.
func (x *index) matching(all []wanted) [][]uint32 {
	ids, isScanned := make([][]uint32, len(all)), false
	for i, w := range all {
		if id, known := x.ids[w.word]; known && w.how == exact {
			ids[i] = []uint32{id}
		}
		isScanned = isScanned || w.how != exact
	}
	if !isScanned {
		return ids
	}
	for id, text := range x.words {
		for i := range all {
			if all[i].how != exact && all[i].matches(text) {
				ids[i] = append(ids[i], uint32(id)) // #nosec G115 -- an id
			}
		}
	}
	return ids
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
