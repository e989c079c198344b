// Package saved stores the articles that users save, and the groups and users that they follow. Only the user can see
// them.
package saved

import (
	"context"
	"embed"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var keepScript = wire.Script(luaFiles, "keep.lua")

// MaxSaved is the maximum number of articles that one user can save. Further ones are refused: dropping the oldest
// would lose what the user wanted to keep.
const MaxSaved = 1000

// Saved has the saved articles of all users, and the groups and users that they follow.
type Saved struct {
	store *wire.Store
	lists *lists.Lists
}

// New returns Saved for a site.
func New(store *wire.Store, l *lists.Lists) *Saved { return &Saved{store, l} }

// keep puts a member into a list of a user, or takes it out, and reports false if the list is full.
func (s *Saved) keep(ctx context.Context, list, member string, keeps bool, most int) (fits bool, err error) {
	scriptKeys := []string{
		list, // KEYS[1] kept
	}
	answer, err := s.store.Call(ctx, keepScript, scriptKeys, []any{
		member,              // ARGV[1] member
		keeps,               // ARGV[2] keeps
		most,                // ARGV[3] most
		s.store.ScriptNow(), // ARGV[4] now
	})
	return err == nil && answer.Status() == "OK", err
}

// areIn reports which members are in a list, in one round trip.
func (s *Saved) areIn(ctx context.Context, list string, members []string) ([]bool, error) {
	are := make([]bool, len(members))
	if len(members) == 0 {
		return are, nil
	}
	var times *redis.FloatSliceCmd
	err := s.store.Read(ctx, func(pipe redis.Pipeliner) { times = pipe.ZMScore(ctx, list, members...) })
	for i, at := range times.Val() {
		are[i] = at != 0
	}
	return are, err
}

// SaveArticle saves an article for a user, or removes it. Repeating it is a no-op, not an error. The caller checks
// whether the article exists. The Refusal is LimitExceeded beyond MaxSaved.
func (s *Saved) SaveArticle(ctx context.Context, user site.UserName, id site.ArticleID, saves bool) error {
	fits, err := s.keep(ctx, s.store.Home(user).Saved(user), id.Number(), saves, MaxSaved)
	if err == nil && !fits {
		return site.Refuse(site.LimitExceeded, "article", "you have saved %d articles, which is the maximum: drop one first", MaxSaved)
	}
	return failover.Wrap("save an article", err) // the log does not say which
}

// HasSaved reports for each article whether a user has saved it, in one round trip.
func (s *Saved) HasSaved(ctx context.Context, user site.UserName, ids []site.ArticleID) ([]bool, error) {
	numbers := site.Collect(ids, site.ArticleID.Number)
	has, err := s.areIn(ctx, s.store.Home(user).Saved(user), numbers)
	return has, failover.Wrap("read saved articles", err)
}

// Article is an article that a user has saved.
type Article struct {
	Cursor string
	ID     site.ArticleID // which may have been deleted
	At     time.Time      // UTC
}

// SavedArticles returns a page of the articles that a user has saved, the latest first, in one round trip.
//
// The Refusal is Invalid for a size outside 1 to MaxPageSize, and for a cursor that is damaged or of another user.
func (s *Saved) SavedArticles(ctx context.Context, user site.UserName, first *int, after *string) ([]Article, site.PageInfo, error) {
	list := "saved " + user.Member()
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, s.store.Rules.PageSize, func(field, text string) (float64, error) {
		return decodeTime(field, list, text)
	})
	if err != nil {
		return nil, site.PageInfo{}, err
	}
	from := "+inf"
	if q.After != nil {
		from = "(" + site.Number(*q.After) // no two have the same time
	}
	var found *redis.ZSliceCmd
	err = s.store.Read(ctx, func(pipe redis.Pipeliner) {
		found = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: s.store.Home(user).Saved(user), ByScore: true, Rev: true, Start: from, Stop: "-inf", Count: int64(q.Size) + 1})
	})
	if err != nil {
		return nil, site.PageInfo{}, failover.Wrap("read saved articles", err)
	}
	var all []Article
	for _, z := range found.Val() {
		member, _ := z.Member.(string)
		if id, err := site.ParseArticleID(member); err == nil {
			all = append(all, Article{site.EncodeCursor(list, site.Number(z.Score)), id, site.UnixTime(z.Score)})
		}
	}
	page := site.NewPage(all, q.Size, false, q.After != nil, false)
	return page.Items, page.Info(func(a Article) string { return a.Cursor }), nil
}

// decodeTime parses a cursor of a list, which is a time.
func decodeTime(field, list, text string) (float64, error) {
	parts, err := site.DecodeCursor(field, list, text)
	if err != nil {
		return 0, err
	}
	if len(parts) == 1 {
		if at, err := strconv.ParseFloat(parts[0], 64); err == nil && math.Abs(at) <= site.MaxExact {
			return at, nil
		}
	}
	return 0, site.NotACursor(field)
}

// MaxFollowed is the maximum number of groups and users that one user can follow.
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
	fits, err := s.keep(ctx, s.store.Home(user).Following(user), t.Member(), follows, MaxFollowed)
	if err == nil && !fits {
		return site.Refuse(site.LimitExceeded, "target", "you follow %d groups and users, which is the maximum: leave one first", MaxFollowed)
	}
	return failover.Wrap("follow a group or a user", err) // the log does not say which
}

// Follows reports for each target whether a user follows it, in one round trip.
func (s *Saved) Follows(ctx context.Context, user site.UserName, targets []Target) ([]bool, error) {
	members := site.Collect(targets, Target.Member)
	follows, err := s.areIn(ctx, s.store.Home(user).Following(user), members)
	return follows, failover.Wrap("read what a user follows", err)
}

// Followed is a target that a user follows.
type Followed struct {
	Target
	At time.Time // since when, UTC
}

// Following returns the targets that a user follows, the latest first, in one round trip.
func (s *Saved) Following(ctx context.Context, user site.UserName) ([]Followed, error) {
	var found *redis.ZSliceCmd
	err := s.store.Read(ctx, func(pipe redis.Pipeliner) {
		found = pipe.ZRevRangeWithScores(ctx, s.store.Home(user).Following(user), 0, -1)
	})
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

// Feed returns a page of the articles in groups, or by users, that a user follows: the newest first, each once. It
// takes two round trips, and more if listings of groups have to be built. looked is the number of listings and members
// read.
//
// The Refusal is Invalid for a size outside 1 to MaxPageSize, and for a cursor that is damaged or of another user.
func (s *Saved) Feed(ctx context.Context, user site.UserName, first *int, after *string) (edges []lists.Edge, info site.PageInfo, looked int, err error) {
	followed, err := s.Following(ctx, user)
	if err != nil {
		return nil, info, 0, err
	}
	of := site.Collect(followed, Followed.listing)
	return s.lists.Newest(ctx, "feed "+user.Member(), of, site.PageRequest{First: first, After: after})
}
