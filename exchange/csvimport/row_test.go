package csvimport_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"frontpage/exchange/csvimport"
	"frontpage/redisrepo/site"
)

func TestTheValuesOfARowAreStored(t *testing.T) {
	t.Parallel()
	const bom = "\ufeff"
	tests := map[string]string{
		"the plain order": "id,title,link,votes,poster,posted_at,text,groups\n" +
			"17,\"A \"\"fine\"\", long title\",https://go.dev/x,-3,alice,1700000000,\" one\n\ntwo\",\"Go lang,web;x|y\"\n",
		"another order and case, white space, a BOM and CRLF": bom +
			"\"Votes\", POSTER ,Text,Posted_At,groups,Id,link,title,,\r\n" +
			" -3 , alice ,\" one\r\n\r\ntwo\",2023-11-14T23:13:20.9+01:00,go;lang; ;web|x  y, article:17 , https://go.dev/x ,\" A \"\"fine\"\", long title\",,\r\n",
		"blank lines, a fraction, no final line break": "\n\n" + "id,title,link,votes,poster,posted_at,text,groups,more\r\n\r\n" +
			"17,\"A \"\"fine\"\", long title\",https://go.dev/x,-3,alice,1700000000.987,\" one\n\ntwo\",go|lang|web|x|y,?",
	}
	for name, file := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestSite(t)
			sum, _ := s.imports(t, file, csvimport.Options{})
			same(t, "Summary", sum, csvimport.Summary{Read: 1, Added: 1})
			a := s.article(t, 17)
			same(t, "title", a.Title, `A "fine", long title`)
			same(t, "link", *a.Link, "https://go.dev/x")
			same(t, "text", *a.Text, " one\n\ntwo")
			same(t, "votes", a.Votes, -3)
			same(t, "poster", a.Poster.Name, "alice")
			same(t, "time", a.CreatedAt, time.Unix(1_700_000_000, 0).UTC())
			same(t, "groups", fmt.Sprint(a.Groups), "[go lang web x y]")
		})
	}
}

func TestLinkTextAndGroupsAreOptional(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	_, refused := s.imports(t, header+"2130706432,Ask\u0085 HN,,0,alice,0\n", csvimport.Options{GroupByHost: true})
	same(t, "refused", refused, "")
	a := s.article(t, 2130706432)
	same(t, "title", a.Title, "Ask\u0085 HN")
	if a.Link != nil || a.Text != nil || len(a.Groups) > 0 {
		t.Errorf("link, text, groups = %v, %v, %v, want none", a.Link, a.Text, a.Groups)
	}
}

