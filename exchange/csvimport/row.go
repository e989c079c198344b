package csvimport

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

// row is one row of the file.
type row struct {
	first, last int // line numbers
	fields      []string
	err         error // why it cannot be stored: a site.Refusal
	article     redisrepo.Imported
	ungrouped   error // why it gets no group for its host
}

func (r row) lines() string {
	if r.last > r.first {
		return fmt.Sprintf("lines %d to %d", r.first, r.last)
	}
	return fmt.Sprintf("line %d", r.first)
}

// isEmpty reports whether the row has no value: spreadsheets write such rows as separators alone.
func (r row) isEmpty() bool {
	return r.err == nil && !slices.ContainsFunc(r.fields, func(field string) bool { return strings.TrimSpace(field) != "" })
}

// report writes a line about a row. It clears the progress bar, which may be on the same terminal.
func (im *importer) report(r row, text string) {
	_ = im.bar.Clear()
	_, _ = fmt.Fprintf(im.Report, "%s: %s\n", r.lines(), text)
}

// parse sets the article of the row. Its error is a site.Refusal with all rules that the row breaks,
// except those that Repo.Import checks.
func (im *importer) parse(r *row) error {
	c := im.rows.columns
	for len(r.fields) > c.count && strings.TrimSpace(r.fields[len(r.fields)-1]) == "" {
		r.fields = r.fields[:len(r.fields)-1]
	}
	if len(r.fields) != c.count {
		return refuse("", fmt.Errorf("the row has %d fields, the header has %d", len(r.fields), c.count))
	}
	var broken site.Refusal
	check := func(column string, err error) {
		if err != nil {
			broken = append(broken, refuse(column, err)...)
		}
	}
	for _, column := range slices.Concat(required, optional) {
		check(column, notUTF8(c.value(r.fields, column)))
	}
	if broken != nil {
		return broken
	}
	value := func(column string) string { return strings.TrimSpace(c.value(r.fields, column)) }
	a := &r.article
	var err error
	a.ID, err = site.ParseArticleID(value("id"))
	check("id", withHint(err, value("id")))
	if a.Votes, err = strconv.Atoi(value("votes")); err != nil {
		check("votes", withHint(fmt.Errorf("%.40q is not a whole number", value("votes")), value("votes")))
	}
	a.Poster, err = site.ParseUserName(value("poster"))
	check("poster", err)
	a.PostedAt, err = im.parseTime(value("posted_at"))
	check("posted_at", err)

	link, text := value("link"), c.value(r.fields, "text")
	groups := strings.FieldsFunc(value("groups"), func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune(",;|", c)
	})
	if im.GroupByHost && link != "" {
		var host site.GroupName
		if host, r.ungrouped = hostGroup(link); r.ungrouped == nil {
			groups = append(groups, string(host))
		}
	}
	a.Draft = site.Draft{Title: value("title"), Link: &link, Text: &text, Groups: groups}
	if broken != nil {
		return broken
	}
	return nil
}

// number is a number as spreadsheets show it: with decimals, separators of thousands, or an exponent.
var number = regexp.MustCompile(`^[+-]?\d[\d.,' ]*(?:[eE][+-]?\d+)?$`)

// withHint adds to an error about a value how a spreadsheet writes it as a whole number, if it is a number.
func withHint(err error, value string) error {
	if err == nil || !number.MatchString(value) || strings.Trim(value, "+-0123456789") == "" {
		return err
	}
	return fmt.Errorf("%w: format the column as a number without decimals and separators, as in 17", err)
}

// notUTF8 is the error of a value that is not in UTF-8.
func notUTF8(value string) error {
	for i, c := range value {
		if c == utf8.RuneError && !strings.HasPrefix(value[i:], "\ufffd") {
			before := []rune(value[:i])
			return fmt.Errorf("the byte 0x%X after %q is not UTF-8, so it is not known which character it is: %s", value[i], string(before[max(0, len(before)-20):]), saveAsUTF8)
		}
	}
	return nil
}

// zoned are the layouts of times with a zone, after their spaces are gone.
var zoned = []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700"}

