package redisrepo_test

import (
	"slices"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// What is said about a group is in the log once, also if a reply is lost, and the call is sent again.
func TestDescribingTwiceIsDescribingOnce(t *testing.T) {
	eachLayout(t, func(t *testing.T, tags []string) {
		s := newSite(t, nil, redisrepo.WithPartitions(len(tags)))
		other := s.reopened(s.client(twice(true)), nil)
		bot := site.Actor{Name: "mod", Moderator: true, Via: "bot"}
		require.Value(other.Descriptions.DescribeGroup(s.ctx, "Go", "All about Go.", []string{"No adverts"}, bot))(t)
		require.Value(s.Descriptions.DescribeGroup(s.ctx, "go", " All about Go. ", []string{"", "No adverts"}, moderator))(t)
		require.Value(other.Descriptions.DescribeGroup(s.ctx, "go", "", nil, moderator))(t)
		require.Value(s.Descriptions.DescribeGroup(s.ctx, "web", " ", []string{""}, moderator))(t)
		if got := s.actions(events.Actions{Target: "group:go"}, 10); !slices.Equal(got, []string{"edited group:go by mod", "edited group:go by bot for mod"}) {
			t.Errorf("the log has %q", got)
		}
		if got := s.actions(events.Actions{}, 10); len(got) != 2 {
			t.Errorf("the log of all has %q", got)
		}
		if got := s.log(); len(got) != 0 {
			t.Errorf("the actions on articles are %q", got)
		}
		if n := s.do("EXISTS", tags[0]+"described:"); n != int64(0) {
			t.Error("nothing is said, and the key is there")
		}
		s.wantClean()
	})
}
