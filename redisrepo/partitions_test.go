package redisrepo_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
)

func TestNewRefusesAnotherLayout(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data, options []string
		corrupt       string
		ok            bool
	}{
		"the same":               {data: []string{""}, options: []string{""}, ok: true},
		"the same three":         {data: []string{"{a}", "{b}", "{c}"}, options: []string{"{a}", "{b}", "{c}"}, ok: true},
		"one more":               {data: []string{"{a}", "{b}"}, options: []string{"{a}", "{b}", "{c}"}},
		"one more than the only": {data: []string{""}, options: []string{"", "{b}"}},
		"one less":               {data: []string{"{a}", "{b}"}, options: []string{"{a}"}},
		"another order":          {data: []string{"{a}", "{b}"}, options: []string{"{b}", "{a}"}},
		"one twice":              {data: []string{"{a}", "{b}"}, options: []string{"{a}", "{a}"}},
		"none":                   {data: []string{""}},
		"another layout":         {data: []string{""}, options: []string{""}, corrupt: "HSET meta: layout 2"},
		"another kind of data":   {data: []string{""}, options: []string{""}, corrupt: "DEL meta:\nSET meta: x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, redisrepo.WithPartitions(tt.data...))
			for line := range strings.Lines(tt.corrupt) {
				s.do(line)
			}
			before := s.dump()
			_, err := redisrepo.New(s.ctx, s.server.Client, s.rules, redisrepo.WithPartitions(tt.options...))
			if (err == nil) != tt.ok {
				t.Errorf("New = %v, want no error: %t", err, tt.ok)
			}
			if after := s.dump(); after != before {
				t.Errorf("the store holds\n%s\nwant\n%s", after, before)
			}
		})
	}
	t.Run("one twice, in an empty store", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		if _, err := redisrepo.New(s.ctx, s.server.Client, s.rules, redisrepo.WithPartitions("{a}", "{a}")); err == nil {
			t.Error("New succeeded, want an error")
		}
	})
}

// oneTag fails the test unless all keys of a script have the same tag, as Redis Cluster requires.
type oneTag struct {
	t    *testing.T
	tags []string

	mutex sync.Mutex
	seen  map[string]int // calls by tag
}

func (h *oneTag) look(commands ...redis.Cmder) {
	for _, command := range commands {
		h.check(command)
	}
}

func (h *oneTag) check(command redis.Cmder) {
	args := command.Args()
	if command.Name() != "evalsha" {
		return
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	first := ""
	for _, arg := range args[3 : 3+args[2].(int)] {
		key := arg.(string)
		at := slices.IndexFunc(h.tags, func(tag string) bool { return strings.HasPrefix(key, tag) })
		if at < 0 || first != "" && first != h.tags[at] {
			h.t.Errorf("the keys of a script = %q, want the same tag", args[3:])
			return
		}
		first = h.tags[at]
	}
	h.seen[first]++
}

func TestWriteStaysInOnePartition(t *testing.T) {
	t.Parallel()
	tags := []string{"{a}", "{b}", "{c}"}
	s := newSite(t, func(r *redisrepo.Rules) { r.InterestingVotes = 2 }, redisrepo.WithPartitions(tags...))
	hook := &oneTag{t: t, tags: tags, seen: map[string]int{}}
	s = s.reopened(s.client(observer(hook.look)), nil, redisrepo.WithPartitions(tags...))
	for i := range 60 {
		d := s.fresh("go", "{a}"[1:2])
		d.IdempotencyKey = new(fmt.Sprint("key", i))
		a, err := s.Post(s.ctx, "{b}", d)
		if err != nil {
			t.Fatal(err)
		}
		s.vote(a.ID, "{c}", up)
		s.regroup(a, []string{"x"}, []string{"go"})
	}
	s.list(best("interesting"))
	s.imports(old(500, 0, 3, "go"), old(501, 0, 3, "go"), old(502, 0, 3, "go"))
	for _, tag := range tags {
		if hook.seen[tag] < 10 {
			t.Errorf("%d scripts ran in %s, want at least 10", hook.seen[tag], tag)
		}
		if n := s.do("ZCARD", tag+"time:").(int64); n < 5 {
			t.Errorf("%d articles are in %s, want at least 5", n, tag)
		}
	}
	for _, key := range s.raw.Keys(s.ctx, "*").Val() {
		if !slices.ContainsFunc(tags, func(tag string) bool { return strings.HasPrefix(key, tag) }) {
			t.Errorf("key %s has no tag, want one of %q", key, tags)
		}
	}
	for _, tag := range tags {
		for _, member := range s.raw.ZRange(s.ctx, tag+"time:", 0, -1).Val() {
			if id, err := redisrepo.ParseArticleID(member); err != nil || tags[int(id)%3] != tag {
				t.Errorf("%s is in the partition %s, want the one of its number", member, tag)
			}
		}
	}
	s.wantClean()
}
