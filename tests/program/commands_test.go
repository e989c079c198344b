package program_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

func TestImportAddsEachRowOnceAndCheckFindsInconsistencies(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	env := []string{"REDIS_URL=" + redis.URL()}
	file := filepath.Join(t.TempDir(), "articles.csv")
	rows := "id,title,link,votes,poster,posted_at\n"
	for i := range 1200 {
		rows += fmt.Sprintf("%d,article %d,https://www.example%d.org/,%d,poster%d,%d\n", 10+i, i, i%7, i%300, i%50, 1_700_000_000+i*600)
	}
	rows += "x,bad id,https://a.b/,1,p,1700000000\n5000,,https://a.b/,1,p,1700000000\n"
	require.NoError(t, os.WriteFile(file, []byte(rows), 0o600))
	for _, want := range []string{"1200 added", "0 added"} {
		cmd := programtest.Command(t, env, "import", "--group-by-host", "--shift-to-now", file)
		var refused bytes.Buffer
		cmd.Stderr = &refused
		out, _ := cmd.Output()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), want) || !strings.Contains(string(out), "2 refused") {
			t.Errorf("import: exit code %d, want 1 and %q in %s%s", code, want, out, refused.String())
		}
		for _, line := range []string{"line 1202: ", "line 1203: ", "frontpage: 2 of 1202 rows were refused, as the lines above say\n"} {
			if !strings.Contains(refused.String(), line) {
				t.Errorf("the report lacks %q: %q", line, refused.String())
			}
		}
	}
	if out, err := programtest.Command(t, env, "check").Output(); err != nil || !strings.Contains(string(out), "1200 articles") {
		t.Errorf("check: %v %s", err, out)
	}
	before := redis.Client.ZScore(t.Context(), "score:", "article:300").Val()
	for _, args := range [][]string{{"check"}, {"import", file}} {
		out, err := programtest.Command(t, append(env, "FRONTPAGE_VOTE_SCORE=100"), args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "vote_score was 432 and is 100") || redis.Client.ZScore(t.Context(), "score:", "article:300").Val() != before {
			t.Errorf("%v under other rules: want an error and no change: %v %s", args, err, out)
		}
	}
	require.NoError(t, redis.Client.HIncrBy(t.Context(), "article:10", "votes", 1).Err())
	var exit *exec.ExitError
	if out, err := programtest.Command(t, env, "check").Output(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "article:10: score") {
		t.Errorf("check of an inconsistent store: %v %s", err, out)
	}
	s := start(t, env...)
	if got := s.ask(`{ group(name: "example3.org") { articleCount articles(order: TIME, pageSize: 2) { number } } }`); got != `{"data":{"group":{"articleCount":171,"articles":[{"number":1203},{"number":1196}]}}}` {
		t.Errorf("the group of a host after the import: %s", got)
	}
	if got := s.ask(`mutation { post(input: {title: "t", text: "x"}) { article { number } } }`); got != `{"data":{"post":{"article":{"number":1210}}}}` {
		t.Errorf("a post after the import: %s, want the next number, 1210", got)
	}
	s.Stop()
	for _, args := range [][]string{{"import", file}, {"check"}} {
		if out, err := programtest.Command(t, []string{"REDIS_URL=memory://"}, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "memory") {
			t.Errorf("%v with a store in memory: %v %s, want an error that says so", args, err, out)
		}
	}
}

// The number of partitions is set once and read from the store after that. A group is counted once.
func TestPartitionsBelongToTheStore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "articles.csv")
	rows := "id,title,link,votes,poster,posted_at,groups\n"
	for i := range 40 {
		rows += fmt.Sprintf("%d,article,https://a.example/,%d,alice,1700000000,go\n", 16+i, i)
	}
	require.NoError(t, os.WriteFile(file, []byte(rows), 0o600))
	for _, tt := range []struct {
		partitions, want string
		args             []string
	}{
		{"16", "40 added", []string{"import", file}},
		{"", "checked 40 articles, 0 deleted articles and 1 groups: 0 violations", []string{"check"}},
		{"16", "0 violations", []string{"check"}},
		{"64", "FRONTPAGE_PARTITIONS (--partitions): the site in this store has 16 partitions, not 64", []string{"check"}},
		{"1", "FRONTPAGE_PARTITIONS (--partitions): the site in this store has 16 partitions, not 1", nil},
	} {
		env := []string{"REDIS_URL=" + redis.URL()}
		if tt.partitions != "" {
			env = append(env, "FRONTPAGE_PARTITIONS="+tt.partitions)
		}
		out, _ := programtest.Command(t, env, tt.args...).CombinedOutput()
		if !strings.Contains(string(out), tt.want) {
			t.Errorf("%v with FRONTPAGE_PARTITIONS=%s: %s, want %q", tt.args, tt.partitions, out, tt.want)
		}
	}
	if keys := redis.Client.Keys(t.Context(), "[^{]*").Val(); len(keys) != 1 || keys[0] != "meta:" {
		t.Errorf("keys without a tag: %q, want meta: alone", keys)
	}
}

