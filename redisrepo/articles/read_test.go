package articles_test

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/articles"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func TestArticlesByIDReturnsAnElementForEachID(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, redisrepo.WithPartitions(len(repotest.Four)))
	var posted []site.ArticleID
	for range 5 {
		posted = append(posted, s.MustPost("alice").ID)
	}
	s.Do("SET", fmt.Sprintf("%s%v", repotest.Four[posted[1]%4], posted[1]), "of another type")
	s.Do("HSET", fmt.Sprintf("%s%v", repotest.Four[posted[2]%4], posted[2]), "votes", "x")
	ids := []site.ArticleID{posted[4], 999, posted[0], posted[1], posted[4], posted[2]}
	articles, errs := s.Articles.ArticlesByID(s.Ctx, ids)
	if len(articles) != len(ids) || len(errs) != len(ids) {
		t.Fatalf("ArticlesByID returned %d articles and %d errors, want %d of each", len(articles), len(errs), len(ids))
	}
	for i, id := range ids {
		if good := i == 0 || i == 2 || i == 4; good != (errs[i] == nil) || good != (articles[i] != nil) || good && articles[i].ID != id {
			t.Errorf("element %d, of %v, = %v, %v, want the article: %t", i, id, articles[i], errs[i], good)
		}
	}
	repotest.WantRefused(t, errs[1], "NOT_FOUND article")
}

// The bounds are exact with the race detector, which adds one for each hash. Seven for each hash are those of go-redis,
// whose buffer for a raw reply grows.
func TestReadsAllocateLittle(t *testing.T) { // not parallel: the allocations of all goroutines are counted
	s := repotest.New(t, nil, repotest.One)
	for i := range 25 {
		title := fmt.Sprint("A title of the usual length, number ", 10+i)
		d := site.Draft{Title: title, Link: new("https://example.com/2026/" + fmt.Sprint(10+i)), Groups: []string{"golang", "redis"}}
		require.Value(s.Post(s.Ctx, "alice", d))(t)
	}
	l := lists.AllArticles(site.ByScore, site.Descending)
	ids := s.List(l)
	tests := map[string]struct {
		most float64
		read func()
	}{
		"a listing":            {35, func() { _, _ = s.Lists.List(s.Ctx, l, 1, nil) }},
		"a page by cursors":    {218, func() { _, _, _ = s.Lists.Walk(s.Ctx, l, site.PageRequest{}) }},
		"25 articles":          {249, func() { _, _ = s.Articles.ArticlesByID(s.Ctx, ids) }},
		"one article":          {31, func() { _, _ = s.Articles.ArticlesByID(s.Ctx, ids[:1]) }},
		"a listing of a group": {156, func() { _, _ = s.Lists.List(s.Ctx, repotest.Best("redis"), 1, nil) }},
	}
	for name, tt := range tests {
		if got := testing.AllocsPerRun(200, tt.read); got > tt.most {
			t.Errorf("%s: %.0f allocations, want at most %.0f", name, got, tt.most)
		}
	}
}

// Whatever other programs have written, articles are read as they would be from the map that go-redis returns. One that a
// program of the book has just posted is none yet: its hash has no groups.
func TestForeignHashesAreRead(t *testing.T) {
	t.Parallel()
	many := map[string]string{"time": "1700000000", "title": "many fields"} // Redis keeps it in another encoding
	for i := range 1000 {
		many[fmt.Sprint("other", i)] = fmt.Sprint(i)
	}
	hashes := []map[string]string{
		{"title": "t", "link": "https://example.com", "poster": "user:bob", "time": "1700000000.25", "votes": "3"},
		{"title": "only a title"},
		{"": "", "unknown": "x", "title\r\n": "y", "$5": "$-1\r\n", "title": "\r\n$3\r\nabc\r\n*1\r\n"},
		{"title": "\xff\xfe\x00", "poster": "\xc3\x28", "link": "\x80", "groups": "\xff go", "revision": "2"},
		{"title": strings.Repeat("x", 5<<20), "text": strings.Repeat("\r\n", 1<<20), strings.Repeat("f", 1<<20): "v"},
		{"votes": "12", "downvotes": "5", "groups": "a b c d e f g h i j", "revision": "7", "uncounted": "1", "time": "1e9"},
		{"title": "gone", "deleted": "1700000100", "deleted_by": "user:mod", "time": "1700000000"},
		{"time": "yesterday"}, {"votes": "NaN"}, {"downvotes": "1e300"}, {"revision": "x"}, {"deleted": "x"},
		many,
	}
	for _, hash := range hashes[1:] {
		if hash["groups"] == "" {
			hash["groups"] = ""
		}
	}
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, repotest.One)
			repo := s.Reopened(s.ClientWith(func(o *redis.Options) { o.Protocol = protocol }), nil)
			ids := make([]site.ArticleID, 0, len(hashes)+2)
			for i, hash := range hashes {
				id := site.ArticleID(i + 1)
				s.Raw.HSet(s.Ctx, id.String(), hash)
				ids = append(ids, id)
			}
			s.Do("SET article:100 string")
			ids = append(ids, 100, 101)
			articles, errs := repo.Articles.ArticlesByID(s.Ctx, ids)
			for i, id := range ids[:len(hashes)] {
				want, wantErr := decode(hashes[i])
				switch {
				case i == 0 || wantErr != nil || want.DeletedAt != nil:
					if errs[i] == nil || articles[i] != nil {
						t.Errorf("hash %d = %v, %v, want an error: %v", i, articles[i], errs[i], wantErr)
					}
				case errs[i] != nil:
					t.Errorf("hash %d: %v, want an article", i, errs[i])
				default:
					if want.ID = id; !reflect.DeepEqual(articles[i], want) {
						t.Errorf("hash %d = %.300q, want %.300q", i, fmt.Sprint(articles[i]), fmt.Sprint(want))
					}
				}
			}
			if err := errs[len(hashes)]; !redis.HasErrorPrefix(err, "WRONGTYPE") {
				t.Errorf("reading a string: %v, want Redis' error", err)
			}
			repotest.WantRefused(t, errs[len(hashes)+1], "NOT_FOUND article")
		})
	}
}

