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

func (id ArticleID) Number() string { return strconv.FormatInt(int64(id), 10) }

func (u UserName) Member() string { return UserPrefix + string(u) }

func UserOf(member string) UserName { return UserName(strings.TrimPrefix(member, UserPrefix)) }
