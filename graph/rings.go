package graph

import (
	"context"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/rings"
	"frontpage/redisrepo/site"
)

const (
	// ringsKept is for how long rings are returned again.
	ringsKept = 10 * time.Minute
	// ringsTime is how long they are looked for, at most.
	ringsTime = 5 * time.Minute
)

// foundRings are the last rings that were found. One run at a time looks for them, and goes on when the request that began it
// has ended: a request that times out can be repeated.
type foundRings struct {
	running chan struct{} // holds one value while a run looks, or one is about to begin
	last    *ringsOf      // guarded by running
}

// ringsOf are the rings of some days.
type ringsOf struct {
	days  int
	at    time.Time
	rings []*rings.Ring
}

func (r *queryResolver) VoteRings(ctx context.Context, days int32, first *int32) ([]*rings.Ring, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("who votes together is for moderators")
	}
	most, err := sizeOf(first, r.repo.Store.Rules.PageSize)
	if err != nil {
		return nil, err
	}
	select {
	case r.found.running <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if last := r.found.last; last != nil && last.days == int(days) && r.repo.Store.Now().Sub(last.at) < ringsKept {
		<-r.found.running
		return last.rings[:min(most, len(last.rings))], nil
	}
	type result struct {
		rings []*rings.Ring
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-r.found.running }()
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), ringsTime)
		defer stop()
		found, err := r.repo.Casts.Rings(ctx, int(days))
		shown := make([]*rings.Ring, len(found))
		for i := range found {
			shown[i] = &found[i]
		}
		if err == nil {
			r.found.last = &ringsOf{int(days), r.repo.Store.Now(), shown}
		}
		done <- result{shown, err}
	}()
	select {
	case found := <-done:
		return found.rings[:min(most, len(found.rings))], found.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *voteRingResolver) Users(_ context.Context, ring *rings.Ring, first int32) ([]*site.User, error) {
	if err := checkSize(first); err != nil {
		return nil, err
	}
	names := ring.Users[:min(int(first), len(ring.Users))]
	return site.Collect(names, func(name string) *site.User { return &site.User{Name: site.UserName(name)} }), nil
}

// Articles reads the articles of rings, deleted or not, in one round trip.
func (r *voteRingResolver) Articles(ctx context.Context, all []*rings.Ring, first int32) ([][]*site.Article, error) {
	if err := checkSize(first); err != nil {
		return nil, err
	}
	var ids []site.ArticleID
	counts := make([]int, len(all))
	for i, ring := range all {
		counts[i] = min(int(first), len(ring.Articles))
		ids = append(ids, site.Collect(ring.Articles[:counts[i]], func(number int) site.ArticleID { return site.ArticleID(number) })...)
	}
	articles, err := r.loadForViewer(ctx, ids)
	if err != nil {
		return nil, err
	}
	of := make([][]*site.Article, len(all))
	for i, n := range counts {
		of[i] = make([]*site.Article, 0, n)
		for _, article := range articles[:n] {
			if article != nil {
				of[i] = append(of[i], article)
			}
		}
		articles = articles[n:]
	}
	return of, nil
}