func TestDescribeGroupReplacesWhatIsSaidAboutAGroup(t *testing.T) {
	t.Parallel()
	env := []string{"REDIS_URL=" + redistest.Start(t).URL(), "FRONTPAGE_SHARED_ANSWERS=0s"} // a command may take less than 50 ms
	s := start(t, env...)
	for _, tt := range []struct {
		args  []string
		wants string
	}{
		{[]string{"--description", "All about Go.", "--rule", "No adverts", "--rule", "English, only"}, `{"description":"All about Go.","rules":["No adverts","English, only"]}`},
		{[]string{"--rule", "One"}, `{"description":null,"rules":["One"]}`},
		{nil, `{"description":null,"rules":[]}`},
	} {
		if out, said, code := programtest.Run(t, env, append([]string{"describe-group", "go"}, tt.args...)...); code != 0 || out != "described go\n" {
			t.Errorf("describe-group %q: exit code %d: %s%s", tt.args, code, out, said)
		}
		if got := s.as("bob", "", `{ group(name: "go") { description rules } }`); got != `{"data":{"group":`+tt.wants+`}}` {
			t.Errorf("after describe-group %q: %s", tt.args, got)
		}
	}
	if got := s.as("mod", "moderator", `{ moderationActions { nodes { kind by target } } }`); strings.Count(got, `{"kind":"EDITED","by":"command line","target":"group:go"}`) != 3 {
		t.Errorf("the moderation log: %s", got)
	}
	if _, said, code := programtest.Run(t, env, "describe-group", "go", "--description", strings.Repeat("x", 161)); code != 1 || !strings.Contains(said, "160") {
		t.Errorf("a description that is too long: exit code %d: %s", code, said)
	}
}

