package search

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"frontpage/redisrepo/site"
)

const (
	// MaxMarks is the maximum number of words that are marked in a text.
	MaxMarks = 24
	// maxSnippet is the maximum length of a snippet, in characters.
	maxSnippet = 200
)

// Range is a part of a text, in UTF-16 units.
type Range struct{ Start, Length int }

// Marks has the excerpts of a hit, and the ranges to highlight.
type Marks struct {
	Title   []*Range // what to mark in the title
	Snippet string   // text around the first match in the article's text, or nothing
	Text    []*Range // what to mark in the snippet
}

// Marks returns the marks of an article of the result.
func (r *Result) Marks(a *site.Article, tier Tier) (m Marks) {
	m.Text = []*Range{}
	wants := r.query.marked(tier)
	m.Title = ranges(a.Title, wants)
	if text := site.Value(a.Text); r.texts && text != "" {
		if m.Snippet = snippet(text, wants); m.Snippet != "" {
			m.Text = ranges(m.Snippet, wants)
		}
	}
	return m
}

// marked returns what to mark of a hit.
func (q query) marked(tier Tier) []wanted {
	switch {
	case tier == Similar:
		return q.wanted(near)
	case q.canBegin():
		return q.wanted(beginning)
	}
	return q.wanted(exact)
}

// ranges returns the first words of a text that match.
func ranges(text string, wants []wanted) []*Range {
	found := []*Range{}
	for _, w := range words(text) {
		if len(found) < MaxMarks && slices.ContainsFunc(wants, func(want wanted) bool { return want.matches(w.text) }) {
			found = append(found, &Range{units(text[:w.start]), units(text[w.start:w.end])})
		}
	}
	return found
}

// units returns the length of a text in UTF-16.
func units(text string) (n int) {
	for _, c := range text {
		n += max(utf16.RuneLen(c), 1)
	}
	return n
}

// snippet returns a part of a text around its first word that matches, on one line; nothing if none does.
func snippet(text string, wants []wanted) string {
	all := words(text)
	first := slices.IndexFunc(all, func(w word) bool {
		return slices.ContainsFunc(wants, func(want wanted) bool { return want.matches(w.text) })
	})
	if first < 0 {
		return ""
	}
	start := all[max(first-5, 0)].start
	if first <= 5 {
		start = 0
	}
	part := strings.Join(strings.Fields(text[start:]), " ")
	if utf8.RuneCountInString(part) <= maxSnippet {
		return part
	}
	cut := string([]rune(part)[:maxSnippet])
	if space := strings.LastIndexByte(cut, ' '); space > len(cut)/2 {
		cut = cut[:space]
	}
	return cut
}
