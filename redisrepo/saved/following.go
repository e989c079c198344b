package saved

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// MaxFollowed is how many groups and users one user can follow.
const MaxFollowed = 200

// Target is a group or a user that users can follow. One of the two is set.
type Target struct {
	Group site.GroupName
	User  site.UserName
}

// Member is the target's global id, such as group:go or user:alice.
func (t Target) Member() string {
	if t.Group != "" {
		return site.GroupPrefix + string(t.Group)
	}
	return t.User.Member()
}

// parseTarget returns the target with a member.
func parseTarget(member string) Target {
	if group, is := strings.CutPrefix(member, site.GroupPrefix); is {
		return Target{Group: site.GroupName(group)}
	}
	return Target{User: site.UserOf(member)}
}

// listing has the articles of the target, newest first.
func (t Target) listing() lists.Listing {
	if t.Group != "" {
		return lists.InGroup(t.Group, site.ByTime, site.Descending)
	}
	return lists.PostedBy(t.User)
}

// FollowTarget makes a user follow or unfollow a group or a user. Repeating it is a no-op, not an error. The
// Refusal is LimitExceeded beyond MaxFollowed.
func (s *Saved) FollowTarget(ctx context.Context, user site.UserName, t Target, follows bool) error {
	fits, err := s.keep(ctx, s.home(user).Following(user), t.Member(), follows, MaxFollowed)
	if err == nil && !fits {
		return site.Refuse(site.LimitExceeded, "target", "you follow %d groups and users, which is the maximum: leave one first", MaxFollowed)
	}
	return failover.Wrap("follow a group or a user", err) // the log does not say which
}

// Follows reports for each target whether a user follows it, in one round trip.
func (s *Saved) Follows(ctx context.Context, user site.UserName, targets []Target) ([]bool, error) {
	members := make([]string, len(targets))
	for i, t := range targets {
		members[i] = t.Member()
	}
	follows, err := s.areIn(ctx, s.home(user).Following(user), members)
	return follows, failover.Wrap("read what a user follows", err)
}

// Followed is what a user follows.
type Followed struct {
	Target
	At time.Time // since when, UTC
}

// Following returns what a user follows, the latest first, in one round trip.
func (s *Saved) Following(ctx context.Context, user site.UserName) ([]Followed, error) {
	var found *redis.ZSliceCmd
	err := s.store.Read(ctx, func(pipe redis.Pipeliner) { found = pipe.ZRevRangeWithScores(ctx, s.home(user).Following(user), 0, -1) })
	if err != nil {
		return nil, failover.Wrap("read what a user follows", err)
	}
	all := make([]Followed, 0, len(found.Val()))
	for _, z := range found.Val() {
		member, _ := z.Member.(string)
		all = append(all, Followed{parseTarget(member), site.UnixTime(z.Score)})
	}
	return all, nil
}

// Feed returns a page of the articles that are in groups, or by users, that a user follows: the newest first, each once. It takes two
// round trips, and more if listings of groups have to be built. looked is the number of listings and members that were looked at for it.
//
// The Refusal is Invalid for a size outside 1 to MaxPageSize, and for a cursor that is damaged or of another user.
func (s *Saved) Feed(ctx context.Context, user site.UserName, first *int, after *string) (edges []lists.Edge, info site.PageInfo, looked int, err error) {
	followed, err := s.Following(ctx, user)
	if err != nil {
		return nil, info, 0, err
	}
	of := make([]lists.Listing, len(followed))
	for i, f := range followed {
		of[i] = f.listing()
	}
	return s.lists.Newest(ctx, "feed "+user.Member(), of, site.PageRequest{First: first, After: after})
}
