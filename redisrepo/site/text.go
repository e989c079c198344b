package site

import "regexp"

const (
	inText        = `[^\s\p{Z}<>"()]`
	inParentheses = `\(` + inText + `*\)`
)

// linkInText matches a web link in plain text, without trailing punctuation, as links of web/site/src/ui/text.ts does.
var linkInText = regexp.MustCompile(`\bhttps?://(?:` + inParentheses + `|` + inText + `)*(?:` + inParentheses + `|[^\s\p{Z}<>"().,;:!?\]}'])`)

// TextPart is a part of a text: plain, or a link.
type TextPart struct {
	Text string
	Link bool
}

// TextParts splits plain text at the web links that pages and feeds show as links.
func TextParts(text string) (parts []TextPart) {
	last := 0
	for _, at := range linkInText.FindAllStringIndex(text, -1) {
		parts = append(parts, TextPart{Text: text[last:at[0]]}, TextPart{text[at[0]:at[1]], true})
		last = at[1]
	}
	return append(parts, TextPart{Text: text[last:]})
}
