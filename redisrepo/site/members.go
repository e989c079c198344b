package site

import (
	"strconv"
	"strings"
)

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