// Every row below with a reason is refused for that reason; the other two are stored.
func TestARefusedRowIsReportedAndTheImportContinues(t *testing.T) {
	t.Parallel()
	rows := []struct{ row, want string }{
		{"1,Good,,1,alice,1", ""},
		{"0,T,,1,alice,1", `line 3: id: "0" is not an article id: ids look like article:17`},
		{"007,T,,1,alice,1", `line 4: id: "007" is not an article id: ids look like article:17`},
		{"2147483648,T,,1,alice,1", `line 5: id: "2147483648" is not an article id: ids look like article:17`},
		{"5,T,,1.5,alice,1", `line 6: votes: "1.5" is not a whole number: format the column as a number without decimals and separators, as in 17`},
		{"6,T,,,alice,1", `line 7: votes: "" is not a whole number`},
		{"7,T,,1,,1", `line 8: poster: a user name has 1 to 64 characters, without control characters and surrounding spaces: "" is invalid`},
		{"8,T,,1,alice,yesterday", `line 9: posted_at: "yesterday" is neither Unix seconds nor RFC 3339 between 1970 and 9999: write it like 1789898400 or 2026-09-20T10:00:00Z`},
		{"9,T,,1,alice,1.x", `line 10: posted_at: "1.x" is neither Unix seconds nor RFC 3339 between 1970 and 9999: write it like 1789898400 or 2026-09-20T10:00:00Z`},
		{"10,T,,1,alice,-1", `line 11: posted_at: "-1" is neither Unix seconds nor RFC 3339 between 1970 and 9999: write it like 1789898400 or 2026-09-20T10:00:00Z`},
		{"11,T,,1,alice,1441518960000", `line 12: posted_at: "1441518960000" is neither Unix seconds nor RFC 3339 between 1970 and 9999: write it like 1789898400 or 2026-09-20T10:00:00Z`},
		{"12,T,,1,alice,2026-01-02T03:04:06Z", `line 13: posted_at: it was posted in the future: 2026-01-02T03:04:06Z`},
		{"13,T,,1,alice", `line 14: the row has 5 fields, the header has 6`},
		{"14,T,,1,alice,1,?", `line 15: the row has 7 fields, the header has 6`},
		{"15,\"T\n\nT\",,1,alice,1", `lines 16 to 18: title: the title contains a control character: write it on one line of plain text`},
		{"16," + strings.Repeat("x", 312) + ",ftp://x,1,alice,1", `line 19: title: the title has at most 200 characters, this one has 312; link: the link is not an absolute http or https URL: "ftp://x"`},
		{"x,T,,y,alice,z", `line 20: id: "x" is not an article id: ids look like article:17; votes: "y" is not a whole number; posted_at: "z" is neither Unix seconds nor RFC 3339 between 1970 and 9999: write it like 1789898400 or 2026-09-20T10:00:00Z`},
		{"18,T,,1000001,alice,1", `line 21: votes: votes are between -1000000 and 1000000, not 1000001`},
		{"1,Other,,1,alice,1", `line 22: id: article:1 is another article: "Good" by alice`},
		{"20,T\"T,,1,alice,1", `line 23: a quote is not closed, or a quote within a field is not doubled`},
		{"21,\"T\"T,,1,alice,1", `line 24: a quote is not closed, or a quote within a field is not doubled`},
		{"22,Good,,1,alice,\"1\n\"", ""},
		{"x,T,,1,alice,1", `line 27: id: "x" is not an article id: ids look like article:17`},
	}
	file, want := header, ""
	for _, r := range rows {
		file += r.row + "\n"
		if r.want != "" {
			want += r.want + "\n"
		}
	}
	s := newTestSite(t)
	sum, refused := s.imports(t, file, csvimport.Options{})
	if refused != want {
		t.Errorf("report:\n%s\nwant:\n%s", refused, want)
	}
	same(t, "Summary", sum, csvimport.Summary{Read: len(rows), Added: 2, Refused: len(rows) - 2})
	same(t, "articles", s.count(t), 2)
}

func TestARefusedGroupIsReportedByItsColumn(t *testing.T) {
	t.Parallel()
	_, refused := newTestSite(t).imports(t, "groups,"+header+"go a/b,1,T,,1,alice,1\n", csvimport.Options{})
	same(t, "refused", refused, "line 2: groups: a group name has 1 to 64 letters, digits, '-', '_' or '.': \"a/b\" is invalid\n")
}

func TestABrokenQuoteRefusesOnlyItsLine(t *testing.T) {
	t.Parallel()
	const (
		good  = "1,\"Good, one\",,1,alice,1\n"
		good2 = "2,\"Good, two\",,1,alice,1\n"
		quote = "a quote is not closed, or a quote within a field is not doubled\n"
		long  = "the row is longer than 250 KiB: is a quote not closed?\n"
	)
	many := strings.Repeat("x,T,,1,alice,1\n", 300<<10/15)
	tests := map[string]struct {
		rows, refused string
		added         int
	}{
		"closed by the next quote":      {good + "\n\n9,\"Open,,1,alice,1\n" + good2 + "\nx,,,,,\n", "line 5: " + quote + "line 8: ", 2},
		"never closed":                  {"9,\"Open,,1,alice,1\n3,T,,1,alice,1\n4,T,,1,alice,1", "line 2: " + quote, 2},
		"in the last line":              {good + good2 + "9,\"Open", "line 4: " + quote, 2},
		"inside a field of three lines": {good + "9,\"a\nb \"c\" d\ne\",,1,alice,1\n" + good2, "line 3: " + quote + "line 4: " + quote + "line 5: " + quote, 2},
		"never closed in a long file":   {"\n9,\"Open,,1,alice,1\n1,T,,1,alice,1\n" + many, "line 3: " + long + "line 5: id", 1},
		"in a line that is too long":    {good + "9," + strings.Repeat("x", 300<<10) + "\"\n" + good2, "line 3: " + long, 2},
		"a line that is too long":       {good + "\n9," + strings.Repeat("x,", 150<<10) + "\n" + good2, "line 4: " + long, 2},
		"a last line that is too long":  {good + good2 + "9," + strings.Repeat("x", 300<<10), "line 4: " + long, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestSite(t)
			sum, refused := s.imports(t, header+tt.rows, csvimport.Options{})
			if !strings.HasPrefix(refused, tt.refused) {
				t.Errorf("report:\n%.300s\nwant:\n%s", refused, tt.refused)
			}
			same(t, "added", sum.Added, tt.added)
			same(t, "read", sum.Read, sum.Added+sum.Refused)
			same(t, "reported", strings.Count(refused, "\n"), sum.Refused)
		})
	}
}

