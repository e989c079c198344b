package site

import (
	"strings"
)

// Group is a named set of articles. Every valid name is a group; most are empty.
type Group struct {
	Name         GroupName
	ArticleCount int
}

// ID is the group's global id, such as group:go.
func (g *Group) ID() string { return GroupPrefix + string(g.Name) }

// GroupOrder is the order of a list of groups.
type GroupOrder int

// The orders of groups.
const (
	ByName         GroupOrder = iota // the bytes of the names
	ByArticleCount                   // the largest first; groups of one size by name
)

// GroupNames splits the text of a hash's field groups.
func GroupNames(text string) []GroupName {
	if text == "" {
		return nil
	}
	return AppendGroupNames(make([]GroupName, 0, strings.Count(text, " ")+1), text)
}

// AppendGroupNames appends the names in the text of a hash.
func AppendGroupNames(names []GroupName, text string) []GroupName {
	for name := range strings.FieldsSeq(text) {
		names = append(names, GroupName(name))
	}
	return names
}

// GroupText is the inverse of GroupNames.
func GroupText(names []GroupName) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(name))
	}
	return b.String()
}

// The lists of the calendar have the articles of an hour, of a day and of 32 days, in Unix time.
const (
	HourSeconds = 3600
	MonthDays   = 32
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
