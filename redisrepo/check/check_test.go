package check_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// checkable opens a site with an article of each kind: article:1 is interesting and in the groups a and b,
// article:2 is in a, voting on article:3 is long over, article:4 of b is of a program of the book, and the poster's
// vote on article:5 does not count.
func checkable(t *testing.T) *repotest.Site {
	t.Helper()
	s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 2 }, repotest.One)
	s.MustPost("alice", "a", "b")
	s.MustVote(1, "bob", site.Up)
	s.MustVote(1, "carol", site.Down)
	s.MustVote(1, "dave", site.Up)
	s.MustPost("alice", "a")
	s.MustImport(repotest.Old(3, 3*repotest.Week, 5))
	repotest.BookRegroup(s, repotest.BookPost(s, "user:zoe"), []string{"b"}, nil)
	require.Value(s.Layout.Adopt(s.Ctx))(t)
	s.Reopened(s.Server.Client, repotest.Uncounted).MustPost("frank")
	for _, group := range []site.GroupName{"a", "b", "interesting"} {
		for _, order := range repotest.Orders {
			s.List(lists.InGroup(group, order, site.Descending))
		}
	}
	return s
}

// linkOf3 is the record of the link of article:3 of checkable.
const linkOf3 = "link:6d1bd342cf8773a2a5b47cc00cc3ee4e"

