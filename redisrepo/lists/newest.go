package lists

import (
	"context"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
)

// Newest reads a page of several lists merged by time: the newest first, each article once. name stands for the merged
// list in its cursors. It takes one round trip, usually a second one to the lists with most of the page, and more if
// listings of groups have to be built. looked is the number of listings and members read.
//
// Invalid requests are refused as by Walk. Only First and After are used.
func (r *Lists) Newest(ctx context.Context, name string, of []Listing, p site.PageRequest) (edges []Edge, info site.PageInfo, looked int, err error) {
	q, err := site.ParseRequest(p, r.store.Rules.PageSize, func(field, text string) (site.Cursor, error) {
		return site.DecodePlace(field, name, text, "an article")
	})
	if err != nil || len(of) == 0 {
		return nil, info, 0, err
	}
	merged, parts := Listing{order: site.ByTime, direction: site.Descending}, r.partsOf(of...)
	isMissing := make([]bool, len(parts))
	items, _, err := r.merge(ctx, merged, parts, q.Size+1, func(pipe redis.Pipeliner, i, size int, again bool) func() (run, error) {
		at := ListRequest{Request: site.Request[site.Cursor]{Size: size, After: q.After}, needEnds: true}
		if !again && !parts[i].l.follows() {
			reply := queueRun(ctx, pipe, parts[i].p, parts[i].l, merged, at, size, queueRange)
			return func() (run, error) {
				found, err := reply()
				isMissing[i] = found.missing
				looked += 1 + len(found.items)
				return found, err
			}
		}
		reply := r.queueListing(ctx, pipe, parts[i].p, parts[i].l, at)
		return func() (run, error) {
			found, err := reply()
			if looked += len(found.Items); isMissing[i] {
				looked += found.total // it was built
			}
			return run{items: found.Items, more: len(found.Items) == size}, err
		}
	})
	if err != nil {
		return nil, info, looked, failover.Wrap("read several lists", err)
	}
	page := site.NewPage(items, q.Size, false, q.After != nil, false)
	for _, z := range page.Items {
		if id, ok := ArticleOf(z); ok {
			edges = append(edges, Edge{ID: id, Cursor: PlaceOf(z).Encode(name), at: PlaceOf(z)})
		}
	}
	return edges, page.Info(func(z redis.Z) string { return PlaceOf(z).Encode(name) }), looked, nil
}
