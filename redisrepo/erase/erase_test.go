package erase_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/exchange/export"
	"frontpage/redisrepo"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// randomName is a name that is nowhere by chance. Two letters of it are written in other ways where text is encoded.
func randomName() site.UserName {
	letters := make([]rune, 22)
	for i := range letters {
		letters[i] = rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[rand.IntN(52)])
	}
	return site.UserName(string(letters[:11]) + "éß" + string(letters[11:]))
}

// forms are the name in all encodings that programs of a site write.
func forms(name site.UserName) map[string]string {
	text := string(name)
	all := map[string]string{
		"as it is": text, "percent": url.QueryEscape(text), "percent of a path": url.PathEscape(text), "quoted": strings.Trim(strconv.QuoteToASCII(text), `"`),
		"the letters before others": text[:11], "the letters after others": text[len(text)-11:],
	}
	for offset := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", offset) + text))
		all[fmt.Sprint("base64 at ", offset)] = encoded[[]int{0, 2, 3}[offset] : len(encoded)-2]
	}
	return all
}

// wantNoName fails the test if data has a name in any form.
func wantNoName(t *testing.T, what string, data []byte, name site.UserName) {
	t.Helper()
	for form, text := range forms(name) {
		found := bytes.Index(data, []byte(text))
		if found < 0 {
			found = bytes.Index(bytes.ToLower(data), []byte(strings.ToLower(text)))
		}
		if found >= 0 {
			t.Errorf("%s has the name, %s: %q", what, form, data[max(0, found-150):min(len(data), found+100)])
			return
		}
	}
}

// written returns what the server writes to its disk, after it has written its append-only file again, and a snapshot.
func written(s *repotest.Site) []byte {
	s.T.Helper()
	s.Do("CONFIG SET rdbcompression no")
	s.Do("CONFIG SET appendonly yes")
	idle := func() bool {
		info := s.Do("INFO persistence").(string)
		return strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0") && strings.Contains(info, "rdb_bgsave_in_progress:0")
	}
	require.Eventually(s.T, "the append-only file is written", idle)
	s.Do("BGREWRITEAOF")
	require.Eventually(s.T, "the append-only file is written again", idle)
	s.Do("SAVE")
	var all []byte
	files := 0
	dir := s.Do("CONFIG GET dir").(map[any]any)["dir"].(string)
	require.NoError(s.T, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			all = append(all, data...)
			files++
		}
		return err
	}))
	if files < 3 {
		s.T.Errorf("%s has %d files, want an append-only file and a snapshot", dir, files)
	}
	s.Do("CONFIG SET appendonly no")
	return all
}

// lives gives the user everything that a user of a site can have, and returns the articles of the user and of others.
func lives(s *repotest.Site, name site.UserName) (own, others []site.ArticleID) {
	s.T.Helper()
	ctx, acts := s.Ctx, site.Actor{Name: name, Moderator: true}
	require.Value(s.Sessions.AccountName(ctx, "issuer subject", string(name)))(s.T)
	for i := range 5 {
		d := s.Fresh("go", "redis")
		d.IdempotencyKey = new(fmt.Sprint("key ", i))
		own = append(own, require.Value(s.Post(ctx, name, d))(s.T).ID)
		others = append(others, s.MustPost("bob", "go").ID, s.MustPost("carol").ID)
	}
	for i, id := range others {
		require.Value(s.Vote(ctx, id, name, []site.Vote{site.Up, site.Down, site.None, site.Up}[i%4], "bucket"))(s.T)
		s.MustVote(id, "dave", site.Up)
	}
	for _, id := range own {
		s.MustVote(id, "dave", site.Up)
		s.MustVote(id, "erin", site.Down)
	}
	s.MustEdit(own[0], site.Actor{Name: name}, redisrepo.Edit{Title: new("another title")})
	s.MustEdit(own[1], repotest.Moderator, redisrepo.Edit{Title: new("a title of a moderator"), Why: site.Why{Reason: "clearer"}})
	s.MustEdit(others[0], acts, redisrepo.Edit{Title: new("a title of a moderator"), Why: site.Why{Reason: "clearer"}})
	s.MustRegroup(s.Article(others[1]), []string{"new"}, nil)
	s.MustDelete(own[2], site.Actor{Name: name})
	s.MustDelete(own[3], repotest.Moderator)
	require.Value(s.Delete(ctx, others[2], acts, site.Why{Reason: "spam"}))(s.T)
	s.MustFlag(others[4], name, reports.Spam, "a note")
	s.MustFlag(others[5], name, reports.Spam, "a note")
	s.MustFlag(own[0], "bob", reports.Abuse, "a note of bob's")
	require.NoError(s.T, s.Reports.Settle(ctx, others[4], acts, reports.Settling{Through: 1, State: reports.Dismissed, Decision: "no"}))
	require.Value(s.Denials.DenyUser(ctx, "eve", nil, site.GroundRules, "spam", acts))(s.T)
	s.MustDeny(string(name), nil, "votes in rings")
	require.Value(s.Void(others[1], true, string(name), "dave"))(s.T)
	require.Value(s.Void(own[4], true, "dave"))(s.T)
	for _, id := range []site.ArticleID{others[4], own[1]} {
		if _, n, err := s.VoidVotes(ctx, id, acts, []string{"dave", string(name)}, true, "a ring"); err != nil || n == 0 {
			s.T.Errorf("%d votes on %v do not count: %v", n, id, err)
		}
	}
	s.MustBlock(name, "bob", true)
	s.MustBlock("bob", string(name), true)
	s.MustBlock("dave", string(name), true)
	s.MustSave(name, own[0], true)
	s.MustSave(name, others[0], true)
	for _, t := range []saved.Target{{Group: "go"}, {User: "bob"}, {User: name}} {
		s.MustFollow(name, t, true)
		s.MustFollow("dave", t, true)
	}
	require.NoError(s.T, s.Sessions.KeepDocument(ctx, "aaa", fmt.Sprintf("{ user(name: %q) { name } }", name)))
	require.NoError(s.T, s.Sessions.KeepDocument(ctx, "bbb", "{ user(name: "+strconv.QuoteToASCII(string(name))+") { name } }"))
	require.NoError(s.T, s.Sessions.KeepDocument(ctx, "ccc", "{ site { name } }"))
	require.NoError(s.T, s.Raw.Set(ctx, s.Store.Partitions[0].Rate(site.Subject{Rule: "votes", User: name}), "x", time.Hour).Err())
	if len(s.Store.Partitions) == 1 {
		repotest.BookVote(s, name.Member(), own[4])
		require.Value(s.Layout.Adopt(s.Ctx))(s.T)
	}
	return own, others
}

