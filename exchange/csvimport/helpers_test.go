package csvimport_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"frontpage/exchange/csvimport"
	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// now is the time of the tests, for the site and for the import.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const header = "id,title,link,votes,poster,posted_at\n"

var errDisk = errors.New("the disk is broken")

// testSite is a site on a Redis of its own.
type testSite struct {
	*redisrepo.Repo
	redis *redistest.Server
}

func newTestSite(t *testing.T) testSite {
	t.Helper()
	server := redistest.Start(t)
	repo := require.Value(redisrepo.New(t.Context(), server.Client, site.DefaultRules(), redisrepo.WithClock(func() time.Time { return now })))(t)
	return testSite{repo, server}
}

// imports runs an import that must not be stopped and returns its summary and report.
func (s testSite) imports(t *testing.T, file string, o csvimport.Options) (csvimport.Summary, string) {
	t.Helper()
	var report strings.Builder
	o.Report = &report
	if o.Now == nil {
		o.Now = func() time.Time { return now }
	}
	sum := require.Value(csvimport.Run(t.Context(), s.Repo, strings.NewReader(file), o))(t)
	return sum, report.String()
}

func (s testSite) article(t *testing.T, id site.ArticleID) *site.Article {
	t.Helper()
	articles, errs := s.Articles.ArticlesByID(t.Context(), []site.ArticleID{id})
	require.NoError(t, errs[0])
	return articles[0]
}

// count checks the store and returns the number of articles.
func (s testSite) count(t *testing.T) int {
	t.Helper()
	checked := require.Value(check.Check(t.Context(), s.Repo, func(violation string) { t.Errorf("Check: %s", violation) }))(t)
	return checked.Articles
}

// manyRows returns a file with many equal votes and times.
func manyRows(rows int) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range rows {
		fmt.Fprintf(&b, "%d,\"Title, no. %d\",https://example.com/%d,%d,user%d,%d\n", i+1, i, i, i*7919%13, i%17, 1_700_000_000+i%5*432)
	}
	return b.String()
}

// watched calls then once the import has read at bytes.
type watched struct {
	io.ReadSeeker
	at, read int
	then     func() error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadSeeker.Read(p)
	w.read += n
	if w.then != nil && w.read >= w.at {
		then := w.then
		w.then = nil
		if err := then(); err != nil {
			return 0, err
		}
	}
	return n, err
}

// failing is a file of which one call fails, the first being 1.
type failing struct {
	io.ReadSeeker
	call, calls int
}

func (f *failing) fails() error {
	if f.calls++; f.calls == f.call {
		return errDisk
	}
	return nil
}

func (f *failing) Read(p []byte) (int, error) {
	if err := f.fails(); err != nil {
		return 0, err
	}
	return f.ReadSeeker.Read(p)
}

func (f *failing) Seek(offset int64, whence int) (int64, error) {
	if err := f.fails(); err != nil {
		return 0, err
	}
	return f.ReadSeeker.Seek(offset, whence)
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
