package redisrepo

import (
	"context"
	"slices"
	"unicode"

	"github.com/redis/go-redis/v9"
)

// WithUpgrade adds an upgrade after the real ones: step is called with the key of each article.
func WithUpgrade(what string, step func(ctx context.Context, key string) error) Option {
	run := func(r *Repo, ctx context.Context, p partition) error {
		for _, set := range []string{p.ranking(ByTime), p.deleted()} {
			err := r.scan(ctx, scan{command: redis.Cmdable.ZScan, key: set, step: 2, handle: func(members []string) error {
				for _, member := range members {
					if err := step(ctx, p.key(member)); err != nil {
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
	}
	return func(r *Repo) { r.upgrades = append(slices.Clip(r.upgrades), upgrade{what, run}) }
}

// The parsers that the fuzz tests call directly, because through the API each call would write to Redis.

func NormalizeLink(link string) string { return normalizeLink(link) }

func IsWebLink(link string) bool { return isWebLink(link, unicode.IsControl) }

func EncodeCursor(l Listing, score float64, member string) string {
	return l.encodeCursor(cursor{score: score, member: member})
}

func DecodeCursor(l Listing, text string) (score float64, member string, ok bool) {
	c, err := l.decodeCursor("after", text)
	return c.score, c.member, err == nil
}

// ParseMessage returns the article that a message describes.
func ParseMessage(text string) (*Article, error) {
	m, err := parseMessage(text)
	if err != nil {
		return nil, err
	}
	a := &Article{ID: m.id}
	(&Repo{rules: DefaultRules()}).apply(a, m.state)
	return a, nil
}

// Decode decodes the hash of article:1.
func Decode(hash map[string]string) (*Article, error) {
	a := new(decoded)
	return &a.Article, (&Repo{rules: DefaultRules()}).decode(1, hashOf(hash), a)
}

// StoreError is the error of a call that fails with an error of Redis.
func StoreError(err error) error { return storeError("test", err) }

// ParseHash returns title and link of a raw reply to HGETALL and its number of fields; ok is false if it is no hash.
func ParseHash(reply string) (title, link string, fields int, ok bool) {
	h, fields, ok := parseHash(reply)
	return h.title, h.link, fields, ok
}

// Waiting returns how many votes on an article wait for the next call.
func (r *Repo) Waiting(id ArticleID) int {
	r.polls.mu.Lock()
	defer r.polls.mu.Unlock()
	return len(r.polls.waiting[id])
}

// Tags are the tags of n partitions; one has none.
func Tags(n int) (tags []string) {
	if n == 1 {
		return []string{string(untagged)}
	}
	for _, p := range tagged(n) {
		tags = append(tags, string(p))
	}
	return tags
}

// Tags are the tags of the partitions that r has.
func (r *Repo) Tags() []string { return Tags(len(r.partitions)) }

// WithStep has each step of reading a ranking look at so many members.
func WithStep(members int) Option { return func(r *Repo) { r.stepLooked = members } }

// Comparable returns the article without what depends on how it was read.
func (a Article) Comparable() Article {
	a.recorded = false
	return a
}

// ListHosts lists an article in the list of its host, as an upgrade does.
func (r *Repo) ListHosts(ctx context.Context, id ArticleID) error {
	p := r.partition(id)
	links, err := r.readLinks(ctx, p, []string{id.String()})
	if err != nil {
		return err
	}
	return r.listHosts(ctx, p, links)
}

// ScriptCall returns the command of a call of a script that is not repeated after a timeout.
func ScriptCall(c redis.Cmder) (*redis.Cmd, bool) {
	if u, ok := c.(*unrepeated); ok {
		return u.Cmd, true
	}
	return nil, false
}

// CheckHistory finds out whether a partition went back in time.
func (r *Repo) CheckHistory(ctx context.Context, partition int) error {
	return r.checkHistory(ctx, partition)
}