func TestCheckReportsInconsistencies(t *testing.T) {
	t.Parallel()
	const closed = repotest.Week + time.Minute
	tests := map[string]struct {
		after   time.Duration // since posting
		corrupt string        // commands, one a line
		want    []string
	}{
		"nothing, when voting is over":       {after: closed},
		"a voter lost when voting is over":   {after: closed, corrupt: "SREM voted:1 user:bob", want: []string{"cast:bob:641: has 1, but user:bob is not in voted:1", "voted:1: has 2 members, not 3"}},
		"an unknown downvoter after voting":  {after: closed, corrupt: "SADD downvoted:1 user:mallory", want: []string{"cast:mallory:641: lacks -1, but user:mallory is in downvoted:1", "downvoted:1: has 2 members, not 1"}},
		"all up forgotten when it is over":   {after: closed, corrupt: "DEL voted:1"},
		"all down forgotten when it is over": {after: closed, corrupt: "DEL downvoted:1"},
		"all forgotten when it is over":      {after: closed, corrupt: "DEL voted:1 downvoted:1"},

		"nothing": {},
		"an event without its change": {corrupt: "XADD events: * kind voted article 2 revision 2 votes 2 downvotes 0 score 1 by bob to 1", want: []string{
			"article:2: its newest event is of revision 2, but its revision is 1"}},
		"a change without its event": {corrupt: "HSET article:2 revision 3", want: []string{
			"article:2: its newest event is of revision 1, but its revision is 3"}},
		"an event without its article": {corrupt: "XADD events: * kind posted article 99 revision 1 votes 1 downvotes 0 score 1 by bob to x", want: []string{
			"article:99: its newest event is of revision 1, but its revision is 0"}},
		"a missing revision": {corrupt: "HSET article:2 revision 3\nXADD events: 99999999999999-1 kind voted article 2 revision 3 votes 2 downvotes 0 score 1 by bob to 1", want: []string{
			"events:: 99999999999999-1: article:2 has an event of revision 3 after that of revision 1"}},
		"an event that is none": {corrupt: "XADD events: 99999999999999-1 kind nonsense article 2", want: []string{
			"events:: 99999999999999-1 is not an event: map[article:2 kind:nonsense]"}},
		"a milestone without its article": {corrupt: "XADD events: * kind milestone article 2 revision 1 votes 10 downvotes 0 score 1 by bob to 10", want: []string{
			`article:2: milestone is "", but an event says 10`}},
		"a milestone that is none": {corrupt: "HSET article:2 milestone x", want: []string{`article:2: milestone is "x"`}},
		"a feed of the wrong type": {corrupt: "DEL events:\nSET events: 1", want: []string{"events:: has the wrong type"}},
		"an edit without its version": {corrupt: "HSET article:2 edits 1 edited 5 edition 1", want: []string{
			"history:2: has 0 versions, not 1: the article was edited 1 times"}},
		"a version without its edit":       {corrupt: "HSET history:2 1 x", want: []string{"history:2: has 1 versions, not 0: the article was edited 0 times"}},
		"a history of the wrong type":      {corrupt: "SET history:2 x", want: []string{"history:2: has the wrong type"}},
		"an edition that was never":        {corrupt: "HSET article:2 edition 2", want: []string{`article:2: edition is "2", but revision is 1`}},
		"a time of an edit that never was": {corrupt: "HSET article:2 edited 5", want: []string{`article:2: edits are "", but edited is "5"`}},
		"a score too high": {corrupt: "ZINCRBY score: 432 article:1", want: []string{
			"article:1: score is 1772367696, not 1772367264: time 1.7723664e+09 and 2 votes",
			"score:a: is not the intersection of group:a and score:",
			"score:b: is not the intersection of group:b and score:",
			"score:interesting: is not the intersection of group:interesting and score:",
		}},
		"a score too low by a hair": {corrupt: "ZINCRBY score: -0.000001 article:3", want: []string{
			"article:3: score is 1770554159.999999, not 1770554160: time 1.770552e+09 and 5 votes",
			"score:interesting: is not the intersection of group:interesting and score:",
		}},
		"a vote too many": {corrupt: "HINCRBY article:1 votes 1", want: []string{
			"article:1: is in top:h:492324 with 2 votes, not in top:h:492324 with 3 votes",
			"article:1: score is 1772367264, not 1772367696: time 1.7723664e+09 and 3 votes",
			"voted:1: has 3 members, not 4",
		}},
		"a vote down too many": {corrupt: "HINCRBY article:1 downvotes 1", want: []string{
			"downvoted:1: has 1 members, not 2",
			"voted:1: has 3 members, not 4",
		}},
		"votes of the closed": {corrupt: "HINCRBY article:3 votes 1", want: []string{
			"article:3: is in top:d:20492 with 5 votes and top:m:640 with 5 votes, not in top:d:20492 with 6 votes and top:m:640 with 6 votes",
			"article:3: score is 1770554160, not 1770554592: time 1.770552e+09 and 6 votes",
		}},
		"votes of one of the book": {corrupt: "HINCRBY article:4 votes 1", want: []string{
			"article:4: is in top:h:492324 with 1 votes, not in top:h:492324 with 2 votes",
			"article:4: is not in group:interesting, but has 2 votes",
			"article:4: score is 1772366832, not 1772367264: time 1.7723664e+09 and 2 votes",
			"voted:4: has 1 members, not 2",
		}},
		"votes that are no number": {corrupt: "HSET article:1 votes x", want: []string{`article:1: votes: strconv.ParseFloat: parsing "x": invalid syntax`}},
		"an unknown upvoter":       {corrupt: "SADD voted:1 user:mallory", want: []string{"cast:mallory:641: lacks 1, but user:mallory is in voted:1", "voted:1: has 4 members, not 3"}},
		"an unknown downvoter":     {corrupt: "SADD downvoted:1 user:mallory", want: []string{"cast:mallory:641: lacks -1, but user:mallory is in downvoted:1", "downvoted:1: has 2 members, not 1"}},
		"a voter lost":             {corrupt: "SREM voted:1 user:bob", want: []string{"cast:bob:641: has 1, but user:bob is not in voted:1", "voted:1: has 2 members, not 3"}},
		"a voter down lost":        {corrupt: "SREM downvoted:1 user:carol", want: []string{"cast:carol:641: has -1, but user:carol is not in downvoted:1", "downvoted:1: has 0 members, not 1"}},
		"all voters lost": {corrupt: "DEL voted:1 downvoted:1", want: []string{
			"cast:alice:641: has 1, but user:alice is not in voted:1",
			"cast:bob:641: has 1, but user:bob is not in voted:1",
			"cast:carol:641: has -1, but user:carol is not in downvoted:1",
			"cast:dave:641: has 1, but user:dave is not in voted:1",
			"downvoted:1: has 0 members, not 1",
			"voted:1: has 0 members, not 3",
		}},
		"a voter in both sets": {corrupt: "SMOVE voted:1 downvoted:1 user:bob\nSADD voted:1 user:bob\nHINCRBY article:1 downvotes 1\nHINCRBY article:1 votes -1\nZINCRBY top:h:492324 -1 article:1\nZINCRBY score: -432 article:1\nZINCRBY score:a -432 article:1\nZINCRBY score:b -432 article:1\nSREM group:interesting article:1\nDEL score:interesting time:interesting", want: []string{"article:1: [user:bob] are in both sets of voters"}},
		"the uncounted poster lost": {corrupt: "SREM voted:5 user:frank\nSADD voted:5 user:mallory", want: []string{
			"cast:frank:641: has 5, but user:frank is not in voted:5",
			"cast:mallory:641: lacks 5, but user:mallory is in voted:5",
			"voted:5: does not expire",
			"voted:5: lacks the poster",
		}},
		"voters for ever":      {corrupt: "PERSIST voted:1", want: []string{"voted:1: does not expire"}},
		"voters down for ever": {corrupt: "PERSIST downvoted:1", want: []string{"downvoted:1: does not expire"}},
		"a posting time lost": {corrupt: "ZREM time: article:2", want: []string{
			"article:2: is in a hash, but not in time:",
			"article:2: is in score:, but not in time:",
			"group:a: holds article:2, which is not in time:",
			"time:a: is not the intersection of group:a and time:",
			"top:h:492324: holds article:2, which is not in time:",
		}},
		"another posting time": {corrupt: "ZADD time: 1772366401 article:2", want: []string{
			"article:2: is not in host:example.com with its time",
			"article:2: is not in posted:alice with its time",
			"article:2: time is 1.7723664e+09, but time: says 1.772366401e+09",
			"time:a: is not the intersection of group:a and time:",
		}},
		"a posting time in the hash": {corrupt: "HSET article:3 time 1000000000", want: []string{
			"article:3: score is 1770554160, not 1000002160: time 1.770552e+09 and 5 votes",
			"article:3: time is 1e+09, but time: says 1.770552e+09",
			"link:6d1bd342cf8773a2a5b47cc00cc3ee4e: says that article:3 was posted at 1770552000, not at 1000000000",
		}},
		"a score lost": {corrupt: "ZREM score: article:2", want: []string{
			"article:2: is not in score:",
			"score:a: is not the intersection of group:a and score:",
		}},
		"a hash lost": {corrupt: "DEL article:2", want: []string{"article:2: is in time:, but has no hash", "cast:alice:641: has 2, but article:2 does not exist"}},
		"a time without an article": {corrupt: "ZADD time: 1 article:6", want: []string{
			"article: is 5, but article:6 exists",
			"article:6: is in time:, but has no hash",
		}},
		"a score without an article":        {corrupt: "ZADD score: 1 article:6", want: []string{"article:6: is in score:, but not in time:"}},
		"a hash without an article":         {corrupt: "HSET article:6 title x", want: []string{"article:6: is in a hash, but not in time:"}},
		"a member without a number":         {corrupt: "ZADD time: 1 article:x", want: []string{"article:x: is in time:, but no article can have that id"}},
		"a bare number":                     {corrupt: "ZADD time: 1 7", want: []string{"7: is in time:, but no article can have that id"}},
		"a kept listing with another score": {corrupt: "ZADD score:a 1 article:2", want: []string{"score:a: is not the intersection of group:a and score:"}},
		"a kept listing with another time":  {corrupt: "ZADD time:b 1 article:1", want: []string{"time:b: is not the intersection of group:b and time:"}},
		"a kept listing without one":        {corrupt: "ZREM time:a article:2", want: []string{"time:a: is not the intersection of group:a and time:"}},
		"a kept listing with one too many":  {corrupt: "ZADD score:interesting 1 article:2", want: []string{"score:interesting: is not the intersection of group:interesting and score:"}},
		"a group without its article": {corrupt: "SREM group:b article:1\nDEL score:b time:b", want: []string{
			"article:1: is not in group:b",
			"group:b: has 1 articles, but sizes: says 2",
		}},
		"a group with a missing article": {corrupt: "SADD group:b article:9", want: []string{
			"group:b: has 3 articles, but sizes: says 2",
			"group:b: holds article:9, which is not in time:",
		}},
		"a group of another size": {corrupt: "ZADD sizes: -1 a", want: []string{"group:a: has 2 articles, but sizes: says 1"}},
		"a group without a size":  {corrupt: "ZREM sizes: a", want: []string{"group:a: is not in sizes:"}},
		"a size without a group":  {corrupt: "ZADD sizes: -1 c", want: []string{"group:c: has 0 articles, but sizes: says 1"}},
		"a group that is not listed": {corrupt: "ZREM groups: b", want: []string{
			"article:1: its group b is not in groups:",
			"article:4: its group b is not in groups:",
		}},
		"a link that is not recorded":      {corrupt: "DEL " + linkOf3, want: []string{linkOf3 + ": lacks article:3, which has the link"}},
		"a link without an article":        {corrupt: "SET " + linkOf3 + " x", want: []string{linkOf3 + `: names no article: "x"`}},
		"a link of another article":        {corrupt: "SET " + linkOf3 + "\x00article:1 1772366400", want: []string{linkOf3 + ": names article:1, which has another link"}},
		"a link of a missing article":      {corrupt: "SET " + linkOf3 + "\x00article:9 1772366400", want: []string{linkOf3 + ": names article:9, which has another link"}},
		"a link that is free":              {corrupt: "SET " + linkOf3 + "\x00article:3 0", want: []string{linkOf3 + ": says that article:3 was posted at 0, not at 1770552000"}},
		"a link of an older article":       {corrupt: "HSET article:1 link https://example.com/old", want: []string{linkOf3 + ": names article:3, but article:1 is newer"}},
		"a link record of a wrong type":    {corrupt: "DEL " + linkOf3 + "\nHSET " + linkOf3 + " a b", want: []string{linkOf3 + ": has the wrong type"}},
		"groups out of order":              {corrupt: "HSET article:1 groups\x00b a", want: []string{"article:1: groups are not sorted or not unique: [b a]"}},
		"a group twice":                    {corrupt: "HSET article:1 groups\x00a a b", want: []string{"article:1: groups are not sorted or not unique: [a a b]"}},
		"not in interesting":               {corrupt: "SREM group:interesting article:1\nDEL score:interesting time:interesting", want: []string{"article:1: is not in group:interesting, but has 2 votes"}},
		"wrongly in interesting":           {corrupt: "SADD group:interesting article:2\nDEL score:interesting time:interesting", want: []string{"article:2: is in group:interesting, but has only 1 votes"}},
		"not among the poster's articles":  {corrupt: "ZREM posted:alice article:2", want: []string{"article:2: is not in posted:alice with its time"}},
		"not among the host's articles":    {corrupt: "ZREM host:example.com article:2", want: []string{"article:2: is not in host:example.com with its time"}},
		"among the host's at another time": {corrupt: "ZADD host:example.com 1 article:2", want: []string{"article:2: is not in host:example.com with its time"}},
		"posted at another time":           {corrupt: "ZADD posted:alice 1 article:2", want: []string{"article:2: is not in posted:alice with its time"}},
		"the counter set back":             {corrupt: "SET article: 4", want: []string{"article: is 4, but article:5 exists"}},
		"the counter lost":                 {corrupt: "DEL article:", want: []string{"article: is 0, but article:5 exists"}},
		"the counter no number":            {corrupt: "SET article: x", want: []string{`article:: is not a number: "x"`}},
		"the counter a list": {corrupt: "DEL article:\nRPUSH article: x", want: []string{
			"article: is 0, but article:5 exists",
			"article:: has the wrong type",
		}},
		"a hash of the wrong type": {corrupt: "SET article:2 x", want: []string{"article:2: is in time:, but has no hash", "cast:alice:641: has 2, but article:2 does not exist"}},
		"voters of the wrong type": {corrupt: "SET voted:1 x EX 1000", want: []string{"voted:1: has 0 members, not 3"}},
		"a vote that its voter's list lacks": {corrupt: "ZADD cast:bob:641 1 5\nZREM cast:bob:641 1\nSADD voted:5 user:bob", want: []string{
			"cast:bob:641: lacks 1, but user:bob is in voted:1",
			"voted:5: has 2 members, not 1",
		}},
		"a downvote that its voter's list lacks": {corrupt: "DEL cast:carol:641", want: []string{"cast:carol:641: lacks -1, but user:carol is in downvoted:1"}},
		"a lost list of votes after voting":      {after: closed, corrupt: "DEL cast:dave:641", want: []string{"cast:dave:641: lacks 1, but user:dave is in voted:1"}},
		"a vote in a list only": {corrupt: "ZADD cast:bob:641 5 2 5 -5", want: []string{
			"cast:bob:641: has -5, but user:bob is not in downvoted:5",
			"cast:bob:641: has 2, but user:bob is not in voted:2",
		}},
		"a vote in a list only after voting": {after: closed, corrupt: "ZADD cast:bob:641 5 2", want: []string{"cast:bob:641: has 2, but user:bob is not in voted:2"}},
		"votes of a user up and down": {corrupt: "ZADD cast:bob:641 5 -1", want: []string{
			"cast:bob:641: has -1, but user:bob is not in downvoted:1",
			"cast:bob:641: has both 1 and -1",
		}},
		"a forgotten vote up and down": {corrupt: "ZADD cast:bob:640 5 -3 5 3\nEXPIRE cast:bob:640 1000", want: []string{"cast:bob:640: has both 3 and -3"}},
		"a vote in a list of another month": {corrupt: "ZADD cast:bob:640 5 1\nEXPIRE cast:bob:640 1000", want: []string{
			"cast:bob:640: has 1, but article:1 was posted in the month 641"}},
		"a vote on a missing article": {corrupt: "ZADD cast:bob:641 5 99", want: []string{"cast:bob:641: has 99, but article:99 does not exist"}},
		"members that are no votes": {corrupt: "ZADD cast:bob:641 5 x 5 01 5 -0", want: []string{
			`cast:bob:641: has "-0", which is no vote`,
			`cast:bob:641: has "01", which is no vote`,
			`cast:bob:641: has "x", which is no vote`,
		}},
		"a list of votes that was cut":         {corrupt: "ZADD cast:bob:641 5 0\nZREM cast:bob:641 1"},
		"a list of votes without a month":      {corrupt: "ZADD cast:bob 5 1", want: []string{"cast:bob: is not the key of a user's votes in a month"}},
		"a list of votes for ever":             {corrupt: "PERSIST cast:bob:641", want: []string{"cast:bob:641: does not expire"}},
		"a list of votes of the wrong type":    {corrupt: "SET cast:bob:641 x EX 1000", want: []string{"cast:bob:641: has the wrong type"}},
		"votes of which not all are in a list": {corrupt: "HSET article:1 cast 1\nDEL cast:bob:641"},
		"posting times of the wrong type": {corrupt: "SET time: x", want: []string{
			"article:1: is in a hash, but not in time:",
			"article:1: is in score:, but not in time:",
			"article:2: is in a hash, but not in time:",
			"article:2: is in score:, but not in time:",
			"article:3: is in a hash, but not in time:",
			"article:3: is in score:, but not in time:",
			"article:4: is in a hash, but not in time:",
			"article:4: is in score:, but not in time:",
			"article:5: is in a hash, but not in time:",
			"article:5: is in score:, but not in time:",
			"group:a: holds article:1, which is not in time:",
			"group:a: holds article:2, which is not in time:",
			"group:b: holds article:1, which is not in time:",
			"group:b: holds article:4, which is not in time:",
			"group:interesting: holds article:1, which is not in time:",
			"group:interesting: holds article:3, which is not in time:",
			"time:: has the wrong type",
			"time:a: is not the intersection of group:a and time:",
			"time:b: is not the intersection of group:b and time:",
			"time:interesting: is not the intersection of group:interesting and time:",
			"top:d:20492: holds article:3, which is not in time:",
			"top:h:492324: holds article:1, which is not in time:",
			"top:h:492324: holds article:2, which is not in time:",
			"top:h:492324: holds article:4, which is not in time:",
			"top:h:492324: holds article:5, which is not in time:",
			"top:m:640: holds article:3, which is not in time:",
		}},
		"scores of the wrong type": {corrupt: "SET score: x", want: []string{
			"article:1: is not in score:",
			"article:2: is not in score:",
			"article:3: is not in score:",
			"article:4: is not in score:",
			"article:5: is not in score:",
			"score:: has the wrong type",
			"score:a: is not the intersection of group:a and score:",
			"score:b: is not the intersection of group:b and score:",
			"score:interesting: is not the intersection of group:interesting and score:",
		}},
		"a group of the wrong type": {corrupt: "SET group:b x", want: []string{
			"article:1: is not in group:b",
			"article:4: is not in group:b",
			"group:b: has the wrong type",
			"score:b: is not the intersection of group:b and score:",
			"time:b: is not the intersection of group:b and time:",
		}},
		"a listing of the wrong type": {corrupt: "SET score:b x", want: []string{"score:b: has the wrong type"}},
		"an index of the wrong type": {corrupt: "SET groups: x", want: []string{
			"article:1: its group a is not in groups:",
			"article:1: its group b is not in groups:",
			"article:2: its group a is not in groups:",
			"article:4: its group b is not in groups:",
		}},
		"a user's index of the wrong type": {corrupt: "SET posted:frank x", want: []string{"article:5: is not in posted:frank with its time"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := checkable(t)
			s.Clock.Set(tt.after)
			require.NoError(t, s.Views.CatchUpAll(s.Ctx))
			for line := range strings.Lines(tt.corrupt) {
				command, last, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
				if found {
					s.Do(command, last)
				} else {
					s.Do(command)
				}
			}
			s.WantViolations(tt.want...)
		})
	}
}