// decode decodes the hash of article:1.
func decode(hash map[string]string) (*site.Article, error) {
	a := new(articles.Decoded)
	return &a.Article, require.Must(articles.New(&wire.Store{Rules: site.DefaultRules()})).Decode(1, articles.HashOf(hash), a)
}

func TestRawRepliesAreParsedOnlyAsHashes(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]int{ // -1: it is no hash
		"*0\r\n": 0, "%0\r\n": 0, "*2\r\n$5\r\ntitle\r\n$1\r\nt\r\n": 1, "%1\r\n$5\r\ntitle\r\n$0\r\n\r\n": 1,
		"": -1, "*": -1, "*\r\n": -1, "*2": -1, "*2\r": -1, "*2\r\n": -1, "*1\r\n$1\r\na\r\n": -1, "*-1\r\n": -1, "$-1\r\n": -1, "_\r\n": -1,
		"-LOADING Redis is loading\r\n": -1, "-MOVED 1 a:1\r\n": -1, "!5\r\nERR x\r\n": -1, "+OK\r\n": -1, ":1\r\n": -1,
		"%1\r\n$5\r\ntitle\r\n_\r\n": -1, "*2\r\n$5\r\ntitle\r\n$-1\r\n": -1, "*2\r\n$5\r\ntitle\r\n:1\r\n": -1,
		"*2\r\n$5\r\ntitle\r\n$1\r\nt": -1, "*2\r\n$5\r\ntitle\r\n$2\r\nt\r\n": -1, "*2\r\n$5\r\ntitle\r\n$1\r\nt\r\n+": -1,
		"|1\r\n+a\r\n+b\r\n*0\r\n": -1, "*99999999999999999999\r\n": -1, "%2147483648\r\n": -1, "*2\r\n$99999999999999999999\r\n": -1, "*2\r\n$1073741824\r\n": -1,
	} {
		if _, fields, ok := articles.ParseHash(reply); ok != (want >= 0) || ok && fields != want {
			t.Errorf("ParseHash(%q) = %d fields, %t, want %d", reply, fields, ok, want)
		}
	}
}

// referenceHash reads a raw reply field by field, as slowly and simply as possible.
func referenceHash(reply string) (map[string]string, bool) {
	in := bufio.NewReader(strings.NewReader(reply))
	size := func(kinds string) (byte, int, bool) {
		line, err := in.ReadString('\n')
		if err != nil || len(line) < 4 || !strings.HasSuffix(line, "\r\n") || !strings.Contains(kinds, line[:1]) || strings.Trim(line[1:len(line)-2], "0123456789") != "" {
			return 0, 0, false
		}
		n, err := strconv.Atoi(line[1 : len(line)-2])
		return line[0], n, err == nil && n <= 1<<20
	}
	kind, fields, ok := size("*%")
	if !ok || kind == '*' && fields%2 == 1 {
		return nil, false
	}
	if kind == '%' {
		fields *= 2
	}
	hash, field := map[string]string{}, ""
	for i := range fields {
		_, n, ok := size("$")
		if !ok {
			return nil, false
		}
		text := make([]byte, n+2)
		if _, err := io.ReadFull(in, text); err != nil || string(text[n:]) != "\r\n" {
			return nil, false
		}
		if i%2 == 0 {
			field = string(text[:n])
		} else {
			hash[field] = string(text[:n])
		}
	}
	_, err := in.ReadByte()
	return hash, err == io.EOF
}

func FuzzParseHash(f *testing.F) {
	for _, seed := range []string{"*0\r\n", "*2\r\n$5\r\ntitle\r\n$1\r\nt\r\n", "%2\r\n$5\r\ntitle\r\n$0\r\n\r\n$4\r\nlink\r\n$2\r\n\r\n\r\n", "-ERR\r\n", "%1\r\n$5\r\ntitle\r\n_\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		hash, _, ok := articles.ParseHash(reply)
		want, wantOK := referenceHash(reply)
		if ok != wantOK || ok && (hash.Title != want["title"] || hash.Link != want["link"]) {
			t.Errorf("ParseHash(%q) = %q, %q, %t, want %v, %t", reply, hash.Title, hash.Link, ok, want, wantOK)
		}
	})
}

// A legacy client can write any text into the fields of a hash.
func FuzzDecodeHash(f *testing.F) {
	f.Add("title", "https://example.com", "user:alice", "1700000000.5", "1", "", "go web", "")
	f.Add("", "", "", "", "", "", "", "")
	f.Add("title", "", "alice", "NaN", "-1e15", "Inf", "  ", "1e300")
	f.Fuzz(func(t *testing.T, title, link, poster, at, votes, downvotes, groups, deleted string) {
		hash := map[string]string{
			"title": title, "link": link, "poster": poster, "time": at, "votes": votes, "downvotes": downvotes, "groups": groups, "deleted": deleted,
		}
		a, err := decode(hash)
		if err != nil {
			return
		}
		if a.Title != title || a.Upvotes-a.Downvotes != a.Votes || (a.DeletedAt != nil) != (deleted != "") {
			t.Errorf("the hash %v is decoded as %+v, want counts that agree", hash, a)
		}
		if a.VotingEndsAt.Before(a.CreatedAt) {
			t.Errorf("voting on an article posted at %v ends at %v, want a later time", a.CreatedAt, a.VotingEndsAt)
		}
	})
}
