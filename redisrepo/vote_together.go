package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"frontpage/failover"
	"frontpage/redisrepo/site"
)

// How votes on one article go together: the first one is sent at once. Those that arrive while its call is under way
// wait, and all of them go in the next call. So a quiet article's votes never wait, and a hot one's cost Redis little:
// most of a vote's work is the same for all votes on its article.

// ballot is one vote, its place in a call, and its result.
type ballot struct {
	ctx    context.Context // of its caller
	voter  site.UserName
	vote   site.Vote
	bucket string
	reads  bool // whether its caller needs the whole article

	result VoteResult
	err    error
	done   chan struct{} // closed when result and err are set; nil if the caller sends the ballot itself
}

// maxTogether is the maximum number of votes in one call: other clients of Redis wait for it.
const maxTogether = 200

// polls are the articles with a call of vote.lua under way, and the ballots that wait for the next one in the order of
// their arrival.
type polls struct {
	mu      sync.Mutex
	waiting map[site.ArticleID][]*ballot
}

// enter reports whether the caller is to send the ballot itself and leave the poll then. Otherwise the ballot waits.
func (p *polls) enter(id site.ArticleID, b *ballot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting, busy := p.waiting[id]
	if !busy {
		if p.waiting == nil {
			p.waiting = map[site.ArticleID][]*ballot{}
		}
		p.waiting[id] = nil
		return true
	}
	b.done = make(chan struct{})
	p.waiting[id] = append(waiting, b)
	return false
}

// next takes the ballots of the next call. If none waits, it returns none, and the poll is over.
func (p *polls) next(id site.ArticleID) (batch []*ballot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting[id]) == 0 {
		delete(p.waiting, id)
		return nil
	}
	var later []*ballot
	voters := map[site.UserName]bool{}
	for _, b := range p.waiting[id] {
		switch {
		case b.ctx.Err() != nil: // its caller has left
		case len(batch) == maxTogether || voters[b.voter]: // a user's votes count one after the other
			later = append(later, b)
		default:
			voters[b.voter] = true
			batch = append(batch, b)
		}
	}
	if len(batch) == 0 {
		delete(p.waiting, id)
		return nil
	}
	p.waiting[id] = later
	return batch
}

// withdraw removes a ballot, if it is still waiting.
func (p *polls) withdraw(id site.ArticleID, b *ballot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.waiting[id] {
		if other == b {
			p.waiting[id] = append(p.waiting[id][:i:i], p.waiting[id][i+1:]...)
			return
		}
	}
}

// await returns the result of a waiting ballot. A caller that gives up leaves the others alone: if the ballot's call is
// under way, it goes on.
func (r *Repo) await(id site.ArticleID, b *ballot) (VoteResult, error) {
	select {
	case <-b.done:
		failover.NoteOutage(b.ctx, b.err)
		return b.result, b.err
	case <-b.ctx.Done():
		r.voting.polls.withdraw(id, b)
		return VoteResult{}, failover.Wrap(fmt.Sprintf("vote on %v", id), b.ctx.Err())
	}
}

// leavePoll has the waiting ballots sent after a call that ended with err.
func (r *Repo) leavePoll(id site.ArticleID, err error) {
	batch := r.nextBatch(id, err)
	if len(batch) > 0 {
		go func() {
			for len(batch) > 0 {
				batch = r.nextBatch(id, r.castTogether(id, batch))
			}
		}()
	}
}

// nextBatch is polls.next. But after Redis has left a call without a reply for as long as a request may wait, it fails
// the ballots that waited as long.
func (r *Repo) nextBatch(id site.ArticleID, err error) []*ballot {
	for {
		batch := r.voting.polls.next(id)
		if !errors.Is(err, failover.ErrNoReply) || len(batch) == 0 {
			return batch
		}
		for _, b := range batch {
			b.err = err
			close(b.done)
		}
	}
}

// castTogether sends ballots, ends their callers' waiting, and returns the error of the call.
func (r *Repo) castTogether(id site.ArticleID, batch []*ballot) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("vote on %v: panic: %v\n%s", id, p, debug.Stack())
			for _, b := range batch {
				b.err = err
			}
		}
		for _, b := range batch {
			close(b.done)
		}
	}()
	ctx, cancel := jointContext(batch)
	defer cancel()
	r.cast(ctx, id, batch...)
	return batch[0].err
}

// jointContext is the context of a call for several callers, of whom none may end it for the others: it ends at the
// latest of their deadlines.
func jointContext(batch []*ballot) (context.Context, context.CancelFunc) {
	if len(batch) == 1 {
		return batch[0].ctx, func() {}
	}
	var latest time.Time
	for _, b := range batch {
		deadline, ok := b.ctx.Deadline()
		if !ok {
			return context.Background(), func() {}
		}
		if deadline.After(latest) {
			latest = deadline
		}
	}
	return context.WithDeadline(context.Background(), latest)
}
