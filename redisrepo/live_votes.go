package redisrepo

import "context"

// WatchedVote is Votes for one article that is being watched. A position that
// was read once is known from then on, as Listen hears of every vote: however
// many watch an article with their own position, that costs no reads.
func (r *Repo) WatchedVote(ctx context.Context, voter UserName, a *Article) (*Vote, error) {
	known, moves := r.live.vote(a, voter)
	if known != nil && !r.now().After(a.VotingEndsAt.Add(voterMargin)) {
		return known, nil
	}
	read, err := r.Votes(ctx, voter, []*Article{a})
	if err != nil {
		return nil, err
	}
	if read[0] != nil {
		r.live.keepVote(a.ID, voter, *read[0], moves)
	}
	return read[0], nil
}

// votePositions are the positions by their text in a message.
var votePositions = map[string]Vote{"1": Up, "-1": Down, "0": None}

// mostVotes bounds how many positions are known of one article.
const mostVotes = 100_000

// vote is the position of a user, if it is known for this state of an article, and
// how many votes were heard of. A state may be known before the message of the
// vote that led to it.
func (l *live) vote(a *Article, voter UserName) (*Vote, int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	t := l.topics[a.ID]
	if t == nil {
		return nil, 0
	}
	if vote, known := t.votes[voter]; known && a.revision <= t.heard {
		return &vote, t.moves
	}
	return nil, t.moves
}

// keepVote makes a position known that was read after so many moves. With one
// more the position may be another.
func (l *live) keepVote(id ArticleID, voter UserName, vote Vote, moves int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topics[id]
	if t == nil || t.moves != moves || t.lost {
		return
	}
	if t.votes == nil || len(t.votes) >= mostVotes {
		t.votes = map[UserName]Vote{}
	}
	t.votes[voter] = vote
}

// voted forgets a position, for a vote of this process. Its reply may come before
// its message, and those of two votes in another order than they were counted.
func (l *live) voted(id ArticleID, voter UserName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.topics[id]; t != nil {
		t.moves++
		delete(t.votes, voter)
	}
}

// vote changes a position that is known, and reports whether it did.
func (t *topic) vote(voter UserName, vote Vote) bool {
	t.moves++
	known, ok := t.votes[voter]
	if !ok || known == vote {
		return false
	}
	t.votes[voter] = vote
	return true
}
