package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// The texts of the site, a file for each language. The page gets them as JSON, so that its scripts have none.
//
//go:embed site/strings/*.json
var languages embed.FS

// Texts are the texts of the site in one language, by key, such as signIn or ago.hour. Those with a number have a form
// for each plural of the language.
type Texts struct {
	tag     language.Tag
	content []byte // of the file
	forms   map[string]map[string]string
}

// Languages returns the codes of the languages that ReadTexts knows, such as en.
func Languages() (codes []string) {
	files, err := languages.ReadDir("site/strings")
	if err != nil {
		panic(err) // impossible: they are embedded
	}
	for _, file := range files {
		codes = append(codes, strings.TrimSuffix(file.Name(), ".json"))
	}
	return codes
}

// ReadTexts returns the texts in a language, which must be one of Languages.
func ReadTexts(code string) (*Texts, error) {
	if !slices.Contains(Languages(), code) {
		return nil, fmt.Errorf("%q is not one of %s", code, strings.Join(Languages(), ", "))
	}
	content, err := languages.ReadFile("site/strings/" + code + ".json")
	if err != nil {
		return nil, err
	}
	tag := language.Make(code)
	t := &Texts{tag: tag, content: content, forms: map[string]map[string]string{}}
	var tree map[string]any
	if err := json.Unmarshal(content, &tree); err != nil {
		return nil, err
	}
	t.add("", tree)
	return t, nil
}

// add adds the texts of a part of the file, whose keys begin with prefix.
func (t *Texts) add(prefix string, tree map[string]any) {
	for key, value := range tree {
		switch v := value.(type) {
		case string:
			t.forms[prefix+key] = map[string]string{"other": v}
		case map[string]any:
			if _, isForms := v["other"]; !isForms {
				t.add(prefix+key+".", v)
				continue
			}
			forms := map[string]string{}
			for form, text := range v {
				forms[form], _ = text.(string)
			}
			t.forms[prefix+key] = forms
		}
	}
}

// Language returns the code of the language, for the attribute lang.
func (t *Texts) Language() string { return t.tag.String() }

// Text returns a text. The pairs are names in braces and what replaces them. It panics if there is no such text.
func (t *Texts) Text(key string, pairs ...any) string {
	forms, found := t.forms[key]
	if !found {
		panic("there is no text " + key)
	}
	return replaced(forms["other"], pairs)
}

// Refusal returns the words for a refused change, by its code and the first part of the field's path, or else by its
// code. The pairs are as in Text. found is false if the language has none.
func (t *Texts) Refusal(code string, field []string, pairs ...any) (text string, found bool) {
	keys := []string{"refusals." + code}
	if len(field) > 0 {
		keys = []string{"refusals." + code + "." + field[0], "refusals." + code}
	}
	for _, key := range keys {
		if forms, found := t.forms[key]; found {
			return replaced(forms["other"], pairs), true
		}
	}
	return "", false
}

// Count returns the form of a text for a number, with the number in it: "1 vote", "1,200 votes", "−2 votes".
func (t *Texts) Count(key string, n int) string {
	forms, found := t.forms[key]
	if !found {
		panic("there is no text " + key)
	}
	form, found := forms[pluralNames[plural.Cardinal.MatchPlural(t.tag, max(n, -n), 0, 0, 0, 0)]]
	if !found {
		form = forms["other"]
	}
	return replaced(form, []any{"n", t.Number(n)})
}

// pluralNames are the names that Intl.PluralRules has for them in browsers.
var pluralNames = map[plural.Form]string{
	plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many", plural.Other: "other",
}

func replaced(text string, pairs []any) string {
	oldnew := make([]string, 0, len(pairs))
	for pair := range slices.Chunk(pairs, 2) {
		oldnew = append(oldnew, "{"+fmt.Sprint(pair[0])+"}", fmt.Sprint(pair[1]))
	}
	return strings.NewReplacer(oldnew...).Replace(text)
}

// Number formats a number as the language does, with a typographic minus sign: "−1,234".
func (t *Texts) Number(n int) string {
	digits := []byte(strconv.Itoa(max(n, -n)))
	var text []byte
	if n < 0 {
		text = append(text, "−"...)
	}
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			text = append(text, t.Text("thousands")...)
		}
		text = append(text, digit)
	}
	return string(text)
}

// Decimal formats a number with its decimals, and without separators of thousands: "7.2".
func (t *Texts) Decimal(value float64) string {
	return strings.Replace(strconv.FormatFloat(value, 'f', -1, 64), ".", t.Text("decimal"), 1)
}

// Short formats a number of votes in a few letters: "12", "950", "1.2k", "−1.3k".
func (t *Texts) Short(n int) string {
	size, sign := max(n, -n), ""
	if size < 1000 {
		return t.Number(n)
	}
	if n < 0 {
		sign = "−"
	}
	if tenths := (size + 50) / 100; size < 99_950 {
		return sign + strconv.Itoa(tenths/10) + t.Text("decimal") + strconv.Itoa(tenths%10) + "k"
	}
	return sign + t.Number((size+500)/1000) + "k"
}

// units are those of Ago.
var units = []struct {
	name string
	size time.Duration
}{
	{"year", 31_557_600 * time.Second}, {"month", 2_629_800 * time.Second}, {"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute},
}

// Ago says how long ago a time is, in the largest unit that fits: "3 hours ago"; "just now" if it is less than a minute
// ago, or in the future.
func (t *Texts) Ago(then, now time.Time) string {
	return t.largest("ago.", now.Sub(then), "justNow")
}

// Age is how long ago a time is, without words: "3 h"; "now" if it is less than a minute ago, or in the future.
func (t *Texts) Age(then, now time.Time) string {
	return t.largest("ages.", now.Sub(then), "now")
}

// Left says how much time is left until an end: "3 hours", or "less than a minute".
func (t *Texts) Left(end, now time.Time) string {
	return t.largest("lasts.", end.Sub(now), "lessThanMinute")
}

// largest is a time in the largest unit that fits, or a text for less than all of them.
func (t *Texts) largest(forms string, d time.Duration, less string) string {
	for _, unit := range units {
		if count := int(d / unit.size); count > 0 {
			return t.Count(forms+unit.name, count)
		}
	}
	return t.Text(less)
}