// counted is what users see of the votes on articles.
func counted(s *repotest.Site, ids ...site.ArticleID) (text string) {
	articles, _ := s.Articles.ReadArticles(s.Ctx, ids)
	for _, a := range articles {
		p := s.Store.Partition(a.ID)
		text += fmt.Sprintln(a.ID, a.Upvotes, a.Downvotes, a.Score, a.Groups, s.Raw.SCard(s.Ctx, p.Voted(a.ID)).Val(), s.Raw.SCard(s.Ctx, p.Downvoted(a.ID)).Val())
	}
	return text
}

// mortal is a hook with which a process dies after a number of writes, whose last reply is lost.
type mortal struct{ left atomic.Int64 }

var errDied = errors.New("killed")

func (m *mortal) hook(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
	if m.left.Load() <= 0 {
		return redistest.Fail(errDied, commands)
	}
	err := send(ctx, commands)
	for _, c := range commands {
		switch c.Name() {
		case "evalsha", "eval", "unlink", "srem", "zrem", "zadd", "set":
			m.left.Add(-1)
		}
	}
	if m.left.Load() <= 0 {
		return redistest.Fail(errDied, commands)
	}
	return err
}

// The store, its files and an export have no name after it was erased, though the erasure was killed after each of its writes, and all
// votes are counted as before.
func TestErasedNameIsNowhere(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 16} {
		for _, remove := range []bool{false, true} {
			t.Run(fmt.Sprint(n, " partitions, remove ", remove), func(t *testing.T) {
				t.Parallel()
				partitions := redisrepo.WithPartitions(n)
				change := func(r *site.Rules) { r.PosterVotes = remove }
				s := repotest.New(t, change, partitions)
				name := randomName()
				own, others := lives(s, name)
				require.NoError(t, s.Views.CatchUpAll(s.Ctx))
				s.WantClean()
				all := others
				if !remove {
					all = append(own, others...)
				}
				before := counted(s, all...)
				lives := 0
				for done := false; !done; lives++ {
					life := new(mortal)
					life.left.Store(1 << 30)
					other := s.Reopened(s.Client(redistest.Hook(life.hook)), change, partitions)
					life.left.Store(int64(1 + lives%7)) // it begins with a write, ends with four, and deletes an article by up to five
					_, err := erase.User(s.Ctx, other.Repo, string(name), erase.Options{Remove: remove})
					if done = err == nil; err != nil && !errors.Is(err, errDied) {
						t.Fatal(err)
					}
				}
				if lives < 10 {
					t.Errorf("the erasure took %d lives, want more", lives)
				}
				s = s.Reopened(s.Client(), change, partitions)
				if after := counted(s, all...); after != before {
					t.Errorf("articles are\n%s\nwant\n%s", after, before)
				}
				s.WantClean()
				repotest.WantRefused(t, s.Denials.MayChange(site.Actor{Name: name}), "DENIED") // by the moderator, as before
				for _, id := range own {
					articles, _ := s.Articles.ReadArticles(s.Ctx, []site.ArticleID{id})
					a := articles[0]
					if a.Poster.Name != site.ErasedUser || remove && (a.DeletedAt == nil || a.Title != "" || a.Link != nil || a.Text != nil) || !remove && a.Title == "" {
						t.Errorf("%v is %+v", id, a)
					}
				}
				s.WantFollowing("dave", "user:bob group:go") // and not the erased user
				wantNoName(t, "the store", []byte(s.Dump()), name)
				wantNoName(t, "the disk", written(s), name)
				var exported bytes.Buffer
				require.Value(export.Write(s.Ctx, s.Repo, &exported, export.Options{}))(t)
				wantNoName(t, "an export", exported.Bytes(), name)
				var csv bytes.Buffer
				require.Value(export.WriteCSV(s.Ctx, s.Repo, &csv, export.Options{}))(t)
				wantNoName(t, "an export as CSV", csv.Bytes(), name)
				s.MustDeny(string(name), new(s.Clock.Now()), "")
				require.NoError(t, s.Denials.MayChange(site.Actor{Name: name}))
				wantNoName(t, "the store after the end of the denial", []byte(s.Dump()), name)
				s.MustPost(name) // the name is free
				s.WantClean()
			})
		}
	}
}

