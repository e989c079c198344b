package csvimport_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	utf16 "golang.org/x/text/encoding/unicode"

	"frontpage/exchange/csvimport"
	"frontpage/tests/require"
)

// inUTF16 writes a text as a spreadsheet does that saves "Unicode text".
func inUTF16(t *testing.T, order utf16.Endianness, text string) string {
	t.Helper()
	return require.Value(utf16.UTF16(order, utf16.UseBOM).NewEncoder().String(text))(t)
}

// Whatever can be known without guessing is accepted, and said in one line.
func TestFilesOfSpreadsheetsAreRecognised(t *testing.T) {
	t.Parallel()
	const plain = "id,title,link,votes,poster,posted_at,text\n" +
		"17,\"Café, a title\",https://go.dev/x,-3,alice,1700000000,\"one\ntwo\"\n" +
		",,,,,,\n" +
		"18,🐹,,1,alice,1700000000,\n"
	by := func(separator string) string {
		return strings.NewReplacer(", a", ", a", ",", separator).Replace(plain)
	}
	tests := map[string]struct{ file, said string }{
		"commas":                     {plain, ""},
		"UTF-8 with a mark":          {"\ufeff" + plain, ""},
		"semicolons":                 {by(";"), "a semicolon between columns"},
		"tabs":                       {by("\t"), "a tab between columns"},
		"bars":                       {by("|"), "a bar between columns"},
		"declared semicolons":        {"sep=;\r\n" + by(";"), "a semicolon between columns"},
		"declared in quotes":         {"\ufeff\"SEP=;\"\n" + by(";"), "a semicolon between columns"},
		"a declared tab":             {"sep=\t\n" + by("\t"), "a tab between columns"},
		"a declared comma":           {"sep=,\r" + strings.ReplaceAll(plain, "\n", "\r"), "CR at the end of lines"},
		"another declared separator": {"sep=^\n" + by("^"), "'^' between columns"},
		"CRLF":                       {strings.ReplaceAll(plain, "\n", "\r\n"), ""},
		"CR":                         {strings.ReplaceAll(plain, "\n", "\r"), "CR at the end of lines"},
		"CR, and LF in a cell":       {strings.ReplaceAll(strings.ReplaceAll(plain, "\n", "\r"), "one\r", "one\n"), "CR at the end of lines"},
		"all three":                  {strings.Replace(strings.Replace(plain, ",,,,,,\n", ",,,,,,\r", 1), "text\n", "text\r\n", 1), ""},
		"UTF-16 from the little end": {inUTF16(t, utf16.LittleEndian, strings.ReplaceAll(by("\t"), "\n", "\r\n")), "UTF-16 (little-endian), a tab between columns"},
		"UTF-16 from the big end":    {inUTF16(t, utf16.BigEndian, plain), "UTF-16 (big-endian)"},
		"UTF-16, declared, with CR":  {inUTF16(t, utf16.LittleEndian, "sep=;\r"+strings.ReplaceAll(by(";"), "\n", "\r")), "UTF-16 (little-endian), a semicolon between columns, CR at the end of lines"},
		"empty columns at the end":   {strings.NewReplacer("text\n", "text,,\n", "000,\n", "000,,,,,\n", "two\"\n", "two\",,\n").Replace(plain), ""},
		"more in the rows":           {strings.ReplaceAll(plain, "\"\n", "\",, ,\n"), ""},
		"names as people write them": {strings.Replace(plain, "posted_at,text", " Posted At ,TEXT", 1), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestSite(t)
			sum, said := s.imports(t, tt.file, csvimport.Options{ShiftToNow: true})
			want := ""
			if tt.said != "" {
				want = "recognised: " + tt.said + "\n"
			}
			same(t, "said", said, want)
			same(t, "Summary", sum, csvimport.Summary{Read: 2, Added: 2, Empty: 1})
			same(t, "String", sum.String(), "2 rows read: 2 added, 0 already stored, 0 refused, 1 empty rows left out; took 0s")
			a := s.article(t, 17)
			same(t, "article", fmt.Sprint(a.Title, " ", *a.Link, " ", a.Votes, " ", a.Poster.Name, " ", strings.ReplaceAll(*a.Text, "\r\n", "\n")), "Café, a title https://go.dev/x -3 alice one\ntwo")
			same(t, "the other title", s.article(t, 18).Title, "🐹")
		})
	}
}