func TestBlankLinesAreBounded(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	blank := strings.Repeat("\r\n", 100<<10)
	s.imports(t, header+blank+"1,T,,1,alice,1\n", csvimport.Options{})
	file := header + "\n1,T,,1,alice,1\n" + blank + blank + "2,T,,1,alice,1\n"
	_, err := csvimport.Run(t.Context(), s.Repo, strings.NewReader(file), csvimport.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "stopped after line 0: more than 250 KiB of blank lines follow") {
		t.Errorf("Run: %v, want blank lines to stop the import", err)
	}
}

func TestGroupByHostUsesTheHostAlone(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 61) + ".com"
	tests := map[string]struct{ link, groups, noted string }{
		"a host":             {"https://go.dev/x", "[go.dev]", ""},
		"without www":        {"http://www.example.com", "[example.com]", ""},
		"in any case":        {"HTTPS://WWW.Example.COM/", "[example.com]", ""},
		"a port and a user":  {"http://me:pw@www.example.com:8080?q", "[example.com]", ""},
		"a dot at the end":   {"http://example.com./", "[example.com]", ""},
		"an invalid path":    {"http://biome3d.com/%%30%30", "[biome3d.com]", ""},
		"a fragment with @":  {"http://example.com#@evil.com/", "[example.com]", ""},
		"an address":         {"http://[::1]:80/", "[]", `a group name has 1 to 64 letters, digits, '-', '_' or '.': "::1" is invalid`},
		"a long name":        {"http://" + long, "[]", "a group name has at most 64 characters, this one has 65"},
		"the group of votes": {"http://interesting/", "[]", `votes alone decide which articles are in the group "interesting"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestSite(t)
			file := header + "x,,,,,\n5,T," + tt.link + ",1,alice,1\n"
			sum, refused := s.imports(t, file, csvimport.Options{GroupByHost: true})
			same(t, "groups", fmt.Sprint(s.article(t, 5).Groups), tt.groups)
			noted := ""
			if tt.noted != "" {
				noted = "line 3: stored without a group for its host: " + tt.noted + "\n"
				same(t, "ungrouped", sum.Ungrouped, 1)
			}
			_, about5, _ := strings.Cut(refused, "\n")
			same(t, "noted", about5, noted)
			sum, refused = s.imports(t, file, csvimport.Options{GroupByHost: true})
			same(t, "ungrouped, the second time", sum.Ungrouped, 0)
			same(t, "lines, the second time", strings.Count(refused, "\n"), 1)
		})
	}
}

func TestAnInvalidLinkIsReportedOnce(t *testing.T) {
	t.Parallel()
	_, refused := newTestSite(t).imports(t, header+"1,T,http://a b.com/,1,alice,1\n", csvimport.Options{GroupByHost: true})
	same(t, "refused", refused, "line 2: link: the link is not an absolute http or https URL: \"http://a b.com/\"\n")
}

func TestTheHostCountsAsOneOfTheGroups(t *testing.T) {
	t.Parallel()
	s := newTestSite(t)
	file := "groups," + header + "go GO.dev,5,T,https://go.dev,1,alice,1\na b c d e f g h i j,6,T,https://go.dev,1,alice,1\n"
	_, refused := s.imports(t, file, csvimport.Options{GroupByHost: true})
	same(t, "groups", fmt.Sprint(s.article(t, 5).Groups), "[go go.dev]")
	same(t, "refused", refused, "line 3: groups: an article is in at most 10 groups, these are 11\n")
	s = newTestSite(t)
	s.imports(t, file, csvimport.Options{})
	same(t, "groups without the option", fmt.Sprint(s.article(t, 5).Groups), fmt.Sprint([]site.GroupName{"go", "go.dev"}))
}
