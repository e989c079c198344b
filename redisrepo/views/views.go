// Package views keeps what follows from the log of changes up to date: the calendars of rankings.
//
// A view of a partition has in views: the id of the entry up to which it has the log. Scripts that apply entries compare it
// and set it, so any process may apply them, and none can apply one twice. A read first applies what the view lacks. If Redis
// refuses that, the reader gets the entries to apply them to what it reads.
package views

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/failover"
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
type Entry struct {
	ID      string
	Kind    string
	Article site.ArticleID
	Votes   string // net, after the change
	Time    string // posting time of the article, Unix seconds
	Groups  []site.GroupName
	Left    []site.GroupName // groups that the change took it out of
}

// View is something that follows from the log. Apply returns the call of the script that applies entries of a partition, from
// an entry, not included, to another: its views: is the first key, and these are the first arguments.
type View struct {
	Name  string // of the field of views:, and of the feature
	Apply func(p keys.Partition, from, to string, entries []Entry) (script *redis.Script, keys []string, args []any)
	// Applied gets the reply of Apply's call, if it is not nil.
	Applied func(p keys.Partition, answer wire.Reply)
}

// Views keeps the views of a site up to date.
type Views struct {
	Young time.Duration // entries that are at most so much older than the newest are not trimmed

	store *wire.Store
	all   []*View

	mu   sync.Mutex
	next *catchUp // has not begun
	last *catchUp

	at map[keys.Partition][]string // where this process last saw each view; only for the one that runs
}

// New returns the views of a site; rooms add theirs.
func New(store *wire.Store) *Views {
	return &Views{Young: 10 * time.Second, store: store, at: map[keys.Partition][]string{}}
}

// Add adds a view, unless the feature of its name is off.
func (v *Views) Add(view *View) {
	if v.store.Has(view.Name) {
		v.all = append(v.all, view)
	}
}

// names are those of the views.
func (v *Views) names() []string {
	names := make([]string, len(v.all))
	for i, view := range v.all {
		names[i] = view.Name
	}
	return names
}

// noEntry is the id before the first entry.
const noEntry = "0-0"

// mostApplied is how many entries one call of a script applies: it takes Redis up to 7 µs for each.
const mostApplied = 500

// QueueBegin queues that a view which is about to be built follows the log from its present end on.
func (v *Views) QueueBegin(ctx context.Context, pipe redis.Pipeliner, p keys.Partition, name string) {
	keys := []string{
		p.Views(),  // KEYS[1] views
		p.Events(), // KEYS[2] events
	}
	beginScript.EvalSha(ctx, pipe, keys,
		name, // ARGV[1] view
	)
}

// QueueBeginAll is QueueBegin for all views.
func (v *Views) QueueBeginAll(ctx context.Context, pipe redis.Pipeliner, p keys.Partition) {
	for _, view := range v.all {
		v.QueueBegin(ctx, pipe, p, view.Name)
	}
}

// ends are the commands that read how far a view of a partition has the log, and its last entry.
type ends struct {
	at   *redis.StringCmd
	last *redis.XMessageSliceCmd
}

// isBehind reports whether the view lacks the last entry.
func (e ends) isBehind() bool {
	last := e.last.Val()
	return len(last) > 0 && last[0].ID != e.at.Val()
}

// Read runs commands that read a view in some partitions, as Store.Read does, with all entries applied that their logs had before.
// If Redis refuses to apply them, it returns those that are not, by partition: the caller has to apply them to the replies. It may
// queue twice.
func (v *Views) Read(ctx context.Context, view *View, in []keys.Partition, queue func(redis.Pipeliner)) (missing map[keys.Partition][]Entry, err error) {
	for first := true; ; first = false {
		all := make([]ends, len(in))
		err := v.store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, p := range in {
				all[i] = ends{pipe.HGet(ctx, p.Views(), view.Name), pipe.XRevRangeN(ctx, p.Events(), "+", "-", 1)}
			}
			queue(pipe)
		})
		if err != nil || !slices.ContainsFunc(all, ends.isBehind) {
			return nil, err
		}
		if err = v.CatchUp(ctx); err == nil {
			return nil, v.store.Read(ctx, queue)
		}
		err = failover.Wrap("apply the log", err)
		switch {
		case errors.Is(err, failover.ErrReadOnly), errors.Is(err, failover.ErrDenied):
			return v.readBehind(ctx, view, in, queue)
		case !first: // else only other partitions may have failed
			return nil, err
		}
	}
}

// readBehind is Read while entries cannot be applied.
func (v *Views) readBehind(ctx context.Context, view *View, in []keys.Partition, queue func(redis.Pipeliner)) (missing map[keys.Partition][]Entry, err error) {
	positions, entries := make([]*redis.StringCmd, len(in)), make([]*redis.XMessageSliceCmd, len(in))
	err = v.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, p := range in {
			positions[i] = pipe.HGet(ctx, p.Views(), view.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	err = v.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, p := range in {
			entries[i] = pipe.XRange(ctx, p.Events(), after(positions[i].Val()), "+")
		}
		queue(pipe)
	})
	missing = map[keys.Partition][]Entry{}
	for i, p := range in {
		missing[p] = decode(entries[i].Val())
	}
	return missing, err
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
	first := ""
	for i, at := range positions {
		if at == "" {
			return ""
		}
		if i == 0 || isAfter(first, at) {
			first = at
		}
	}
	return first
}