func TestCheckReportsInconsistentDeletions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		corrupt string
		want    []string
	}{
		"nothing":                    {},
		"a deleted one in a ranking": {corrupt: "ZADD score: 1 article:6", want: []string{"article:6: is in score:, but not in time:"}},
		"a deleted one by time":      {corrupt: "ZADD time: 1772366400 article:6", want: []string{"article:6: is deleted, but in time:"}},
		"a deleted one in a group": {corrupt: "SADD group:c article:6", want: []string{
			"group:c: holds article:6, which is not in time:",
			"group:c: is not in sizes:"}},
		"a deleted one among the interesting": {corrupt: "SADD group:interesting article:6", want: []string{
			"group:interesting: holds article:6, which is not in time:"}},
		"deleted, but among the poster's articles": {corrupt: "ZADD posted:erin 1 article:6", want: []string{"article:6: is deleted, but in posted:erin"}},
		"deleted, but among the host's articles":   {corrupt: "ZADD host:example.com 1 article:6", want: []string{"article:6: is deleted, but in host:example.com"}},
		"a deleted one that is not in deleted:":    {corrupt: "ZREM deleted: article:6", want: []string{"article:6: is in a hash, but not in time:"}},
		"in deleted:, but not deleted":             {corrupt: "HDEL article:6 deleted deleted_by", want: []string{"article:6: is in deleted:, but its hash does not say so"}},
		"deleted in its hash only":                 {corrupt: "HSET article:2 deleted 5 deleted_by user:x", want: []string{"article:2: is deleted, but in time:"}},
		"one without deleted_by":                   {corrupt: "HDEL article:6 deleted_by", want: []string{"article:6: is deleted, but deleted_by is missing"}},
		"one deleted at another time":              {corrupt: "HSET article:6 deleted 5", want: []string{"article:6: deleted is 5, but deleted: says 1.7723664e+09"}},
		"a deleted one without a hash": {corrupt: "DEL article:6", want: []string{
			"article:6: is in deleted:, but has no hash",
			"cast:bob:641: has 6, but article:6 does not exist",
			"cast:erin:641: has 6, but article:6 does not exist",
		}},
		"a deleted one with an invalid hash": {corrupt: "HSET article:6 votes x", want: []string{`article:6: votes: strconv.ParseFloat: parsing "x": invalid syntax`}},
		"an invalid time of deletion":        {corrupt: "HSET article:6 deleted x", want: []string{`article:6: deleted: strconv.ParseFloat: parsing "x": invalid syntax`}},
		"a deleted one that lost a voter":    {corrupt: "SREM voted:6 user:bob", want: []string{"cast:bob:641: has 6, but user:bob is not in voted:6", "voted:6: has 1 members, not 2"}},
		"the deleted of the wrong type": {corrupt: "SET deleted: x", want: []string{
			"article:6: is in a hash, but not in time:",
			"deleted:: has the wrong type",
		}},
		"an audit that does not expire": {corrupt: "HSET audit:1 user:bob x", want: []string{"audit:1: does not expire"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := checkable(t)
			s.MustPost("erin", "c") // article:6
			s.MustVote(6, "bob", site.Up)
			s.MustDelete(6, repotest.Moderator)
			require.NoError(t, s.Views.CatchUpAll(s.Ctx))
			s.DoLines(tt.corrupt)
			s.WantViolations(tt.want...)
		})
	}
}

