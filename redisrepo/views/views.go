// Package views maintains data derived from the log of changes: the listings of groups, the calendars of rankings, and
// the lists of users' votes.
//
// A view of a partition stores in views: the id of the last entry that it applied. Scripts that apply entries check and
// update it, so any process may apply entries, and none is applied twice. A reader also reads the entries that the view
// lacks, and applies them to its result, so it need not write.
package views

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var (
	beginScript = wire.Script(luaFiles, "begin.lua")
	trimScript  = wire.Script(luaFiles, "trim.lua")
)

// Entry is an entry of the log.
type Entry = wire.Entry

// View is data derived from the log. Apply returns the call of the script that applies the entries of a partition after
// from, up to to. The first key of the call is the partition's views:, its first arguments are from and to.
type View struct {
	Name  string // of the field of views:
	Apply func(p keys.Partition, from, to string, entries []Entry) (script *redis.Script, keys []string, args []any)
	// Applied gets the reply of Apply's call, if it is not nil.
	Applied func(p keys.Partition, answer wire.Reply)
}

// Views keeps the views of a site up to date.
type Views struct {
	Young time.Duration // entries are not trimmed until they are this much older than the newest

	store *wire.Store
	all   []*View

	mu      sync.Mutex
	next    *catchUp   // has not begun
	running sync.Mutex // held by the run of a catchUp

	at sync.Map // by keys.Partition: where this process last saw each view, []string
}

// New returns Views without a view: other packages add theirs.
func New(store *wire.Store) *Views {
	return &Views{Young: 10 * time.Second, store: store}
}

// Add adds a view.
func (v *Views) Add(view *View) { v.all = append(v.all, view) }

// names are those of the views.
func (v *Views) names() []string {
	return site.Collect(v.all, func(view *View) string { return view.Name })
}

// noEntry is the id before the first entry.
const noEntry = "0-0"

// mostApplied is how many entries one call of a script applies: it takes Redis up to 7 µs for each.
const mostApplied = 500

// QueueBegin queues the command that makes a view, which is about to be built, follow the log from its present end on.
func (v *Views) QueueBegin(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, name string) {
	keys := []string{
		p.Views(),  // KEYS[1] views
		p.Events(), // KEYS[2] events
	}
	beginScript.EvalSha(ctx, pipe, keys,
		name, // ARGV[1] view
	)
}

// A read gets up to so many entries that a view lacks, and has the view catch up for later reads if there are more than a few.
const (
	mostLacking = 200
	fewLacking  = 20
)

// Read runs commands that read a view in some partitions, as Store.Read does. In the same round trip it reads the
// entries that the view lacks, by partition, which the caller has to apply to the replies, and which may include some
// that the replies already have. If there are many, it may call queue several times.
func (v *Views) Read(ctx context.Context, view *View, in []keys.Partition, queue func(redis.Pipeliner)) (lacking map[keys.Partition][]Entry, err error) {
	most := mostLacking
	for first := true; ; first = false {
		positions, found := make([]*redis.StringCmd, len(in)), make([]*redis.XMessageSliceCmd, len(in))
		from := make([]string, len(in))
		err := v.store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, p := range in {
				known, _ := v.at.Load(p)
				at, _ := known.([]string)
				from[i] = earliest(at)
				positions[i], found[i] = pipe.HGet(ctx, p.Views(), view.Name), pipe.XRangeN(ctx, p.Events(), after(from[i]), "+", int64(most))
			}
			queue(pipe)
		})
		if err != nil {
			return nil, err
		}
		lacking, whole, n := map[keys.Partition][]Entry{}, true, 0
		for i, p := range in {
			at := cmp.Or(positions[i].Val(), noEntry)
			whole = whole && len(found[i].Val()) < most && (from[i] == "" || !isAfter(from[i], at)) // else the store went back
			lacking[p] = decode(since(found[i].Val(), at))
			n = max(n, len(lacking[p]))
		}
		if whole {
			v.Found(n)
			return lacking, nil
		}
		switch err := failover.Wrap("apply the log", v.CatchUp(ctx)); {
		case err == nil:
		case errors.Is(err, failover.ErrReadOnly), errors.Is(err, failover.ErrDenied):
			most = math.MaxInt32
		case !first: // else only other partitions may have failed
			return nil, err
		}
	}
}

// Found notes the number of entries that a view lacked at a read. If it is more than a few, the views catch up for
// later reads.
func (v *Views) Found(lacking int) {
	if lacking > fewLacking {
		v.start()
	}
}

// since returns the entries after a position.
func since(messages []redis.XMessage, at string) []redis.XMessage {
	i := slices.IndexFunc(messages, func(m redis.XMessage) bool { return isAfter(m.ID, at) })
	if i < 0 {
		return nil
	}
	return messages[i:]
}

// after is where entries begin that follow a position.
func after(position string) string {
	if position == "" {
		return "-"
	}
	return "(" + position
}

