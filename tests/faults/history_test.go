package main

import (
	"slices"
	"testing"
	"time"
)

func TestPossibleValuesOfARegister(t *testing.T) {
	t.Parallel()
	at := func(value string, start, end time.Duration, uncertain bool) write {
		return write{value: value, start: start, end: end, uncertain: uncertain}
	}
	for name, tt := range map[string]struct {
		writes    []write
		rollbacks []rollback
		want      []string
	}{
		"never set":                 {want: []string{""}},
		"the last one":              {writes: []write{at("UP", 1, 2, false), at("DOWN", 3, 4, false)}, want: []string{"DOWN"}},
		"uncertain":                 {writes: []write{at("UP", 1, 2, false), at("DOWN", 3, 4, true)}, want: []string{"UP", "DOWN"}},
		"before what was forgotten": {writes: []write{at("UP", 1, 2, false)}, rollbacks: []rollback{{3, 9}}, want: []string{"UP"}},
		"forgotten":                 {writes: []write{at("UP", 1, 2, false), at("DOWN", 4, 5, false)}, rollbacks: []rollback{{3, 9}}, want: []string{"UP", "DOWN"}},
		"while it was forgotten":    {writes: []write{at("UP", 1, 4, false)}, rollbacks: []rollback{{3, 9}}, want: []string{"", "UP"}},
		"after what was forgotten":  {writes: []write{at("UP", 4, 5, false), at("NONE", 10, 11, false)}, rollbacks: []rollback{{3, 9}}, want: []string{"NONE"}},
	} {
		h := newHistory()
		h.rollbacks = tt.rollbacks
		for _, w := range tt.writes {
			h.add(register{kind: "vote"}, w)
		}
		if got := h.possible(register{kind: "vote"}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: possible values = %q, want %q", name, got, tt.want)
		}
	}
}

func TestTitleOfANumberThatIsGivenAgain(t *testing.T) {
	t.Parallel()
	h := newHistory()
	h.add(register{kind: "article", article: 3, title: "lost"}, write{value: present, start: 4, end: 5})
	h.rollbacks = []rollback{{3, 9}}
	if got := h.titleAt(3, 10, 11); got != "" {
		t.Errorf("title of a number that may be unused = %q, want none", got)
	}
	h.add(register{kind: "article", article: 3, title: "new"}, write{value: present, start: 12, end: 13})
	if got := h.titleAt(3, 14, 15); got != "new" {
		t.Errorf("title = %q, want the one of the new article", got)
	}
	if got := h.titleAt(3, 11, 15); got != "" {
		t.Errorf("title during the post = %q, want none", got)
	}
}
