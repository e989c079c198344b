package csvimport_test

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontpage/exchange/csvimport"
	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

func TestImportedArticlesRankByVotesAndTime(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	file := manyRows(2500)
	sum, refused := s.imports(t, file, csvimport.Options{GroupByHost: true})
	same(t, "Summary", sum, csvimport.Summary{Read: 2500, Added: 2500})
	same(t, "refused", refused, "")

	records := require.Value(csv.NewReader(strings.NewReader(file)).ReadAll())(t)
	number := func(s string) int {
		return require.Value(strconv.Atoi(s))(t)
	}
	score := func(r []string) int { return number(r[5]) + 432*number(r[3]) }
	ranked := records[1:]
	slices.SortFunc(ranked, func(a, b []string) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), strings.Compare(b[0], a[0]))
	})
	listing := lists.InGroup("example.com", site.ByScore, site.Descending)
	size := 100
	for page := range 25 {
		ids := require.Value(s.Lists.List(t.Context(), listing, page+1, &size))(t)
		for i, r := range ranked[page*size:][:size] {
			if len(ids) != size || ids[i].String() != "article:"+r[0] {
				t.Fatalf("rank %d is not article:%s; page = %v", page*size+i, r[0], ids)
			}
		}
	}
	same(t, "articles", s.count(t), 2500)
}

func TestRunningAgainAddsNothing(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	file := manyRows(1200)
	s.imports(t, file, csvimport.Options{ShiftToNow: true})
	before := s.article(t, 1).CreatedAt
	later := func() time.Time { return now.Add(time.Hour) }
	for _, o := range []csvimport.Options{{}, {ShiftToNow: true}, {GroupByHost: true}, {ShiftToNow: true, Now: func() time.Time { return now.Add(-time.Hour) }}} {
		sum, refused := s.imports(t, file, o)
		same(t, "Summary", sum, csvimport.Summary{Read: 1200, Skipped: 1200})
		same(t, "refused", refused, "")
	}
	repo := require.Value(redisrepo.New(t.Context(), s.redis.Client, site.DefaultRules(), redisrepo.WithClock(later)))(t)
	sum, _ := testSite{repo, s.redis}.imports(t, file, csvimport.Options{ShiftToNow: true, Now: later})
	same(t, "Summary an hour later", sum, csvimport.Summary{Read: 1200, Skipped: 1200})
	same(t, "posting time", s.article(t, 1).CreatedAt, before)
}

func TestShiftToNowMovesAllTimesAlike(t *testing.T) {
	t.Parallel()
	file := header +
		"1,Oldest,,1,alice,1000000100\n" +
		"2,Newest,,1,alice,2001-09-09T01:50:00Z\n" + // 1000000200
		"3,Older,,1,alice,1000000000\n"
	bad := "x,Bad,,1,alice,1600000000\n4,Bad,,1,alice,1441518960000\n5,\"Bad,,1,alice,1600000000\n"
	t.Run("the newest is now and the others keep their distance", func(t *testing.T) {
		t.Parallel()
		s := newTestSite(t)
		sum, refused := s.imports(t, file+bad, csvimport.Options{ShiftToNow: true})
		same(t, "Summary", sum, csvimport.Summary{Read: 6, Added: 3, Refused: 3})
		same(t, "reported", strings.Count(refused, "\n"), 3)
		for id, want := range map[site.ArticleID]time.Duration{1: -100 * time.Second, 2: 0, 3: -200 * time.Second} {
			same(t, id.String(), s.article(t, id).CreatedAt, now.Add(want))
		}
	})
	t.Run("not before 1970", func(t *testing.T) {
		t.Parallel()
		_, refused := newTestSite(t).imports(t, header+"1,T,,1,alice,0\n2,T,,1,alice,9999-12-31T23:59:59Z\n", csvimport.Options{ShiftToNow: true})
		same(t, "refused", refused, "line 2: posted_at: \"0\" would be shifted to before 1970\n")
	})
	t.Run("nothing to shift", func(t *testing.T) {
		t.Parallel()
		sum, _ := newTestSite(t).imports(t, header+bad, csvimport.Options{ShiftToNow: true})
		same(t, "Summary", sum, csvimport.Summary{Read: 3, Refused: 3})
	})
	t.Run("only when asked for", func(t *testing.T) {
		t.Parallel()
		s := newTestSite(t)
		s.imports(t, file, csvimport.Options{})
		same(t, "time", s.article(t, 3).CreatedAt, time.Unix(1_000_000_000, 0).UTC())
	})
}

