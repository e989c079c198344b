package redisrepo_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestNewRefusesAnotherLayout(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		data, opened int // partitions
		corrupt      string
		refused      string
	}{
		"the same":                        {data: 1, opened: 1},
		"the same four":                   {data: 4, opened: 4},
		"one, not said":                   {data: 1},
		"four, not said":                  {data: 4},
		"more":                            {data: 4, opened: 16, refused: "the site in this store has 4 partitions, not 16"},
		"more than one":                   {data: 1, opened: 16, refused: "the site in this store has 1 partition, not 16"},
		"fewer":                           {data: 4, opened: 2, refused: "the site in this store has 4 partitions, not 2"},
		"one instead of four":             {data: 4, opened: 1, refused: "the site in this store has 4 partitions, not 1"},
		"three":                           {data: 4, opened: 3, refused: "3 is not one of 1, 2, 4, 8, 16, 32, 64, 128 and 256"},
		"fewer than none":                 {data: 1, opened: -1, refused: "-1 is not one of"},
		"too many":                        {data: 1, opened: 512, refused: "512 is not one of"},
		"more than legacy clients'":       {data: 1, opened: 4, corrupt: "DEL meta:\nZADD time: 1 article:1", refused: "the site in this store has 1 partition, not 4"},
		"another layout":                  {data: 1, opened: 1, corrupt: "HSET meta: layout 10", refused: "the data has layout 10"},
		"another layout of a partition":   {data: 4, corrupt: "HSET {p11}meta: layout 10", refused: "the data has layout 10"},
		"another layout in the record":    {data: 4, corrupt: "HSET meta: layout 10", refused: "the data has layout 10"},
		"the place of another partition":  {data: 4, corrupt: "HSET {p11}meta: index 1", refused: "the data has index 1"},
		"another number in one partition": {data: 4, corrupt: "HSET {p10}meta: partitions 16", refused: "the data has partitions 16"},
		"no number in the record":         {data: 4, corrupt: "HSET meta: partitions x", refused: `"x" is no number of partitions`},
		"three in the record":             {data: 4, corrupt: "HSET meta: partitions 3", refused: `"3" is no number of partitions`},
		"another kind of data":            {data: 1, opened: 1, corrupt: "DEL meta:\nSET meta: x", refused: "WRONGTYPE"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, redisrepo.WithPartitions(tt.data))
			s.DoLines(tt.corrupt)
			before := s.Dump()
			_, err := redisrepo.New(s.Ctx, s.Server.Client, s.Rules, redisrepo.WithPartitions(tt.opened))
			if tt.refused == "" && err != nil || tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)) {
				t.Errorf("New = %v, want %q", err, tt.refused)
			}
			s.WantStore(before)
		})
	}
}

// Of two programs that open an empty store with different numbers of partitions at the same time, one is refused.
func TestOneNumberOfPartitionsWins(t *testing.T) { // with the race detector
	t.Parallel()
	for range 10 {
		s := &repotest.Site{T: t, Ctx: t.Context(), Server: redistest.Start(t)}
		numbers := []int{0, 1, 2, 16}
		errs := make([]error, len(numbers))
		repotest.Together(len(numbers), func(i int) {
			_, errs[i] = redisrepo.New(s.Ctx, s.Server.Client, site.DefaultRules(), redisrepo.WithPartitions(numbers[i]))
		})
		record := s.Server.Client.HGet(s.Ctx, "meta:", "partitions").Val()
		for i, n := range numbers {
			// 0 takes what it finds, or 1 if it finds nothing.
			if won := strconv.Itoa(n) == record || n == 0 && record == "1"; won && errs[i] != nil || n > 0 && !won && errs[i] == nil {
				t.Errorf("New with %d partitions = %v, and the store has %s", n, errs[i], record)
			}
		}
		for _, key := range s.Server.Client.Keys(s.Ctx, "*meta:").Val() {
			if found := s.Server.Client.HGet(s.Ctx, key, "partitions").Val(); found != record {
				t.Errorf("%s has %s partitions, and the store has %s", key, found, record)
			}
		}
	}
}

