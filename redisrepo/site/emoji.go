package site

import (
	"regexp"
	"strings"
)

// emojiElement is an emoji with at most one variation selector or skin tone, as UTS 51 has it.
const emojiElement = `[\p{So}\x{203c}\x{2049}\x{2190}-\x{21ff}\x{2900}-\x{297f}\x{2b00}-\x{2bff}\x{3030}][\x{1f3fb}-\x{1f3ff}]?[\x{fe0e}\x{fe0f}]?`

// emojiSequence matches what may contain invisible characters: joined emoji, keycaps, and flags of regions.
var emojiSequence = regexp.MustCompile(
	`\x{1f3f4}[\x{e0030}-\x{e0039}\x{e0061}-\x{e007a}]{3,6}\x{e007f}|[0-9#*]\x{fe0f}\x{20e3}|` + emojiElement + `(?:\x{200d}` + emojiElement + `)*`)

// withoutSelectors returns a text without the joiners, variation selectors and tags of its emoji. What is left of them is not
// part of any.
func withoutSelectors(s string) string {
	return emojiSequence.ReplaceAllStringFunc(s, func(emoji string) string {
		return strings.Map(func(c rune) rune {
			if c == '\u200d' || isSelector(c) || c >= 0xe0020 && c <= 0xe007f {
				return -1
			}
			return c
		}, emoji)
	})
}

// isSelector reports whether the character chooses a variant of the one before it.
func isSelector(c rune) bool {
	return c >= 0xfe00 && c <= 0xfe0f || c >= 0xe0100 && c <= 0xe01ef || c >= 0x180b && c <= 0x180f && c != 0x180e
}

// isInvisible reports whether a letter or mark, as group names consist of, cannot be seen.
func isInvisible(c rune) bool {
	return isSelector(c) || strings.ContainsRune("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0", c)
}
