package site

import (
	"strings"
)

// Group is a named set of articles. Every valid name is a group; most are empty.
type Group struct {
	Name         GroupName
	ArticleCount int
	Description  *string  // in a line; nil: nothing was said
	Rules        []string // what belongs into it, a line each
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