// An export from before an erasure does not bring the name back, though the import was killed again and again.
func TestImportErasesAgain(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 16} {
		t.Run(fmt.Sprint(n, " partitions"), func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, redisrepo.WithPartitions(n))
			name := randomName()
			_, others := lives(s, name)
			require.NoError(t, s.Views.CatchUpAll(s.Ctx))
			before := counted(s, others...)
			var exported bytes.Buffer
			require.Value(export.Write(s.Ctx, s.Repo, &exported, export.Options{}))(t)
			require.Value(erase.User(s.Ctx, s.Repo, string(name), erase.Options{}))(t)
			options := export.Options{Erased: require.Value(erase.Erased(s.Ctx, s.Repo))(t), Report: t.Output()}
			to := repotest.New(t, nil, redisrepo.WithPartitions(n))
			to.Clock = s.Clock
			if n > 1 { // the list of the store itself
				to.Do("ZADD", to.Store.Partitions[0].Erased(), "1", options.Erased[0])
				options.Erased = nil
			}
			lives := 0
			for done := false; !done; lives++ {
				life := new(mortal)
				life.left.Store(int64(20 + programtest.Size(25*n, 25)*lives))
				_, err := export.Read(s.Ctx, to.Client(redistest.Hook(life.hook)), s.Store.Rules, bytes.NewReader(exported.Bytes()), options, redisrepo.WithPartitions(n), redisrepo.WithClock(s.Clock.Now))
				if done = err == nil; err != nil && !errors.Is(err, errDied) {
					t.Fatal(err)
				}
			}
			if lives < 3 {
				t.Errorf("the import took %d lives, want more", lives)
			}
			to = to.Reopened(to.Client(), nil, redisrepo.WithPartitions(n))
			wantNoName(t, "the store", []byte(to.Dump()), name)
			if after := counted(to, others...); after != before {
				t.Errorf("articles are\n%s\nwant\n%s", after, before)
			}
			repotest.WantRefused(t, to.Denials.MayChange(site.Actor{Name: name}), "DENIED")
			to.WantClean()
			var again bytes.Buffer
			require.Value(export.Write(to.Ctx, to.Repo, &again, export.Options{}))(t)
			require.Value(export.Read(s.Ctx, repotest.New(t, nil, redisrepo.WithPartitions(n)).Raw, s.Store.Rules, bytes.NewReader(again.Bytes()), export.Options{}, redisrepo.WithPartitions(n), redisrepo.WithClock(s.Clock.Now)))(t)
		})
	}
}

// Two processes that erase two names at the same time lose no entry of the logs, and leave no name.
func TestErasuresAtTheSameTime(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	names := []site.UserName{randomName(), randomName(), randomName()}
	for i := range 150 {
		for _, name := range names {
			if i%10 == 0 {
				s.MustDelete(s.MustPost(name).ID, repotest.Moderator)
			}
		}
		id := s.MustPost("bob").ID
		for _, name := range names {
			s.MustVote(id, name, site.Up)
		}
	}
	count := s.Raw.XLen(s.Ctx, "events:").Val()
	repotest.Together(len(names)+1, func(i int) {
		if i == len(names) {
			for range 50 {
				_, _ = s.Post(s.Ctx, "carol", s.Fresh())
			}
			return
		}
		if _, err := erase.User(s.Ctx, s.Reopened(s.Client(), nil).Repo, string(names[i]), erase.Options{}); err != nil {
			t.Error(err)
		}
	})
	require.NoError(t, s.Views.CatchUpAll(s.Ctx))
	if n := s.Raw.XLen(s.Ctx, "events:").Val(); n != count+50 {
		t.Errorf("the log has %d entries, want %d", n, count+50)
	}
	for _, name := range names {
		wantNoName(t, "the store", []byte(s.Dump()), name)
	}
	s.WantClean()
}

