package redisrepo

import (
	"context"
	"slices"
	"unicode"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/require"
)

// WithUpgrade adds an upgrade after the real ones: step is called with the key of each article.
func WithUpgrade(what string, step func(ctx context.Context, key string) error) Option {
	return func(o *opening) {
		o.Upgrades = append(slices.Clip(o.Upgrades), layout.Upgrade{What: what, Run: func(r *wire.Store, ctx context.Context, p keys.Partition) error {
			for _, set := range []string{p.Ranking(site.ByTime), p.Deleted()} {
				err := r.Scan(ctx, wire.Scan{Command: redis.Cmdable.ZScan, Key: set, Step: 2, Handle: func(members []string) error {
					for _, member := range members {
						if err := step(ctx, p.Key(member)); err != nil {
							return err
						}
					}
					return nil
				}})
				if err != nil {
					return err
				}
			}
			return nil
		}})
	}
}

// The parsers that the fuzz tests call directly, because through the API each call would write to Redis.

func NormalizeLink(link string) string { return site.NormalizeLink(link) }

func IsWebLink(link string) bool { return site.IsWebLink(link, unicode.IsControl) }

func EncodeCursor(l lists.Listing, score float64, member string) string {
	return l.EncodeCursor(site.Cursor{Score: score, Member: member})
}

func DecodeCursor(l lists.Listing, text string) (score float64, member string, ok bool) {
	c, err := l.DecodeCursor("after", text)
	return c.Score, c.Member, err == nil
}

// ParseEntry returns the article that an entry of the log describes.
func ParseEntry(fields map[string]any) (*site.Article, error) {
	e, err := live.ParseEntry(redis.XMessage{Values: fields})
	if err != nil {
		return nil, err
	}
	a := &site.Article{ID: e.Article}
	unopened().Apply(a, e.State)
	return a, nil
}

func unopened() *articles.Articles {
	return require.Must(articles.New(&wire.Store{Rules: site.DefaultRules()}))
}

// Decode decodes the hash of article:1.
func Decode(hash map[string]string) (*site.Article, error) {
	a := new(articles.Decoded)
	return &a.Article, unopened().Decode(1, articles.HashOf(hash), a)
}

// StoreError is the error of a call that fails with an error of Redis.
func StoreError(err error) error { return failover.Wrap("test", err) }

// ParseHash returns title and link of a raw reply to HGETALL and its number of fields; ok is false if it is no hash.
func ParseHash(reply string) (title, link string, fields int, ok bool) {
	h, fields, ok := articles.ParseHash(reply)
	return h.Title, h.Link, fields, ok
}

// WithLargeGroups has one command build the listings of groups of at most mostSmall articles, and each step of a larger one add
// about step articles.
func WithLargeGroups(mostSmall, step int) Option {
	return func(o *opening) { o.mostSmall, o.gatherStep = mostSmall, step }
}

// WithStep has each step of reading a ranking look at so many members.
func WithStep(members int) Option { return func(o *opening) { o.stepLooked = members } }
