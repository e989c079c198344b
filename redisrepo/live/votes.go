package live

import (
	"context"

	"frontpage/redisrepo/site"
)

// WatchedVote is casts.Votes for one watched article. A position is cached once it was read, and kept up to date by
// Listen, which reads every vote: showing all watchers their own votes takes no further reads.
func (r *Live) WatchedVote(ctx context.Context, voter site.UserName, a *site.Article) (*site.Vote, error) {
	cached, voteCount := r.live.cachedVote(a, voter)
	if cached != nil && !r.articles.VotersForgotten(a) {
		return cached, nil
	}
	read, err := r.casts.Votes(ctx, voter, []*site.Article{a})
	if err != nil {
		return nil, err
	}
	if read[0] != nil {
		r.live.cacheVote(a.ID, voter, *read[0], voteCount)
	}
	return read[0], nil
}

// maxCachedVotes is the maximum number of cached positions on one article.
const maxCachedVotes = 100_000

// cachedVote returns the position of a user if it is cached and belongs to this state of the article, and the
// number of votes noticed so far. A state may be known before the entry of the vote that led to it is read.
func (l *live) cachedVote(a *site.Article, voter site.UserName) (*site.Vote, int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	t := l.topics[a.ID]
	if t == nil {
		return nil, 0
	}
	if vote, cached := t.votes[voter]; cached && a.Stored.Revision <= t.voteRevision {
		return &vote, t.voteCount
	}
	return nil, t.voteCount
}

// cacheVote caches a position that was read when voteCount votes had been noticed. If there was
// another vote since, the position may have changed and is not cached.
func (l *live) cacheVote(id site.ArticleID, voter site.UserName, vote site.Vote, voteCount int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[id]
	if t == nil || t.voteCount != voteCount || t.lost {
		return
	}
	if t.votes == nil || len(t.votes) >= maxCachedVotes {
		t.votes = map[site.UserName]site.Vote{}
	}
	t.votes[voter] = vote
}

// ForgetVote drops a cached position after a vote of this process. The vote's reply may arrive before its log entry is
// read, and the replies of two votes may arrive in another order than the votes.
func (r *Live) ForgetVote(id site.ArticleID, voter site.UserName) {
	l := &r.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[id]; t != nil {
		t.voteCount++
		delete(t.votes, voter)
	}
}

// setVote updates a cached position, and reports whether it changed.
func (t *topic) setVote(voter site.UserName, vote site.Vote) bool {
	t.voteCount++
	cached, ok := t.votes[voter]
	if !ok || cached == vote {
		return false
	}
	t.votes[voter] = vote
	return true
}
