package program_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// Every command works beside a running private server, which its log names the socket of.
func TestCommandsWorkBesideTheRunningPrivateServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	env := []string{"FRONTPAGE_DATA_DIR=" + data}
	s := start(t, env...)
	s.useIt()
	s.as("mod", "moderator", `mutation { deleteArticle(input: {article: 1}) { deletedId } }`)
	csv := filepath.Join(dir, "articles.csv")
	require.NoError(t, os.WriteFile(csv, []byte("id,title,link,votes,poster,posted_at,groups\n5,a,https://a.example/,3,alice,1700000000,go\n"), 0o600))
	for _, tt := range []struct{ args, want string }{
		{"import " + csv, "1 added"},
		{"check", "checked 1 articles, 1 deleted articles and 1 groups: 0 violations"},
		{"undelete 1", "restored article:1"},
		{"audit 1", ""},
		{"rings --days 7", "0 rings and pairs in the votes of 7 days"},
		{"backup " + filepath.Join(dir, "site.rdb"), "SHA-256 "},
		{"check", "checked 2 articles"},
		{"export", `{"end":{"articles":2,"log":2,"keys":1}}`},
		{"export --format csv", "5,a,https://a.example/,3,alice,1700000000,,go\n"},
		{"check --next-start", "the next start would change nothing: the data has layout 9"},
	} {
		out, log, code := programtest.Run(t, env, strings.Fields(tt.args)...)
		if code != 0 || !strings.Contains(out, tt.want) {
			t.Errorf("%s beside the server: %d, %s%s, want %q", tt.args, code, out, log, tt.want)
		}
	}
	if _, said, code := programtest.Run(t, env, "restore", filepath.Join(dir, "site.rdb")); code != 1 || !strings.Contains(said, "is in use by another Frontpage") {
		t.Errorf("restore beside the server: %d %s, want an error that says so", code, said)
	}
	out, err := exec.Command("redis-cli", "-s", filepath.Join(data, "redis.sock"), "zcard", "time:").Output()
	if err != nil || strings.TrimSpace(string(out)) != "2" {
		t.Errorf("redis-cli on the socket: %s, %v, want 2 articles", out, err)
	}
	if got := s.ask(`{ articles { id } }`); !strings.Contains(got, "article:1") || !strings.Contains(got, "article:5") {
		t.Errorf("after the commands the server answers %s", got)
	}
	if log := s.Stop(); !strings.Contains(log, "on the socket "+filepath.Join(data, "redis.sock")) {
		t.Errorf("the log does not name the socket: %s", log)
	}
}

// A backup taken while users vote has every vote that was acknowledged before it, and restores to a consistent site.
func TestBackupUnderVotesIsRestoredElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, "FRONTPAGE_DATA_DIR="+filepath.Join(dir, "data"))
	s.ask(postOne)
	var acknowledged atomic.Int64
	var voters sync.WaitGroup
	enough := make(chan struct{})
	voters.Go(func() {
		for i := int64(1); ; {
			select {
			case <-enough:
				return
			default:
			}
			if got := s.as(fmt.Sprintf("voter%d", i), "", `mutation { vote(input: {article: 1}) { article { id } } }`); strings.Contains(got, `"article:1"`) {
				acknowledged.Store(i)
				i++
			}
		}
	})
	for acknowledged.Load() < 100 {
		s.status("/healthz")
	}
	before := acknowledged.Load()
	file := filepath.Join(dir, "site.rdb")
	out, log, code := programtest.Run(t, []string{"FRONTPAGE_DATA_DIR=" + filepath.Join(dir, "data")}, "backup", file)
	close(enough)
	voters.Wait()
	if !regexp.MustCompile(`^`+file+`: \d+ bytes, SHA-256 [0-9a-f]{64}\n$`).MatchString(out) || code != 0 {
		t.Fatalf("backup: %d %s%s", code, out, log)
	}
	s.Stop()
	env := []string{"FRONTPAGE_DATA_DIR=" + filepath.Join(dir, "elsewhere")}
	if out, log, code := programtest.Run(t, env, "restore", file); code != 0 || !strings.HasPrefix(out, "restored 1 articles, ") {
		t.Fatalf("restore: %d %s%s", code, out, log)
	}
	if out, log, code := programtest.Run(t, env, "check"); code != 0 || !strings.Contains(out, "checked 1 articles, 0 deleted articles and ") || !strings.Contains(out, ": 0 violations") {
		t.Errorf("check of the restored site: %d %s%s", code, out, log)
	}
	voted, log, code := programtest.Run(t, env, "audit", "1")
	for i := range before {
		if voter := fmt.Sprintf("voter%d\tup", i+1); !strings.Contains(voted, voter) || code != 0 {
			t.Fatalf("the restored site lacks the vote of voter%d, which was acknowledged before the backup: %d %s", i+1, code, log)
		}
	}
	for _, tt := range []struct {
		env  []string
		args []string
		want string
	}{
		{env, []string{"restore", file}, "is not empty, it has appendonly"},
		{[]string{"REDIS_URL=" + redistest.Start(t).URL()}, []string{"backup", file}, "REDIS_URL (--redis-url): only the private server can be backed up"},
		{[]string{"REDIS_URL=memory://"}, []string{"backup", file}, "only the private server can be backed up"},
		{[]string{"REDIS_URL=redis://127.0.0.1:1"}, []string{"restore", file}, "redis-cli --rdb FILE"},
	} {
		if _, said, code := programtest.Run(t, tt.env, tt.args...); code != 1 || !strings.Contains(said, tt.want) {
			t.Errorf("%v with %v: %d %s, want %q", tt.args, tt.env, code, said, tt.want)
		}
	}
}

