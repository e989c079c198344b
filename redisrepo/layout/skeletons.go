package layout

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// RecordSkeletons records the skeletons of the names of posters and accounts, at the end of an import, whose posters do
// not count as new.
func (r *Layout) RecordSkeletons(ctx context.Context, p keys.Partition) error {
	return r.store.EachMatching(ctx, p, p.Key("[ap][co]*"), func(found []string) error {
		var names []site.UserName
		var accounts []*redis.StringCmd
		err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
			for _, key := range found {
				if name, is := strings.CutPrefix(key, p.Posted("")); is {
					names = append(names, site.UserName(name))
				} else if strings.HasPrefix(key, p.Account("")) {
					accounts = append(accounts, pipe.Get(ctx, key))
				}
			}
		})
		if err != nil {
			return err
		}
		for _, account := range accounts {
			names = append(names, site.UserName(account.Val()))
		}
		return r.sessions.RecordSkeletons(ctx, names)
	})
}