func TestCheckReadsTheWholeStore(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		var want []string
		for i := range 500 { // more than are read at a time, in each partition
			a := s.MustPost("alice", fmt.Sprint("g", i%7))
			if i%50 == 49 {
				tag := tags[int(a.ID)%len(tags)]
				s.Do("ZADD", tag+"score:", 5, a.ID.String())
				want = append(want, fmt.Sprintf("%s%v: score is 5, not 1772366832: time 1.7723664e+09 and 1 votes", tag, a.ID))
			}
		}
		s.Do("ZADD", tags[0]+"sizes:", -501, "g1")
		want = append(want, fmt.Sprintf("%[1]sgroup:g1: has %[2]v articles, but %[1]ssizes: says 501", tags[0], s.Do("SCARD", tags[0]+"group:g1")))
		slices.Sort(want)
		s.WantViolations(want...)
		checked, err := check.Check(s.Ctx, s.Repo, func(string) {})
		if wanted := (check.Checked{Articles: 500, Groups: 7, Violations: len(want), ByBook: true}); err != nil || checked != wanted {
			t.Errorf("Check = %+v, %v, want %+v", checked, err, wanted)
		}
	})
}

// meddle is a hook that calls a function once, after the first pipeline with a command.
type meddle struct {
	command string
	do      func()
}

