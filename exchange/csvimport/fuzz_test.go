package csvimport_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontpage/exchange/csvimport"
	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// reported is a line of the report about a row.
var reported = regexp.MustCompile(`^lines? (\d+)(?: to (\d+))?: .+$`)

// FuzzRows imports an arbitrary file. Every row is stored, skipped or refused: a refused row is reported with
// its line and the reason, and a stored article written to a file again is imported as the same article.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{
		"1,T,,1,alice,1\n", "17,\"A \"\"fine\"\" title\",https://go.dev/x,-3,alice,1700000000\n1,T,,1,bob,2023-11-14T23:13:20.9+01:00\n",
		"x,T,,y,alice,z\n2147483648,T,,1,alice,1\n", "9,\"Open,,1,alice,1\n3,T,,1,alice,1\n", "20,T\"T,,1,alice,1\n", "\n\r\n1,\"T\nT\",,1,alice,1\r\n",
		"1,T,,1,alice,1\n1,T,,1,alice,1\n1,Other,,1,alice,1\n", "5,T,http://[::1]:80/,1,alice,1\n6,T,http://interesting/,1,alice,1\n", "1,T\n", ",,,,,\n",
		"1,T,ftp://x,1,alice,253402300800\n", "1,T,,1000001,alice,9999-12-31T23:59:59Z\n", "1," + strings.Repeat("x", 312) + ",,1,alice,1\n", "\x00,\xff,\"",
	} {
		f.Add([]byte(header+seed), false)
		f.Add([]byte("sep=;\r"+strings.NewReplacer(",", ";", "\n", "\r").Replace(header+seed)), false)
		f.Add([]byte("\ufeffgroups,text,other,"+header+"go;web,\" a\rb\n\",,"+seed), true)
	}
	server := redistest.Start(f)
	empty := func(t *testing.T) *redisrepo.Repo {
		t.Helper()
		require.NoError(t, server.Client.FlushAll(t.Context()).Err())
		return require.Value(redisrepo.New(t.Context(), server.Client, site.DefaultRules(), redisrepo.WithClock(func() time.Time { return now })))(t)
	}
	f.Fuzz(func(t *testing.T, file []byte, options bool) {
		var report strings.Builder
		o := csvimport.Options{GroupByHost: options, Report: &report}
		s := testSite{empty(t), server}
		sum, err := csvimport.Run(t.Context(), s.Repo, bytes.NewReader(file), o)
		if err != nil && !strings.HasPrefix(err.Error(), "header: ") && !strings.HasPrefix(err.Error(), "the file is empty") &&
			!strings.Contains(err.Error(), "blank lines follow") && !strings.Contains(err.Error(), "UTF-") {
			t.Fatal(err)
		}
		if err == nil {
			same(t, "rows read", sum.Read, sum.Added+sum.Skipped+sum.Refused)
		}
		wantReport(t, report.String(), sum, bytes.Count(file, []byte("\n"))+bytes.Count(file, []byte("\r"))+1)
		same(t, "articles", s.count(t), sum.Added)

		before := s.all(t)
		var again bytes.Buffer
		w := csv.NewWriter(&again)
		rows := [][]string{{"id", "title", "link", "votes", "poster", "posted_at", "text", "groups"}}
		for _, a := range before {
			rows = append(rows, fields(a))
		}
		require.NoError(t, w.WriteAll(rows))
		s.Repo = empty(t)
		sum, refused := s.imports(t, again.String(), csvimport.Options{})
		if refused != "" || sum.Added != len(before) {
			t.Errorf("%d stored articles are imported again as %v:\n%s", len(before), sum, refused)
		}
		for i, a := range s.all(t) {
			if got, want := fields(a), fields(before[i]); !slices.Equal(got, want) {
				t.Errorf("stored as %q, imported again as %q", want, got)
			}
		}
	})
}

// wantReport checks that the report has one line for each row that is refused or loses its host group.
func wantReport(t *testing.T, report string, sum csvimport.Summary, lines int) {
	t.Helper()
	rows := 0
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "ignored columns: ") || strings.HasPrefix(line, "recognised: ") {
			continue
		}
		rows++
		found := reported.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if found == nil {
			t.Errorf("report = %q, want a line number and a reason in each line", report)
			continue
		}
		for _, number := range found[1:] {
			if n, err := strconv.Atoi(number); number != "" && (err != nil || n < 2 || n > lines) {
				t.Errorf("report = %q, want line numbers between 2 and %d", report, lines)
			}
		}
	}
	same(t, "reported rows", rows, sum.Refused+sum.Ungrouped)
}

// all returns the articles by time and id.
func (s testSite) all(t *testing.T) []*site.Article {
	t.Helper()
	size := site.MaxPageSize
	ids := require.Value(s.Lists.List(t.Context(), lists.AllArticles(site.ByTime, site.Ascending), 1, &size))(t)
	articles := make([]*site.Article, len(ids))
	for i, id := range ids {
		articles[i] = s.article(t, id)
	}
	return articles
}

// fields are those of the row of an article.
func fields(a *site.Article) []string {
	value := func(s *string) string {
		if s == nil {
			return ""
		}
		return strings.ReplaceAll(*s, "\r\n", "\n") // CSV does not keep the difference
	}
	groups := make([]string, len(a.Groups))
	for i, group := range a.Groups {
		groups[i] = string(group)
	}
	return []string{a.ID.String(), a.Title, value(a.Link), fmt.Sprint(a.Votes), string(a.Poster.Name), fmt.Sprint(a.CreatedAt.Unix()), value(a.Text), strings.Join(groups, " ")}
}