const saveAsUTF8 = `save it as "CSV UTF-8", or as CSV with the character set UTF-8`

func TestTheHeaderMustNameTheColumns(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, want string }{
		"an empty file":   {"", "the file is empty: its first line must name the columns id, title, link, votes, poster, posted_at"},
		"only a BOM":      {"\ufeff\n", "the file is empty: its first line must name the columns id, title, link, votes, poster, posted_at"},
		"missing columns": {"id,titel,link,poster,posted_at\n", "header: missing columns title, votes: the first line must name the columns, separated by commas; is one of them named titel?"},
		"semicolons":      {"id;title;url;votes;poster;posted_at\n", "header: missing columns link: the first line must name the columns, separated by commas; is one of them named url?"},
		"colons":          {"id:title:link:votes:poster:posted_at\n", "header: missing columns id, title, link, votes, poster, posted_at: the first line must name the columns, separated by commas; is one of them named id:title:link:votes:poster:posted_at?"},
		"no separator":    {"sep=\n" + header, `header: "sep=" does not name a separator: write sep=; or leave the line out`},
		"two separators":  {"sep=;,\n" + header, `header: "sep=;," does not name a separator: write sep=; or leave the line out`},
		"another one":     {"sep=;\n" + header, "header: missing columns id, title, link, votes, poster, posted_at: the first line must name the columns, separated by commas; is one of them named id,title,link,votes,poster,posted_at?"},
		"UTF-16, no mark": {"i\x00d\x00,\x00\n\x00", "header: the file has zero bytes, as UTF-16 without a byte order mark: " + saveAsUTF8},
		"UTF-16, cut":     {"\xff\xfei\x00d", "the file ends in the middle of a character of UTF-16: it was cut, so write it again"},
		"UTF-32":          {"\xff\xfe\x00\x00i\x00\x00\x00", "the file is in UTF-32: " + saveAsUTF8},
		"Latin-1":         {"id,title,link,votes,poster,posted_at,gr\xfc\xdfe\n", `header: the byte 0xFC after "gr" is not UTF-8, so it is not known which character it is: ` + saveAsUTF8},
		"a duplicate":     {"id,title,link,votes,poster,posted_at, ID\n", `header: two columns are named "id"`},
		"a broken quote":  {"id,title,\"link,votes,poster,posted_at\n", "header: a quote is not closed, or a quote within a field is not doubled"},
	}
	s := newTestSite(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sum, err := csvimport.Run(t.Context(), s.Repo, strings.NewReader(tt.file), csvimport.Options{})
			if err == nil || err.Error() != tt.want {
				t.Errorf("Run: %v, want %s", err, tt.want)
			}
			same(t, "read", sum.Read, 0)
		})
	}
	t.Run("others are reported once", func(t *testing.T) {
		_, refused := s.imports(t, "Score,URL,"+header, csvimport.Options{ShiftToNow: true})
		same(t, "refused", refused, "ignored columns: [\"score\" \"url\"]\n")
	})
	t.Run("a pipe is refused", func(t *testing.T) {
		in, out, err := os.Pipe()
		require.NoError(t, err)
		defer func() { _, _ = in.Close(), out.Close() }()
		_, err = csvimport.Run(t.Context(), s.Repo, in, csvimport.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "the file must be seekable") {
			t.Errorf("Run: %v, want an error that requires a seekable file", err)
		}
	})
}

// Whatever stops an import, the rows before are stored, the error names the last of them, and another run
// adds the rest.
func TestAStoppedImportCanBeContinued(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		stop func(testSite, context.CancelFunc) error
		want error
	}{
		"its context": {func(_ testSite, cancel context.CancelFunc) error { cancel(); return nil }, context.Canceled},
		"Redis":       {func(s testSite, _ context.CancelFunc) error { s.redis.Kill(); return nil }, failover.ErrUnavailable},
		"the file":    {func(testSite, context.CancelFunc) error { return errDisk }, errDisk},
		"a broken store": {func(s testSite, _ context.CancelFunc) error {
			return s.redis.Client.Set(context.Background(), "score:", "x", 0).Err()
		}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestSite(t)
			s.redis.Own()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			file := manyRows(2500)
			reader := &watched{ReadSeeker: strings.NewReader(file), at: len(file) / 2}
			reader.then = func() error { return tt.stop(s, cancel) }
			sum, err := csvimport.Run(ctx, s.Repo, reader, csvimport.Options{})
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Fatalf("Run: %v, want %v", err, tt.want)
			}
			same(t, "added", sum.Added, 1100)
			if want := "stopped after line 1101: "; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("Run: %v, want %s", err, want)
			}
			switch {
			case errors.Is(err, failover.ErrUnavailable):
				s.redis.Restart()
			case tt.want == nil:
				return
			}
			sum, _ = s.imports(t, file, csvimport.Options{})
			same(t, "second Summary", sum, csvimport.Summary{Read: 2500, Added: 1400, Skipped: 1100})
			same(t, "articles", s.count(t), 2500)
		})
	}
}

