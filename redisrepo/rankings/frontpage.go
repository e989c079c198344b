package rankings

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// FrontPageSize is the number of articles on a saved front page.
const FrontPageSize = 100

// MaxFrontHours is the maximum number of hours of FrontRanks.
const MaxFrontHours = 720

// PagesTogether is how many saved front pages are read or copied at once.
const PagesTogether = 100

// SomePages returns the arguments of ZRANGE for PagesTogether of the saved front pages, from a score on.
func SomePages(p keys.Partition, from string) redis.ZRangeArgs {
	return redis.ZRangeArgs{Key: p.Front(), Start: from, Stop: "+inf", ByScore: true, Count: PagesTogether}
}

// FrontPage is the first 100 articles by score as they stood at a full hour, or fewer if there were fewer.
type FrontPage struct {
	At      time.Time // a full hour
	SavedAt time.Time // a full hour, not before At: up to it the page did not change
	Places  []*FrontPlace
}

// FrontPlace is an article on a front page.
type FrontPlace struct {
	ID    site.ArticleID
	Rank  int // from 1
	Score float64
}

// BeginFront queues the commands that make a partition save its front pages from the next full hour on.
func (r *Rankings) BeginFront(ctx context.Context, pipe redis.Pipeliner, p keys.Partition) {
	keys := []string{
		p.Clock(""), // KEYS[1] clock
	}
	beginFrontScript.EvalSha(ctx, pipe, keys,
		r.store.ScriptNow(), // ARGV[1] now
	)
}

// SavedHour returns the last hour whose front page of a partition is saved, as far as this process knows: vote.lua
// requests a page only for a later hour. Without front pages, no hour is later.
func (r *Rankings) SavedHour(index int) int64 {
	if r.store.Rules.FrontPages == 0 {
		return math.MaxInt32
	}
	return r.saved[index].Load()
}

// ReadSaved reads the hours whose front pages are saved, at the start.
func (r *Rankings) ReadSaved(ctx context.Context) error {
	saved, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.StringCmd {
		return pipe.HGet(ctx, p.Clock(""), "front")
	})
	for i, reply := range saved {
		hour, _ := reply.Int64() // 0: none is
		r.saved[i].Store(hour)
	}
	return err
}

// SaveFront saves the front page of a partition, unless it is saved, and returns and notes its hour. Call it
// when vote.lua replies that a vote would be the first of an hour.
func (r *Rankings) SaveFront(ctx context.Context, index int) (hour int64, err error) {
	p := r.store.Partitions[index]
	answer, err := r.store.Call(ctx, saveFrontScript, []string{
		p.Clock(""),             // KEYS[1] clock
		p.Front(),               // KEYS[2] pages
		p.Ranking(site.ByScore), // KEYS[3] scores
	}, []any{
		r.store.Rules.FrontHours(), // ARGV[1] hours
		r.store.ScriptNow(),        // ARGV[2] now
	})
	if err != nil {
		return 0, err
	}
	r.saved[index].Store(answer.Number(1))
	return answer.Number(1), nil
}

// ForgetSaved forgets the hour of a partition, since the store may have lost its page.
func (r *Rankings) ForgetSaved(index int) { r.saved[index].Store(0) }

// FrontPage returns the front page of the last full hour that is not after at: as the ranking was before the first
// change in that hour or after it, by the clock that decides posting times. It includes articles that were deleted
// later. Articles with equal scores are in the order of List. It is nil if the hour is in the future, or if its page is
// unknown: older than Rules.FrontPages, or than the feature in this store.
func (r *Rankings) FrontPage(ctx context.Context, at time.Time) (*FrontPage, error) {
	h := site.HourOf(float64(at.Unix()))
	last := strconv.FormatInt(int64(h), 10)
	pages, err := r.ReadFront(ctx, h, last)
	if err != nil {
		return nil, failover.Wrap("read the front page", err)
	}
	var found *FrontPage
	pages.each(func(from, to site.Hour, items []redis.Z) {
		found = &FrontPage{At: from.Time(), SavedAt: to.Time(), Places: make([]*FrontPlace, 0, len(items))}
		for i, z := range items {
			if id, ok := lists.ArticleOf(z); ok {
				found.Places = append(found.Places, &FrontPlace{ID: id, Rank: i + 1, Score: z.Score})
			}
		}
	})
	return found, nil
}

// SavedPage is the front page of a partition at an hour, and at the hours since the previous page.
type SavedPage struct {
	Hour  site.Hour
	Items []redis.Z
}

