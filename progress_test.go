package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/schollz/progressbar/v3"

	"frontpage/tests/require"
)

func TestProgressIsWrittenAsLinesOutsideATerminal(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var out strings.Builder
	lines := &progressLines{out: &out, now: func() time.Time { return now }, last: now}
	bar := progressbar.NewOptions64(1000, progressbar.OptionSetWriter(lines))
	for done := range int64(1001) {
		require.NoError(t, bar.Set64(done))
		now = now.Add(20 * time.Millisecond)
		if done == 500 {
			require.NoError(t, bar.Clear())
			now = now.Add(10 * time.Second)
		}
	}
	want := ""
	for _, percent := range []int{10, 20, 30, 40, 50, 51, 60, 70, 80, 90, 100} {
		want += fmt.Sprintf("%d%% of the file are done\n", percent)
	}
	if out.String() != want {
		t.Errorf("the lines are\n%s\nwant\n%s", out.String(), want)
	}
}
