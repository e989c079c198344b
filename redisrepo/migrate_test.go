package redisrepo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/migrate"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/sessions"
	"frontpage/redisrepo/site"
	"frontpage/tests/must"
	"frontpage/tests/redistest"
)

// filled is a site with something of everything.
func filled(t *testing.T, partitions int) *testSite {
	s := newSite(t, func(r *site.Rules) { r.InterestingVotes, r.GroupTop = 3, true }, redisrepo.WithPartitions(partitions))
	var many []redisrepo.Imported
	for i := range 300 {
		many = append(many, old(site.ArticleID(1000+i), 3*week, i%7, "big", fmt.Sprint("g", i%50)))
	}
	s.imports(append(many, old(2000, time.Hour, 1500, "big"), old(2001, time.Hour, -200))...)
	for i := range 40 {
		d := s.fresh("go", fmt.Sprint("g", i))
		if i%2 == 0 {
			d.IdempotencyKey = new(fmt.Sprint("a:key ", i))
		}
		if i%3 == 0 {
			d.Link, d.Text = nil, new(fmt.Sprint("text ", i))
		}
		a := must.Get(s.Post(s.ctx, site.UserName(fmt.Sprint("user:", i%3)), d))(t)
		for v := range i % 5 {
			must.Get(s.Vote(s.ctx, a.ID, voter(v), up, "bucket"))(t)
		}
		if i%10 == 3 {
			s.flag(a.ID, "reporter", reports.Spam, "a note")
			s.delete(a.ID, moderator)
		}
		for n := range map[int]int{1: 1, 5: 15, 9: 27}[i%10] {
			s.edit(a.ID, moderator, redisrepo.Edit{Text: new(fmt.Sprint("edit ", n))})
		}
		if i%10 == 5 {
			s.delete(a.ID, site.Actor{Name: a.Poster.Name}) // which frees the links of some
		}
		if i%10 == 4 {
			must.Get(s.Regroup(s.ctx, a.ID, moderator, []string{"moved"}, []string{"go"}))(t)
		}
	}
	for _, tag := range s.Tags() {
		s.do("ZADD " + tag + "cast:voter1:641 1 0") // as if older votes had been dropped
	}
	for i := range 50 {
		must.Do(t, s.KeepDocument(s.ctx, fmt.Sprintf("%064x", 1<<(i%12)), fmt.Sprint("{ text", i, " }")))
	}
	must.Get(s.Charge(s.ctx, "", charges))(t)
	for i := range 20 {
		must.Get(s.AccountName(s.ctx, fmt.Sprint("account ", i), fmt.Sprint("name", i%15)))(t)
		must.Get(s.UseState(s.ctx, fmt.Sprint("state ", i), time.Hour))(t)
		must.Do(t, s.KeepSession(s.ctx, sessionDigest(i), fmt.Append(nil, "session ", i), time.Hour))
		must.Get(s.EndSessions(s.ctx, fmt.Sprint("name", i), site.Actor{Name: "mod", Moderator: true}))(t)
		s.deny(fmt.Sprint("denied: ", i), nil, "a reason")
		s.denyHost(fmt.Sprintf("h%d.example", i), i%4 > 0, i%2 > 0)
		s.block(site.UserName(fmt.Sprint("a:blocker ", i%7)), fmt.Sprint("denied: ", i), true)
		s.save(site.UserName(fmt.Sprint("user:", i%3)), site.ArticleID(1000+i), true)
		s.follows(site.UserName(fmt.Sprint("user:", i%3)), []saved.Target{user(voter(i)), group(site.GroupName(fmt.Sprint("g", i)))}[i%2], true)
	}
	return s
}

func sessionDigest(i int) string { return fmt.Sprintf("%032x", i*i) }

func voter(i int) site.UserName { return site.UserName(fmt.Sprint("voter", i)) }

// rates are charges of a user with an unusual name, and of an address.
var charges = []rates.Charge{
	{Rule: "votes", Most: 100, Window: time.Hour, Amount: 7, User: "address:x:y"}, charge("votes", 100, 3, ""),
}

