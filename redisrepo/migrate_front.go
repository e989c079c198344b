package redisrepo

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// copyFrontPages makes the saved front pages of the copy like those of the original. If the copy has more partitions, each
// page is split: together the parts have the same articles.
func (m *migration) copyFrontPages(ctx context.Context) error {
	for i, p := range m.from.partitions {
		for after, more := "-inf", true; more; {
			pages, err := m.from.client.ZRangeArgsWithScores(ctx, somePages(p, after)).Result()
			if err != nil {
				return storeError("read "+p.front(), err)
			}
			until := "+inf"
			if more = len(pages) == pagesTogether; more {
				until = strconv.FormatFloat(pages[pagesTogether-1].Score, 'f', -1, 64)
			}
			for j := i; j < len(m.to.partitions); j += len(m.from.partitions) {
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
	key := m.to.partitions[j].front()
	wanted := make(map[string]float64, len(pages))
	for _, z := range pages {
		page, err := parseFrontPage(z.Member.(string))
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		part := savedPage{hour: page.hour}
		for _, place := range page.items {
			if id, ok := articleOf(place); ok && m.to.index(id) == j {
				part.items = append(part.items, place)
			}
		}
		wanted[part.text()] = z.Score
	}
	found, err := m.to.client.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: key, Start: after, Stop: until, ByScore: true}).Result()
	if err != nil {
		return storeError("read "+key, err)
	}
	return m.to.exchange(m.to.confirmed(ctx), func(pipe redis.Pipeliner) {
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
