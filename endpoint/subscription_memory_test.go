package endpoint_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"frontpage/redisrepo/site"
	"frontpage/redistest"
	"frontpage/sitetest"
)

// Not parallel: it measures the memory of the process.
func TestSubscriptionsTakeLittleMemory(t *testing.T) {
	const (
		short = `{ articleChanged(ids: $ids) { id title votes score } }`
		long  = `{ articleChanged(ids: $ids) { id title votes score upvotes downvotes text poster { name } groups { name } } }`
	)
	s := sitetest.New(t, redistest.Start(t).Client, site.DefaultRules())
	for range 100 {
		s.Post("alice", "t")
	}
	for _, c := range []struct {
		articles, most int
		name, fields   string
	}{
		{1, 6 << 10, "Same", short},
		{25, 10 << 10, "Same", short},
		{100, 12 << 10, "Same", short},
		{100, 24 << 10, "Other%d", long},
	} {
		var ids []string
		for i := range c.articles {
			ids = append(ids, fmt.Sprint(i+1))
		}
		w := s.Socket("")
		w.Watch("first", "1")
		before := heap()
		const n = 98
		for i := range n {
			name := strings.ReplaceAll(c.name, "%d", fmt.Sprint(i))
			w.Subscribe(fmt.Sprint(i), "subscription "+name+"($ids: [ID!]!) "+c.fields, `{"ids":[`+strings.Join(ids, ",")+`]}`)
		}
		w.Subscribe("last", `{ __typename }`, "")
		w.Until(sitetest.Finished("last"))
		s.VoteUp("1")
		w.Until(func(byID map[string][]sitetest.Message) bool { return len(byID) >= n })
		got := (heap() - before) / n
		t.Logf("%d articles, document %s: %d bytes per subscription", c.articles, c.name, got)
		if got > c.most {
			t.Errorf("%d articles, document %s: got %d bytes per subscription, want at most %d", c.articles, c.name, got, c.most)
		}
		_ = w.Conn.CloseNow()
	}
}

// heap returns the size of live objects and stacks, bytes.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse) // #nosec G115 -- far below 2^63
}
