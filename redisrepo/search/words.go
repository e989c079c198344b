package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is the maximum length of a word, in characters after folding. Longer ones are cut, in articles and in queries.
const maxWord = 64

// word is a word of a text: folded, and the bytes of the text that it is made of.
type word struct {
	text       string
	start, end int
}

// unspaced are scripts written without spaces: each of their characters is a word.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// words returns the words of a text. Letters, marks and digits make words; all else separates them.
func words(text string) (found []word) {
	start := -1
	end := func(at int) {
		if start < 0 {
			return
		}
		if folded := fold(text[start:at]); folded != "" {
			found = append(found, word{folded, start, at})
		}
		start = -1
	}
	for i, c := range text {
		isMark := c >= utf8.RuneSelf && unicode.IsMark(c)
		switch {
		case c >= utf8.RuneSelf && !isMark && unicode.In(c, unspaced...):
			end(i)
			start = i
			end(i + utf8.RuneLen(c))
		case unicode.IsLetter(c) || unicode.IsDigit(c):
			if start < 0 {
				start = i
			}
		case !isMark: // a mark belongs to the letter before it
			end(i)
		}
	}
	end(len(text))
	return found
}

// fold makes words equal that differ in case, accents and the form of their characters only.
func fold(text string) string {
	if !strings.ContainsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf }) { // most words
		text = strings.ToLower(text)
		return text[:min(len(text), maxWord)]
	}
	n := 0
	text = strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Mn, c) || n == maxWord {
			return -1
		}
		n++
		return unicode.ToLower(c)
	}, norm.NFKD.String(text))
	return strings.ReplaceAll(text, "ß", "ss")
}

// isNear reports whether one character changed, added or left out, or two that are swapped, make one word of the other. One of
// them has at least 4 characters: what differs in their first byte and in their last one then differs twice, as nearly all words do.
func isNear(a, b string) bool {
	if len(a)-len(b) > utf8.UTFMax || len(b)-len(a) > utf8.UTFMax || a == "" || a[0] != b[0] && a[len(a)-1] != b[len(b)-1] {
		return false
	}
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for i > 0 && i < len(b) && !utf8.RuneStart(b[i]) { // in the middle of a character
		i--
	}
	a, b = a[i:], b[i:]
	_, first := utf8.DecodeRuneInString(a)
	_, second := utf8.DecodeRuneInString(b)
	return a[first:] == b[second:] || a == b[second:] || a[first:] == b || isSwapped(a, b, first, second)
}

// isSwapped reports whether two words differ only in the order of their first two characters, whose first has that many bytes.
func isSwapped(a, b string, first, second int) bool {
	return len(a) == len(b) && len(a) >= first+second && a[:first] == b[second:second+first] && b[:second] == a[first:first+second] && a[first+second:] == b[first+second:]
}
