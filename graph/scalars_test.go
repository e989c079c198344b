package graph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"frontpage/graph"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// dateTimes are the valid examples of https://scalars.graphql.org/chillicream/date-time.html, and others on the bounds of
// what it allows, with the time in UTC.
var dateTimes = map[string]string{
	"2023-12-24T15:30:00Z":                "2023-12-24T15:30:00Z",
	"2023-12-24t15:30:00z":                "2023-12-24T15:30:00Z",
	"2023-12-24T15:30:00+00:00":           "2023-12-24T15:30:00Z",
	"2023-12-24T15:30:00-00:00":           "2023-12-24T15:30:00Z", // RFC 3339, 4.3: the local offset is unknown, the time is not
	"2023-12-24T15:30:00-05:00":           "2023-12-24T20:30:00Z",
	"2023-12-24T15:30:00.1Z":              "2023-12-24T15:30:00.1Z",
	"2023-12-24T15:30:00.123Z":            "2023-12-24T15:30:00.123Z",
	"2023-12-24T15:30:00.000001Z":         "2023-12-24T15:30:00.000001Z",
	"2023-12-24T15:30:00.123456789+01:00": "2023-12-24T14:30:00.123456789Z",
	"0000-01-01T00:00:00Z":                "0000-01-01T00:00:00Z",
	"0000-01-01T00:00:00+00:01":           "-0001-12-31T23:59:00Z",
	"9999-12-31T23:59:59.999999999Z":      "9999-12-31T23:59:59.999999999Z",
	"9999-12-31T23:59:59-00:01":           "10000-01-01T00:00:59Z",
	"2024-02-29T23:59:59.999+23:59":       "2024-02-29T00:00:59.999Z",
	"2016-12-31T23:59:59.999999999-23:59": "2017-01-01T23:58:59.999999999Z",
}

// notDateTimes are the invalid examples of that page, and other forms of times, with a part of the error.
var notDateTimes = map[string]string{
	"2023-12-24T15:30:00":                 "end it with Z",
	"2023-12-24T15:30:00.123":             "end it with Z",
	"2023-12-24 15:30:00Z":                "put a T",
	"2023-12-24 15:30:00":                 "put a T",
	"2023-12-24T15:30:00,123Z":            "put a point",
	"2023-12-24T15:30:00,1234567890Z":     "put a point",
	"2023-12-24T15:30:00.1234567890Z":     "at most nine digits",
	"2023-12-24T15:30:00.0000000000Z":     "at most nine digits",
	"2023-12-24T24:00:00Z":                "midnight as 00:00:00",
	"2023-12-24T24:00:00.000+01:00":       "midnight as 00:00:00",
	"2016-12-31T23:59:60Z":                "seconds are 00 to 59",
	"2016-12-31T23:59:60.5Z":              "seconds are 00 to 59",
	"2017-01-01T00:59:60+01:00":           "seconds are 00 to 59",
	"2023-12-24":                          "such as 2026-01-31T12:00:00Z",
	"15:30:00Z":                           "such as 2026-01-31T12:00:00Z",
	"2023-12-24T15:30Z":                   "such as 2026-01-31T12:00:00Z",
	"2023-12-24T25:00:00Z":                "",
	"2023-12-24T15:60:00Z":                "",
	"2023-12-24T15:30:61Z":                "",
	"2023-13-01T00:00:00Z":                "a date that exists",
	"2023-00-01T00:00:00Z":                "a date that exists",
	"2023-12-32T00:00:00Z":                "a date that exists",
	"2023-01-00T00:00:00Z":                "a date that exists",
	"2023-02-29T15:30:00Z":                "a date that exists",
	"2023-02-30T15:30:00Z":                "a date that exists",
	"2023-12-24T15:30:00+24:00":           "an offset such as +02:00",
	"2023-12-24T15:30:00+25:00":           "an offset such as +02:00",
	"2023-12-24T15:30:00+00:60":           "an offset such as +02:00",
	"2023-12-24T15:30:00+0000":            "an offset such as +02:00",
	"2023-12-24T15:30:00-03":              "an offset such as +02:00",
	"2023-12-24T15:30:00+03:30:15":        "an offset such as +02:00",
	"2023-12-24T15:30:00 UTC":             "an offset such as +02:00",
	"2023-12-24T15:30:00Z+01:00":          "",
	"2023-12-24T15:30:00.Z":               "",
	"2023-12-24T3:30:00Z":                 "in two digits",
	"2023-1-2T15:30:00Z":                  "",
	"10000-01-01T00:00:00Z":               "",
	"-001-01-01T00:00:00Z":                "",
	"+2023-12-24T15:30:00Z":               "",
	"20231224T153000Z":                    "",
	"2023-W51-7T15:30:00Z":                "",
	"now":                                 "",
	"":                                    "",
	"1314710573":                          "",
	" 2023-12-24T15:30:00Z":               "",
	"2023-12-24T15:30:00Z ":               "",
	"2023-12-24T15:30:00Z\n":              "",
	"２023-12-24T15:30:00Z":                "",
	"2023-12-24T15:30:00\u2212" + "03:00": "",
	"2023-12-24\u1d40" + "15:30:00Z":      "",
}