func (h *meddle) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	err := send(ctx, commands)
	for _, command := range commands {
		if do := h.do; do != nil && command.Name() == h.command {
			h.do = nil
			do()
		}
	}
	return err
}

func TestCheckReadsRegroupedArticlesAgain(t *testing.T) {
	t.Parallel()
	s := checkable(t)
	hook := &meddle{command: "hmget", do: func() { s.MustRegroup(s.Article(2), []string{"b"}, nil) }}
	s = s.Reopened(s.Client(redistest.Hook(hook.hook)), nil)
	s.Do("HINCRBY article:2 downvotes 1")
	want := []string{"downvoted:2: has 0 members, not 1", "voted:2: has 1 members, not 2"}
	if got := s.Violations(); !slices.Equal(got, want) || hook.do != nil {
		t.Errorf("Check reports %q, want %q", got, want)
	}
}

func TestCheckReportsArticlesInTheWrongPartition(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, redisrepo.WithPartitions(len(repotest.Four)))
	a, b := repotest.Four[0], repotest.Four[1]
	s.MustImport(repotest.Old(4, 3*repotest.Week, 1))
	s.WantClean()
	s.Do("COPY " + a + "article:4 " + b + "article:4")
	s.Do("ZADD "+b+"time:", repotest.Opened.Add(-3*repotest.Week).Unix(), "article:4")
	s.Do("ZADD "+b+"score:", repotest.Opened.Add(-3*repotest.Week).Unix()+432, "article:4")
	s.Do("COPY " + a + "posted:zoe " + b + "posted:zoe")
	s.Do("COPY " + a + "host:example.com " + b + "host:example.com")
	s.Do("ZADD " + b + "top:d:20492 1 article:4")
	s.Do("SET " + b + "article: 2")
	s.Do("ZADD " + b + "cast:zoe:640 5 4")
	s.Do("EXPIRE " + b + "cast:zoe:640 1000")
	want := []string{
		b + "article:4: belongs to another partition",
		b + "article:4: is in " + b + "top:d:20492 with 1 votes, not in " + b + "top:d:20492 with 1 votes and " + b + "top:m:640 with 1 votes",
		b + "cast:zoe:640: has 4, which belongs to another partition",
		b + "clock:: p:d:20492 is \"\", but " + b + "top:d:20492 has an article with 1 votes",
		b + "top:d:20492: holds article:4, which belongs to another partition",
	}
	s.WantViolations(want...)
}

