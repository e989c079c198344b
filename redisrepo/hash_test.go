package redisrepo_test

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/must"
	"frontpage/redisrepo"
	"frontpage/redisrepo/live"
	"frontpage/redisrepo/site"
)

// Whatever other programs have written, articles are read as they would be from the map that go-redis returns.
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
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil, one)
			options := *s.server.Client.Options()
			options.Protocol = protocol
			client := redis.NewClient(&options)
			t.Cleanup(func() { _ = client.Close() })
			repo := s.reopened(client, nil)
			ids := make([]site.ArticleID, 0, len(hashes)+2)
			for i, hash := range hashes {
				id := site.ArticleID(i + 1)
				s.raw.HSet(s.ctx, id.String(), hash)
				ids = append(ids, id)
			}
			s.do("SET article:100 string")
			ids = append(ids, 100, 101)
			articles, errs := repo.ArticlesByID(s.ctx, ids)
			for i, id := range ids[:len(hashes)] {
				want, wantErr := redisrepo.Decode(hashes[i])
				switch {
				case wantErr != nil || want.DeletedAt != nil:
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
			wantRefused(t, errs[len(hashes)+1], "NOT_FOUND article")
		})
	}
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
		if _, _, fields, ok := redisrepo.ParseHash(reply); ok != (want >= 0) || ok && fields != want {
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
		title, link, _, ok := redisrepo.ParseHash(reply)
		want, wantOK := referenceHash(reply)
		if ok != wantOK || ok && (title != want["title"] || link != want["link"]) {
			t.Errorf("ParseHash(%q) = %q, %q, %t, want %v, %t", reply, title, link, ok, want, wantOK)
		}
	})
}

// An article shares its memory with the page that it was read with: a watch keeps only its own.
func TestWatchKeepsNoOtherArticlesInMemory(t *testing.T) { // not parallel: it measures the heap
	s := newSite(t, nil)
	const pages, size = 30, 100
	for i := 1; i <= pages*size; i++ {
		s.raw.HSet(s.ctx, site.ArticleID(i).String(), "title", "t", "time", "1700000000")
	}
	text := strings.Repeat("text ", 2000)
	var watches []*live.Watch
	heap := func() int {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	before := heap()
	for page := range pages {
		ids := make([]site.ArticleID, size)
		for i := range ids {
			ids[i] = site.ArticleID(page*size + i + 1)
			if i > 0 {
				s.raw.HSet(s.ctx, ids[i].String(), "text", text)
			}
		}
		all := must.Get(s.WatchArticles(s.ctx, ids))(t)
		one := must.Get(s.WatchArticles(s.ctx, ids[:1]))(t)
		all.Close()
		watches = append(watches, one)
	}
	if got := heap() - before; got > pages*len(text)*size/10 {
		t.Errorf("%d watches of a small article each keep %d bytes, want less than a tenth of what was read with them", len(watches), got)
	}
	runtime.KeepAlive(watches)
}