func TestUndeleteRestoresTheArticleWithItsRank(t *testing.T) {
	t.Parallel()
	env := []string{"REDIS_URL=" + redistest.Start(t).URL(), "FRONTPAGE_INTERESTING_VOTES=3"}
	s := start(t, env...)
	for i := range 3 {
		s.as("alice", "", fmt.Sprintf(`mutation { post(input: {title: "article %d", text: "x", groups: ["go", "g%d"]}) { article { id } } }`, i+1, i+1))
	}
	for _, user := range []string{"bob", "carol"} {
		s.as(user, "", `mutation { vote(input: {article: 2}) { changed } }`)
	}
	if _, said, code := programtest.Run(t, env, "undelete", "2"); code != 1 || !strings.Contains(said, "article:2 is not deleted") {
		t.Errorf("undelete of an article that is not deleted: exit code %d: %s", code, said)
	}
	if got := s.as("mod", "moderator", `mutation { deleteArticle(input: {article: 2}) { deletedId } }`); got != `{"data":{"deleteArticle":{"deletedId":"article:2"}}}` {
		t.Errorf("delete: %s", got)
	}
	if out, _, code := programtest.Run(t, env, "check"); code != 0 || !strings.Contains(out, "checked 2 articles, 1 deleted articles") {
		t.Errorf("check: %d %s", code, out)
	}
	out, said, code := programtest.Run(t, env, "undelete", "article:2")
	if code != 0 || !regexp.MustCompile(`^restored article:2: "article 2", 3 votes, score \d+\n$`).MatchString(out) {
		t.Errorf("undelete: %d %s %s", code, out, said)
	}
	if got := s.as("dave", "", `mutation { vote(input: {article: 2}) { article { votes } changed } }`); got != `{"data":{"vote":{"article":{"votes":4},"changed":true}}}` {
		t.Errorf("a vote on the restored article: %s", got)
	}
	if out, _, code := programtest.Run(t, env, "check"); code != 0 || !strings.Contains(out, "checked 3 articles, 0 deleted articles and 5 groups: 0 violations") {
		t.Errorf("check: %d %s", code, out)
	}
	if got := s.as("mod", "moderator", `{ moderationLog { nodes { kind by articleId article { votes } } } }`); got != `{"data":{"moderationLog":{"nodes":[`+
		`{"kind":"UNDELETED","by":"command line","articleId":"article:2","article":{"votes":4}},{"kind":"DELETED","by":"mod","articleId":"article:2","article":{"votes":4}}]}}}` {
		t.Errorf("the moderation log: %s", got)
	}
	s.Stop()
	out, said, code = programtest.Run(t, env, "delete", "--reason", "spam", "1", "article:3")
	if code != 0 || out != "deleted article:1: \"article 1\", 1 votes\ndeleted article:3: \"article 3\", 1 votes\n" {
		t.Errorf("delete: %d %s %s", code, out, said)
	}
	s = start(t, env...)
	if got := s.as("mod", "moderator", `{ moderationLog(first: 2) { nodes { kind by articleId reason } } articles { id } }`); got != `{"data":{"moderationLog":{"nodes":[`+
		`{"kind":"DELETED","by":"command line","articleId":"article:3","reason":"spam"},{"kind":"DELETED","by":"command line","articleId":"article:1","reason":"spam"}]},`+
		`"articles":[{"id":"article:2"}]}}` {
		t.Errorf("the moderation log after deletions by the command: %s", got)
	}
	s.Stop()
	out, said, code = programtest.Run(t, env, "delete", "2", "99", "98")
	if code != 1 || out != "" || !strings.Contains(said, "nothing was deleted") || !strings.Contains(said, "there is no article:99") || !strings.Contains(said, "there is no article:98") {
		t.Errorf("delete of an article and two that do not exist: exit code %d, output %q, log %q", code, out, said)
	}
	if out, _, _ := programtest.Run(t, env, "check"); !strings.Contains(out, "checked 1 articles, 2 deleted articles") {
		t.Errorf("check after that: %s", out)
	}
	for name, says := range map[string]string{"99": "there is no article:99", "article:02": "is not an article id", "user:alice": "is not an article id", "2": "article:2 is not deleted"} {
		for _, do := range []string{"delete", "undelete", "audit"} {
			if do != "undelete" && name == "2" {
				continue
			}
			if out, said, code := programtest.Run(t, env, do, name); code != 1 || !strings.Contains(said, says) || out != "" {
				t.Errorf("%s %s: exit code %d, output %q, log %q, want exit code 1 and %q", do, name, code, out, said, says)
			}
		}
	}
	for _, do := range []string{"delete", "undelete", "audit"} {
		if _, said, code := programtest.Run(t, []string{"REDIS_URL=memory://"}, do, "1"); code != 1 || !strings.Contains(said, "memory") {
			t.Errorf("%s with a store in memory: exit code %d, want 1 and an error that says so: %s", do, code, said)
		}
		if _, _, code := programtest.Run(t, env, do); code != 2 {
			t.Errorf("%s without an argument: exit code %d, want 2", do, code)
		}
		if out, said, code := programtest.Run(t, append(env, "FRONTPAGE_VOTE_SCORE=1"), do, "1"); code != 1 || out != "" || !strings.Contains(said, "vote_score") {
			t.Errorf("%s under other rules: exit code %d, want 1 and an error that names vote_score: %s%s", do, code, out, said)
		}
	}
}

// Only the server upgrades data: a look at it by a newer program would lock the older server out.
func TestCommandsRefuseAnOlderLayout(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	env := []string{"REDIS_URL=" + redis.URL()}
	s := start(t, env...)
	s.as("alice", "", `mutation { post(input: {title: "t", link: "https://a.example/"}) { article { id } } }`)
	s.Stop()
	redis.Client.HSet(t.Context(), "meta:", "layout", 6)
	keys := redis.Client.DBSize(t.Context()).Val()
	for _, args := range [][]string{{"check"}, {"export"}, {"audit", "1"}, {"delete", "1"}, {"undelete", "1"}} {
		out, said, code := programtest.Run(t, env, args...)
		if code != 1 || out != "" || !strings.Contains(said, "the data has layout 6, and a start of the server with this version would upgrade the layout from 6 to 7: moving the records of links, upgrade the layout from 7 to 8: recording all links, upgrade the layout from 8 to 9: taking over what programs of the book have written; "+
			"a command does not do that: start the server first, or use the version of Frontpage that the data is for") {
			t.Errorf("%v: exit code %d, output %q, log %q, want a refusal", args, code, out, said)
		}
		if layout := redis.Client.HGet(t.Context(), "meta:", "layout").Val(); layout != "6" || redis.Client.DBSize(t.Context()).Val() != keys {
			t.Errorf("%v: the data has layout %s and other keys than before", args, layout)
		}
	}
	start(t, env...).Stop()
	if out, said, code := programtest.Run(t, env, "check"); code != 0 || !strings.Contains(out, "0 violations") {
		t.Errorf("check after a start of the server: %d %s%s", code, out, said)
	}
}