// Large lists of votes and sets of voters are checked in parts.
func TestCheckReadsLargeListsOfVotes(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	for range 210 {
		s.MustPost("bob")
	}
	for i := range 210 {
		s.MustVote(1, site.UserName(fmt.Sprint("voter", i)), site.Vote(1-2*(i%2)))
	}
	s.WantClean()
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	s.Do("ZREM cast:bob:641 107")
	s.Do("ZADD cast:bob:641 5 -208 5 999")
	s.Do("ZREM cast:voter104:641 1")
	s.Do("ZREM cast:voter105:641 -1")
	want := []string{
		"cast:bob:641: has -208, but user:bob is not in downvoted:208",
		"cast:bob:641: has 999, but article:999 does not exist",
		"cast:bob:641: has both 208 and -208",
		"cast:bob:641: lacks 107, but user:bob is in voted:107",
		"cast:voter104:641: lacks 1, but user:voter104 is in voted:1",
		"cast:voter105:641: lacks -1, but user:voter105 is in downvoted:1",
	}
	s.WantViolations(want...)
}

// A site without lists of votes has no keys of them.
func TestCheckReportsListsOfVotesThatAreNotKept(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, repotest.NoFeatures, repotest.One)
	s.MustPost("alice")
	s.Do("ZADD cast:alice:641 5 1")
	s.WantViolations("cast:alice:641: exists, but the site keeps no lists of votes")
}

func TestCheckFailsIfTheStoreDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := checkable(t)
	s.Server.Kill()
	_, err := check.Check(s.Ctx, s.Repo, func(violation string) { t.Errorf("Check reports %s", violation) })
	if !errors.Is(err, failover.ErrUnavailable) {
		t.Errorf("Check: %v, want ErrUnavailable", err)
	}
}

// Votes that a list lacks with reason are not reported: those from before the lists were kept, and those that were forgotten
// while the voters of the article are still known.
func TestCheckReportsNoVotesThatListsNeedNotHave(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.VoteHistory = time.Second }, repotest.One)
	monthEnd := time.Unix(642*32*24*3600, 0)
	s.Clock.Set(monthEnd.Add(-30 * time.Minute).Sub(repotest.Opened))
	s.MustPost("alice")
	s.MustVote(1, "bob", site.Down)
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	s.Do("DEL cast:alice:641 cast:bob:641")
	want := []string{
		"cast:alice:641: lacks 1, but user:alice is in voted:1",
		"cast:bob:641: lacks -1, but user:bob is in downvoted:1",
	}
	s.WantViolations(want...)
	record := s.Do("HGET meta: cast_since").(string)
	_, rest, _ := strings.Cut(record, " ")
	s.Do("HSET meta: cast_since", fmt.Sprint(monthEnd.Unix(), " ", rest))
	s.Reopened(s.Server.Client, nil).WantClean()
	s.Do("HSET meta: cast_since", record)
	s.Clock.Set(monthEnd.Add(repotest.Week + 10*time.Minute).Sub(repotest.Opened))
	s.WantClean()
}

