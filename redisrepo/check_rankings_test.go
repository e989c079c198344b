package redisrepo_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/require"
)

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
			require.NoError(t, s.Views.CatchUpAll(s.ctx))
			s.doLines(tt.corrupt)
			s.wantViolations(tt.want...)
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
			s := newSite(t, func(r *site.Rules) { r.GroupTop = true }, one)
			s.post("alice", "go")
			require.NoError(t, s.Views.CatchUpAll(s.ctx))
			s.do(tt.corrupt)
			if got := strings.Join(s.violations(), "\n"); got != tt.want {
				t.Errorf("Check reports %q, want %q", got, tt.want)
			}
		})
	}
	s := newSite(t, func(r *site.Rules) { r.Calendar, r.GroupTop = false, false }, one)
	s.do("ZADD top:d:20513 1 article:1")
	s.wantViolations("top:d:20513: exists, but the site keeps no such calendar")
}

// Check does not report what changes while it reads: votes, posts, deletions, and days that are folded.
func TestCheckOfTheCalendarRunsWhileTheSiteIsUsed(t *testing.T) { // with the race detector
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, func(r *site.Rules) { r.GroupTop, r.VotingWindow = true, 60*day }, redisrepo.WithPartitions(len(tags)))
		for range 20 {
			s.clock.advance(7 * time.Hour)
			for range 5 {
				s.post("alice", "go", "redis")
			}
		}
		ctx, cancel := context.WithCancel(s.ctx)
		var aging sync.WaitGroup
		aging.Go(func() { // so that days become due
			for ctx.Err() == nil && s.clock.now().Before(opened.Add(40*day)) {
				s.clock.advance(time.Minute)
				_, _ = s.Vote(ctx, 8, "mallory", up, "")
			}
		})
		stop := s.used()
		for range programtest.Size(2, 6) {
			s.wantClean()
		}
		cancel()
		stop()
		aging.Wait()
		require.NoError(t, s.Views.CatchUpAll(s.ctx))
		s.wantClean()
		s.wantScheduled()
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
			s := newSite(t, nil, one)
			s.post("alice")
			s.post("alice")
			s.vote(1, "bob", up)
			for range 2 {
				s.clock.advance(time.Hour)
				s.vote(2, "bob", up) // saves a page, and changes nothing after the first time
				s.vote(2, "bob", none)
			}
			require.Value(s.Rankings.BestRanks(s.ctx, []site.ArticleID{1}))(t)
			require.NoError(t, s.Views.CatchUpAll(s.ctx))
			for line := range strings.Lines(tt.corrupt) {
				words, quoted, _ := strings.Cut(strings.TrimSpace(line), ` "`)
				if text, is := strings.CutSuffix(quoted, `"`); is {
					s.do(words, text)
				} else {
					s.do(words)
				}
			}
			found := s.violations()
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