// The lines of the report are those of the file, also after a line that names the separator.
func TestLinesOfSpreadsheetsAreCounted(t *testing.T) {
	t.Parallel()
	rows := "sep=;\nid;title;link;votes;poster;posted_at\n1;\"T\n2\";;1;alice;1\n;;;;;\n2;\"Open;;1;alice;1\nx;T;;1;alice;1\n"
	want := "lines 3 to 4: title: the title contains a control character: write it on one line of plain text\n" +
		"line 6: a quote is not closed, or a quote within a field is not doubled\n" +
		"line 7: id: \"x\" is not an article id: ids look like article:17\n"
	for _, file := range []string{rows, strings.ReplaceAll(rows, "\n", "\r"), inUTF16(t, utf16.BigEndian, strings.ReplaceAll(rows, "\n", "\r\n"))} {
		sum, said := newTestSite(t).imports(t, file, csvimport.Options{})
		if !strings.HasSuffix("\n"+said, "\n"+want) {
			t.Errorf("report of %q:\n%s\nwant\n%s", file, said, want)
		}
		same(t, "Summary", sum, csvimport.Summary{Read: 3, Refused: 3, Empty: 1})
	}
}

func TestTimesWithAZoneAreAccepted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"2025-09-20T10:00:00Z", "2025-09-20 10:00:00Z", "2025-09-20t10:00:00z", "2025-09-20T12:00:00+02:00", "2025-09-20 12:00:00 +0200", "2025-09-20 10:00:00 UTC",
		"2025-09-20 10:00:00+00", "2025-09-20T10:00Z", "2025-09-20 12:00+02:00", "2025-09-20 10:00:00.999 UTC", "\"2025-09-20 10:00:00,5Z\"", "1758362400", "1758362400.0",
	} {
		s := newTestSite(t)
		_, refused := s.imports(t, header+"17,T,,1,alice,"+text+"\n", csvimport.Options{})
		if refused != "" {
			t.Errorf("%s: %s", text, refused)
			continue
		}
		same(t, text, s.article(t, 17).CreatedAt, time.Unix(1758362400, 0).UTC())
	}
}

// What would have to be guessed is refused, with what was found and what to do.
func TestValuesThatWouldHaveToBeGuessedAreRefused(t *testing.T) {
	t.Parallel()
	const decimals = ": format the column as a number without decimals and separators, as in 17"
	const noTime = " is neither Unix seconds nor RFC 3339 between 1970 and 9999: write it like 1789898400 or 2026-09-20T10:00:00Z"
	const zone = " has no time zone: write 2025-09-20T10:00:00Z if it is UTC, or 2025-09-20T10:00:00+02:00 if that is the offset"
	tests := []struct{ row, want string }{
		{"1.0,T,,1,alice,1", `id: "1.0" is not an article id: ids look like article:17` + decimals},
		{"1,T,,1.0,alice,1", `votes: "1.0" is not a whole number` + decimals},
		{`1,T,,"1,0",alice,1`, `votes: "1,0" is not a whole number` + decimals},
		{`1,T,,"1.000",alice,1`, `votes: "1.000" is not a whole number` + decimals},
		{`1,T,,1,alice,1.7E+09`, `posted_at: "1.7E+09"` + noTime + decimals},
		{"1,T,,1,alice,2025-09-20 10:00:00", `posted_at: "2025-09-20 10:00:00"` + zone},
		{"1,T,,1,alice,2025-09-20T10:00", `posted_at: "2025-09-20T10:00"` + zone},
		{"1,T,,1,alice,20.09.2025 10:00", `posted_at: "20.09.2025 10:00"` + noTime},
		{"1,T,,1,alice,2025-09-20 10:00:00 CEST", `posted_at: "2025-09-20 10:00:00 CEST"` + noTime},
		{"1,Caf\xe9 noir,,1,alice,1", `title: the byte 0xE9 after "Caf" is not UTF-8, so it is not known which character it is: ` + saveAsUTF8},
		{"1,T,,1,J\xfcrgen,x", `poster: the byte 0xFC after "J" is not UTF-8, so it is not known which character it is: ` + saveAsUTF8},
	}
	for _, tt := range tests {
		s := newTestSite(t)
		sum, refused := s.imports(t, header+tt.row+"\n", csvimport.Options{})
		same(t, "report", refused, "line 2: "+tt.want+"\n")
		same(t, "Summary", sum, csvimport.Summary{Read: 1, Refused: 1})
	}
	_, refused := newTestSite(t).imports(t, header+"1,A �,,1,alice,1\n", csvimport.Options{})
	same(t, "report of the character U+FFFD", refused, "")
}
