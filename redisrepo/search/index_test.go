package search

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"frontpage/redisrepo/site"
)

func TestIndexDropsTheOldestArticlesToSaveMemory(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	x := newIndex()
	for i := range uint32(5000) {
		x.put(i, 1000+i, words(fmt.Sprint("common word", i)), limit)
		if _, bytes, _ := x.size(); bytes > limit {
			t.Fatalf("after %d articles the index takes %d bytes, want at most %d", i, bytes, limit)
		}
	}
	all, _ := x.newest([]wanted{{"common", exact}}, 1, 10_000)
	articles, _, since := x.size()
	if len(all) != articles || articles < 200 || all[0] != 4999 || since != 1000+all[len(all)-1] {
		t.Errorf("%d of %d articles are found, from %d to %d, since %d", len(all), articles, all[0], all[len(all)-1], since)
	}
	x.put(7, 1007, words("dropped"), limit)
	if found, _ := x.newest([]wanted{{"dropped", exact}}, 1, 10); len(found) > 0 {
		t.Errorf("an article older than those that were dropped is there: %v", found)
	}
}

// After any changes the index is that of the articles which are left: nothing of a removed text stays.
func TestIndexKeepsNothingOfWhatWasRemoved(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	x, left := newIndex(), map[uint32]string{}
	for range 20_000 {
		number := r.Uint32N(200)
		if r.IntN(3) == 0 {
			x.remove(number)
			delete(left, number)
			continue
		}
		left[number] = fmt.Sprintf("a%d b%d c%d", r.IntN(20), r.IntN(20), r.IntN(3000))
		x.put(number, 1, words(left[number]), 1<<30)
	}
	want := map[string][]uint32{}
	bytes := 0
	for number, text := range left {
		bytes += perArticle
		for w := range strings.FieldsSeq(text) {
			want[w] = append(want[w], number)
			bytes += 8
		}
	}
	for w, numbers := range want {
		bytes += perWord + len(w)
		got, _ := x.newest([]wanted{{w, exact}}, 1, 10_000)
		slices.Sort(got)
		slices.Sort(numbers)
		if !slices.Equal(got, numbers) {
			t.Fatalf("%s is in %v, want %v", w, got, numbers)
		}
	}
	for _, text := range x.words {
		if _, there := want[text]; text != "" && !there {
			t.Errorf("the word %q is kept", text)
		}
	}
	if _, got, _ := x.size(); got != bytes || len(x.ids) != len(want) {
		t.Errorf("the index has %d bytes and %d words, want %d and %d", got, len(x.ids), bytes, len(want))
	}
}

func TestWordsAreFolded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Über die Straße": "uber die strasse", "C++, don't": "c don t", "cafe\u0301 CAFÉ": "cafe cafe", "東京2016": "東 京 2016",
		"ﬁne": "fine", "שָׁלוֹם": "שלום", "  ": "", "a\u0000b": "a b", "İstanbul": "istanbul", "한국어": "한국어",
	} {
		if got := strings.Join(textsOf(words(text)), " "); got != strings.Join(textsOf(words(want)), " ") || !strings.Contains(want, "한") && got != want {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	}
	if got := words(strings.Repeat("ä", 100))[0].text; got != strings.Repeat("a", maxWord) {
		t.Errorf("a long word is cut to %q", got)
	}
}

