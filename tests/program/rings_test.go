package program_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// Beside a server, the command names a ring, the articles and their posters; what it prints cannot control a terminal.
func TestRingsAreFoundBesideAServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	env := []string{"REDIS_URL=" + server.URL()}
	posted := time.Now().Add(-time.Hour).Unix()
	rows := "id,title,link,votes,poster,posted_at,groups\n"
	for i := range 120 {
		rows += fmt.Sprintf("%d,article,https://a.example/%d,1,poster%d,%d,go\n", i+1, i+1, i, posted)
	}
	file := filepath.Join(t.TempDir(), "articles.csv")
	require.NoError(t, os.WriteFile(file, []byte(rows), 0o600))
	if out, said, code := programtest.Run(t, env, "import", file); code != 0 {
		t.Fatalf("import: %s%s", out, said)
	}
	s := start(t, env...)
	defer s.Stop()
	cast := func(user string, article int, after int64) {
		key := fmt.Sprintf("cast:%s:%d", user, posted/(32*24*3600))
		require.NoError(t, server.Client.ZAdd(t.Context(), key, redis.Z{Score: float64(posted + 60 + after), Member: article}).Err())
	}
	for i := range 120 {
		cast(fmt.Sprint("reader", i%10), i+1, 0)
		for j, user := range []string{"ann", "ben", "c\x1b[2Jat"} {
			if i < 9 {
				cast(user, i+1, int64(10*j))
			}
		}
	}
	out, said, code := programtest.Run(t, env, "rings")
	if code != 0 || !strings.HasPrefix(out, "SURPRISE") || !strings.Contains(out, "1 rings and pairs in the votes of 30 days") {
		t.Fatalf("rings: %d %s %s", code, out, said)
	}
	if line := strings.Join(strings.Fields(strings.Split(out, "\n")[1])[1:], " "); !strings.HasPrefix(line, "9 ") || !strings.Contains(line, " 10 ann, ben, c?[2Jat 1 by poster0, 2 by poster1") {
		t.Errorf("rings: %q", line)
	}
	if _, said, code := programtest.Run(t, env, "rings", "--days", "400"); code != 1 || !strings.Contains(said, "days is between 1 and 366, not 400") {
		t.Errorf("too many days: %d %s", code, said)
	}
}