// earliest returns the first of some positions, empty for the beginning.
func earliest(positions []string) string {
	if len(positions) == 0 {
		return ""
	}
	return slices.MinFunc(positions, func(a, b string) int { return wire.ParseEntryID(a).Compare(wire.ParseEntryID(b)) })
}

// texts returns the texts of a reply, empty for none.
func texts(reply wire.Reply) []string {
	all := make([]string, len(reply))
	for i := range all {
		all[i] = reply.Text(i)
	}
	return all
}

// catchUp is one run of CatchUp that its callers share.
type catchUp struct {
	done chan struct{}
	err  error
}

// CatchUp applies to all views the entries that the log has now. Calls during a run share the next run.
func (v *Views) CatchUp(ctx context.Context) error {
	shared := v.start()
	select {
	case <-shared.done:
		return shared.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start returns the next run of CatchUp.
func (v *Views) start() *catchUp {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.next == nil {
		v.next = &catchUp{done: make(chan struct{})}
		go v.run(v.next)
	}
	return v.next
}

// run runs a CatchUp after the one before. It belongs to no caller, so none can end or fail it for the others.
func (v *Views) run(c *catchUp) {
	v.running.Lock()
	defer v.running.Unlock()
	v.mu.Lock()
	v.next = nil
	v.mu.Unlock()
	c.err = v.catchUp(context.Background())
	close(c.done)
}

// part is what a look at the log found of one partition.
type part struct {
	p         keys.Partition
	at        []string // where each view is
	positions *redis.SliceCmd
	found     *redis.XMessageSliceCmd
	calls     []*redis.Cmd // by view; nil: it lacks nothing
}

// catchUp is CatchUp for all that share it. It reads where the views are, and then what they lack, which another process may have
// applied. A partition is read again if that was faster, or if views may lack more than one call applies. One that does not
// answer does not keep the others.
func (v *Views) catchUp(ctx context.Context) error {
	var errs []error
	names := v.names()
	for open := slices.Clone(v.store.Partitions); len(open) > 0; {
		parts := make([]part, len(open))
		errs = append(errs, v.store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, p := range open {
				parts[i] = part{p: p, positions: pipe.HMGet(ctx, p.Views(), names...), calls: make([]*redis.Cmd, len(v.all))}
			}
		}))
		parts = slices.DeleteFunc(parts, func(part part) bool { return part.positions.Err() != nil })
		errs = append(errs, v.store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, part := range parts {
				parts[i].at = texts(part.positions.Val())
				v.at.Store(part.p, parts[i].at)
				parts[i].found = pipe.XRangeN(ctx, part.p.Events(), after(earliest(parts[i].at)), "+", mostApplied)
			}
		}))
		again, err := v.apply(ctx, slices.DeleteFunc(parts, func(part part) bool { return len(part.found.Val()) == 0 }))
		errs, open = append(errs, err), again
	}
	return errors.Join(errs...)
}

// apply applies the entries that were found, and returns the partitions that are to be read again.
func (v *Views) apply(ctx context.Context, behind []part) (again []keys.Partition, err error) {
	if len(behind) == 0 {
		return nil, nil
	}
	err = v.store.WriteDerived(ctx, func(pipe redis.Pipeliner) {
		for _, part := range behind {
			found := part.found.Val()
			last := found[len(found)-1].ID
			for i, view := range v.all {
				at := cmp.Or(part.at[i], noEntry)
				if lacks := since(found, at); len(lacks) > 0 {
					script, keys, args := view.Apply(part.p, at, last, decode(lacks))
					part.calls[i] = script.EvalSha(ctx, pipe, keys, args...)
				}
			}
		}
	})
	for _, part := range behind {
		found, at, moved := part.found.Val(), slices.Clone(part.at), false
		for i, view := range v.all {
			if part.calls[i] == nil {
				continue // it lacks nothing, or Derive sent nothing
			}
			answer, callErr := wire.StatusReply(part.calls[i])
			switch {
			case callErr != nil:
				err = cmp.Or(err, callErr)
				continue
			case answer.Status() != "OK":
				moved = true // by another process
				continue
			case view.Applied != nil:
				view.Applied(part.p, answer)
			}
			at[i] = found[len(found)-1].ID
		}
		v.at.Store(part.p, at)
		if moved || err == nil && len(found) == mostApplied {
			again = append(again, part.p)
		}
	}
	return again, err
}

// decode returns the entries that have an article.
func decode(messages []redis.XMessage) []Entry {
	entries := make([]Entry, 0, len(messages))
	for _, m := range messages {
		if e, err := wire.EntryOf(m); err == nil && e.Time != "" { // else no script wrote it
			entries = append(entries, e)
		}
	}
	return entries
}

// Newest returns the last entry of each article, in the order of articles.
func Newest(entries []Entry) []Entry {
	newest := map[site.ArticleID]Entry{}
	for _, e := range entries {
		newest[e.Article] = e
	}
	return site.Collect(slices.Sorted(maps.Keys(newest)), func(id site.ArticleID) Entry { return newest[id] })
}
