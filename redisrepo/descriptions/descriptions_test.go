package descriptions_test

import (
	"slices"
	"testing"

	"frontpage/redisrepo"
	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// What is said about a group is in the log once, also if a reply is lost, and the call is sent again.
func TestDescribingTwiceIsDescribingOnce(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		other := s.Reopened(s.Client(repotest.Twice(true)), nil)
		bot := site.Actor{Name: "mod", Moderator: true, Via: "bot"}
		require.Value(other.Descriptions.DescribeGroup(s.Ctx, "Go", "All about Go.", []string{"No adverts"}, bot))(t)
		require.Value(s.Descriptions.DescribeGroup(s.Ctx, "go", " All about Go. ", []string{"", "No adverts"}, repotest.Moderator))(t)
		require.Value(other.Descriptions.DescribeGroup(s.Ctx, "go", "", nil, repotest.Moderator))(t)
		require.Value(s.Descriptions.DescribeGroup(s.Ctx, "web", " ", []string{""}, repotest.Moderator))(t)
		if got := s.Actions(events.Actions{Target: "group:go"}, 10); !slices.Equal(got, []string{"edited group:go by mod", "edited group:go by bot for mod"}) {
			t.Errorf("the log has %q", got)
		}
		if got := s.Actions(events.Actions{}, 10); len(got) != 2 {
			t.Errorf("the log of all has %q", got)
		}
		if got := s.ModerationLog(); len(got) != 0 {
			t.Errorf("the actions on articles are %q", got)
		}
		if n := s.Do("EXISTS", tags[0]+"described:"); n != int64(0) {
			t.Error("nothing is said, and the key is there")
		}
		s.WantClean()
	})
}
