package site

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// NormalizeLink returns the normalized form of a link. Links with the same form lead to the same page, as far as one
// can tell without following them.
//
// It drops the scheme, since a page is the same by http and https; the scheme's default port; www. before the host,
// and dots at its end; slashes at the end of the path; the fragment, unless it is a path (see normalizeFragment); empty
// parameters; and tracking parameters (see isTracking). Dot segments are resolved. The host is in lower case and in
// Punycode, an IPv6 address in its shortest form, parameters are sorted by name, and characters are percent-encoded only
// where they must be.
//
// Everything else distinguishes links, such as the case of the path, and the order of parameters with the same name. A
// change of the form needs an upgrade of the layout, since keys are named by it: see LinkDigest, and moveLinks in
// redisrepo/layout.
func NormalizeLink(link string) string {
	scheme, rest, _ := strings.Cut(link, "://")
	rest, fragment, _ := strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	rest = strings.ReplaceAll(rest, `\`, "/") // as browsers do
	authority, path, _ := strings.Cut(rest, "/")

	form := normalizeAuthority(strings.ToLower(scheme), authority)
	host, _ := HostName(form[strings.LastIndexByte(form, '@')+1:]).Port()
	if path = strings.TrimRight(resolveDots(normalizeEscapes(path)), "/"); path != "" {
		form += "/" + path
	}
	if query = normalizeQuery(host, path, query); query != "" {
		form += "?" + query
	}
	return form + normalizeFragment(host, path, fragment)
}

// normalizeQuery sorts the parameters of a page by name, without those that are empty or for tracking.
func normalizeQuery(host, path, query string) string {
	var parameters []string
	for parameter := range strings.SplitSeq(query, "&") {
		if parameter = normalizeEscapes(parameter); parameter != "" && !isTracking(host, path, parameter) {
			parameters = append(parameters, parameter)
		}
	}
	slices.SortStableFunc(parameters, func(a, b string) int { return cmp.Compare(parameterName(a), parameterName(b)) })
	return strings.Join(parameters, "&")
}

// normalizeFragment returns a fragment that is a path in a program of the page, such as #/topic/1 or #!/topic/1: it
// leads to another page. It is empty for any other: a place on the page. A text to highlight follows :~:.
func normalizeFragment(host, path, fragment string) string {
	fragment, _, _ = strings.Cut(normalizeEscapes(fragment), ":~:")
	if !strings.HasPrefix(fragment, "/") && !strings.HasPrefix(fragment, "!") {
		return ""
	}
	route, query, _ := strings.Cut(fragment, "?")
	route = strings.TrimRight(route, "/")
	if query = normalizeQuery(host, path, query); query != "" {
		return "#" + cmp.Or(route, "/") + "?" + query
	}
	if route == "" || route == "!" {
		return "" // the program's first page
	}
	return "#" + route
}

// LinkDigest returns the digest that identifies a link in the name of a key.
func LinkDigest(link string) string {
	sum := sha256.Sum256([]byte(NormalizeLink(link)))
	return hex.EncodeToString(sum[:16])
}

func normalizeAuthority(scheme, authority string) string {
	user, host := "", authority
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user, host = authority[:at+1], authority[at+1:]
	}
	host = norm.NFC.String(strings.ToLower(norm.NFC.String(unescape(host))))
	host, port := HostName(host).Port()
	if n, err := strconv.Atoi(strings.TrimPrefix(port, ":")); err == nil {
		port = ":" + strconv.Itoa(n) // without zeros before it
	}
	if port == ":" || scheme == "http" && port == ":80" || scheme == "https" && port == ":443" {
		port = ""
	}
	return user + normalizeHost(strings.TrimRight(host, ".")) + port
}

// normalizeHost maps a host name as browsers do before they look it up: characters that look like a full stop
// become one, invisible ones are dropped, and Unicode becomes Punycode. A host that cannot be looked up this
// way, such as a_b.example, stays as it is. A www. before a name with a dot is dropped.
func normalizeHost(host string) string {
	if address, found := strings.CutPrefix(host, "["); found {
		if ip, err := netip.ParseAddr(strings.TrimSuffix(address, "]")); err == nil {
			return "[" + ip.String() + "]"
		}
		return host
	}
	if mapped, err := idna.Lookup.ToASCII(host); err == nil && strings.Trim(mapped, ".") != "" {
		host = strings.TrimRight(mapped, ".")
	}
	for name, found := strings.CutPrefix(host, "www."); found && strings.Contains(name, "."); name, found = strings.CutPrefix(host, "www.") {
		host = name
	}
	return host
}

// resolveDots removes the segments . and .. from a path without its first slash (RFC 3986, section 5.2.4).
// Encoded dots are already decoded.
func resolveDots(path string) string {
	if !strings.HasPrefix(path, ".") && !strings.Contains(path, "/.") {
		return path
	}
	var segments []string
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment != "." && segment != "..":
			segments = append(segments, segment)
		case segment == ".." && len(segments) > 0:
			segments = segments[:len(segments)-1]
		}
	}
	return strings.Join(segments, "/")
}

// unescape decodes a host name. It leaves an IPv6 address, in brackets, as it is.
func unescape(host string) string {
	if strings.HasPrefix(host, "[") {
		return host
	}
	if plain, err := url.PathUnescape(host); err == nil {
		return plain
	}
	return host
}

func parameterName(parameter string) string {
	name, _, _ := strings.Cut(parameter, "=")
	return name
}

// normalizeEscapes decodes the encodings of unreserved characters (RFC 3986), encodes what is not
// ASCII, and writes encodings in upper case. A reserved character differs from its encoding, so both
// stay; so does a percent sign that does not begin an encoding.
//
// It takes one pass, and not one for each level of nested encodings, of which a link can have a thousand:
// a decoded character may complete another encoding, as in %%341, which is A.
func normalizeEscapes(text string) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		if c >= 0x80 {
			out = append(out, '%', digits[c>>4], digits[c&15])
			continue
		}
		out = append(out, c)
		for start := len(out) - 3; start >= 0 && out[start] == '%'; start = len(out) - 3 {
			value, err := hex.DecodeString(string(out[start+1:]))
			if err != nil {
				break
			}
			decoded := value[0]
			if !unreserved(decoded) {
				out[start+1], out[start+2] = digits[decoded>>4], digits[decoded&15]
				break
			}
			out = append(out[:start], decoded)
		}
	}
	return string(out)
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// HostName is the name of a host to which articles link, such as go.dev, as normalizeAuthority writes it: in lower case and
// in Punycode, without www. before it. It has the port, unless that is 80 or 443.
type HostName string

// Host is a host to which articles may link. Every valid name is a host; most have no articles.
type Host struct{ Name HostName }

// ID is the host's global id, such as host:go.dev.
func (h *Host) ID() string { return HostPrefix + string(h.Name) }

// Host returns the host of the article's link, or nil without one. It is also nil for a host that cannot be written in
// Punycode, which could look like another.
func (a *Article) Host() *Host {
	if a.Link == nil {
		return nil
	}
	if name := HostOf(*a.Link); name != "" && isASCII(string(name)) {
		return &Host{Name: name}
	}
	return nil
}

// maxHost is the maximum length of a HostName, bytes: a name in DNS has at most 253, and a port at most 6.
const maxHost = 253 + 6

// HostOf returns the host of a link, empty if it is not an http or https URL with one, or if the host is longer than one in
// DNS can be. A change of the names needs an upgrade of the layout, since keys have them.
func HostOf(link string) HostName {
	if !IsWebLink(link, ImportRules.IsControl) {
		return ""
	}
	name := hostNameOf(AuthorityOf(link))
	if name == "" || name[0] == ':' || len(name) > maxHost { // a colon: of dots alone
		return ""
	}
	return name
}

// hostNameOf returns the host of an authority, without a port that a scheme has by default.
func hostNameOf(authority string) HostName {
	name := normalizeAuthority("", authority[strings.LastIndexByte(authority, '@')+1:])
	return HostName(strings.TrimSuffix(strings.TrimSuffix(name, ":80"), ":443"))
}

// AuthorityOf returns what a link has between its scheme and its path: a host, and maybe a user before it and a port after it.
func AuthorityOf(link string) string {
	_, authority, _ := strings.Cut(link, "://")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	return authority
}

// Port splits a host into its name and its port with the colon, which is empty for none. Colons in brackets belong to an
// IPv6 address.
func (h HostName) Port() (name, port string) {
	if colon := strings.LastIndex(string(h), ":"); colon > strings.LastIndex(string(h), "]") {
		return string(h[:colon]), string(h[colon:])
	}
	return string(h), ""
}

// webLink finds the beginnings of links in a text, up to the end of the host.
var webLink = regexp.MustCompile(`(?i)https?://([^\s\p{Z}<>"/?#\\]+)`)

// HostsIn returns the hosts of all links in a text, including those that pages do not show as links.
func HostsIn(text string) (hosts []HostName) {
	for _, link := range webLink.FindAllStringSubmatch(text, -1) {
		authority := link[1][strings.LastIndexByte(link[1], '@')+1:]
		if end := strings.IndexAny(authority, "'(){}|^`,;!*$&+="); end >= 0 {
			authority = authority[:end]
		}
		hosts = append(hosts, hostNameOf(strings.TrimRight(authority, ":.")))
	}
	return hosts
}

// ParseHostName returns the normalized form of a host's name, with or without a port. The Refusal is Invalid.
func ParseHostName(s string) (HostName, error) {
	name := HostOf("https://" + s)
	if name == "" || len(s) > MaxLink || strings.ContainsAny(s, "/?#@") {
		return "", Refuse(Invalid, "", "%s is not the name of a host: names look like go.dev", Shown(s))
	}
	return name, nil
}

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