func TestAReadErrorIsNotTakenForTheEndOfTheFile(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	file := "\ufeff" + header + "1,T,,1,alice,1\n2,\"Open,,1,alice,1\n3,T,,1,alice,1\n"
	for call := 1; ; call++ {
		disk := &failing{ReadSeeker: strings.NewReader(file), call: call}
		sum, err := csvimport.Run(t.Context(), s.Repo, disk, csvimport.Options{ShiftToNow: true, Now: func() time.Time { return now }})
		if disk.calls < call {
			same(t, "rows stored without an error", sum.Added, 2)
			return
		}
		if !errors.Is(err, errDisk) || sum.Added > 0 {
			t.Errorf("Run with an error in call %d: %v, %v, want %v and nothing added", call, sum, err, errDisk)
		}
	}
}

func TestRowsInTheBatchOfAFaultAreCounted(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	require.NoError(t, s.redis.Client.Set(t.Context(), "group:bad", "not a set", 0).Err())
	file := "groups," + header + ",1,T,,1,alice,1\nx,x,T,,1,alice,1\nbad,2,T,,1,alice,1\n,3,T,,1,alice,1\nbad,4,T,,1,alice,1\n"
	sum, err := csvimport.Run(t.Context(), s.Repo, strings.NewReader(file), csvimport.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "stopped after line 3: import article:2: ") {
		t.Errorf("Run: %v, want an error that names line 3", err)
	}
	sum.Took = 0
	same(t, "Summary", sum, csvimport.Summary{Read: 5, Added: 2, Refused: 1})
}

// The progress bar and the report go to the same terminal.
func TestTheProgressBarIsClearedForReportedRows(t *testing.T) {
	t.Parallel()
	var terminal strings.Builder
	file := manyRows(1200) + "x,,,,,\n"
	require.Value(csvimport.Run(t.Context(), newTestSite(t).Repo, strings.NewReader(file), csvimport.Options{Report: &terminal, Progress: &terminal}))(t)
	shown := terminal.String()
	for _, percent := range []string{" 41% |", " 82% |"} {
		if !strings.Contains(shown, percent) {
			t.Errorf("terminal = %q, want it to contain %q", shown, percent)
		}
	}
	before, after, found := strings.Cut(shown, "line 1202: ")
	if !found || !strings.HasSuffix(before, " \r") {
		t.Errorf("the progress bar is not cleared before a reported row: %q", before)
	}
	if !strings.HasSuffix(after, " \r") {
		t.Errorf("the progress bar is not cleared at the end: %q", after)
	}
}

func TestTheSummaryIsOneLine(t *testing.T) {
	t.Parallel()
	ticks := now
	clock := func() time.Time { ticks = ticks.Add(700400 * time.Microsecond); return ticks }
	sum, err := csvimport.Run(t.Context(), newTestSite(t).Repo, strings.NewReader(manyRows(3)+"x,,,,,\n1,Title,,1,alice,1\n4,T,http://[::1],1,alice,1\n"),
		csvimport.Options{Now: clock, GroupByHost: true})
	require.NoError(t, err)
	same(t, "Summary", sum.String(), "6 rows read: 4 added, 0 already stored, 2 refused, 1 without a group for their host; took 700ms")
	sum.Ungrouped, sum.Skipped = 0, 1
	same(t, "Summary", sum.String(), "6 rows read: 4 added, 1 already stored, 2 refused; took 700ms")
	sum, err = csvimport.Run(t.Context(), newTestSite(t).Repo, strings.NewReader(header), csvimport.Options{})
	if err != nil || sum.Took <= 0 {
		t.Errorf("Run with the default clock took %v, %v; want more than 0", sum.Took, err)
	}
}
