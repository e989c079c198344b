package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// register is something that the clients set and the store keeps: a user's vote on an article, whether the article
// is in a group, or whether it exists. One client alone sets it, one request at a time.
type register struct {
	kind    string // vote, group or article
	article int
	title   string // the number alone may be given to another article after the store went back in time
	of      string // the user or the group
}

// write is an attempt to set a register, from the first request to the response of the last one: an attempt without a
// response is repeated. So a late copy of a request never sets anything but what its write sets.
type write struct {
	value      string
	start, end time.Duration
	uncertain  bool // the last response was a refusal, or the run ended, after requests without a response
}

// rollback is a time that the store has forgotten: at to it was what it had been at from.
type rollback struct{ from, to time.Duration }

// history is what the clients know, and thus what the store must have.
type history struct {
	began time.Time

	mu        sync.Mutex
	writes    map[register][]write
	rollbacks []rollback
	titles    map[int][]write // the articles that got a number; value is the title
	problems  []problem
	active    map[event]bool // the faults that have begun and not ended
}

// Rules that are checked at several places.
const (
	unavailable = "a fault of Redis is UNAVAILABLE or TIMEOUT"
	works       = "the faults themselves work"
)

// problem is the violation of a rule.
type problem struct{ rule, text string }

func newHistory() *history {
	return &history{began: time.Now(), writes: map[register][]write{}, titles: map[int][]write{}, active: map[event]bool{}}
}

func (h *history) now() time.Duration { return time.Since(h.began) }

func (h *history) add(r register, w write) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes[r] = append(h.writes[r], w)
	if r.kind == "article" && w.value == present {
		h.titles[r.article] = append(h.titles[r.article], write{value: r.title, start: w.start, end: w.end})
	}
}

// forget notes that the store is about to forget what it was given since from. end notes that it did.
func (h *history) forget(from time.Duration) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rollbacks = append(h.rollbacks, rollback{from, math.MaxInt64})
	i := len(h.rollbacks) - 1
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.rollbacks[i].to = h.now()
	}
}

// fail notes the violation of a rule.
func (h *history) fail(rule, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := fmt.Sprintf("%9.3fs ", h.now().Seconds()) + fmt.Sprintf(format, args...)
	for e := range h.active {
		text += "\n    during " + e.String()
	}
	h.problems = append(h.problems, problem{rule, text})
}

// during notes that a fault is active until end is called.
func (h *history) during(e event) (end func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active[e] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.active, e)
	}
}

// forgotten reports whether the store may have forgotten a write. The caller holds mu.
func (h *history) forgotten(w write) bool {
	return slices.ContainsFunc(h.rollbacks, func(r rollback) bool { return w.start <= r.to && w.end >= r.from })
}

// possible returns the values that a register may have. The first one is what it has before any write.
func (h *history) possible(r register) (values []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.after(h.writes[r])
}

// after is possible for some writes. The caller holds mu.
func (h *history) after(writes []write) []string {
	values := []string{""}
	for _, w := range writes {
		if !w.uncertain && !h.forgotten(w) {
			values = values[:0]
		}
		if !slices.Contains(values, w.value) {
			values = append(values, w.value)
		}
	}
	return values
}

// titleAt returns the title that an article must have had during a read, or "" if several are possible.
func (h *history) titleAt(article int, start, end time.Duration) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	titles := h.titles[article]
	if len(titles) == 0 {
		return ""
	}
	last := titles[len(titles)-1]
	for _, t := range titles {
		if t.end > last.end {
			last = t
		}
	}
	if last.end > start || h.forgotten(write{start: last.start, end: end}) {
		return ""
	}
	return last.value
}

// story lists what happened to the articles of a number, or only the post and what concerns one user or group, for the report of a
// violation.
func (h *history) story(article int, of string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	type line struct {
		at   time.Duration
		text string
	}
	var lines []line
	for r, writes := range h.writes {
		for _, w := range writes {
			if r.article == article && (of == "" || r.of == "" || r.of == of) {
				lines = append(lines, line{w.start, fmt.Sprintf("%9.3f-%.3fs %s %q %s = %q uncertain=%v forgotten=%v",
					w.start.Seconds(), w.end.Seconds(), r.kind, r.title, r.of, w.value, w.uncertain, h.forgotten(w))})
			}
		}
	}
	for _, r := range h.rollbacks {
		lines = append(lines, line{r.from, fmt.Sprintf("%9.3f-%.3fs forgotten by the store", r.from.Seconds(), r.to.Seconds())})
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	var text strings.Builder
	for _, l := range lines[max(0, len(lines)-60):] {
		text.WriteString("\n    " + l.text)
	}
	return text.String()
}
