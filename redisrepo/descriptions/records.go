package descriptions

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Record is what moderators say about a group, as an export has it.
type Record struct {
	Described site.GroupName `json:"described"`
	stored
}

// Validate returns an error for a record that no site has.
func (r Record) Validate() error {
	name, err := site.ParseGroupName(string(r.Described))
	s, refusal := newStored(r.Description, r.Rules, site.CheckStoredLine)
	if err != nil || name != r.Described || refusal != nil || s.Description != r.Description || !slices.Equal(s.Rules, r.Rules) || s.isEmpty() {
		return errors.New("what is said about a group is invalid")
	}
	return nil
}

// Place says which of two lines of an export comes first, as saved.Record.Place does: these come after those.
func (r Record) Place() string { return "\xff\xff\xff" + string(r.Described) }

// Records calls visit with what is said about all groups, by name.
func (d *Descriptions) Records(ctx context.Context, visit func(Record) error) error {
	var texts map[string]string
	err := d.store.Scan(ctx, wire.Scan{
		Command: redis.Cmdable.HScan, Key: d.store.Partitions[0].Described(), Step: 1,
		Begin: func() { texts = map[string]string{} },
		Handle: func(pairs []string) error {
			for pair := range slices.Chunk(pairs, 2) {
				texts[pair[0]] = pair[1]
			}
			return nil
		},
	})
	if err != nil {
		return failover.Wrap("read descriptions of groups", err)
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		s, err := parseStored(name, texts[name])
		if err != nil {
			return err
		}
		if err := visit(Record{site.GroupName(name), s}); err != nil {
			return err
		}
	}
	return nil
}

// Put stores records in a store that no process serves yet. It can be repeated.
func (d *Descriptions) Put(ctx context.Context, records []Record) error {
	if len(records) == 0 {
		return nil
	}
	texts := make(map[string]string, len(records))
	for _, r := range records {
		text, err := json.Marshal(r.stored)
		if err != nil {
			return err
		}
		texts[string(r.Described)] = string(text)
	}
	return failover.Wrap("store descriptions of groups", d.store.Write(ctx, func(pipe redis.Pipeliner) {
		pipe.HSet(ctx, d.store.Partitions[0].Described(), texts)
	}))
}