// A site that was exported and imported is the same: beside the server, from a pipe, and after its end.
func TestExportIsImportedElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, "FRONTPAGE_DATA_DIR="+filepath.Join(dir, "data"))
	s.useIt()
	s.as("bob", "", `mutation { vote(input: {article: 1}) { changed } }`)
	first, log, code := programtest.Run(t, []string{"FRONTPAGE_DATA_DIR=" + filepath.Join(dir, "data")}, "export")
	if code != 0 || !strings.Contains(log, "exported 1 articles, 0 of them deleted, 1 votes with names, 0 entries of the moderation log") {
		t.Fatalf("export: %d %s", code, log)
	}
	s.Stop()
	file, broken := filepath.Join(dir, "site.ndjson"), filepath.Join(dir, "broken.ndjson")
	for name, text := range map[string]string{file: first, broken: strings.Replace(first, `"votes"`, `"voices"`, 1)} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	elsewhere := []string{"FRONTPAGE_DATA_DIR=" + filepath.Join(dir, "elsewhere")}
	serving := start(t, elsewhere...)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"import", broken}, 1, broken + `: line 2: json: unknown field "voices"`},
		{[]string{"import", "--shift-to-now", file}, 1, "are for CSV files"},
		{[]string{"import", file}, 0, "imported 1 articles, 0 of them deleted, 1 votes with names"},
		{[]string{"import", file}, 1, "this file has been imported already"},
		{[]string{"check"}, 0, "checked 1 articles, 0 deleted articles and 0 groups: 0 violations"},
	} {
		if out, log, code := programtest.Run(t, elsewhere, tt.args...); code != tt.code || !strings.Contains(out+log, tt.want) {
			t.Errorf("%v: %d %s%s, want %d and %q", tt.args, code, out, log, tt.code, tt.want)
		}
	}
	if got := serving.as("bob", "", frontPage); !strings.Contains(got, `"viewerVote":"UP"`) {
		t.Errorf("the server in whose store the file was imported: %s, want bob's vote", got)
	}
	serving.Stop()
	second, _, _ := programtest.Run(t, elsewhere, "export")
	if second != first {
		t.Errorf("the second export differs:\n%s\n%s", first, second)
	}
	piped := programtest.Command(t, []string{"FRONTPAGE_DATA_DIR=" + filepath.Join(dir, "piped")}, "import", "-")
	piped.Stdin = io.MultiReader(strings.NewReader(first)) // so that it is a pipe
	if out, err := piped.CombinedOutput(); err != nil || !strings.Contains(string(out), "imported 1 articles") {
		t.Errorf("import from a pipe: %v %s", err, out)
	}
}

// An interrupt ends a command that waits for its input, and the error says so in words.
func TestInterruptEndsAnImportThatWaitsForItsInput(t *testing.T) {
	t.Parallel()
	cmd := programtest.Command(t, []string{"FRONTPAGE_DATA_DIR=" + t.TempDir()}, "import", "-")
	var log bytes.Buffer
	cmd.Stderr = &log
	input := require.Value(cmd.StdinPipe())(t)
	require.NoError(t, cmd.Start())
	require.Value(input.Write(make([]byte, 1<<20)))(t) // more than a pipe holds, so it has begun to read
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || log.String() != "frontpage: interrupted\n" {
		t.Errorf("after an interrupt: exit code %d, %q, want 1 and a message", code, &log)
	}
}