// FuzzSearch: no query and no title makes search panic; a title is found by itself; marks are parts of the title.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{`"exact words" and more`, "東京都 2016", "שלום עולם", "[a-z]+(.*)$", strings.Repeat("x", 200), "\"", "e\u0301\u0301", "🙂 ok", "\xff\xfe"} {
		f.Add(text, text)
		f.Add(text, "another title")
	}
	f.Fuzz(func(t *testing.T, text, title string) {
		q, err := parse(text)
		if err != nil {
			return
		}
		x, in := newIndex(), textsOf(words(title))
		x.put(1, 1, words(title), 1<<30)
		for _, how := range []likeness{exact, beginning, near} {
			if all := q.wanted(how); len(all) > 0 {
				found, _ := x.newest(all, len(all), 10)
				if at := map[likeness]stage{exact: whole, beginning: whole, near: spelt}[how]; len(found) == 0 && how != beginning && q.match(at, in, nil) <= withAll {
					t.Errorf("%q matches %q, but is not found", text, title)
				}
			}
		}
		if len(q.items) > 0 && text == title && !strings.Contains(text, `"`) && q.match(whole, in, nil) != equal {
			t.Errorf("%q does not match itself", text)
		}
		r := Result{query: q, texts: true}
		a := &site.Article{Title: title, Text: &title}
		for tier := Phrase; tier <= Similar; tier++ {
			m := r.Marks(a, tier)
			if utf8.RuneCountInString(m.Snippet) > maxSnippet {
				t.Errorf("the snippet %q is too long", m.Snippet)
			}
			for _, mark := range m.Title {
				if units := utf16.Encode([]rune(title)); mark.Start < 0 || mark.Length < 1 || mark.Start+mark.Length > len(units) {
					t.Errorf("mark %+v is not in %q", mark, title)
				}
			}
		}
	})
}

func TestMarksAreInUTF16(t *testing.T) {
	t.Parallel()
	q, _ := parse("go stra")
	text := "Über: " + strings.Repeat("lorem ipsum ", 50) + "die 🙂 Straße\nin Go. " + strings.Repeat("dolor sit ", 50)
	m := (&Result{query: q, texts: true}).Marks(&site.Article{Title: "🙂 Go: Straße", Text: &text}, Beginning)
	if want := []*Range{{3, 2}, {7, 6}}; !reflect.DeepEqual(m.Title, want) {
		t.Errorf("marks of the title: %v, want %v", m.Title, want)
	}
	units := utf16.Encode([]rune(m.Snippet))
	var marked []string
	for _, r := range m.Text {
		marked = append(marked, string(utf16.Decode(units[r.Start:r.Start+r.Length])))
	}
	if want := []string{"Straße", "Go"}; !slices.Equal(marked, want) {
		t.Errorf("the snippet %q marks %q, want %q", m.Snippet, marked, want)
	}
}

// BenchmarkMillionTitles builds an index of a million titles, whose words are as frequent as those of a language, and looks for
// candidates in it: the 99th percentile of each kind of query, and what a title takes of the heap.
func BenchmarkMillionTitles(b *testing.B) {
	const titles, vocabulary = 1_000_000, 300_000
	r := rand.New(rand.NewPCG(52, 3))
	frequent := rand.NewZipf(r, 1.1, 10, vocabulary-1)
	title := func() []word {
		var text strings.Builder
		for range 5 + r.IntN(8) {
			fmt.Fprintf(&text, "%s ", strconv.FormatUint(1_000_000+frequent.Uint64()*7919, 26))
		}
		return words(text.String())
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	x, some := newIndex(), [][]word(nil)
	for i := range uint32(titles) {
		found := title()
		x.put(i, i, found, 1<<40)
		if i%1000 == 0 {
			some = append(some, found)
		}
	}
	b.ReportMetric(time.Since(began).Seconds(), "build-s")
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/titles, "B/title")
	wrong := func(found []word) []wanted {
		var all []wanted
		for _, w := range found {
			all = append(all, wanted{w.text[:1] + "_" + w.text[2:], near})
		}
		return all
	}
	exactly := func(found []word) []wanted {
		var all []wanted
		for _, w := range found {
			all = append(all, wanted{w.text, exact})
		}
		return all
	}
	for _, kind := range []struct {
		name string
		look func(found []word)
	}{
		{"all", func(found []word) { x.newest(exactly(found), len(found), MaxRanked) }},
		{"half", func(found []word) { x.newest(exactly(found), (len(found)+1)/2, MaxRanked) }},
		{"beginning", func(found []word) { x.newest([]wanted{{found[0].text[:2], beginning}}, 1, MaxRanked) }},
		{"wrong", func(found []word) { x.newest(wrong(found), len(found), MaxRanked) }},
	} {
		times := make([]time.Duration, len(some))
		for i, found := range some {
			start := time.Now()
			kind.look(found)
			times[i] = time.Since(start)
		}
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, kind.name+"-p99-ms")
	}
}
