package pages

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"frontpage/redisrepo/site"
)

// host returns the host of a link as the API names it, such as go.dev, empty for none.
func host(link string) string {
	if host := (&site.Article{Link: &link}).Host(); host != nil {
		return string(host.Name)
	}
	return ""
}

// afterHost returns what follows the host in a link, as readers write it.
func afterHost(link string) string {
	u, err := url.Parse(link)
	if err != nil || (u.Path == "" || u.Path == "/") && u.RawQuery == "" {
		return ""
	}
	path := cmp.Or(u.Path, "/")
	if query, err := url.PathUnescape(u.RawQuery); u.RawQuery != "" && err == nil {
		return path + "?" + query
	}
	return path
}

// piece is a part of a text of the site: plain, or a name in braces that something replaces.
type piece struct{ Text, Name string }

var braces = regexp.MustCompile(`\{(\w+)\}`)

// pieces splits a text at the names in braces.
func pieces(text string) (parts []piece) {
	last := 0
	for _, at := range braces.FindAllStringSubmatchIndex(text, -1) {
		parts = append(parts, piece{Text: text[last:at[0]]}, piece{Name: text[at[2]:at[3]]})
		last = at[1]
	}
	return append(parts, piece{Text: text[last:]})
}

// maxSummary is how many characters of a description previews show.
const maxSummary = 200

// summary returns the beginning of a text, in one line.
func summary(text string) string {
	line := strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(line) <= maxSummary {
		return line
	}
	cut := string([]rune(line)[:maxSummary])
	if at := strings.LastIndexByte(cut, ' '); at > len(cut)/2 {
		cut = cut[:at]
	}
	return cut + "…"
}

// sentence formats a message of the API as a sentence.
func sentence(message string) string {
	first, size := utf8.DecodeRuneInString(message)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(message[size:], ".") + "."
}