// FrontPages are the front pages of the hours from first to last, none if first is above last.
type FrontPages struct {
	first, last site.Hour
	parts       [][]SavedPage // by partition
}

// ReadFront reads the front pages of consecutive hours that all partitions have, in one round trip. An empty last
// stands for the last full hour.
func (r *Rankings) ReadFront(ctx context.Context, first site.Hour, last string) (FrontPages, error) {
	none := FrontPages{first: 1}
	if r.store.Rules.FrontPages == 0 {
		return none, nil
	}
	replies, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.Cmd {
		keys := []string{
			p.Clock(""),             // KEYS[1] clock
			p.Front(),               // KEYS[2] pages
			p.Ranking(site.ByScore), // KEYS[3] scores
		}
		return frontPageScript.EvalSha(ctx, pipe, keys,
			int64(first),        // ARGV[1] first
			last,                // ARGV[2] last
			r.store.ScriptNow(), // ARGV[3] now
		)
	})
	if err != nil {
		return none, err
	}
	pages := FrontPages{first: first, last: math.MaxInt64, parts: make([][]SavedPage, len(replies))}
	for i, command := range replies {
		answer, err := wire.StatusReply(command)
		if err != nil {
			return none, err
		}
		if answer.Status() == "NONE" {
			return none, nil
		}
		pages.first, pages.last = max(pages.first, site.Hour(answer.Number(1))), min(pages.last, site.Hour(answer.Number(2)))
		for _, text := range answer[min(3, len(answer)):] {
			page, err := ParseFrontPage(fmt.Sprint(text))
			if err != nil {
				return none, err
			}
			pages.parts[i] = append(pages.parts[i], page)
		}
	}
	return pages, nil
}

// each calls handle with the merged pages, the oldest first, each with the first and the last hour for which it is known
// to be the same.
func (f FrontPages) each(handle func(from, to site.Hour, items []redis.Z)) {
	listing := lists.AllArticles(site.ByScore, site.Descending)
	next := make([]int, len(f.parts))
	for from := f.first; from <= f.last; {
		to := site.Hour(math.MaxInt64)
		var items []redis.Z
		for i, part := range f.parts {
			for next[i] < len(part) && part[next[i]].Hour < from {
				next[i]++
			}
			if next[i] == len(part) {
				return // the script replies a page for the last hour, too
			}
			to = min(to, part[next[i]].Hour)
			items = append(items, part[next[i]].Items...)
		}
		if len(f.parts) > 1 {
			listing.Sorting(items)
		}
		handle(from, to, items[:min(FrontPageSize, len(items))])
		from = to + 1
	}
}

// ParseFrontPage parses what front_page in front.lua returns.
func ParseFrontPage(text string) (SavedPage, error) {
	words := strings.Split(text, " ")
	hours, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil || len(words)%2 == 0 {
		return SavedPage{}, fmt.Errorf("%.100q is not a front page", text)
	}
	page := SavedPage{Hour: site.Hour(hours), Items: make([]redis.Z, 0, len(words)/2)}
	above := math.NaN()
	for words = words[1:]; len(words) > 0; words = words[2:] {
		absolute, isAbsolute := strings.CutPrefix(words[1], "=")
		score, err := strconv.ParseFloat(absolute, 64)
		if !isAbsolute {
			score = above - score
		}
		if _, known := lists.ArticleOfMember(site.ArticlePrefix + words[0]); err != nil || math.IsNaN(score) || !known {
			return SavedPage{}, fmt.Errorf("%.100q is not on a front page: %q %q", text, words[0], words[1])
		}
		above = score
		page.Items = append(page.Items, redis.Z{Member: site.ArticlePrefix + words[0], Score: score})
	}
	return page, nil
}

// Text is what ParseFrontPage parses.
func (s SavedPage) Text() string {
	b := strconv.AppendInt(nil, int64(s.Hour), 10)
	above := math.NaN()
	for _, z := range s.Items {
		b = append(append(b, ' '), strings.TrimPrefix(z.Member.(string), site.ArticlePrefix)...)
		if above == math.Trunc(above) && z.Score == math.Trunc(z.Score) {
			b = strconv.AppendFloat(append(b, ' '), above-z.Score, 'f', -1, 64)
		} else {
			b = strconv.AppendFloat(append(b, " ="...), z.Score, 'g', 17, 64)
		}
		above = z.Score
	}
	return string(b)
}