// In the store of checkable article:1 has 2 votes and article:2 and article:5 have 1 and 0, all of the hour 492324, and
// article:3 has 5 votes and is of the folded day 20492.
func TestCheckReportsInconsistentCalendars(t *testing.T) {
	t.Parallel()
	const right = "not in top:h:492324 with 2 votes"
	tests := map[string]struct {
		corrupt string // commands, one a line
		want    []string
	}{
		"a place lost in an hour":  {"ZREM top:h:492324 article:1", []string{"article:1: is in no list of the calendar, " + right}},
		"a place lost in a day":    {"ZREM top:d:20492 article:3", []string{"article:3: is in top:m:640 with 5 votes, not in top:d:20492 with 5 votes and top:m:640 with 5 votes"}},
		"a place lost in a month":  {"ZREM top:m:640 article:3", []string{"article:3: is in top:d:20492 with 5 votes, not in top:d:20492 with 5 votes and top:m:640 with 5 votes"}},
		"all places lost":          {"DEL top:m:640 top:d:20492", []string{"article:3: is in no list of the calendar, not in top:d:20492 with 5 votes and top:m:640 with 5 votes"}},
		"other votes":              {"ZADD top:h:492324 1 article:1", []string{"article:1: is in top:h:492324 with 1 votes, " + right}},
		"votes above the peak":     {"ZADD top:h:492324 3 article:1", []string{"article:1: is in top:h:492324 with 3 votes, " + right, `clock:: p:h:492324 is "2", but top:h:492324 has an article with 3 votes`}},
		"a peak too low":           {"HSET clock: p:h:492324 1", []string{`clock:: p:h:492324 is "1", but top:h:492324 has an article with 2 votes`}},
		"a peak higher than all":   {"HSET clock: p:h:492324 9 p:d:7 7", nil},
		"a peak lost":              {"HDEL clock: p:m:640", []string{`clock:: p:m:640 is "", but top:m:640 has an article with 5 votes`}},
		"a peak that is no number": {"HSET clock: p:m:640 x", []string{`clock:: p:m:640 is "x", but top:m:640 has an article with 5 votes`}},
		"in a month before its day is folded": {"ZADD top:m:641 2 article:1\nHSET clock: p:m:641 2", []string{
			"article:1: is in top:h:492324 with 2 votes and top:m:641 with 2 votes, " + right}},
		"in an hour of a folded day": {"ZADD top:h:491820 5 article:3\nHSET clock: p:h:491820 5", []string{
			"article:3: is in top:d:20492 with 5 votes and top:h:491820 with 5 votes and top:m:640 with 5 votes, not in top:d:20492 with 5 votes and top:m:640 with 5 votes"}},
		"in a day before it is folded": {"ZADD top:d:20513 2 article:1\nHSET clock: p:d:20513 2", []string{
			"article:1: is in top:d:20513 with 2 votes and top:h:492324 with 2 votes, " + right}},
		"a day that is not folded": {"HSET clock: folded 20491", []string{
			"article:3: is in top:d:20492 with 5 votes and top:m:640 with 5 votes, not in top:h:491820 with 5 votes"}},
		"a fold pointer that is no day":          {"HSET clock: folded x", []string{`clock:: folded is no day: "x"`}},
		"an article that is missing":             {"ZADD top:d:20513 1 article:9", []string{"top:d:20513: holds article:9, which is not in time:"}},
		"a member that is no article":            {"ZADD top:d:20513 1 x", []string{"top:d:20513: holds x, which is not in time:"}},
		"an article of another time":             {"ZADD top:d:20514 1 article:1", []string{"top:d:20514: holds article:1, which was posted at another time: 1772366400"}},
		"an article of another hour":             {"ZADD top:h:492325 1 article:1", []string{"top:h:492325: holds article:1, which was posted at another time: 1772366400"}},
		"a list of no unit":                      {"ZADD top:w:2930 1 article:1", []string{"top:w:2930: is no list of the calendar"}},
		"a list without a number":                {"ZADD top:d:020513 1 article:1", []string{"top:d:020513: is no list of the calendar"}},
		"a list of a group":                      {"ZADD top:d:20513:a 1 article:1", []string{"top:d:20513:a: exists, but the site keeps no such calendar"}},
		"a list of the wrong type":               {"SET top:d:7 x", []string{"top:d:7: has the wrong type"}},
		"a list with articles of the wrong type": {"DEL top:m:640\nSET top:m:640 x", []string{"top:m:640: has the wrong type"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := checkable(t)
			require.NoError(t, s.Views.CatchUpAll(s.Ctx))
			s.DoLines(tt.corrupt)
			s.WantViolations(tt.want...)
		})
	}
}

func TestCheckReportsInconsistentCalendarsOfGroups(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ corrupt, want string }{
		"nothing":               {"PING", ""},
		"a place lost":          {"ZREM top:h:492324:go article:1", "article:1: is in no list of the calendar, not in top:h:492324:go with 1 votes"},
		"a peak too low":        {"HSET clock:go p:h:492324 0", `clock:go: p:h:492324 is "0", but top:h:492324:go has an article with 1 votes`},
		"a wrong place":         {"ZADD top:h:492324:redis 1 article:1", "top:h:492324:redis: holds article:1, which is not in the group"},
		"the group interesting": {"ZADD top:h:492324:interesting 1 article:1", "top:h:492324:interesting: holds article:1, which is not in the group"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, func(r *site.Rules) { r.GroupTop = true }, repotest.One)
			s.MustPost("alice", "go")
			require.NoError(t, s.Views.CatchUpAll(s.Ctx))
			s.Do(tt.corrupt)
			if got := strings.Join(s.Violations(), "\n"); got != tt.want {
				t.Errorf("Check reports %q, want %q", got, tt.want)
			}
		})
	}
	s := repotest.New(t, func(r *site.Rules) { r.Calendar, r.GroupTop = false, false }, repotest.One)
	s.Do("ZADD top:d:20513 1 article:1")
	s.WantViolations("top:d:20513: exists, but the site keeps no such calendar")
}

// Check does not report what changes while it reads: votes, posts, deletions, and days that are folded.
func TestCheckOfTheCalendarRunsWhileTheSiteIsUsed(t *testing.T) { // with the race detector
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, func(r *site.Rules) { r.GroupTop, r.VotingWindow = true, 60*site.Day }, redisrepo.WithPartitions(len(tags)))
		for range 20 {
			s.Clock.Advance(7 * time.Hour)
			for range 5 {
				s.MustPost("alice", "go", "redis")
			}
		}
		ctx, cancel := context.WithCancel(s.Ctx)
		var aging sync.WaitGroup
		aging.Go(func() { // so that days become due
			for ctx.Err() == nil && s.Clock.Now().Before(repotest.Opened.Add(40*site.Day)) {
				s.Clock.Advance(time.Minute)
				_, _ = s.Vote(ctx, 8, "mallory", site.Up, "")
			}
		})
		stop := s.Used()
		for range programtest.Size(2, 6) {
			s.WantClean()
		}
		cancel()
		stop()
		aging.Wait()
		require.NoError(t, s.Views.CatchUpAll(s.Ctx))
		s.WantClean()
		s.WantScheduled()
	})
}

