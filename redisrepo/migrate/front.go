package migrate

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
)

// copyFrontPages makes the saved front pages of the copy like those of the original. If the copy has more partitions, each
// page is split: together the parts have the same articles.
func (m *migration) copyFrontPages(ctx context.Context) error {
	for i, p := range m.from.Store.Partitions {
		for after, more := "-inf", true; more; {
			pages, err := m.from.Store.Client.ZRangeArgsWithScores(ctx, rankings.SomePages(p, after)).Result()
			if err != nil {
				return failover.Wrap("read "+p.Front(), err)
			}
			until := "+inf"
			if more = len(pages) == rankings.PagesTogether; more {
				until = strconv.FormatFloat(pages[rankings.PagesTogether-1].Score, 'f', -1, 64)
			}
			for j := i; j < len(m.to.Store.Partitions); j += len(m.from.Store.Partitions) {
				if err := m.putFrontPages(ctx, j, after, until, pages); err != nil {
					return err
				}
			}
			after = "(" + until
		}
	}
	return nil
}

// putFrontPages gives partition j of the copy its parts of the pages, and no others between the scores after and until.
func (m *migration) putFrontPages(ctx context.Context, j int, after, until string, pages []redis.Z) error {
	key := m.to.Store.Partitions[j].Front()
	wanted := make(map[string]float64, len(pages))
	for _, z := range pages {
		page, err := rankings.ParseFrontPage(z.Member.(string))
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		part := rankings.SavedPage{Hour: page.Hour}
		for _, place := range page.Items {
			if id, ok := lists.ArticleOf(place); ok && m.to.Store.Index(id) == j {
				part.Items = append(part.Items, place)
			}
		}
		wanted[part.Text()] = z.Score
	}
	found, err := m.to.Store.Client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: key, Start: after, Stop: until, ByScore: true}).Result()
	if err != nil {
		return failover.Wrap("read "+key, err)
	}
	return m.to.Store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, z := range found {
			if score, ok := wanted[z.Member.(string)]; ok && score == z.Score {
				delete(wanted, z.Member.(string))
			} else {
				pipe.ZRem(ctx, key, z.Member)
				m.changed.Add(1)
			}
		}
		for text, score := range wanted {
			pipe.ZAdd(ctx, key, redis.Z{Member: text, Score: score})
			m.changed.Add(1)
		}
	})
}