// The manual page and the completions name every command and every setting.
func TestManualAndCompletionsNameEveryCommandAndSetting(t *testing.T) {
	t.Parallel()
	help, _, _ := programtest.Run(t, nil, "help", "settings")
	commands := regexp.MustCompile(`(?m)^  ([a-z]+)(?: |$)`).FindAllStringSubmatch(help, -1)
	flags := regexp.MustCompile(`(?m)^  --(?:\[no-\])?([a-z0-9-]+)`).FindAllStringSubmatch(help, -1)
	variables := regexp.MustCompile(`\(\$([A-Z0-9_]+)\)`).FindAllStringSubmatch(help, -1)
	if len(commands) < 10 || len(flags) < 60 || len(variables) < 60 {
		t.Fatalf("--help has %d commands, %d flags and %d variables, want more\n%s", len(commands), len(flags), len(variables), help)
	}
	page, stderr, code := programtest.Run(t, nil, "manual")
	if code != 0 {
		t.Fatalf("manual: exit code %d: %s", code, stderr)
	}
	for _, m := range append(commands, variables...) {
		if !strings.Contains(page, m[1]) {
			t.Errorf("the manual page lacks %s", m[1])
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, stderr, code := programtest.Run(t, nil, "completion", shell)
		if code != 0 {
			t.Fatalf("completion %s: exit code %d: %s", shell, code, stderr)
		}
		for _, m := range append(commands, flags...) {
			if m[1] != "help" && !strings.Contains(text, m[1]) {
				t.Errorf("the completion for %s lacks %s", shell, m[1])
			}
		}
	}
	if _, stderr, code := programtest.Run(t, nil, "completion", "tcsh"); code != 2 || !strings.Contains(stderr, "tcsh") {
		t.Errorf("completion tcsh: exit code %d: %s", code, stderr)
	}
}

func TestHealthAsksTheServerOnAddr(t *testing.T) {
	t.Parallel()
	s := start(t)
	env := []string{"FRONTPAGE_ADDR=" + strings.TrimPrefix(s.URL, "http://")}
	for _, c := range []struct{ args, want string }{{"health", "ok\n"}, {"health --ready", "ready\n"}} {
		if out, stderr, code := programtest.Run(t, env, strings.Fields(c.args)...); code != 0 || out != c.want {
			t.Errorf("%s: exit code %d, output %q, want %q: %s", c.args, code, out, c.want, stderr)
		}
	}
	_, port, _ := strings.Cut(env[0], ":")
	anywhere := []string{"FRONTPAGE_ADDR=:" + port, "FRONTPAGE_JWT_SECRET=" + strings.Repeat("s", 32)}
	if out, stderr, code := programtest.Run(t, anywhere, "health"); code != 0 || out != "ok\n" {
		t.Errorf("health of a server on all addresses: exit code %d, output %q: %s", code, out, stderr)
	}
	s.Stop()
	if _, stderr, code := programtest.Run(t, env, "health"); code != 1 || !strings.Contains(stderr, "FRONTPAGE_ADDR (--addr): no server answers there") || !strings.Contains(stderr, "connection refused") {
		t.Errorf("health without a server: exit code %d: %s", code, stderr)
	}
}

func TestHealthReportsAStoreThatIsAway(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := start(t, "REDIS_URL="+redis.URL())
	redis.Kill()
	env := []string{"FRONTPAGE_ADDR=" + strings.TrimPrefix(s.URL, "http://")}
	if _, stderr, code := programtest.Run(t, env, "health", "--ready"); code != 1 || !strings.Contains(stderr, "503") {
		t.Errorf("health --ready without a store: exit code %d, want 1: %s", code, stderr)
	}
	if out, stderr, code := programtest.Run(t, env, "health"); code != 0 || out != "ok\n" {
		t.Errorf("health without a store: exit code %d, output %q: %s", code, out, stderr)
	}
}

func TestHealthAsksByTLS(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	encryption := []string{"FRONTPAGE_TLS_CERT_FILE=" + cert, "FRONTPAGE_TLS_KEY_FILE=" + key}
	s := start(t, encryption...)
	env := append(encryption, "FRONTPAGE_ADDR="+strings.TrimPrefix(s.URL, "https://"))
	if out, stderr, code := programtest.Run(t, env, "health"); code != 0 || out != "ok\n" {
		t.Errorf("health of a server with TLS: exit code %d, output %q: %s", code, out, stderr)
	}
}

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

// After erase, beside a server that runs, the files of Redis, an export, the log and the metrics do not have the name.
func TestEraseLeavesNoName(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t).Own()
	require.NoError(t, redis.Client.ConfigSet(t.Context(), "rdbcompression", "no").Err())
	env := []string{"REDIS_URL=" + redis.URL()}
	admin := freeAddress(t)
	s := start(t, append(env, "FRONTPAGE_ADMIN_ADDR="+admin, "FRONTPAGE_ADMIN_TOKEN="+adminToken, "FRONTPAGE_ACCESS_LOG=all", "FRONTPAGE_AUDIT_SECRET=the secret of the audit in all tests")...)
	const name = "QuiltBramblefoxZephyrJnk"
	s.as("bob", "", `mutation { post(input: {title: "article 1", text: "x"}) { article { id } } }`)
	s.as(name, "", `mutation { post(input: {title: "article 2", text: "x", groups: ["go"], idempotencyKey: "key"}) { article { id } } }`)
	const acts = `mutation { vote(input: {article: 1}) { changed } flag(input: {target: 1, reason: SPAM}) { userErrors { message } } blockUser(input: {user: "bob"}) { userErrors { message } } }`
	if got := s.as(name, "", acts); got != `{"data":{"vote":{"changed":true},"flag":{"userErrors":[]},"blockUser":{"userErrors":[]}}}` {
		t.Fatalf("got %s", got)
	}
	s.as("bob", "", `mutation { vote(input: {article: 2}) { changed } }`)
	if code, _ := s.page("/u/" + name); code != 200 {
		t.Errorf("the page of the user: %d", code)
	}
	out, said, code := programtest.Run(t, env, "erase", "--find", name)
	if code != 0 || out != "" {
		t.Errorf("erase --find: %d %s %s", code, out, said)
	}
	out, said, code = programtest.Run(t, env, "erase", name)
	if code != 0 || !strings.HasPrefix(out, "erased: ") || !strings.Contains(out, " has written its append-only file and a snapshot\n") {
		t.Fatalf("erase: %d %s %s", code, out, said)
	}
	const want = `{"data":{"article":{"votes":2,"poster":{"id":"user:deleted user","name":"deleted user"}},"one":{"votes":2}}}`
	if got := s.ask(`{ article(id: 2) { votes poster { id name } } one: article(id: 1) { votes } }`); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if out, _, code := programtest.Run(t, env, "check"); code != 0 {
		t.Errorf("check: %s", out)
	}
	digests, _, _ := programtest.Run(t, env, "erase", "--list")
	if len(digests) != 33 {
		t.Errorf("erase --list: %q", digests)
	}
	exported, _, _ := programtest.Run(t, env, "export")
	_, metrics := s.do(http.DefaultClient, request(t, "http://"+admin+"/metrics", "Authorization", "Bearer "+adminToken))
	everywhere := map[string][]byte{"an export": []byte(exported), "the metrics": []byte(metrics)}
	dir := redis.Client.ConfigGet(t.Context(), "dir").Val()["dir"]
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			everywhere[path], err = os.ReadFile(path)
		}
		return err
	}))
	everywhere["the log"] = []byte(s.Stop())
	if len(everywhere) < 6 {
		t.Errorf("%d files and texts were found, want more", len(everywhere))
	}
	for what, data := range everywhere {
		if len(data) == 0 && what == "the metrics" || bytes.Contains(bytes.ToLower(data), []byte(strings.ToLower(name))) {
			t.Errorf("%s is empty, or has the name: %.300q", what, data)
		}
	}
}