// texts returns the texts of a reply, empty for none.
func texts(values []any) []string {
	all := make([]string, len(values))
	for i, value := range values {
		all[i], _ = value.(string)
	}
	return all
}

// catchUp is one run of CatchUp that its callers share.
type catchUp struct {
	done chan struct{}
	err  error
}

// CatchUp applies the entries that views lack, up to those that the log has now. Calls that come while another one runs share
// the next.
func (v *Views) CatchUp(ctx context.Context) error {
	v.mu.Lock()
	shared := v.next
	if shared == nil {
		shared = &catchUp{done: make(chan struct{})}
		v.next = shared
		go v.run(shared, v.last) // #nosec G118 -- it outlives its caller
		v.last = shared
	}
	v.mu.Unlock()
	select {
	case <-shared.done:
		return shared.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run runs a CatchUp after the one before. It belongs to no caller, so none can end or fail it for the others.
func (v *Views) run(c, before *catchUp) {
	if before != nil {
		<-before.done
	}
	v.mu.Lock()
	v.next = nil
	v.mu.Unlock()
	c.err = v.catchUp(context.Background())
	close(c.done)
}

// part is what a look at the log found of one partition.
type part struct {
	p         keys.Partition
	positions *redis.SliceCmd
	found     *redis.XMessageSliceCmd
	calls     []*redis.Cmd // by view; nil: it lacks nothing
}

// catchUp is CatchUp for all that share it. It reads the entries after those that the views had when this process last looked,
// together with where they are now. A partition is read again if another process was faster, or if views may lack more than one
// call applies. One that does not answer does not keep the others.
func (v *Views) catchUp(ctx context.Context) error {
	var errs []error
	names := v.names()
	for open := slices.Clone(v.store.Partitions); len(open) > 0 && len(names) > 0; {
		parts := make([]part, len(open))
		err := v.store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, p := range open {
				parts[i] = part{p: p, positions: pipe.HMGet(ctx, p.Views(), names...), calls: make([]*redis.Cmd, len(v.all))}
				parts[i].found = pipe.XRangeN(ctx, p.Events(), after(earliest(v.at[p])), "+", mostApplied)
			}
		})
		if err != nil {
			errs = append(errs, err)
		}
		open = nil
		var behind []part
		for _, part := range parts {
			if part.positions.Err() != nil || part.found.Err() != nil {
				continue
			}
			at, from := texts(part.positions.Val()), earliest(v.at[part.p])
			v.at[part.p] = at
			if first := earliest(at); from != "" && (first == "" || isAfter(from, first)) { // the store went back
				open = append(open, part.p)
			} else if len(part.found.Val()) > 0 {
				behind = append(behind, part)
			}
		}
		again, err := v.apply(ctx, behind)
		if err != nil {
			errs = append(errs, err)
		}
		open = append(open, again...)
	}
	return errors.Join(errs...)
}

// apply applies the entries that were found, and returns the partitions that are to be read again.
func (v *Views) apply(ctx context.Context, behind []part) (again []keys.Partition, err error) {
	if len(behind) == 0 {
		return nil, nil
	}
	err = v.store.Derive(ctx, func(pipe redis.Pipeliner) {
		for _, part := range behind {
			found := part.found.Val()
			entries, last := decode(found), found[len(found)-1].ID
			for i, view := range v.all {
				lacks, at := entries, cmp.Or(v.at[part.p][i], noEntry)
				for len(lacks) > 0 && !isAfter(lacks[0].ID, at) {
					lacks = lacks[1:]
				}
				if isAfter(last, at) {
					script, keys, args := view.Apply(part.p, at, last, lacks)
					part.calls[i] = script.EvalSha(ctx, pipe, keys, args...)
				}
			}
		}
	})
	for _, part := range behind {
		found, moved := part.found.Val(), false
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
			v.at[part.p][i] = found[len(found)-1].ID
		}
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
		text := func(field string) string {
			value, _ := m.Values[field].(string)
			return value
		}
		id, err := site.ParseArticleID(text("article"))
		if err != nil || text("time") == "" {
			continue // no script wrote it
		}
		entries = append(entries, Entry{
			ID: m.ID, Kind: text("kind"), Article: id, Votes: text("votes"), Time: text("time"),
			Groups: site.GroupNames(text("groups")), Left: site.GroupNames(text("left")),
		})
	}
	return entries
}

// IsHidden reports whether an entry is no event of the change feed.
func IsHidden(m redis.XMessage) bool {
	return m.Values["kind"] == site.KindImported || m.Values["kind"] == site.KindNoticed
}

// fields are those of an entry, in their order.
var fields = []string{"kind", "article", "revision", "votes", "downvotes", "score", "by", "to", "time", "groups", "at", "left"}

// FieldsOf returns the fields of an entry and their values in turn, as append.lua writes them.
func FieldsOf(m redis.XMessage) (values []any) {
	for _, field := range fields {
		if value, ok := m.Values[field]; ok {
			values = append(values, field, value)
		}
	}
	return values
}

// Newest returns the last entry of each article, in the order of articles.
func Newest(entries []Entry) []Entry {
	newest := map[site.ArticleID]Entry{}
	for _, e := range entries {
		newest[e.Article] = e
	}
	all := make([]Entry, 0, len(newest))
	for _, id := range slices.Sorted(maps.Keys(newest)) {
		all = append(all, newest[id])
	}
	return all
}
