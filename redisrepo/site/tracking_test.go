package site_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

func TestLinksLoseWhatOnlySaysWhereAReaderCameFrom(t *testing.T) {
	t.Parallel()
	equal := [][2]string{
		{"https://overreacted.io/no-instances/", "https://overreacted.io/no-instances/?ref=selfh.st"},
		{"https://a.example/x?id=3", "https://a.example/x?Ref=News.YCombinator.com&id=3&source=lobste.rs"},
		{"https://a.example/x", "https://a.example/x?ref=hnrss.org.&source=b%C3%BCcher.de"},
		{"https://a.example/x", "https://a.example/x?ref=www.news.example&source=me.github.io&ref=abc.co.uk"},
		{"https://a.example/x", "https://a.example/x?mtm_campaign=x&HSA_acc=1&_openstat=2&mkt_tok=3&__hssc=4&vero_id&yclid=5&utm_social-type=6&%75tm_x"},
		{"https://youtu.be/x", "https://www.youtu.be/x?si=abc&feature=shared"},
		{"https://www.youtube.com/watch?v=1", "https://youtube.com/watch?si=abc&v=1&pp=x"},
		{"https://music.youtube.com/playlist?list=1", "https://music.youtube.com/playlist?list=1&si=abc"},
		{"https://open.spotify.com/track/1", "https://open.spotify.com:443/track/1?si=abc"},
		{"https://www.amazon.co.uk/dp/1", "https://amazon.co.uk/dp/1?tag=x&pd_rd_w=1"},
		{"https://twitter.com/a/status/1", "https://twitter.com/a/status/1?s=20&t=x"},
		{"https://www.ebay.de/itm/1", "https://ebay.de/itm/1?mkcid=1"},
		{"https://a.example/#/topic/1", "https://a.example/?utm_source=x#/topic/1/"},
		{"https://a.example/#/topic/1?b=2&c=3", "https://a.example/#/topic/1?c=3&utm_source=x&b=2&ref=selfh.st"},
		{"https://a.example/", "https://a.example/#/"},
		{"https://a.example/", "https://a.example/#!"},
		{"https://a.example/#!/%7Ex", "https://a.example/#!/~x:~:text=word"},
		{"https://a.example/", "https://a.example/#:~:text=/word"},
		{"https://a.example/", "https://a.example/#part/1!"},
	}
	for _, pair := range equal {
		if a, b := site.NormalizeLink(pair[0]), site.NormalizeLink(pair[1]); a != b {
			t.Errorf("%s is %s, and %s is %s, want the same", pair[0], a, pair[1], b)
		}
	}
	other := []string{
		"https://a.example/x", "https://a.example/x?ref=main", "https://a.example/x?ref=v1.2", "https://a.example/x?ref=feature/x",
		"https://a.example/x?ref=release-1.x", "https://a.example/x?ref=10.0.0.1", "https://a.example/x?source=README.md", "https://a.example/x?source=index.html",
		"https://a.example/x?source=feed", "https://a.example/x?ref=", "https://a.example/x?ref", "https://a.example/x?ref=.com", "https://a.example/x?ref=com",
		"https://a.example/x?ref=https://selfh.st/", "https://a.example/x?ref=a_b.com", "https://a.example/x?href=selfh.st", "https://a.example/x?si=1",
		"https://notyoutube.com/watch?v=1&si=2", "https://notyoutube.com/watch?v=1", "https://youtube.com.a.example/watch?v=1", "https://youtube.com.a.example/watch?v=1&si=2",
		"https://youtube.com/watch?v=1", "https://youtube.com/watched?pp=1", "https://youtube.com/watched", "https://amazon.a.example/?tag=1", "https://amazon.a.example/",
		"https://www.facebook.com/media/set/?set=a.1", "https://www.facebook.com/media/set/?set=a.2", "https://a.example/x?utmost_=1", "https://a.example/x?utm=1",
		"https://matrix.to/#/#room-one:example.org", "https://matrix.to/#/#room-two:example.org", "https://matrix.to/#/@room-one:example.org", "https://matrix.to/",
		"https://a.example/", "https://a.example/#!/topic/1", "https://a.example/#!/topic/2", "https://a.example/#/topic/1", "https://a.example/#!topic", "https://a.example/#/Topic/1",
		"https://a.example/#/?a=1", "https://a.example/#/topic/1?id=2", "https://a.example/topic/1",
	}
	seen := map[string]string{}
	for _, link := range other {
		form := site.NormalizeLink(link)
		if first, twice := seen[form]; twice {
			t.Errorf("%s and %s are both %s", first, link, form)
		}
		seen[form] = link
	}
}

// Keys are named by digests of links. A change of the list needs an upgrade of the layout that moves them, as
// moveLinks and recordLinks of redisrepo/layout do, and then the new digest here.
func TestTheTrackingListBelongsToTheLayout(t *testing.T) {
	t.Parallel()
	list := require.Value(os.ReadFile("tracking.txt"))(t)
	_, rules, found := strings.Cut(string(list), "\n[all hosts]\n")
	sum := sha256.Sum256([]byte(rules))
	if got := hex.EncodeToString(sum[:4]); !found || got != "80be7cf1" {
		t.Errorf("the rules have the digest %s: see the comment of this test", got)
	}
}
