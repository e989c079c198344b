package redisrepo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/must"
	"frontpage/redisrepo/site"
)

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
			must.Get(s.BestRanks(s.ctx, []site.ArticleID{1}))(t)
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