// contents is everything that a site says about itself, as text.
func (s *testSite) contents() string {
	s.t.Helper()
	var b strings.Builder
	var ids []site.ArticleID
	must.Do(s.t, s.Denials.Records(s.ctx, func(r denials.Record) error { fmt.Fprintln(&b, r); return nil }))
	walk := func(l lists.Listing) {
		ids = s.whole(l)
		fmt.Fprintln(&b, ids)
	}
	groups := must.Get(s.groups())(s.t)
	names := []site.GroupName{site.Interesting}
	for _, group := range groups {
		fmt.Fprintln(&b, *group)
		names = append(names, group.Name)
	}
	for _, order := range []site.Order{site.ByScore, site.ByTime} {
		for _, direction := range []site.Direction{site.Ascending, site.Descending} {
			for _, name := range names {
				walk(lists.InGroup(name, order, direction))
			}
			walk(lists.AllArticles(order, direction))
		}
	}
	for i := range 3 {
		name := site.UserName(fmt.Sprint("user:", i))
		walk(lists.PostedBy(name))
		kept, _, err := s.SavedArticles(s.ctx, name, nil, nil)
		fmt.Fprintln(&b, kept, err, must.Get(s.Following(s.ctx, name))(s.t), s.feed(name, 50, nil))
	}
	walk(lists.LinkingTo("example.com"))
	for i := range 20 {
		name, err := s.AccountName(s.ctx, fmt.Sprint("account ", i), "unnamed")
		session, mark, sessionErr := s.Session(s.ctx, sessionDigest(i), sessions.UserDigest(site.UserName(fmt.Sprint("name", i))))
		must.Do(s.t, errors.Join(err, sessionErr))
		unused := must.Get(s.UseState(s.ctx, fmt.Sprint("state ", i), time.Hour))(s.t)
		fmt.Fprintf(&b, "%s %q %s %t\n", name, session, mark, unused)
	}
	walk(lists.AllArticles(site.ByTime, site.Ascending))
	articles, errs := s.ArticlesByID(s.ctx, ids)
	must.Do(s.t, errors.Join(errs...))
	for _, a := range articles {
		fmt.Fprintln(&b, a.ID, a.Title, a.Votes, a.Score, a.Groups, a.Upvotes, a.CreatedAt, a.Poster.Name, s.texts(a, 100))
	}
	for i := range 8 {
		fmt.Fprintln(&b, s.positions(voter(i), ids...))
	}
	fmt.Fprintln(&b, audited(s, ids[len(ids)-1]), audited(s, ids[len(ids)-2]))
	var log []string
	for p := (site.PageRequest{First: new(100)}); ; {
		entries, info, err := s.ModerationLog(s.ctx, p)
		must.Do(s.t, err)
		for _, entry := range entries {
			log = append(log, logDetail(entry))
		}
		if !info.HasNextPage {
			break
		}
		p.After = &entries[len(entries)-1].Cursor
	}
	slices.Sort(log) // entries of one millisecond are in the order of their partitions
	fmt.Fprintln(&b, strings.Join(log, "\n"))
	for i := range 12 {
		text, err := s.Document(s.ctx, fmt.Sprintf("%064x", 1<<i))
		fmt.Fprintln(&b, text, err)
	}
	free := slices.Clone(charges)
	for i := range free {
		free[i].Amount = 0
	}
	fmt.Fprintln(&b, s.charged(free...))
	return b.String()
}

// copied opens the copy of s on another server.
func (s *testSite) copied(target *redistest.Server, options ...redisrepo.Option) *testSite {
	s.t.Helper()
	other := *s
	other.server, other.raw = target, target.Client
	return other.reopened(target.Client, nil, options...)
}

// wantSameAs fails the test unless s is a copy of the original that goes on as that would.
func (s *testSite) wantSameAs(original *testSite) {
	s.t.Helper()
	got, want := strings.Split(s.contents(), "\n"), strings.Split(original.contents(), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			s.t.Errorf("line %d of the copy differs: %q, want %q", i, got[min(i, len(got)-1)], want[min(i, len(want)-1)])
			break
		}
	}
	s.wantClean()
	for range 30 {
		a := s.post("zed", "go")
		if articles, _ := original.ArticlesByID(s.ctx, []site.ArticleID{a.ID}); articles[0] != nil {
			s.t.Errorf("the copy gave out the number of %v", articles[0].ID)
		}
	}
	for _, i := range []int{0, 2, 4, 6, 20, 34} { // with links and without
		d := site.Draft{Title: "title", Groups: []string{"go", fmt.Sprint("g", i)}, IdempotencyKey: new(fmt.Sprint("a:key ", i))}
		if i%3 == 0 {
			d.Text = new(fmt.Sprint("text ", i))
		} else {
			d.Link = new(fmt.Sprint("https://example.com/", i+1))
		}
		poster := site.UserName(fmt.Sprint("user:", i%3))
		first := func(of *testSite, post func(context.Context, site.UserName, site.Draft) (*site.Article, error)) string {
			a, err := post(of.ctx, poster, d)
			if a == nil || err != nil {
				return fmt.Sprint(a, err) // it has been deleted since
			}
			return a.ID.String()
		}
		if got, want := first(s, s.RepeatedPost), first(original, original.RepeatedPost); got != want || strings.Contains(want, "<nil> <nil>") {
			s.t.Errorf("the post %d, repeated, is %s, want %s", i, got, want)
		}
		if got, want := first(s, s.Post), first(original, original.Post); got != want {
			s.t.Errorf("the post %d, posted again, is %s, want %s", i, got, want)
		}
	}
	for _, i := range []int{2, 14} {
		_, err := s.Post(s.ctx, "other", site.Draft{Title: "t", Link: new(fmt.Sprint("https://example.com/", i))})
		wantRefused(s.t, err, "DUPLICATE_LINK link")
	}
	s.wantClean()
}