func TestDateTimeIsWhatItsPageDescribes(t *testing.T) {
	t.Parallel()
	for text, want := range dateTimes {
		at, err := graph.UnmarshalDateTime(text)
		if got := at.Format(time.RFC3339Nano); err != nil || at.Location() != time.UTC || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
		if got := string(graph.AppendDateTime(nil, at)); len(want) == len("2023-12-24T15:30:00Z") && got != `"`+want[:19]+`.000Z"` {
			t.Errorf("%s is written as %s, want three digits after the seconds", text, got)
		}
	}
	for text, want := range notDateTimes {
		var refusal site.Refusal
		if at, err := graph.UnmarshalDateTime(text); !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v, want a refusal with %q", text, at, err, want)
		}
	}
	for _, value := range malformed {
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
		require.NoError(t, json.Unmarshal(printed.Bytes(), &again))
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

// They have the layout of package site at any time.
func TestAppendedTimesHaveTheLayout(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		at := time.Unix(random.Int64N(400_000_000_000)-70_000_000_000, random.Int64N(1_000_000_000)).In(time.FixedZone("", 3600))
		if got, want := string(graph.AppendDateTime(nil, at)), `"`+at.UTC().Format(site.DateTime)+`"`; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// specified are the locations of directives in the specification of September 2025.
var specified = []string{
	"QUERY", "MUTATION", "SUBSCRIPTION", "FIELD", "FRAGMENT_DEFINITION", "FRAGMENT_SPREAD", "INLINE_FRAGMENT", "VARIABLE_DEFINITION",
	"SCHEMA", "SCALAR", "OBJECT", "FIELD_DEFINITION", "ARGUMENT_DEFINITION", "INTERFACE", "UNION", "ENUM", "ENUM_VALUE",
	"INPUT_OBJECT", "INPUT_FIELD_DEFINITION",
}

// build_client_schema of graphql-core stops at a location that it does not know.
func TestIntrospectionHasTheLocationsOfTheSpecification(t *testing.T) {
	t.Parallel()
	s := sitetest.Open(t)
	var answer struct {
		Data struct {
			Schema struct {
				Directives []struct {
					Name      string
					Locations []string
				}
			} `json:"__schema"`
			Type struct{ EnumValues []struct{ Name string } } `json:"__type"`
		}
	}
	text := s.AskText("", `{ __schema { directives { name locations } } __type(name: "__DirectiveLocation") { enumValues { name } } }`)
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Data.Schema.Directives) < 4 {
		t.Fatalf("got %v and %s, want directives", err, text)
	}
	for _, directive := range answer.Data.Schema.Directives {
		for _, location := range directive.Locations {
			if !slices.Contains(specified, location) {
				t.Errorf("@%s: got the location %s, which the specification does not have", directive.Name, location)
			}
		}
	}
	var values []string
	for _, value := range answer.Data.Type.EnumValues {
		values = append(values, value.Name)
	}
	if !slices.Equal(values, specified) {
		t.Errorf("__DirectiveLocation: got %q, want %q", values, specified)
	}
}
