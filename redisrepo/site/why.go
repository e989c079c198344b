package site

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Ground is the kind of a moderator's reason.
type Ground string

// The grounds.
const (
	GroundRules   Ground = "rules"   // against the site's rules
	GroundIllegal Ground = "illegal" // illegal content
	GroundOther   Ground = "other"
)

// Why is a moderator's reason for an action. The zero value is no reason.
type Why struct {
	Ground Ground `json:"ground"`           // empty: GroundOther, if there is a basis or a reason
	Basis  string `json:"basis,omitempty"`  // the rule or the law, on a line of at most 200 characters
	Reason string `json:"reason,omitempty"` // in words, on a line of at most 500 characters
}

// Maximum numbers of characters.
const (
	MaxBasis  = 200
	MaxReason = 500
)

// Check returns the reason as it is stored, or a Refusal with all of its errors: Invalid or TooLong.
func (w Why) Check() (Why, Refusal) { return w.check(CheckLine) }

// CheckStored is Check for a reason that is stored already, by any version.
func (w Why) CheckStored() (Why, Refusal) { return w.check(CheckStoredLine) }

func (w Why) check(checkLine func(field, text string, most int) (string, Refusal)) (Why, Refusal) {
	basis, refusal := checkLine("basis", w.Basis, MaxBasis)
	reason, broken := checkLine("reason", w.Reason, MaxReason)
	refusal = append(refusal, broken...)
	switch w.Ground {
	case "":
		if basis+reason != "" {
			w.Ground = GroundOther
		}
	case GroundRules, GroundIllegal, GroundOther:
	default:
		refusal = append(refusal, Refuse(Invalid, "ground", "the ground is %s, %s or %s", GroundRules, GroundIllegal, GroundOther)...)
	}
	return Why{w.Ground, basis, reason}, refusal
}

// CheckLine trims a line of plain text, empty or of up to most characters. Unless it is empty, it must be Displayable.
// The Refusal is Invalid or TooLong.
func CheckLine(field, text string, most int) (string, Refusal) {
	return checkLine(field, text, most, unicode.IsControl, true)
}

// CheckStoredLine is CheckLine for a line that is stored already, by any version: it need not be Displayable.
func CheckStoredLine(field, text string, most int) (string, Refusal) {
	return checkLine(field, text, most, unicode.IsControl, false)
}

// checkLine is CheckLine for other control characters than Unicode's, or a line that need not be Displayable.
func checkLine(field, text string, most int, isControl func(rune) bool, displayable bool) (string, Refusal) {
	text = strings.TrimSpace(text)
	switch n := utf8.RuneCountInString(text); {
	case n > most:
		return "", Refuse(TooLong, field, "the %s has at most %d characters, this one has %d", field, most, n)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, isControl):
		return "", Refuse(Invalid, field, "the %s contains a control character: write it on one line of plain text", field)
	case displayable && text != "" && !Displayable(text):
		return "", Refuse(Invalid, field, "the %s looks empty, or contains a character that is invisible or reverses the line", field)
	}
	return text, nil
}

// CheckNote checks a plain text of several lines, empty or of up to most characters. It returns a blank text as empty.
func CheckNote(field, text string, most int) (string, Refusal) {
	return checkNote(field, text, most, unicode.IsControl)
}

// checkNote is CheckNote for other control characters than Unicode's. It returns an invalid text, too: it is not blank.
func checkNote(field, text string, most int, isControl func(rune) bool) (string, Refusal) {
	isBad := func(c rune) bool { return isControl(c) && !strings.ContainsRune("\t\n\r", c) }
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		return "", nil
	case n > most:
		return text, Refuse(TooLong, field, "the %s has at most %d characters, this one has %d", field, most, n)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, isBad):
		return text, Refuse(Invalid, field, "the %s contains a control character other than tab and line break", field)
	}
	return text, nil
}

// Removal is why a moderator deleted or changed an article.
type Removal struct {
	Why
	At         time.Time // UTC, whole seconds
	By         UserName
	FromReport bool // whether reports of the article led to its deletion
}

// ParseRemoval parses the field why of an article's hash, as moderation.lua writes it. FromReport is another field.
func ParseRemoval(text string) (*Removal, error) {
	lines := strings.Split(text, "\n")
	words := strings.SplitN(lines[0], " ", 3)
	if len(lines) != 3 || len(words) != 3 {
		return nil, fmt.Errorf("why is %q", text)
	}
	at, err := ParseNumber(words[0])
	return &Removal{Why: Why{Ground(words[1]), lines[1], lines[2]}, At: UnixTime(at), By: UserOf(words[2])}, err
}

// Text is the inverse of ParseRemoval.
func (r *Removal) Text() string {
	return fmt.Sprintf("%d %s %s\n%s\n%s", r.At.Unix(), r.Ground, r.By.Member(), r.Basis, r.Reason)
}