// The tags tell where the data of a site is. They are chosen by the slots of Redis Cluster.
func TestTagsSpreadPartitionsOverTheSlots(t *testing.T) {
	t.Parallel()
	if got := crc16("123456789"); got != 0x31c3 { // the example of the specification of Redis Cluster
		t.Fatalf("crc16 = %#x, want 0x31c3", got)
	}
	const slots = 16384
	for n := 2; n <= keys.MaxPartitions; n *= 2 {
		tags, width := repotest.Tags(n), slots/n
		if len(tags) != n {
			t.Fatalf("there are %d tags for %d partitions", len(tags), n)
		}
		for i, tag := range tags {
			for number := 0; ; number++ {
				text := fmt.Sprint("p", number)
				if place := int(crc16(text)%slots) - i*width; place >= width/4 && place < width*3/4 {
					if tag != "{"+text+"}" {
						t.Errorf("the tag of partition %d of %d = %s, want {%s}", i, n, tag, text)
					}
					break
				}
			}
		}
	}
}

// crc16 is the CRC that Redis Cluster computes slots by: XMODEM.
func crc16(text string) (crc uint16) {
	for i := range len(text) {
		crc ^= uint16(text[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc
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
	if command.Name() != "evalsha" || args[3] == "meta:" || args[3] == "changes:0" { // the record of the number of partitions, and the channel, which are in none
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
	tags := repotest.Four
	s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 2 }, redisrepo.WithPartitions(len(tags)))
	hook := &oneTag{t: t, tags: tags, seen: map[string]int{}}
	s = s.Reopened(s.Client(redistest.Before(hook.look)), nil, redisrepo.WithPartitions(len(tags)))
	for i := range 60 {
		d := s.Fresh("go", "p11")
		d.IdempotencyKey = new(fmt.Sprint("key", i))
		a := require.Value(s.Post(s.Ctx, "{p10}", d))(t)
		s.MustVote(a.ID, "{p12}", up)
		s.MustRegroup(a, []string{"x"}, []string{"go"})
	}
	s.List(repotest.Best("interesting"))
	s.MustImport(repotest.Old(500, 0, 3, "go"), repotest.Old(501, 0, 3, "go"), repotest.Old(502, 0, 3, "go"))
	for _, tag := range tags {
		if hook.seen[tag] < 10 {
			t.Errorf("%d scripts ran in %s, want at least 10", hook.seen[tag], tag)
		}
		if n := s.Do("ZCARD", tag+"time:").(int64); n < 5 {
			t.Errorf("%d articles are in %s, want at least 5", n, tag)
		}
	}
	for _, key := range s.Raw.Keys(s.Ctx, "*").Val() {
		if key != "meta:" && !slices.ContainsFunc(tags, func(tag string) bool { return strings.HasPrefix(key, tag) }) {
			t.Errorf("key %s has no tag, want one of %q", key, tags)
		}
	}
	for _, tag := range tags {
		for _, member := range s.Raw.ZRange(s.Ctx, tag+"time:", 0, -1).Val() {
			if id, err := site.ParseArticleID(member); err != nil || tags[int(id)%4] != tag {
				t.Errorf("%s is in the partition %s, want the one of its number", member, tag)
			}
		}
	}
	s.WantClean()
}

// The keys of a site without partitions, and what they hold, are those of every version so far.
func TestKeysWithoutPartitionsStayTheSame(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 3 }, repotest.One)
	d := site.Draft{Title: "Title", Link: new("https://example.com/a"), Text: new("Text"), Groups: []string{"Go", "redis"}, IdempotencyKey: new("key")}
	a := require.Value(s.Post(s.Ctx, "alice", d))(t)
	b := s.MustPost("bob")
	for _, voter := range []site.UserName{"bob", "carol"} {
		require.Value(s.Vote(s.Ctx, a.ID, voter, up, "bucket"))(t)
	}
	s.MustVote(b.ID, "dave", down)
	s.MustRegroup(b, []string{"go"}, nil)
	for _, order := range repotest.Orders {
		s.List(lists.InGroup("go", order, site.Descending))
	}
	s.MustDelete(b.ID, repotest.Moderator)
	const want = `
article:: 2, ends: false
article:1: map[cast:3 downvotes:0 groups:go redis link:https://example.com/a poster:user:alice revision:3 text:Text time:1772366400 title:Title votes:3], ends: false
article:2: map[cast:0 deleted:1772366400 deleted_by:user:mod downvotes:1 edition:3 groups:go link:https://example.com/1 poster:user:bob revision:4 time:1772366400 title:title votes:0], ends: false
audit:1: map[user:bob:1 1772366400 bucket user:carol:1 1772366400 bucket], ends: true
cast:alice:641: [{1.7723664e+09 1}], ends: true
cast:bob:641: [{1.7723664e+09 1} {1.7723664e+09 2}], ends: true
cast:carol:641: [{1.7723664e+09 1}], ends: true
cast:dave:641: [{1.7723664e+09 -2}], ends: true
clock:: map[folded:20504 front:492324 front_since:492325 p:h:492324:3], ends: false
deleted:: [{1.7723664e+09 article:2}], ends: false
downvoted:2: [user:dave], ends: true
events:: [map[article:1 at:1772366400 by:alice downvotes:0 groups:go redis kind:posted revision:1 score:1772366832 time:1772366400 to:go redis votes:1] map[article:2 at:1772366400 by:bob downvotes:0 groups: kind:posted revision:1 score:1772366832 time:1772366400 to: votes:1] map[article:1 at:1772366400 by:bob downvotes:0 groups:go redis kind:voted revision:2 score:1772367264 time:1772366400 to:1 votes:2] map[article:1 at:1772366400 by:carol downvotes:0 groups:go redis kind:voted revision:3 score:1772367696 time:1772366400 to:1 votes:3] map[article:2 at:1772366400 by:dave downvotes:1 groups: kind:voted revision:2 score:1772366400 time:1772366400 to:-1 votes:0] map[article:2 at:1772366400 by:bob downvotes:1 groups:go kind:regrouped revision:3 score:1772366400 time:1772366400 to:go votes:0] map[article:2 at:1772366400 by:mod downvotes:1 groups:go kind:deleted revision:4 score:1772366400 time:1772366400 to: votes:0]], ends: false
group:go: [article:1], ends: false
group:interesting: [article:1], ends: false
group:redis: [article:1], ends: false
groups:: [{0 go} {0 redis}], ends: false
host:example.com: [{1.7723664e+09 article:1}], ends: false
link:036cbe16b0015b0a30d733ca981c8ebb: article:1 1772366400, ends: false
link:988628a63aecf11ad5dceeb5817d2a96: article:2 1772366400, ends: false
meta:: map[calendar:on cast:on cast_since:1771761600 640 34560000 604800 events:on front:on index:0 interesting_votes:3 layout:9 partitions:1 ranking:linear vote_score:432 voting_window:604800], ends: false
moderation:: [map[article:article:2 at:1772366400 basis: by:user:mod ground: kind:deleted link:https://example.com/1 reason: title:title]], ends: false
name:090e8f65e0cb05c378629f082e833b1a: bob, ends: false
name:a55dd3906de999b502cf5b7b5b26d5fe: alice, ends: false
post:alice:key: article:1 e00081fbf0f62b63c5b1c20f83f407ebbd2511276a3efd885d6e8a3a4dd4f391, ends: true
posted:alice: [{1.7723664e+09 article:1}], ends: false
score:: [{1.772367696e+09 article:1}], ends: false
score:go: [{1.772367696e+09 article:1}], ends: true
sizes:: [{-1 go} {-1 redis}], ends: false
time:: [{1.7723664e+09 article:1}], ends: false
time:go: [{1.7723664e+09 article:1}], ends: true
top:h:492324: [{3 article:1}], ends: false
unexplained:: [{1.7723664e+09 article:2}], ends: false
voted:1: [user:alice user:bob user:carol], ends: true
voted:2: [user:bob], ends: true
`
	if got := "\n" + s.Dump(); got != want {
		t.Errorf("the store has %s\nwant %s", got, want)
	}
}
