package site

import (
	"strings"
)

// HostName is the name of a host to which articles link, such as go.dev, as normalizeAuthority writes it: in lower case and
// in Punycode, without www. before it. It has the port, unless that is 80 or 443.
type HostName string

// Host is a host to which articles may link. Every valid name is a host; most have no articles.
type Host struct{ Name HostName }

// ID is the host's global id, such as host:go.dev.
func (h *Host) ID() string { return HostPrefix + string(h.Name) }

// Host returns the host of the article's link, nil without one, and for one that cannot be written in Punycode: it could look
// like another.
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
	_, authority, _ := strings.Cut(link, "://")
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	name := normalizeAuthority("", authority[strings.LastIndexByte(authority, '@')+1:])
	if strings.HasPrefix(name, ":") {
		return "" // of dots alone
	}
	if name = strings.TrimSuffix(strings.TrimSuffix(name, ":80"), ":443"); len(name) > maxHost {
		return ""
	}
	return HostName(name)
}

// ParseHostName returns the normalized form of a host's name, with or without a port. The Refusal is Invalid.
func ParseHostName(s string) (HostName, error) {
	name := HostOf("https://" + s)
	if name == "" || len(s) > maxLink || strings.ContainsAny(s, "/?#@") {
		return "", Refuse(Invalid, "", "%s is not the name of a host: names look like go.dev", Shown(s))
	}
	return name, nil
}
