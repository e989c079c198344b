package casts

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// OldestVoters is the posting time of the oldest article whose voters may be known.
func (r *Casts) OldestVoters() float64 {
	return float64(r.store.Now().Add(-r.store.Rules.VotingWindow - site.VoterMargin).Unix())
}

// expireCasts gives the histories the expiry of the present rules.
func (r *Casts) expireCasts(ctx context.Context) error {
	for _, p := range r.store.Partitions {
		err := r.store.EachMatching(ctx, p, p.Key(keys.CastPrefix, "*"), func(keys []string) error {
			return r.store.Write(ctx, func(pipe redis.Pipeliner) {
				for _, key := range keys {
					month, err := strconv.ParseInt(key[strings.LastIndexByte(key, ':')+1:], 10, 64)
					switch end := r.CastExpiry(month); {
					case err != nil: // not a history
					case end.IsZero():
						pipe.Persist(ctx, key)
					default:
						pipe.Expire(ctx, key, end.Sub(r.store.Now()))
					}
				}
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
