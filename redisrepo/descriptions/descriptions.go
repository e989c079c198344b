// Package descriptions stores the descriptions and rules that moderators give groups.
package descriptions

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	_ "frontpage/redisrepo/events" // moderation.lua
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var describeScript = wire.Script(luaFiles, "describe.lua")

const (
	// MaxDescription is the maximum number of characters of a description.
	MaxDescription = 160
	// MaxRules is the maximum number of rules of a group.
	MaxRules = 10
	// MaxRule is the maximum number of characters of a rule.
	MaxRule = 200
)

// Descriptions stores the descriptions and rules of a site's groups. It is safe for concurrent use.
type Descriptions struct{ store *wire.Store }

// New returns Descriptions for a site.
func New(store *wire.Store) *Descriptions { return &Descriptions{store} }

// stored is the field of a group, JSON.
type stored struct {
	Description string   `json:"description,omitempty"`
	Rules       []string `json:"rules,omitempty"`
}

// DescribeGroup sets a group's description, one line, and its rules, one line each; empty rules are left out. They
// replace the earlier ones. A change adds an entry to the moderation log. The group need not have articles yet.
//
// The Refusal is Forbidden if the actor is not a moderator, and Invalid or TooLong for an invalid name or text.
func (d *Descriptions) DescribeGroup(ctx context.Context, name, description string, rules []string, by site.Actor) (*site.Group, error) {
	if !by.Moderator {
		return nil, site.Refuse(site.Forbidden, "group", "only moderators can describe a group")
	}
	group, err := site.ParseGroupName(name)
	if err != nil {
		return nil, site.InField("group", err)
	}
	s, refusal := newStored(description, rules, site.CheckLine)
	if len(refusal) > 0 {
		return nil, refusal
	}
	var text []byte
	if !s.isEmpty() {
		if text, err = json.Marshal(s); err != nil {
			return nil, err
		}
	}
	scriptKeys := []string{
		d.store.Partitions[0].Described(),  // KEYS[1] described
		d.store.Partitions[0].Moderation(), // KEYS[2] log
	}
	_, err = d.store.Call(ctx, describeScript, scriptKeys, []any{
		string(group),          // ARGV[1] group
		string(text),           // ARGV[2] text
		d.store.ScriptNow(),    // ARGV[3] now
		site.ModerationEntries, // ARGV[4] max_entries
		by.Name.Member(),       // ARGV[5] by
		by.ViaMember(),         // ARGV[6] via
	})
	if err != nil {
		return nil, failover.Wrap("describe a group", err)
	}
	return s.describe(&site.Group{Name: group}), nil
}

// newStored returns the texts as they are stored. checkLine is site.CheckLine or site.CheckStoredLine.
func newStored(description string, rules []string, checkLine func(field, text string, most int) (string, site.Refusal)) (s stored, refusal site.Refusal) {
	check := func(field, text string, most int) string {
		line, refused := checkLine(field, text, most)
		refusal = append(refusal, refused...)
		return line
	}
	s.Description = check("description", description, MaxDescription)
	for _, rule := range rules {
		if line := check("rules", rule, MaxRule); line != "" {
			s.Rules = append(s.Rules, line)
		}
	}
	if len(s.Rules) > MaxRules {
		refusal = append(refusal, site.Refuse(site.TooLong, "rules", "a group has at most %d rules, these are %d", MaxRules, len(s.Rules))...)
	}
	return s, refusal
}

func parseStored(group, text string) (s stored, err error) {
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("read the description of the group %s: %w", group, err)
	}
	return s, nil
}

func (s stored) isEmpty() bool { return s.Description == "" && s.Rules == nil }

// describe sets what is said about a group.
func (s stored) describe(group *site.Group) *site.Group {
	if s.Description != "" {
		group.Description = &s.Description
	}
	group.Rules = s.Rules
	return group
}

// Describe sets the fields Description and Rules of each group from the store, in one round trip.
func (d *Descriptions) Describe(ctx context.Context, groups []*site.Group) error {
	if len(groups) == 0 {
		return nil
	}
	names := site.Collect(groups, func(group *site.Group) string { return string(group.Name) })
	var found *redis.SliceCmd
	err := d.store.Read(ctx, func(pipe redis.Pipeliner) { found = pipe.HMGet(ctx, d.store.Partitions[0].Described(), names...) })
	if err != nil {
		return failover.Wrap("read descriptions of groups", err)
	}
	for i, value := range found.Val() {
		text, ok := value.(string)
		if !ok {
			continue
		}
		s, err := parseStored(names[i], text)
		if err != nil {
			return err
		}
		s.describe(groups[i])
	}
	return nil
}

// Record is a group's description and rules in an export.
type Record struct {
	Described site.GroupName `json:"described"`
	stored
}

// Validate returns an error for a record that no site can have.
func (r Record) Validate() error {
	name, err := site.ParseGroupName(string(r.Described))
	s, refusal := newStored(r.Description, r.Rules, site.CheckStoredLine)
	if err != nil || name != r.Described || refusal != nil || s.Description != r.Description || !slices.Equal(s.Rules, r.Rules) || s.isEmpty() {
		return errors.New("what is said about a group is invalid")
	}
	return nil
}

// Place returns the key by which an export sorts its lines: after those of saved.Record.
func (r Record) Place() string { return "\xff\xff\xff" + string(r.Described) }

// Records calls visit with the records of all groups, by name.
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

// Put stores records in a store that no process serves yet. It is safe to repeat.
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
