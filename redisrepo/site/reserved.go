package site

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// GroupPattern names reserved groups: one group, such as news, or all whose names begin with the text before a final
// star, such as status.*. The groups of one pattern are a family: an article is in at most one of them.
type GroupPattern string

// ParseGroupPattern checks a pattern and returns its canonical form.
func ParseGroupPattern(s string) (GroupPattern, error) {
	text, star := strings.CutSuffix(s, "*")
	if star && text == "" {
		return "*", nil
	}
	name, err := ParseGroupName(text)
	if err != nil || name == Interesting && !star {
		return "", Refuse(Invalid, "", "%s is not a group such as news, or the beginning of names and a star, such as status.*", Shown(s))
	}
	if star {
		name += "*"
	}
	return GroupPattern(name), nil
}

// Matches reports whether a group belongs to the family.
func (p GroupPattern) Matches(name GroupName) bool {
	prefix, star := strings.CutSuffix(string(p), "*")
	return string(name) == prefix || star && strings.HasPrefix(string(name), prefix)
}

// Family returns the pattern of a reserved group, or an empty one for any other group.
func (r Rules) Family(name GroupName) GroupPattern {
	for _, p := range r.ReservedGroups {
		if p.Matches(name) {
			return p
		}
	}
	return ""
}

// MayPost reports whether the actor may put articles into a group.
func (r Rules) MayPost(by Actor, group GroupName) bool {
	return by.Name != "" && group != Interesting && !strings.ContainsFunc(string(group), isInvisible) && (by.Moderator || by.Service || r.Family(group) == "")
}

// CheckReserved refuses names of groups to which the actor may not add an article, or from which it may not remove one.
// field is the field of the names in the input.
func (r Rules) CheckReserved(by Actor, field string, names []string) (refusals Refusal) {
	if by.Moderator || by.Service {
		return nil
	}
	for i, name := range names {
		if group, err := ParseGroupName(name); err == nil && r.Family(group) != "" {
			refusals = append(refusals, Refuse(Forbidden, field+"."+strconv.Itoa(i), "the group %q is reserved: only moderators put articles into it, and take them out", group)...)
		}
	}
	return refusals
}

// RefuseReserved returns the refusal of an edit that would change reserved groups. It names one of them, preferably one
// among names.
func RefuseReserved(changed []GroupName, names []string) Refusal {
	field, group := "groups", changed[0]
	for i, name := range names {
		if named, err := ParseGroupName(name); err == nil && slices.Contains(changed, named) {
			field, group = "groups."+strconv.Itoa(i), named
			break
		}
	}
	return Refuse(Forbidden, field, "the group %q is reserved: only moderators put articles into it, and take them out", group)
}

// CheckFamilies refuses two groups of one family.
func (r Rules) CheckFamilies(field string, names []string) (refusals Refusal) {
	first := map[GroupPattern]GroupName{}
	for i, name := range names {
		group, err := ParseGroupName(name)
		family := r.Family(group)
		switch {
		case err != nil || family == "" || first[family] == group:
		case first[family] == "":
			first[family] = group
		default:
			refusals = append(refusals, Refuse(Invalid, field+"."+strconv.Itoa(i), "an article is in at most one of the groups %s at a time", family)...)
		}
	}
	return refusals
}

// Reserved returns those of the names that are of reserved groups. It changes the list.
func (r Rules) Reserved(names []GroupName) []GroupName {
	return slices.DeleteFunc(names, func(name GroupName) bool { return r.Family(name) == "" })
}

// Superseded returns the current groups that an article leaves when it is added to others of their families.
func (r Rules) Superseded(current, adding []GroupName) (left []GroupName) {
	for _, name := range current {
		family := r.Family(name)
		if family != "" && !slices.Contains(adding, name) && slices.ContainsFunc(adding, func(other GroupName) bool { return r.Family(other) == family }) {
			left = append(left, name)
		}
	}
	return left
}

// checkPatterns validates the reserved groups. None may cover another one, so that a group has one family.
func (r Rules) checkPatterns() error {
	for i, p := range r.ReservedGroups {
		if canonical, err := ParseGroupPattern(string(p)); err != nil || canonical != p {
			return ruleError("reserved groups", "%q is not a group such as news, or the beginning of names and a star, such as status.*", p)
		}
		prefix, star := strings.CutSuffix(string(p), "*")
		for j, other := range r.ReservedGroups {
			if i != j && (!star || strings.HasSuffix(string(other), "*")) && other.Matches(GroupName(prefix)) {
				return ruleError("reserved groups", "%s is covered by %s: leave one out", p, other)
			}
		}
	}
	return nil
}

// TwoOfOne describes two groups of an article in one family; it is empty if there are none.
func (r Rules) TwoOfOne(groups []GroupName) string {
	for i, name := range groups {
		for _, other := range groups[:i] {
			if family := r.Family(name); family != "" && r.Family(other) == family {
				return fmt.Sprintf("is in %s and %s, but may be in one of %s at a time", other, name, family)
			}
		}
	}
	return ""
}

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