// rank prints, beside a running server, the page that a start under other rules then shows, and changes nothing.
func TestRankPrintsThePageAfterAChange(t *testing.T) {
	t.Parallel()
	env := []string{"FRONTPAGE_DATA_DIR=" + t.TempDir()}
	page := func(s *server) (titles []string) {
		var a struct {
			Data struct{ Articles []struct{ Title string } }
		}
		_, body := s.post(http.DefaultClient, `{ articles(pageSize: 8) { title } }`)
		if err := json.Unmarshal([]byte(body), &a); err != nil || len(a.Data.Articles) != 8 {
			t.Fatalf("%v: %s, want 8 articles", err, body)
		}
		for _, article := range a.Data.Articles {
			titles = append(titles, string([]rune(article.Title)[:min(30, len([]rune(article.Title)))]))
		}
		return titles
	}
	s := start(t, append(env, "FRONTPAGE_DEMO_ARTICLES=true")...)
	before := page(s)
	out, stderr, code := programtest.Run(t, env, "rank", "--ranking", "halflife:1h", "--page-size", "8")
	if code != 0 {
		t.Fatalf("rank: exit code %d: %s", code, stderr)
	}
	if after := page(s); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("rank has changed the page to %q", after)
	}
	s.Stop()
	s = start(t, append(env, "FRONTPAGE_RANKING=halflife:1h")...)
	after := page(s)
	log := s.Stop()
	if line := "ranking was linear and is halflife"; !strings.Contains(log, line) {
		t.Errorf("the log lacks %q:\n%s", line, log)
	}
	lines := strings.Split(out, "\n")
	if len(lines) != 12 || lines[0] != "ranking was linear and is halflife" || !strings.HasSuffix(lines[10], "of 8 articles would be new on the page; nothing was changed") {
		t.Fatalf("rank printed\n%s\nwant the change of the rules, 8 places and a sum", out)
	}
	for i, line := range lines[2:10] {
		now, then := strings.Index(line, before[i]), strings.LastIndex(line, after[i])
		if now < 0 || then < 0 || now >= then && before[i] != after[i] {
			t.Errorf("place %d: %q, want %q, then %q", i+1, line, before[i], after[i])
		}
	}
	if strings.Join(before, "\n") == strings.Join(after, "\n") {
		t.Error("both rules have the same page: the test shows nothing")
	}
}

// A backup from before a user was erased is erased again by its export and import --erased.
func TestBackupFromBeforeAnErasureIsErasedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) []string { return []string{"FRONTPAGE_DATA_DIR=" + filepath.Join(dir, name)} }
	run := func(env []string, args ...string) string {
		t.Helper()
		out, said, code := programtest.Run(t, env, args...)
		if code != 0 {
			t.Fatalf("%v: %d %s%s", args, code, out, said)
		}
		return out
	}
	const name = "QuiltBramblefoxZephyrJnk"
	s := start(t, in("site")...)
	s.as(name, "", `mutation { post(input: {title: "an article", text: "x"}) { article { id } } }`)
	s.as("bob", "", `mutation { vote(input: {article: 1}) { changed } }`)
	backup := filepath.Join(dir, "site.rdb")
	run(in("site"), "backup", backup)
	run(in("site"), "erase", name)
	erased, exported := filepath.Join(dir, "erased"), filepath.Join(dir, "site.ndjson")
	require.NoError(t, os.WriteFile(erased, []byte(run(in("site"), "erase", "--list")), 0o600))
	s.Stop()

	run(in("restored"), "restore", backup)
	text := run(in("restored"), "export")
	if !strings.Contains(text, name) {
		t.Errorf("the export of the backup lacks the name: %s", text)
	}
	require.NoError(t, os.WriteFile(exported, []byte(text), 0o600))
	run(in("again"), "import", "--erased", erased, exported)
	run(in("again"), "check")
	text = run(in("again"), "export")
	if strings.Contains(strings.ToLower(text), strings.ToLower(name)) || !strings.Contains(text, "an article") {
		t.Errorf("the export of the imported site has the name, or lacks the article: %s", text)
	}
	if got := start(t, in("again")...).ask(`{ article(id: 1) { votes poster { name } } }`); got != `{"data":{"article":{"votes":2,"poster":{"name":"deleted user"}}}}` {
		t.Errorf("got %s", got)
	}
}
