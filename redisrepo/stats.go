package redisrepo

import (
	"errors"
	"slices"
	"sync/atomic"
)

// Stats are what a Repo has done since it was opened, and what it holds now.
type Stats struct {
	Votes, Posts, Edits, Regroupings, Deletions, Undeletions Writes

	JoinedVotes uint64 // votes that went to the store in one call with others on the same article

	Messages  map[string]uint64 // changes that the store announced, of all processes, by kind; of unknown ones: other
	Coalesced uint64            // changes that joined an earlier one before the watches of their article were notified
	Notified  uint64            // notifications of watches
	Watched   int               // articles that are being watched
	Lost      int               // partitions whose changes are not received now
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
	messages    [len(messageKinds) + 1]atomic.Uint64
	lost        atomic.Int64
}

type writeStats struct{ done, unchanged, refused, failed atomic.Uint64 }

// count counts a call.
func (w *writeStats) count(changed bool, err error) {
	var refusal Refusal
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

// messageKinds are the kinds of messages that are counted apart.
var messageKinds = [...]string{kindPosted, kindImported, kindVoted, kindEdited, kindRegrouped, kindDeleted, kindUndeleted}

// received counts a message.
func (s *stats) received(kind string) {
	i := slices.Index(messageKinds[:], kind)
	if i < 0 {
		i = len(messageKinds)
	}
	s.messages[i].Add(1)
}

// Stats returns the numbers at this moment.
func (r *Repo) Stats() Stats {
	s := Stats{
		Votes: r.stats.votes.read(), Posts: r.stats.posts.read(), Edits: r.stats.edits.read(), Regroupings: r.stats.regroupings.read(),
		Deletions: r.stats.deletions.read(), Undeletions: r.stats.undeletions.read(),
		JoinedVotes: r.stats.joinedVotes.Load(), Messages: map[string]uint64{"other": r.stats.messages[len(messageKinds)].Load()},
		Lost: int(r.stats.lost.Load()),
	}
	for i, kind := range messageKinds {
		s.Messages[kind] = r.stats.messages[i].Load()
	}
	r.live.mu.RLock()
	defer r.live.mu.RUnlock()
	s.Coalesced, s.Notified, s.Watched = r.live.coalesced, r.live.notified, len(r.live.topics)
	return s
}
