// Package saved keeps the articles that users save, and the groups and users that they follow. Both are private
// to the user.
package saved

import (
	"context"
	"embed"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var keepScript = wire.Script(luaFiles, "keep.lua")

// MaxSaved is how many articles one user can save. Further ones are refused: dropping the oldest would lose
// what the user wanted to keep.
const MaxSaved = 1000

// Saved has the saved articles of all users, and the groups and users that they follow.
type Saved struct {
	store *wire.Store
	lists *lists.Lists
}

// New returns the saved articles of a site, and whom its users follow.
func New(store *wire.Store, l *lists.Lists) *Saved { return &Saved{store, l} }

// home is the partition of what is kept of a user by name.
func (s *Saved) home(name site.UserName) keys.Partition {
	return s.store.Partitions[keys.HomeIndex(len(s.store.Partitions), string(name))]
}

// keep puts a member into a list of a user, or takes it out, and reports false if the list is full.
func (s *Saved) keep(ctx context.Context, list, member string, keeps bool, most int) (fits bool, err error) {
	wanted := 0
	if keeps {
		wanted = 1
	}
	scriptKeys := []string{
		list, // KEYS[1] kept
	}
	answer, err := s.store.Call(ctx, keepScript, scriptKeys, []any{
		member,              // ARGV[1] member
		wanted,              // ARGV[2] keeps
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

// SaveArticle saves an article for a user, or drops it. Repeating it is a no-op, not an error. The caller
// checks whether the article exists. The Refusal is LimitExceeded beyond MaxSaved.
func (s *Saved) SaveArticle(ctx context.Context, user site.UserName, id site.ArticleID, saves bool) error {
	fits, err := s.keep(ctx, s.home(user).Saved(user), id.Number(), saves, MaxSaved)
	if err == nil && !fits {
		return site.Refuse(site.LimitExceeded, "article", "you have saved %d articles, which is the maximum: drop one first", MaxSaved)
	}
	return failover.Wrap("save an article", err) // the log does not say which
}

// HasSaved reports for each article whether a user has saved it, in one round trip.
func (s *Saved) HasSaved(ctx context.Context, user site.UserName, ids []site.ArticleID) ([]bool, error) {
	numbers := make([]string, len(ids))
	for i, id := range ids {
		numbers[i] = id.Number()
	}
	has, err := s.areIn(ctx, s.home(user).Saved(user), numbers)
	return has, failover.Wrap("read saved articles", err)
}

// SavedBy returns the key of a user's saved articles, and the index of its partition.
func (s *Saved) SavedBy(user site.UserName) (key string, partition int) {
	partition = keys.HomeIndex(len(s.store.Partitions), string(user))
	return s.store.Partitions[partition].Saved(user), partition
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
		found = pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: s.home(user).Saved(user), ByScore: true, Rev: true, Start: from, Stop: "-inf", Count: int64(q.Size) + 1})
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