// A hash with thousands of names, and a log with thousands of entries, are read and changed in steps: no command has all of it.
func TestErasureReadsLargeKeysInSteps(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	name, id := randomName(), s.MustPost("bob").ID
	require.Value(s.Reports.Flag(s.Ctx, name, id, reports.Spam, "a note"))(t)
	s.MustDeny(string(name), nil, "spam")
	s.MustDeny("eve", nil, "spam")
	flag, denial := s.Raw.HGet(s.Ctx, "flags:"+id.Number(), name.Member()).Val(), s.Raw.HGet(s.Ctx, "denials:", "user:eve").Val()
	const others = 3000
	for i := range others {
		user := fmt.Sprint("user:other", i)
		require.NoError(t, s.Raw.HSet(s.Ctx, "flags:"+id.Number(), user, strings.ReplaceAll(flag, name.Member(), user)).Err())
		require.NoError(t, s.Raw.HSet(s.Ctx, "denials:", user, denial).Err())
		if i%10 == 0 {
			s.MustDelete(s.MustPost("bob").ID, site.Actor{Name: name, Moderator: true})
		}
	}
	longest := 0
	client := s.Client(redistest.Hook(func(ctx context.Context, commands []redis.Cmder, send redis.ProcessPipelineHook) error {
		err := send(ctx, commands)
		if redistest.IsAside(commands[0]) {
			return err
		}
		for _, c := range commands {
			elements := 0
			switch reply := c.(type) {
			case *redis.ScanCmd:
				found, _ := reply.Val()
				elements = len(found) / 2
			case *redis.MapStringStringCmd:
				elements = len(reply.Val())
			}
			longest = max(longest, elements)
		}
		return err
	}))
	did := require.Value(erase.User(s.Ctx, s.Reopened(client, nil, repotest.One).Repo, string(name), erase.Options{}))(t)
	if longest > 1100 || did.Looked < 4*others {
		t.Errorf("%d fields or keys were read at once, and %d looked at, want at most 1100, and at least %d", longest, did.Looked, 4*others)
	}
	if n, m := s.Raw.HLen(s.Ctx, "flags:"+id.Number()).Val(), s.Raw.HLen(s.Ctx, "denials:").Val(); n < others || m < others+2 {
		t.Errorf("%d reports and %d denials are left, want those of others", n, m)
	}
	wantNoName(t, "the store", []byte(s.Dump()), name)
}

// Each kind of key is in the table of places.
func TestErasureKnowsEachKindOfKey(t *testing.T) {
	t.Parallel()
	for _, kind := range keys.Kinds {
		if !erase.Knows(kind) {
			t.Errorf("the table of places lacks %s, a %s", kind.Name, kind.Holds)
		}
	}
}

// A find names the words of users that have the name, and nothing else.
func TestFindListsWords(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	name := randomName()
	d := s.Fresh("go")
	d.Title = "A reply to " + strings.ToUpper(string(name[:11])) + string(name[11:])
	a := require.Value(s.Post(s.Ctx, "bob", d))(t)
	b := s.MustPost(name)
	s.MustEdit(b.ID, site.Actor{Name: name}, redisrepo.Edit{Title: new("by " + string(name))})
	s.MustEdit(b.ID, site.Actor{Name: name}, redisrepo.Edit{Title: new("title")})
	s.MustFlag(a.ID, "carol", reports.Abuse, "it insults "+string(name))
	require.Value(s.Delete(s.Ctx, a.ID, repotest.Moderator, site.Why{Ground: site.GroundRules, Reason: "about " + string(name)}))(t)
	s.MustDeny("bob", nil, "insults "+string(name))
	var found []string
	find := func() {
		found = nil
		require.NoError(t, erase.Find(s.Ctx, s.Repo, string(name), func(f erase.Found) { found = append(found, f.Where) }))
	}
	find()
	first := fmt.Sprint(found)
	require.Value(erase.User(s.Ctx, s.Repo, string(name), erase.Options{}))(t)
	find()
	if len(found) != 9 {
		t.Errorf("found %q, want title and reason of article:1, a version of article:2, a report, a denial, its entry and others of the logs", found)
	}
	if len(first) == 0 {
		t.Error("nothing was found before")
	}
}
