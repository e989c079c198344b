package graph_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"frontpage/graph"
	"frontpage/must"
)

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
