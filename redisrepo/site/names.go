package site

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"
)

// Maximum lengths of names, in characters (Unicode code points).
const (
	MaxUserName  = 64
	MaxGroupName = 64
)

// ArticleID is an article's number, from 1 to 2,147,483,647. Its text form, such as article:17, is the
// article's member in every set and its id in the API.
type ArticleID int64

func (id ArticleID) String() string { return ArticlePrefix + id.Number() }

// Append appends the text form.
func (id ArticleID) Append(to []byte) []byte {
	return strconv.AppendInt(append(to, ArticlePrefix...), int64(id), 10)
}

// ParseArticleID parses "article:17", and "17" for short. Any other spelling is refused as Invalid, so that
// an article has one id.
func ParseArticleID(s string) (ArticleID, error) {
	digits := strings.TrimPrefix(s, ArticlePrefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	// In the API the number is an Int, which has 32 bits.
	if err != nil || n < 1 || n > math.MaxInt32 || digits[0] < '1' || digits[0] > '9' {
		return 0, Refuse(Invalid, "", "%s is not an article id: ids look like article:17", Shown(s))
	}
	return ArticleID(n), nil
}

// UserName is the name of a user: 1 to 64 characters, without control characters and surrounding
// spaces. Names are compared byte by byte.
type UserName string

// ParseUserName checks a name. The Refusal is Invalid or TooLong.
func ParseUserName(s string) (UserName, error) {
	switch n := utf8.RuneCountInString(s); {
	case n > MaxUserName:
		return "", Refuse(TooLong, "", "a user name has at most %d characters, this one has %d", MaxUserName, n)
	case n == 0 || strings.TrimSpace(s) != s || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "", Refuse(Invalid, "", "a user name has 1 to %d characters, without control characters and surrounding spaces: %s is invalid", MaxUserName, Shown(s))
	}
	return UserName(s), nil
}

// CommandLine is the stored name of the moderator as whom the operator's commands act: the leading space keeps it from
// being a user name. It is shown without the space, so no user may be named "command line".
const CommandLine UserName = " command line"

// Stored instead of the names of erased users and moderators. As with CommandLine, the space keeps these from being
// user names, and they are shown without it.
const (
	ErasedUser      UserName = " deleted user"
	ErasedModerator UserName = " a moderator"
)

// Reserved reports whether a name, in any case, is shown for one of the above.
func (u UserName) Reserved() bool {
	return slices.ContainsFunc([]UserName{CommandLine, ErasedUser, ErasedModerator}, func(name UserName) bool { return strings.EqualFold(string(u), name.Shown()) })
}

// User returns the user of the name, or nil for the names above.
func (u UserName) User() *User {
	if u == "" || u[0] == ' ' || u.Reserved() {
		return nil
	}
	return &User{Name: u}
}

// Shown returns the name for display.
func (u UserName) Shown() string { return strings.TrimPrefix(string(u), " ") }

// Digest returns 32 hexadecimal digits of the name's SHA-256, to store instead of the name. Anyone can test whether a
// digest belongs to a given name.
func (u UserName) Digest() string {
	sum := sha256.Sum256([]byte(u))
	return hex.EncodeToString(sum[:16])
}

// Displayable reports whether a name or title does not look empty, and contains neither invisible characters nor ones
// that reverse the direction of the line. It must be in PRECIS' Freeform class (RFC 8264), which allows joiners where a
// script needs them; emoji may contain the joiners, variation selectors and tags that they consist of (UTS 51).
func Displayable(s string) bool {
	if !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) { // most names: PRECIS has all of ASCII that is visible
		return strings.Trim(s, " ") != ""
	}
	visible := withoutSelectors(norm.NFC.String(s))
	_, err := precis.OpaqueString.String(visible)
	const blankBraille = "\u2800"
	return err == nil && strings.Trim(visible, blankBraille+" ") != ""
}

// GroupName is the canonical name of a group: case-folded and in Unicode normalization form C, so that
// Go and go are the same group.
type GroupName string

// ParseGroupName checks a name of 1 to 64 letters, digits, "-", "_" and ".", and returns its canonical
// form. The Refusal is Invalid or TooLong.
func ParseGroupName(s string) (GroupName, error) {
	name := FoldGroupName(s)
	// The limit applies to the canonical form: folding may turn one letter into two.
	if n := utf8.RuneCountInString(name); n > MaxGroupName {
		return "", Refuse(TooLong, "", "a group name has at most %d characters, this one has %d", MaxGroupName, n)
	}
	if name == "" || !utf8.ValidString(s) || strings.ContainsFunc(name, NotInGroupName) {
		return "", Refuse(Invalid, "", "a group name has 1 to %d letters, digits, '-', '_' or '.': %s is invalid", MaxGroupName, Shown(s))
	}
	return GroupName(name), nil
}

// FoldGroupName returns the canonical form of a name, or of its beginning.
func FoldGroupName(s string) string {
	return norm.NFC.String(strings.Map(foldCherokee, cases.Fold().String(norm.NFC.String(s))))
}

// foldCherokee folds Cherokee letters to upper case, as Unicode does; cases.Fold swaps their case.
func foldCherokee(c rune) rune {
	if unicode.Is(unicode.Cherokee, c) {
		return unicode.ToUpper(c)
	}
	return c
}

// NotInGroupName reports whether a group name cannot contain the character. It can contain combining
// marks: in many scripts a letter cannot be written without them.
func NotInGroupName(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsMark(c) && !unicode.IsDigit(c) && c != '-' && c != '_' && c != '.'
}

// Shown quotes input for use in a message, cut to 40 characters.
func Shown(s string) string {
	const maxShown = 40
	if runes := []rune(s); len(runes) > maxShown {
		s = string(runes[:maxShown]) + "…"
	}
	return strconv.Quote(s)
}

// Prefixes of the members of sets and sorted sets. Members carry no tag, so a listing reads the same
// however it is partitioned.
const (
	ArticlePrefix = "article:"
	UserPrefix    = "user:"
	GroupPrefix   = "group:"
	HostPrefix    = "host:"
)

// Interesting is the name of the group that the scripts maintain: it holds the articles with at least
// Rules.InterestingVotes net votes. Articles cannot be posted or regrouped into it.
const Interesting GroupName = "interesting"

// Number is the bare number as text.
func (id ArticleID) Number() string { return strconv.FormatInt(int64(id), 10) }

// Member is the user in sets and hashes: user:NAME.
func (u UserName) Member() string { return UserPrefix + string(u) }

// UserOf returns the user that a member stands for.
func UserOf(member string) UserName { return UserName(strings.TrimPrefix(member, UserPrefix)) }

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

// Actor is the user who performs an action reserved for an article's poster and for moderators.
type Actor struct {
	Name      UserName
	Moderator bool     // may change the articles of others
	Service   bool     // may put any article into reserved groups, and take it out
	Via       UserName // the service that acts for Name; empty: Name itself acts
}

// ViaMember returns the member of the service that acts for the actor, or an empty text.
func (a Actor) ViaMember() string {
	if a.Via == "" {
		return ""
	}
	return a.Via.Member()
}

// MayDelete reports whether Delete would accept the actor. A deleted article cannot be changed.
func (a Actor) MayDelete(article *Article) bool {
	return article.DeletedAt == nil && a.Name != "" && (a.Moderator || a.Name == article.Poster.Name)
}

// Subject is the rule and the user or address of a charge. It is comparable.
type Subject struct {
	Rule    string
	User    UserName
	Address netip.Addr
}
