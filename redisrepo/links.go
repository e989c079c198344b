package redisrepo

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// normalizeLink brings a link to its plainest form: two links of one form lead
// to the same page as far as anybody can tell without following them.
//
// Dropped are the scheme, since a page is the same by http and https; the port
// when it is the scheme's own; a dot at the end of the host; slashes at the end
// of the path; the fragment; empty parameters, and those that say where a reader
// came from (see tracks). The host is in small letters, parameters are in the
// order of their names, and characters are percent-encoded just where they must be.
//
// All else makes another link: a host with www., a path in other letters, the
// order of two parameters of one name. A host in Unicode is another than the
// same in Punycode.
func normalizeLink(link string) string {
	scheme, rest, _ := strings.Cut(link, "://")
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")

	form := normalizeAuthority(strings.ToLower(scheme), authority)
	if path = strings.TrimRight(normalizeEscapes(path), "/"); path != "" {
		form += "/" + path
	}
	var parameters []string
	for parameter := range strings.SplitSeq(query, "&") {
		if parameter = normalizeEscapes(parameter); parameter != "" && !tracks(parameterName(parameter)) {
			parameters = append(parameters, parameter)
		}
	}
	slices.SortStableFunc(parameters, func(a, b string) int { return cmp.Compare(parameterName(a), parameterName(b)) })
	if len(parameters) > 0 {
		form += "?" + strings.Join(parameters, "&")
	}
	return form
}

// linkDigest stands for a link in the name of a key.
func linkDigest(link string) string {
	sum := sha256.Sum256([]byte(normalizeLink(link)))
	return hex.EncodeToString(sum[:16])
}

func normalizeAuthority(scheme, authority string) string {
	user, host := "", authority
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		user, host = authority[:at+1], authority[at+1:]
	}
	host = strings.ToLower(norm.NFC.String(unescape(host)))
	port := ""
	if colon := strings.LastIndex(host, ":"); colon > strings.LastIndex(host, "]") { // in brackets it is of IPv6
		host, port = host[:colon], host[colon:]
	}
	if port == ":" || scheme == "http" && port == ":80" || scheme == "https" && port == ":443" {
		port = ""
	}
	return user + strings.TrimSuffix(host, ".") + port
}

func unescape(host string) string {
	if plain, err := url.PathUnescape(host); err == nil {
		return plain
	}
	return host
}

func parameterName(parameter string) string {
	name, _, _ := strings.Cut(parameter, "=")
	return name
}

// trackers are parameters that advertisers, newsletters and networks add. Names
// that also mean something to some sites, such as ref and source, are not among
// them.
var trackers = map[string]bool{
	"gclid": true, "gclsrc": true, "dclid": true, "gbraid": true, "wbraid": true, "srsltid": true, "_ga": true, "_gl": true,
	"fbclid": true, "igshid": true, "igsh": true, "msclkid": true, "twclid": true, "ttclid": true, "li_fat_id": true, "yclid": true,
	"mc_cid": true, "mc_eid": true, "mkt_tok": true, "_hsenc": true, "_hsmi": true, "vero_id": true, "oly_anon_id": true, "oly_enc_id": true,
	"ref_src": true, "ref_url": true,
}

// tracks tells whether a parameter says where a reader came from.
func tracks(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "utm_") || trackers[name]
}

// normalizeEscapes writes what RFC 3986 calls unreserved as it is, what is not
// ASCII percent-encoded, and encodings in large digits. A reserved character is
// not the same as its encoding, and a percent sign that begins none is left.
func normalizeEscapes(text string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		escaped := false
		if c == '%' && i+2 < len(text) {
			if value, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
				c, escaped = value[0], true
				i += 2
			}
		}
		if c >= 0x80 || escaped && !unreserved(c) {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
