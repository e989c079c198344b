package graph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"testing"
	"time"

	"frontpage/graph"
	"frontpage/must"
	"frontpage/redisrepo/site"
)

// dateTimes are the valid examples of https://scalars.graphql.org/andimarek/date-time.html, and others on the bounds of what it allows.
var dateTimes = map[string]string{
	"2011-08-30T13:22:53.108Z":      "2011-08-30T13:22:53.108Z",
	"2011-08-30T13:22:53.108+00:00": "2011-08-30T13:22:53.108Z",
	"2011-08-30t13:22:53.108z":      "2011-08-30T13:22:53.108Z",
	"2011-08-30T13:22:53.108-03:00": "2011-08-30T16:22:53.108Z",
	"2011-08-30T13:22:53.108+03:30": "2011-08-30T09:52:53.108Z",
	"0000-01-01T00:00:00.000Z":      "0000-01-01T00:00:00.000Z",
	"0001-01-01T00:00:00.000Z":      "0001-01-01T00:00:00.000Z",
	"9999-12-31T23:59:59.999Z":      "9999-12-31T23:59:59.999Z",
	"2024-02-29T23:59:59.999+23:59": "2024-02-29T00:00:59.999Z",
}

// notDateTimes returns the invalid examples of that page, and other forms of times, in JSON.
func notDateTimes(t *testing.T) (values []string) {
	for _, text := range []string{
		"2011-08-30T13:22:53.108-03", "2011-08-30T13:22:53.108912Z", "2011-08-30T23:22:53Z", "2011-08-30T13:22:53.108", "2011-08-30", "2011-08-30T13:22:53.108-00:00",
		"2011-08-30T13:22:53.108+03:30:15", "2011-08-30T24:22:53.108Z", "2010-02-30T21:22:53.108Z", "2010-02-11T21:22:53.108+25:11",
		"2011-08-30T13:22:53,108Z", "2011-08-30T13:22:53.10Z", "2011-08-30T13:22:53.Z", "2011-08-30 13:22:53.108Z", "2011-08-30T3:22:53.108Z", "2011-08-30T13:22:60.000Z",
		"2016-12-31T23:59:60.000Z", "2011-08-30T13:60:53.108Z", "2011-08-30T13:22:53.108+24:00", "2011-08-30T13:22:53.108+00:60", "2011-08-30T13:22:53.108+0000", "2023-02-29T00:00:00.000Z",
		"2011-13-01T00:00:00.000Z", "2011-00-01T00:00:00.000Z", "2011-01-00T00:00:00.000Z", "10000-01-01T00:00:00.000Z", "-001-01-01T00:00:00.000Z", "20110830T132253.108Z", "now", "1314710573",
		" 2011-08-30T13:22:53.108Z", "2011-08-30T13:22:53.108Z ", "2011-08-30T13:22:53.108Z\n", "２011-08-30T13:22:53.108Z", "2011-08-30T13:22:53.108\u2212" + "03:00", "2011-08-30ᵀ13:22:53.108Z",
	} {
		values = append(values, string(must.Get(json.Marshal(text))(t)))
	}
	return values
}

func TestDateTimeIsWhatItsPageDescribes(t *testing.T) {
	t.Parallel()
	for text, want := range dateTimes {
		at, err := graph.UnmarshalDateTime(text)
		if got := string(graph.AppendDateTime(nil, at)); err != nil || at.Location() != time.UTC || got != `"`+want+`"` {
			t.Errorf("%s: got %s in %s, %v, want %s", text, got, at.Location(), err, want)
		}
	}
	for _, value := range append(notDateTimes(t), malformed...) {
		var v any
		_ = json.Unmarshal([]byte(value), &v)
		var refusal site.Refusal
		if at, err := graph.UnmarshalDateTime(v); !errors.As(err, &refusal) {
			t.Errorf("%s: got %s, %v, want a refusal", value, at, err)
		}
	}
}

func FuzzArticleID(f *testing.F) {
	for _, id := range []string{"article:7", "7", "article:007", "article:-1", "group:7", "2147483648", "article: 7", "７", ""} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := graph.UnmarshalArticleID(text)
		number, numberErr := graph.UnmarshalArticleID(json.Number(text))
		if (err == nil) != (numberErr == nil) || number != id {
			t.Errorf("%q: got %v, %v from a string, but %v, %v from a number", text, id, err, number, numberErr)
		}
		if err != nil {
			return
		}
		var printed bytes.Buffer
		graph.MarshalArticleID(id).MarshalGQL(&printed)
		var again string
		must.Do(t, json.Unmarshal(printed.Bytes(), &again))
		if parsed, err := graph.UnmarshalArticleID(again); parsed != id || err != nil {
			t.Errorf("%q: got %v, which is printed as %s and parsed again as %v, %v", text, id, printed.String(), parsed, err)
		}
	})
}

func FuzzFloat(f *testing.F) {
	for _, n := range []float64{0, math.Copysign(0, -1), 1767323477, 1e300, 5e-324, 1.5} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n float64) {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return
		}
		var printed bytes.Buffer
		graph.MarshalFloat(n).MarshalGQL(&printed)
		if parsed, err := strconv.ParseFloat(printed.String(), 64); parsed != n || err != nil || !json.Valid(printed.Bytes()) {
			t.Errorf("%v: got %s, want JSON of the same number", n, printed.String())
		}
	})
}
