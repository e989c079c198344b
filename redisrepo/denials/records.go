package denials

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Record is a denial, or a user's blocks, in an export.
type Record struct {
	Denial string `json:"denial,omitempty"` // user:eve or host:go.dev
	Says   string `json:"says,omitempty"`   // its value, as Denial.Text returns it

	Blocker site.UserName   `json:"blocker,omitempty"`
	Blocked []site.UserName `json:"blocked,omitempty"` // sorted
}

// Validate returns an error for a record that no site can have.
func (r Record) Validate() error {
	if r.Denial != "" && r.Blocker == "" && r.Blocked == nil {
		if d, err := Parse(r.Denial, r.Says); err != nil || d.member() != r.Denial || d.Text() != r.Says {
			return errors.New("the denial is invalid")
		}
		return nil
	}
	if r.Denial+r.Says != "" || r.Blocker == "" || len(r.Blocked) == 0 || len(r.Blocked) > MaxBlocked || !slices.IsSorted(r.Blocked) {
		return errors.New("the blocks are invalid")
	}
	return nil
}

// Place returns the key by which an export sorts its records.
func (r Record) Place() string {
	if r.Blocker != "" {
		return "\xff" + string(r.Blocker) // after all denials
	}
	return r.Denial
}

// Records calls visit with all denials but those of erasures under way, and then with all blocks, both by name.
func (d *Denials) Records(ctx context.Context, visit func(Record) error) error {
	if err := d.ReadDenials(ctx); err != nil {
		return err
	}
	of := d.all.Load().of
	for _, member := range slices.Sorted(maps.Keys(of)) {
		if of[member].Erasing {
			continue // it is of use in this store only
		}
		if err := visit(Record{Denial: member, Says: of[member].Text()}); err != nil {
			return err
		}
	}
	d.blockers.mu.RLock()
	blockers := slices.Sorted(maps.Keys(d.blockers.names))
	d.blockers.mu.RUnlock()
	for batch := range slices.Chunk(blockers, wire.BatchSize) {
		sets, err := wire.ReadEach(ctx, d.store, batch, func(pipe redis.Pipeliner, by site.UserName) *redis.StringSliceCmd {
			return pipe.SMembers(ctx, d.blockedBy(by))
		})
		if err != nil {
			return failover.Wrap("read blocks", err)
		}
		for i, by := range batch {
			if blocked := namesOf(sets[i].Val()); len(blocked) > 0 {
				if err := visit(Record{Blocker: by, Blocked: blocked}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// namesOf returns the users of members, sorted.
func namesOf(members []string) []site.UserName {
	names := site.Collect(members, site.UserOf)
	slices.Sort(names)
	return names
}

// Put stores records in a store that no process serves yet. It is safe to repeat.
func (d *Denials) Put(ctx context.Context, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	return failover.Wrap("store denials and blocks", d.store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, r := range records {
			if r.Denial != "" {
				pipe.HSet(ctx, d.store.Partitions[0].Denials(), r.Denial, r.Says, fieldVersion, rand.Text())
				continue
			}
			scriptKeys := []string{
				d.store.Partitions[0].Blockers(), // KEYS[1] blockers
			}
			blockerScript.EvalSha(ctx, pipe, scriptKeys,
				r.Blocker.Member(), // ARGV[1] user
			)
			for _, user := range r.Blocked {
				pipe.SAdd(ctx, d.blockedBy(r.Blocker), user.Member())
			}
		}
	}))
}

// Edge is a denial and its position in a list.
type Edge struct {
	Cursor string
	Node   *Denial
}

// DeniedUsers returns a page of the denials of users, the latest first. With ended it includes those that have ended.
func (d *Denials) DeniedUsers(first *int, after *string, ended bool) ([]*Edge, site.PageInfo, error) {
	return d.page("denied users", first, after, ended, func(denial *Denial) bool { return denial.User != "" })
}

// DeniedHosts is DeniedUsers for hosts.
func (d *Denials) DeniedHosts(first *int, after *string, ended bool) ([]*Edge, site.PageInfo, error) {
	return d.page("denied hosts", first, after, ended, func(denial *Denial) bool { return denial.User == "" })
}

func (d *Denials) page(list string, first *int, after *string, ended bool, is func(*Denial) bool) (edges []*Edge, info site.PageInfo, err error) {
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, d.store.Rules.PageSize, parseCursor(list))
	if err != nil {
		return nil, info, err
	}
	now, all := d.store.Now(), []*Denial{}
	for _, denial := range d.all.Load().of {
		if is(denial) && !denial.Erasing && (ended || !denial.isOver(now)) {
			all = append(all, denial)
		}
	}
	slices.SortFunc(all, compare)
	from := 0
	if q.After != nil {
		var found bool
		if from, found = slices.BinarySearchFunc(all, q.After, compare); found {
			from++
		}
	}
	page := site.NewPage(all[from:], q.Size, false, from > 0, false)
	cursor := func(d *Denial) string { return site.EncodeCursor(list, fmt.Sprint(d.At.Unix()), d.member()) }
	for _, denial := range page.Items {
		edges = append(edges, &Edge{cursor(denial), denial})
	}
	return edges, page.Info(cursor), nil
}

// compare puts the latest first.
func compare(a, b *Denial) int {
	return cmp.Or(b.At.Compare(a.At), strings.Compare(a.member(), b.member()))
}

// parseCursor returns a function that returns a denial at the place of a cursor of a list.
func parseCursor(list string) func(field, cursor string) (Denial, error) {
	return func(field, cursor string) (Denial, error) {
		parts, err := site.DecodeCursor(field, list, cursor)
		if err != nil || len(parts) != 2 {
			return Denial{}, cmp.Or(err, site.NotACursor(field))
		}
		seconds, err := site.ParseNumber(parts[0])
		if err != nil {
			return Denial{}, site.NotACursor(field)
		}
		d := about(parts[1])
		d.At = site.UnixTime(seconds)
		return *d, nil
	}
}