// killer has a hook that fails everything after so many round trips, as if its process were killed.
type killer struct{ left atomic.Int64 }

var errKilled = errors.New("killed")

func (k *killer) hook() redistest.Hook {
	return func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		if k.left.Add(-1) < 0 {
			return redistest.Fail(errKilled, commands)
		}
		return send(ctx, commands)
	}
}

// used has the site listen and write until the function that it returns is called.
func (s *testSite) used() (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	var all sync.WaitGroup
	all.Go(func() { s.Listen(ctx, func(error) {}) })
	ids := s.list(lists.AllArticles(site.ByTime, site.Descending))
	for w := range 3 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := 0; ctx.Err() == nil; i++ {
				id := ids[random.IntN(len(ids))]
				_, err := s.Vote(s.ctx, id, voter(random.IntN(8)), site.Vote(random.IntN(3)-1), "bucket")
				switch i % 20 {
				case 5:
					_, _ = s.Delete(s.ctx, id, moderator, site.Why{})
				case 6:
					_, err = s.Undelete(s.ctx, id, moderator)
				case 7:
					_, err = s.Regroup(s.ctx, id, moderator, []string{"moved"}, []string{"go"})
				case 8:
					_, err = s.Post(s.ctx, voter(w), site.Draft{Title: "live", Text: new("text"), Groups: []string{"live"}})
				}
				if refusal := (site.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
					s.t.Errorf("a write: %v", err)
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// readers are the commands that Migrate may send to the original. The script is a write without effect.
var readers = strings.Fields("hello client hmget hgetall exists eval dbsize pubsub scan get hget hscan sscan zscan zrange pttl smismember zmscore xrange xrevrange")

// A migration is killed after 1, 2, 4 and so on round trips, while the site is written to, and begun again each time.
func TestMigrateCopiesASiteInUse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ from, to int }{{1, 16}, {4, 16}, {1, 1}} {
		t.Run(fmt.Sprint(tt.from, " to ", tt.to), func(t *testing.T) {
			t.Parallel()
			s, target := filled(t, tt.from), redistest.Start(t)
			reading := s.client(redistest.Before(func(commands ...redis.Cmder) {
				for _, c := range commands {
					if !slices.Contains(readers, c.Name()) {
						t.Errorf("the original is sent %v", c)
					}
				}
			}))
			stop, stopped, before := s.used(), false, ""
			kills := 0
			for left := int64(1); ; left *= 2 {
				options := *target.Client.Options()
				client := redis.NewClient(&options)
				t.Cleanup(func() { _ = client.Close() })
				k := new(killer)
				k.left.Store(left)
				client.AddHook(k.hook())
				_, err := migrate.Migrate(s.ctx, reading, client, s.rules, func(step string) {
					if !stopped && strings.HasPrefix(step, "now stop") {
						stop()
						stopped, before = true, s.dump()
					}
				}, redisrepo.WithPartitions(tt.to), redisrepo.WithClock(s.clock.now))
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				kills++
				if target.Client.Exists(s.ctx, "meta:").Val() == 1 {
					if _, err := redisrepo.New(s.ctx, target.Client, s.rules); !errors.Is(err, layout.ErrIncomplete) {
						t.Fatalf("New of an incomplete copy: %v", err)
					}
				}
			}
			if kills < 5 || !stopped {
				t.Errorf("killed %d times, and the site was stopped: %t; want both", kills, stopped)
			}
			s.wantStore(before)
			result := s.copied(target, redisrepo.WithPartitions(tt.to))
			result.wantSameAs(s)
			if got, want := result.Store.UUID.Load(), s.Store.UUID.Load(); *got != *want {
				t.Errorf("the copy has the UUID %v, want %v", got, want)
			}
		})
	}
}

func TestMigrateRefusesWhatItWouldSpoil(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		original, target string // commands before
		copied           bool   // before
		partitions       int
		rules            func(*site.Rules)
		refused          string
	}{
		"a key of another program":        {target: "SET a b", refused: "the target: it is not empty: it has 1 keys"},
		"another site":                    {target: "ZADD time: 1 article:1", refused: "the target: the site in this store has 1 partition, not 16"},
		"another site of more":            {target: "HSET meta: layout 1 partitions 4 index -1", partitions: 4, refused: "the target: it is not empty"},
		"a copy of another site":          {target: "HSET meta: layout incomplete-copy origin other partitions 16 index -1", refused: "the target: it holds an incomplete copy of another site"},
		"a copy with other partitions":    {target: "HSET meta: layout incomplete-copy origin x partitions 16 index -1", partitions: 8, refused: "the target: the site in this store has 16 partitions, not 8"},
		"a complete copy":                 {copied: true, refused: "the target: it is already a complete copy of this site"},
		"fewer partitions":                {partitions: 2, refused: "the target: a site with 4 partitions cannot be copied to one with 2 partitions"},
		"other rules":                     {rules: func(r *site.Rules) { r.VoteScore = 1 }, refused: "the original: vote_score is 432 in the data and 1 in the settings"},
		"an earlier version":              {original: "HDEL {p11}meta: epoch", refused: "the original: {p11}meta: has no epoch: start this version"},
		"a later version":                 {original: "HSET {p11}meta: layout 9", refused: "the original: {p11}meta:: the data has layout 9"},
		"an incomplete copy":              {original: "HSET meta: layout incomplete-copy", refused: "the original: this store holds an incomplete copy"},
		"a replica":                       {original: "REPLICAOF 127.0.0.1 1", refused: "the original: it is a replica"},
		"a member that is no article":     {original: "ZADD {p11}time: 1 x", refused: `time:: "x" is not an article: remove it`},
		"a key of the wrong type":         {original: "SET {p11}posted:x x", refused: "ZSCAN {p11}posted:x: WRONGTYPE"},
		"a counter that is no number":     {original: "SET {p11}article: x", refused: `{p11}article:: is not a number: "x"`},
		"inconsistencies of the original": {original: "ZADD {p11}score: 5 article:4", refused: "the copy has 1 inconsistencies"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, target := newSite(t, nil, redisrepo.WithPartitions(4)), redistest.Start(t)
			s.imports(old(4, 3*week, 1))
			run := func(of *redis.Client, command string) {
				t.Helper()
				words := []any{}
				for word := range strings.FieldsSeq(command) {
					words = append(words, strings.ReplaceAll(word, "incomplete-copy", "incomplete copy"))
				}
				if len(words) > 0 {
					must.Do(t, of.Do(t.Context(), words...).Err())
				}
			}
			migrate := func() error {
				_, err := migrate.Migrate(t.Context(), s.client(), target.Client, s.rules, func(string) {}, redisrepo.WithPartitions(tt.partitions), redisrepo.WithClock(s.clock.now))
				return err
			}
			if tt.partitions == 0 {
				tt.partitions = 16
			}
			if tt.copied {
				must.Do(t, migrate())
			}
			run(s.raw, tt.original)
			run(target.Client, tt.target)
			if tt.rules != nil {
				tt.rules(&s.rules)
			}
			copied := *s
			copied.raw = target.Client
			before, original := copied.dump(), s.dump()
			if err := migrate(); err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("Migrate = %v, want %q", err, tt.refused)
			}
			if after := copied.dump(); strings.HasPrefix(tt.refused, "the ") && !strings.HasPrefix(tt.refused, "the copy") && after != before {
				t.Errorf("the target holds\n%s\nwant\n%s", after, before)
			}
			s.wantStore(original)
		})
	}
}

