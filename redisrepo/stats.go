package redisrepo

import (
	"errors"
	"sync/atomic"

	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
)

// Stats are what a Repo has done since it was opened, and what it holds now.
type Stats struct {
	Votes, Posts, Edits, Regroupings, Deletions, Undeletions Writes

	JoinedVotes uint64 // votes that went to the store in one call with others on the same article

	live.WatchStats
}

// Writes counts the calls of one kind by their result.
type Writes struct {
	Done      uint64
	Unchanged uint64 // votes that set the position that the voter had
	Refused   uint64 // by the rules of the site
	Failed    uint64 // they may have taken effect
}

// stats is what Stats is made of. The zero value is ready to use.
type stats struct {
	votes, posts, edits, regroupings, deletions, undeletions writeStats

	joinedVotes atomic.Uint64
}

type writeStats struct{ done, unchanged, refused, failed atomic.Uint64 }

// count counts a call.
func (w *writeStats) count(changed bool, err error) {
	var refusal site.Refusal
	switch {
	case errors.As(err, &refusal):
		w.refused.Add(1)
	case err != nil:
		w.failed.Add(1)
	case changed:
		w.done.Add(1)
	default:
		w.unchanged.Add(1)
	}
}

func (w *writeStats) read() Writes {
	return Writes{w.done.Load(), w.unchanged.Load(), w.refused.Load(), w.failed.Load()}
}

// Stats returns the numbers at this moment.
func (r *Repo) Stats() Stats {
	return Stats{
		Votes: r.stats.votes.read(), Posts: r.stats.posts.read(), Edits: r.stats.edits.read(), Regroupings: r.stats.regroupings.read(),
		Deletions: r.stats.deletions.read(), Undeletions: r.stats.undeletions.read(),
		JoinedVotes: r.stats.joinedVotes.Load(), WatchStats: r.Live.WatchStats(),
	}
}