func TestCheckReportsWrongFrontPages(t *testing.T) {
	t.Parallel()
	const hour = 492324          // of the first post
	page := func(n int) string { // of this many articles
		text := fmt.Sprint(hour+1, " 1 =1772367264")
		for i := 1; i < n; i++ {
			text += " 2 432"
		}
		return text
	}
	const second = "492326 1 =1772367264 2 0"
	tests := map[string]struct {
		corrupt string // commands, one a line; an argument may be in quotes
		want    []string
	}{
		"nothing":                  {},
		"a page that is no page":   {corrupt: `ZADD front: 492325 x`, want: []string{`front:: "x" is not a front page`}},
		"a place that is no place": {corrupt: `ZADD front: 492325 "492325 x =5"`, want: []string{`front:: "492325 x =5" is not on a front page: "x" "=5"`}},
		"a distance from nothing":  {corrupt: `ZADD front: 492325 "492325 1 5"`, want: []string{`front:: "492325 1 5" is not on a front page: "1" "5"`}},
		"a page of another hour":   {corrupt: `ZADD front: 492325 "` + second + `"`, want: []string{"front:: the page of hour 492326 has the score 492325"}},
		"two pages of an hour":     {corrupt: `ZADD front: 492325 "492325 1 =5"`, want: []string{"front:: has two pages of hour 492325"}},
		"a page of the future":     {corrupt: `ZADD front: 492400 "492400 1 =5"`, want: []string{"front:: has a page of hour 492400, but front of clock: is 492326"}},
		"a page before the first":  {corrupt: `HSET clock: front_since 492326`, want: []string{"front:: has a page of hour 492325, but front_since of clock: is 492326"}},
		"no last hour":             {corrupt: `HDEL clock: front`, want: []string{`the field front of clock: is not a number of hours: ""`}},
		"no first hour":            {corrupt: `HDEL clock: front_since`, want: []string{`the field front_since of clock: is not a number of hours: ""`}},
		"a wrong order":            {corrupt: `DEL front:` + "\n" + `ZADD front: 492326 "492326 1 =5 2 -1"`, want: []string{"front:: the page of hour 492326 has article:2 after article:1"}},
		"ties in a wrong order":    {corrupt: `DEL front:` + "\n" + `ZADD front: 492326 "492326 1 =5 2 0"`, want: []string{"front:: the page of hour 492326 has article:2 after article:1"}},
		"an article that is none":  {corrupt: `ZADD front: 492326 "492326 7 =5"`, want: []string{"front:: has article:7, which does not exist"}},
		"too many articles":        {corrupt: `ZADD front: 492325 "` + page(101) + `"`, want: []string{"front:: the page of hour 492325 has 101 articles"}},
		"a best rank too good": {corrupt: `ZADD best: 10492326 article:2`, want: []string{
			"best:: says that article:2 was 1 at hour 492326, but the saved pages do not"}},
		"a best rank too bad": {corrupt: `ZADD best: 90492326 article:1`, want: []string{
			"best:: says that article:1 was 9 at hour 492326, but the saved pages do not"}},
		"a best rank too late": {corrupt: `ZADD best: 10492326 article:1`, want: []string{
			"best:: says that article:1 was 1 at hour 492326, but the saved pages do not"}},
		"a best rank lost":                 {corrupt: `ZREM best: article:2`, want: []string{"best:: lacks article:2, which is on a saved page"}},
		"a best rank of nothing":           {corrupt: `ZADD best: 10492326 x`, want: []string{`best:: has "x", which is no article of this partition`}},
		"a best rank that is none":         {corrupt: `ZADD best: 5 article:1`, want: []string{"best:: the score of article:1 is not a rank and an hour: 5"}},
		"a last entered hour that is none": {corrupt: `HSET clock: ranked x`, want: []string{`the field ranked of clock: is not a number of hours: "x"`}},
		"pages of a wrong type":            {corrupt: "SET front: x", want: []string{"front:: has the wrong type"}},
		"best ranks of a wrong type":       {corrupt: "SET best: x", want: []string{"best:: has the wrong type"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, repotest.One)
			s.MustPost("alice")
			s.MustPost("alice")
			s.MustVote(1, "bob", site.Up)
			for range 2 {
				s.Clock.Advance(time.Hour)
				s.MustVote(2, "bob", site.Up) // saves a page, and changes nothing after the first time
				s.MustVote(2, "bob", site.None)
			}
			require.Value(s.Rankings.BestRanks(s.Ctx, []site.ArticleID{1}))(t)
			require.NoError(t, s.Views.CatchUpAll(s.Ctx))
			for line := range strings.Lines(tt.corrupt) {
				words, quoted, _ := strings.Cut(strings.TrimSpace(line), ` "`)
				if text, is := strings.CutSuffix(quoted, `"`); is {
					s.Do(words, text)
				} else {
					s.Do(words)
				}
			}
			found := s.Violations()
			for _, want := range tt.want {
				if !slices.Contains(found, want) {
					t.Errorf("Check reports %q, want %q", found, want)
				}
			}
			if tt.want == nil && len(found) > 0 {
				t.Errorf("Check reports %q, want nothing", found)
			}
		})
	}
}
