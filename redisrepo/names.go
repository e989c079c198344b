package redisrepo

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits of names, in characters (Unicode code points).
const (
	maxUserName  = 64
	maxGroupName = 64
)

// ArticleID is an article's number, 1 or more. Its text form, article:17, is
// the article's member in every set and its id in the API.
type ArticleID int64

func (id ArticleID) String() string { return articlePrefix + id.number() }

// ParseArticleID reads "article:17", and "17" for short. It refuses every other
// spelling, so that one article has one id.
func ParseArticleID(s string) (ArticleID, error) {
	digits := strings.TrimPrefix(s, articlePrefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	// The API shows the number as an Int of 32 bits.
	if err != nil || n < 1 || n > math.MaxInt32 || digits != strconv.FormatInt(n, 10) {
		return 0, refuse(Invalid, "", "%s is not the id of an article: it looks like article:17", shown(s))
	}
	return ArticleID(n), nil
}

// UserName is the name of a user: 1 to 64 characters, none of them a control
// character, no blank at either end. Names are compared as they are written.
type UserName string

// ParseUserName checks a name.
func ParseUserName(s string) (UserName, error) {
	switch n := utf8.RuneCountInString(s); {
	case n > maxUserName:
		return "", refuse(TooLong, "", "a user name has at most %d characters, this one has %d", maxUserName, n)
	case n == 0 || strings.TrimSpace(s) != s || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "", refuse(Invalid, "", "a user name has 1 to %d characters, no control characters and no blank at either end, not %s", maxUserName, shown(s))
	}
	return UserName(s), nil
}

// GroupName is the name of a group in its canonical form: case-folded and in
// Unicode normal form C, so that Go and go are one group.
type GroupName string

// ParseGroupName checks a name of 1 to 64 letters, digits, "-", "_" and ".",
// and brings it to its canonical form.
func ParseGroupName(s string) (GroupName, error) {
	name := norm.NFC.String(strings.Map(foldCherokee, cases.Fold().String(norm.NFC.String(s))))
	// The canonical form is what counts: folding may make two letters of one.
	if n := utf8.RuneCountInString(name); n > maxGroupName {
		return "", refuse(TooLong, "", "the name of a group has at most %d characters, this one has %d", maxGroupName, n)
	}
	if name == "" || !utf8.ValidString(s) || strings.ContainsFunc(name, notInGroupName) {
		return "", refuse(Invalid, "", "the name of a group has 1 to %d letters, digits, '-', '_' or '.', not %s", maxGroupName, shown(s))
	}
	return GroupName(name), nil
}

// foldCherokee makes Cherokee letters large, to which Unicode folds them;
// cases.Fold only swaps large and small.
func foldCherokee(c rune) rune {
	if unicode.Is(unicode.Cherokee, c) {
		return unicode.ToUpper(c)
	}
	return c
}

// notInGroupName lets combining marks through: in many scripts a letter cannot
// be written without them.
func notInGroupName(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsMark(c) && !unicode.IsDigit(c) && c != '-' && c != '_' && c != '.'
}

// shown quotes what somebody sent for use in a message, cut to a bearable length.
func shown(s string) string {
	const most = 40
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return strconv.Quote(s)
}