// parseZoned parses a time of RFC 3339, which also allows lower case and a space before the time, or one with a space
// before the zone, or without seconds.
func parseZoned(s string) (time.Time, error) {
	s = strings.ToUpper(s)
	if date, rest, found := strings.Cut(s, " "); found {
		s = date + "T" + rest
	}
	if plain, isUTC := strings.CutSuffix(s, "UTC"); isUTC {
		s = plain + "Z"
	}
	s = strings.ReplaceAll(s, " ", "")
	for _, layout := range zoned {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	for _, layout := range zoned {
		if t, err := time.Parse(layout, s+"Z"); err == nil {
			utc := t.Format("2006-01-02T15:04:05")
			return t, fmt.Errorf("has no time zone: write %sZ if it is UTC, or %s+02:00 if that is the offset", utc, utc)
		}
	}
	return time.Time{}, errNoTime
}

var errNoTime = errors.New("is neither Unix seconds nor RFC 3339 between 1970 and 9999: write it like 1789898400 or 2026-09-20T10:00:00Z")

func (im *importer) parseTime(s string) (time.Time, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.Trim(fraction, "0123456789") != "" {
		var t time.Time
		if t, err = parseZoned(s); err != nil {
			return t, withHint(fmt.Errorf("%.40q %w", s, err), s)
		}
		seconds = t.Unix()
	}
	const end = 253402300799 // last second of the year 9999; rejects times in milliseconds
	if seconds < 0 || seconds > end {
		return time.Time{}, fmt.Errorf("%.40q %w", s, errNoTime)
	}
	if seconds += im.shift; seconds < 0 {
		return time.Time{}, fmt.Errorf("%.40q would be shifted to before 1970", s)
	}
	return time.Unix(seconds, 0), nil
}

// hostGroup returns the group for a link's host. It parses nothing but the host: browsers accept many paths
// that net/url does not.
func hostGroup(link string) (site.GroupName, error) {
	u, err := url.Parse("//" + site.AuthorityOf(link))
	if err != nil {
		return "", err
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	name, err := site.ParseGroupName(strings.TrimPrefix(host, "www."))
	if name == site.Interesting {
		return "", fmt.Errorf("votes alone decide which articles are in the group %q", name)
	}
	return name, err
}

// refuse returns a refusal of a column or, if that is empty, of the whole row.
func refuse(column string, err error) site.Refusal {
	e := &site.Error{Code: site.Invalid, Message: err.Error()}
	if column != "" {
		e.Field = []string{column}
	}
	return site.Refusal{e}
}

// byColumn returns the messages of a refusal, each with its column first.
func byColumn(refusal site.Refusal) string {
	rules := make([]string, len(refusal))
	for i, e := range refusal {
		rules[i] = e.Message
		if len(e.Field) > 0 {
			rules[i] = e.Field[0] + ": " + e.Message
		}
	}
	return strings.Join(rules, "; ")
}

var (
	required = []string{"id", "title", "link", "votes", "poster", "posted_at"}
	optional = []string{"text", "groups"}
)

// columns are those of the header.
type columns struct {
	at     map[string]int // index by name in lower case
	count  int
	unused []string // names in lower case
}

func parseHeader(names []string) (*columns, error) {
	c := &columns{at: make(map[string]int), count: len(names)}
	for i, name := range names {
		if err := notUTF8(name); err != nil {
			return nil, err
		}
		if strings.Contains(name, "\x00") {
			return nil, errors.New("the file has zero bytes, as UTF-16 without a byte order mark: " + saveAsUTF8)
		}
		name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "_")
		if name == "" {
			continue // spreadsheets may write trailing commas
		}
		if _, twice := c.at[name]; twice {
			return nil, fmt.Errorf("two columns are named %q", name)
		}
		c.at[name] = i
		if !slices.Contains(required, name) && !slices.Contains(optional, name) {
			c.unused = append(c.unused, name)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(required), func(name string) bool {
		_, found := c.at[name]
		return found
	})
	if len(missing) > 0 {
		others := ""
		if len(c.unused) > 0 {
			others = fmt.Sprintf("; is one of them named %s?", strings.Join(c.unused, ", "))
		}
		return nil, fmt.Errorf("missing columns %s: the first line must name the columns, separated by commas%s", strings.Join(missing, ", "), others)
	}
	return c, nil
}

// value returns the field in a column, empty for an optional column that is missing.
func (c *columns) value(fields []string, column string) string {
	if i, found := c.at[column]; found {
		return fields[i]
	}
	return ""
}
