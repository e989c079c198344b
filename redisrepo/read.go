package redisrepo

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// ArticlesByID reads articles in one round trip. Both results have one element for each id, in order.
// The error for an article that does not exist or is deleted is a Refusal with NotFound.
func (r *Repo) ArticlesByID(ctx context.Context, ids []ArticleID) ([]*Article, []error) {
	articles, errs := r.readArticles(ctx, ids)
	for i, a := range articles {
		if a != nil && a.DeletedAt != nil {
			articles[i], errs[i] = nil, noArticle(a.ID)
		}
	}
	return articles, errs
}

// readArticles is ArticlesByID including deleted articles.
func (r *Repo) readArticles(ctx context.Context, ids []ArticleID) ([]*Article, []error) {
	articles, errs := make([]*Article, len(ids)), make([]error, len(ids))
	hashes := make([]*redis.MapStringStringCmd, len(ids))
	// Every command has its own error: a lost connection fails all of them.
	_, _ = r.pipelined(ctx, func(pipe redis.Pipeliner) {
		for i, id := range ids {
			hashes[i] = pipe.HGetAll(ctx, r.partition(id).article(id))
		}
	})
	for i, id := range ids {
		hash, err := hashes[i].Result()
		switch {
		case err != nil:
			errs[i] = storeError("read "+id.String(), err)
		case len(hash) == 0:
			errs[i] = noArticle(id)
		default:
			articles[i], errs[i] = r.observe(id, hash)
		}
	}
	return articles, errs
}

// Votes returns the user's position on each article, in one round trip. A position is nil if it is not
// known any more: voters are forgotten an hour after the voting window.
func (r *Repo) Votes(ctx context.Context, voter UserName, articles []*Article) ([]*Vote, error) {
	votes := make([]*Vote, len(articles))
	ups, downs := make([]*redis.BoolCmd, len(articles)), make([]*redis.BoolCmd, len(articles))
	now := r.now()
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, a := range articles {
			if now.After(a.VotingEndsAt.Add(voterMargin)) {
				continue
			}
			p := r.partition(a.ID)
			ups[i] = pipe.SIsMember(ctx, p.voted(a.ID), voter.member())
			downs[i] = pipe.SIsMember(ctx, p.downvoted(a.ID), voter.member())
		}
	})
	if err != nil {
		return nil, storeError("read votes", err)
	}
	for i := range articles {
		if ups[i] == nil {
			continue
		}
		vote := None
		// A legacy client that upvotes over a downvote leaves both: they cancel out.
		if ups[i].Val() {
			vote += Up
		}
		if downs[i].Val() {
			vote += Down
		}
		votes[i] = &vote
	}
	return votes, nil
}

// ArticleCounts returns the number of articles in each group, in one round trip; 0 for an empty group.
func (r *Repo) ArticleCounts(ctx context.Context, names []GroupName) ([]int, error) {
	cards := make([]*redis.IntCmd, 0, len(names)*len(r.partitions))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, name := range names {
			for _, p := range r.partitions {
				cards = append(cards, pipe.SCard(ctx, p.group(name)))
			}
		}
	})
	if err != nil {
		return nil, storeError("count articles", err)
	}
	counts := make([]int, len(names))
	for i, card := range cards {
		counts[i/len(r.partitions)] += int(card.Val())
	}
	return counts, nil
}

// Count returns the number of articles in a listing, in one round trip.
func (r *Repo) Count(ctx context.Context, l Listing) (int, error) {
	if l.group != "" {
		counts, err := r.ArticleCounts(ctx, []GroupName{l.group})
		if err != nil {
			return 0, err
		}
		return counts[0], nil
	}
	var cards []*redis.IntCmd
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		cards = nil
		for _, p := range r.partitions {
			cards = append(cards, pipe.ZCard(ctx, l.key(p)))
		}
	})
	if err != nil {
		return 0, storeError("count articles", err)
	}
	count := 0
	for _, card := range cards {
		count += int(card.Val())
	}
	return count, nil
}