// While the original refuses writes, its processes can go on reading.
func TestMigrateAcceptsAnOriginalThatRefusesWrites(t *testing.T) {
	t.Parallel()
	s, target := newSite(t, nil), redistest.Start(t)
	id := s.post("alice").ID
	listening, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Listen(listening, func(error) {})
	}()
	defer func() { stop(); <-ended }()
	s.awaitProcesses(1)
	asked := false
	_, err := migrate.Migrate(t.Context(), s.client(), target.Client, s.rules, func(step string) {
		if asked = asked || strings.HasPrefix(step, "now stop"); !strings.HasPrefix(step, "now stop") {
			return
		}
		s.do("CONFIG SET min-replicas-to-write 1")
		switch _, err := s.Vote(t.Context(), id, "bob", up, ""); {
		case err == nil:
			stop() // Redis 6.2, where scripts write nevertheless
		case !errors.Is(err, failover.ErrReadOnly):
			t.Errorf("vote: %v, want ErrReadOnly", err)
		}
	})
	if err != nil || !asked {
		t.Errorf("Migrate = %v, and asked to stop the site: %t; want no error, and true", err, asked)
	}
	if got, want := s.copied(target).article(id).Votes, s.article(id).Votes; got != want {
		t.Errorf("the article has %d votes in the copy, want %d", got, want)
	}
}
