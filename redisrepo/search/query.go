package search

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"frontpage/redisrepo/site"
)

const (
	// MaxQuery is the maximum length of a query, in characters.
	MaxQuery = 200
	// maxItems is the maximum number of words and phrases of a query that are used.
	maxItems = 24
	// shortestBeginning and shortestNear are the shortest words that are searched for as a beginning, and with another spelling.
	shortestBeginning, shortestNear = 2, 4
)

// Tier says how an article matches. The zero value is invalid.
type Tier int

// The tiers, best first.
const (
	Phrase    Tier = iota + 1 // the words in this order
	All                       // all words
	Beginning                 // all words, the last one as a beginning
	Similar                   // with other spellings, or without some of the words
)

// item is a part of a query: a word, or words that must follow each other.
type item struct {
	words    []string
	isQuoted bool
}

// query is a parsed query.
type query struct {
	items []item
	all   []string // the words in their order, also those after the last item
}

// parse refuses only a query that is empty or too long. Words in quotation marks, and words without a character between them,
// must follow each other.
func parse(text string) (q query, err error) {
	if n := utf8.RuneCountInString(text); n > MaxQuery || strings.TrimSpace(text) == "" {
		return q, site.Refuse(site.Invalid, "query", "query has 1 to %d characters, not only blanks", MaxQuery)
	}
	parts := strings.Split(text, `"`)
	for i, part := range parts {
		isQuoted, end := i%2 == 1 && i < len(parts)-1, -1 // an odd quotation mark is a blank
		for k, w := range words(part) {
			q.all = append(q.all, w.text)
			if last := len(q.items) - 1; k > 0 && (isQuoted || w.start == end) {
				q.items[last].words = append(q.items[last].words, w.text)
			} else {
				q.items = append(q.items, item{[]string{w.text}, isQuoted})
			}
			end = w.end
		}
	}
	var items []item
	for _, it := range q.items {
		if len(items) < maxItems && !slices.ContainsFunc(items, func(other item) bool { return slices.Equal(it.words, other.words) }) {
			items = append(items, it)
		}
	}
	q.items = items
	return q, nil
}

// wanted returns the words of the items, those of the last one as a beginning, or all with other spellings.
func (q query) wanted(how likeness) (all []wanted) {
	for i, it := range q.items {
		for _, text := range it.words {
			w := wanted{text, exact}
			if how == near && it.canBeNear() || how == beginning && i == len(q.items)-1 {
				w.how = how
			}
			all = append(all, w)
		}
	}
	return all
}

// canBegin reports whether the last item is also searched for as a beginning.
func (q query) canBegin() bool {
	if len(q.items) == 0 {
		return false
	}
	last := q.items[len(q.items)-1]
	return len(last.words) == 1 && !last.isQuoted && utf8.RuneCountInString(last.words[0]) >= shortestBeginning
}

func (it item) canBeNear() bool {
	return len(it.words) == 1 && !it.isQuoted && utf8.RuneCountInString(it.words[0]) >= shortestNear
}

// class says how an article matches, more exactly than its tier: 0 is best.
type class int

const (
	equal class = iota // the title is the query
	asPhrase
	withAll
	withBeginning
	withNear       // and each item that is missing adds 1
	none     class = 1000
)

func (c class) tier() Tier { return max(Phrase, min(Tier(c), Similar)) }

// stage is which matches are looked for. A later one is used only if those before it find nothing.
type stage int

const (
	whole  stage = iota // all words
	spelt               // words of other spellings
	partly              // at least half of the items
)

// match returns how an article matches: its words are those of its title and of its text.
func (q query) match(at stage, title, text []string) class {
	missing, unlike := 0, 0
	var last item // that is missing
	for _, it := range q.items {
		if hasRun(title, it.words) || hasRun(text, it.words) {
			continue
		}
		missing++
		last = it
		if w := (wanted{it.words[0], near}); !it.canBeNear() || w.firstIn(title) == "" && w.firstIn(text) == "" {
			unlike++
		}
	}
	begins := func() bool {
		w := wanted{last.words[0], beginning}
		return q.canBegin() && slices.Equal(last.words, q.items[len(q.items)-1].words) && (w.firstIn(title) != "" || w.firstIn(text) != "")
	}
	switch {
	case at == spelt && unlike == 0:
		return withNear
	case at == partly && 0 < missing && missing <= len(q.items)/2:
		return withNear + class(missing)
	case at == spelt || missing > 1 || missing == 1 && (at == partly || !begins()):
		return none
	case missing == 1:
		return withBeginning
	case slices.Equal(title, q.all):
		return equal
	case hasRun(title, q.all) || hasRun(text, q.all):
		return asPhrase
	}
	return withAll
}

// hasRun reports whether words have a run of words in them.
func hasRun(words, run []string) bool {
	for i := 0; i+len(run) <= len(words); i++ {
		if slices.Equal(words[i:i+len(run)], run) {
			return true
		}
	}
	return false
}

// firstIn returns the first word that matches, or nothing.
func (w wanted) firstIn(words []string) string {
	if i := slices.IndexFunc(words, w.matches); i >= 0 {
		return words[i]
	}
	return ""
}

// spelling returns the query in the spelling of an article with all words, or nothing if that is its own.
func (q query) spelling(title, text []string) string {
	spelt, differs := make([]string, 0, len(q.items)), false
	for _, it := range q.items {
		written := strings.Join(it.words, " ")
		if it.canBeNear() && !slices.Contains(title, written) && !slices.Contains(text, written) {
			w := wanted{written, near}
			if found := w.firstIn(slices.Concat(title, text)); found != "" {
				written, differs = found, true
			}
		}
		spelt = append(spelt, written)
	}
	if !differs {
		return ""
	}
	return strings.Join(spelt, " ")
}

// MaxFilter is the maximum number of values in a list of a Filter. Search does not check it.
const MaxFilter = 10

// Filter has conditions of a search, which must all be met. Unset ones are met.
type Filter struct {
	Groups, NotGroups []site.GroupName // in any of these; in none of these
	Hosts             []site.HostName
	Posters           []site.UserName
	PostedAfter       *time.Time // at this time or later
	PostedBefore      *time.Time
	MinVotes          *int
	MaxVotes          *int
	In                []Field // none: all that the site searches
}

// keep returns a function that reports whether an article is in the results.
func (f Filter) keep(leftOut func(site.UserName) bool) func(*site.Article) bool {
	return func(a *site.Article) bool {
		has := func(name site.GroupName) bool {
			return slices.Contains(a.Groups, name) || name == site.Interesting && a.IsInteresting
		}
		host := a.Host()
		switch {
		case leftOut(a.Poster.Name),
			f.Groups != nil && !slices.ContainsFunc(f.Groups, has),
			slices.ContainsFunc(f.NotGroups, has),
			f.Hosts != nil && (host == nil || !slices.Contains(f.Hosts, host.Name)),
			f.Posters != nil && !slices.Contains(f.Posters, a.Poster.Name),
			f.PostedAfter != nil && a.CreatedAt.Before(*f.PostedAfter),
			f.PostedBefore != nil && !a.CreatedAt.Before(*f.PostedBefore),
			f.MinVotes != nil && a.Votes < *f.MinVotes,
			f.MaxVotes != nil && a.Votes > *f.MaxVotes:
			return false
		}
		return true
	}
}
