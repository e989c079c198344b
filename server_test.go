package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"frontpage/redistest"
)

// binary builds the program once, as an operator has it.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("frontpage-test-%d", os.Getpid()))
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.Remove(path)
	}
	os.Exit(code)
}

func command(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "ADDR=127.0.0.1:0"}, env...)
	return cmd
}

// running is a server process.
type running struct {
	t    testing.TB
	cmd  *exec.Cmd
	url  string
	log  *bytes.Buffer // complete once stopped
	read chan struct{}
}

var endpointLine = regexp.MustCompile(`endpoint=(https?://\S+)/query`)

// start runs the server until it says where it serves.
func start(t testing.TB, env ...string) *running {
	t.Helper()
	s := &running{t: t, cmd: command(t, env), log: &bytes.Buffer{}, read: make(chan struct{})}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	serving := make(chan string, 1)
	go func() {
		defer close(s.read)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.log.WriteString(lines.Text() + "\n")
			if m := endpointLine.FindStringSubmatch(lines.Text()); m != nil {
				serving <- m[1]
			}
		}
	}()
	select {
	case s.url = <-serving:
	case <-s.read:
		t.Fatalf("the server ended: %v\n%s", s.cmd.Wait(), s.log)
	}
	return s
}

// stop sends SIGTERM and wants a clean exit in time. It returns the log.
func (s *running) stop() string {
	s.t.Helper()
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	<-s.read
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v\n%s", err, s.log)
	}
	if took := time.Since(began); took > 10*time.Second {
		s.t.Errorf("the server ended after %v", took)
	}
	return s.log.String()
}

func (s *running) ask(query string) string {
	s.t.Helper()
	body, _ := json.Marshal(map[string]string{"query": query})
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/query", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-User-ID", "alice")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(answer)
}

// page is the page at a path, with its status.
func (s *running) page(path string) (int, string) {
	s.t.Helper()
	res, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func (s *running) status(path string) int {
	s.t.Helper()
	status, _ := s.page(path)
	return status
}

const (
	postOne    = `mutation { post(input: {title: "t", text: "x"}) { article { id votes } } }`
	postedOne  = `{"data":{"post":{"article":{"id":"article:1","votes":1}}}}`
	voteOne    = `mutation { vote(input: {article: 1, direction: NONE}) { article { votes } changed } }`
	votedOne   = `{"data":{"vote":{"article":{"votes":0},"changed":true}}}`
	frontPage  = `{ articles { id votes viewerVote } }`
	frontPage1 = `{"data":{"articles":[{"id":"article:1","votes":0,"viewerVote":"NONE"}]}}`
)

func (s *running) useIt() {
	s.t.Helper()
	for _, step := range [][2]string{{postOne, postedOne}, {voteOne, votedOne}, {frontPage, frontPage1}} {
		if got := s.ask(step[0]); got != step[1] {
			s.t.Errorf("%s\n got %s\nwant %s", step[0], got, step[1])
		}
	}
	for path, want := range map[string]int{"/": 200, "/healthz": 200, "/readyz": 200, "/nothing": 404} {
		if got := s.status(path); got != want {
			s.t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}
}

func TestServeOnEachStore(t *testing.T) {
	t.Parallel()
	t.Run("a private redis-server, whose data outlive the process", func(t *testing.T) {
		t.Parallel()
		data := filepath.Join(t.TempDir(), "data")
		s := start(t, "DATA_DIR="+data)
		s.useIt()
		if log := s.stop(); !strings.Contains(log, data) {
			t.Errorf("the log does not say where the data are:\n%s", log)
		}
		again := start(t, "DATA_DIR="+data)
		if got := again.ask(frontPage); got != frontPage1 {
			t.Errorf("after a restart: %s", got)
		}
		again.stop()
	})
	t.Run("a Redis that is named", func(t *testing.T) {
		t.Parallel()
		s := start(t, "REDIS_URL="+redistest.Start(t).URL())
		s.useIt()
		s.stop()
	})
	t.Run("memory, without a redis-server on PATH", func(t *testing.T) {
		t.Parallel()
		s := start(t, "PATH="+t.TempDir())
		s.useIt()
		if log := s.stop(); !strings.Contains(log, "nothing is kept") {
			t.Errorf("the log does not say that nothing is kept:\n%s", log)
		}
	})
}

func TestTheLongestQueryString(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://")
	const limit = 131072
	query := "/query?query=%7B__typename%7D&x="
	for length, want := range map[int]int{limit: 200, limit + 1: 414} {
		if got := s.status(query + strings.Repeat("x", length-len(query)+len("/query?"))); got != want {
			t.Errorf("a query string of %d bytes: status %d, want %d", length, got, want)
		}
	}
	s.stop()
}

func TestReadinessFollowsTheStore(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	s := start(t, "REDIS_URL="+redis.URL())
	s.useIt()
	redis.Kill()
	if ready, healthy := s.status("/readyz"), s.status("/healthz"); ready != 503 || healthy != 200 {
		t.Errorf("without Redis: ready %d, healthy %d", ready, healthy)
	}
	if got := s.ask(frontPage); !strings.Contains(got, `"code":"UNAVAILABLE"`) {
		t.Errorf("without Redis: %s", got)
	}
	redis.Restart()
	if ready := s.status("/readyz"); ready != 200 {
		t.Errorf("with Redis again: ready %d", ready)
	}
	if got := s.ask(frontPage); got != frontPage1 {
		t.Errorf("with Redis again: %s", got)
	}
	s.stop()
}

func TestSIGTERMFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL=memory://")
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	body, _ := json.Marshal(map[string]string{"query": postOne})
	// The server says 100 when it has begun to read the body, and so to answer.
	fmt.Fprintf(connection, "POST /query HTTP/1.1\r\nHost: localhost\r\nX-User-ID: alice\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	answers := bufio.NewReader(connection)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("%q %v", line, err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for { // until nothing new is accepted
		probe, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			break
		}
		_ = probe.Close()
	}
	if _, err := connection.Write(body); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(answers); err != nil || !strings.Contains(string(rest), postedOne) {
		t.Errorf("%q %v", rest, err)
	}
	<-s.read
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestBadSettingsStopTheStart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ setting, names string }{
		{"VOTE_SCORE=0", "--vote-score"},
		{"VOTE_SCORE=x", "--vote-score"},
		{"VOTING_WINDOW=7", "--voting-window"},
		{"POSTER_VOTES=perhaps", "--poster-votes"},
		{"INTERESTING_VOTES=0", "--interesting-votes"},
		{"PAGE_SIZE=101", "--page-size"},
		{"GROUP_CACHE_TTL=0s", "--group-cache-ttl"},
		{"REDIS_TIMEOUT=0s", "--redis-timeout"},
		{"BODY_LIMIT=0", "--body-limit"},
		{"REQUEST_TIMEOUT=0s", "--request-timeout"},
		{"TOKEN_LIMIT=0", "--token-limit"},
		{"DEPTH_LIMIT=0", "--depth-limit"},
		{"ALIAS_LIMIT=-1", "--alias-limit"},
		{"ROOT_FIELD_LIMIT=0", "--root-field-limit"},
		{"DIRECTIVE_LIMIT=-1", "--directive-limit"},
		{"FIELD_LIMIT=0", "--field-limit"},
		{"COMPLEXITY_LIMIT=many", "--complexity-limit"},
		{"INTROSPECTION=perhaps", "--introspection"},
		{"GET_PREFLIGHT=1", "--get-preflight"},
		{"CORS_ORIGINS=https://a.b,c.d", "--cors-origins"},
		{"CORS_ORIGINS=https://a.b/", "--cors-origins"},
		{"TRUSTED_DOCUMENTS=nowhere.json", "--trusted-documents"},
		{"GC_PERCENT=0", "--gc-percent"},
		{"MEMORY_LIMIT_MIB=0", "--memory-limit-mib"},
		{"LOG_LEVEL=loud", "--log-level"},
		{"LOG_FORMAT=xml", "--log-format"},
		{"ADDR=0.0.0.0:0", "--addr"},
		{"ADDR=nonsense", "--addr"},
		{"REDIS_URL=http://x", "redis://"},
		{"REDIS_URL=redis://user:secret@127.0.0.1:1", "127.0.0.1:1"},
	} {
		out, err := command(t, []string{tt.setting}).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() == 0 {
			t.Errorf("%s: %v", tt.setting, err)
		}
		if text := strings.TrimSpace(string(out)); strings.Count(text, "\n") != 0 || !strings.Contains(text, tt.names) || strings.Contains(text, "secret") {
			t.Errorf("%s: not one line that names %s:\n%s", tt.setting, tt.names, text)
		}
	}
}

// Each setting of the endpoint changes what it says.
func TestSettingsOfTheEndpoint(t *testing.T) {
	t.Parallel()
	trusted := filepath.Join(t.TempDir(), "trusted.json")
	if err := os.WriteFile(trusted, []byte(`{"a": "{ viewer { id } }"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	strict := start(t, "REDIS_URL=memory://", "BODY_LIMIT=300", "TOKEN_LIMIT=40", "DEPTH_LIMIT=2", "ALIAS_LIMIT=1", "ROOT_FIELD_LIMIT=2",
		"DIRECTIVE_LIMIT=0", "FIELD_LIMIT=5", "COMPLEXITY_LIMIT=30", "INTROSPECTION=off", "GET_PREFLIGHT=on")
	for query, code := range map[string]string{
		`{ viewer { id } }`:                        "",
		`{` + strings.Repeat(" viewer", 60) + ` }`: "BODY_LIMIT_EXCEEDED",
		`{` + strings.Repeat("{", 40) + ` }`:       "GRAPHQL_PARSE_FAILED",
		`{` + strings.Repeat(" viewer", 39) + ` }`: "TOKEN_LIMIT_EXCEEDED",
		`{ article(id: 1) { poster { id } } }`:     "DEPTH_LIMIT_EXCEEDED",
		`{ a: __typename b: __typename }`:          "ALIAS_LIMIT_EXCEEDED",
		`{ __typename __typename __typename }`:     "ROOT_FIELD_LIMIT_EXCEEDED",
		`{ __typename @skip(if: true) }`:           "DIRECTIVE_LIMIT_EXCEEDED",
		`{ viewer { id id id id id } }`:            "FIELD_LIMIT_EXCEEDED",
		`{ articles { id } }`:                      "COMPLEXITY_LIMIT_EXCEEDED",
		`{ __schema { __typename } }`:              "INTROSPECTION_DISABLED",
	} {
		if got := strict.ask(query); code == "" && strings.Contains(got, "errors") || code != "" && !strings.Contains(got, `"code":"`+code+`"`) {
			t.Errorf("%s: %s, want %s", query, got, code)
		}
	}
	if status := strict.status("/query?query={__typename}"); status != 403 {
		t.Errorf("a GET without preflight: %d", status)
	}
	strict.stop()
	closed := start(t, "REDIS_URL=memory://", "TRUSTED_DOCUMENTS="+trusted, "CORS_ORIGINS=https://a.b", "REQUEST_TIMEOUT=2s")
	if got := closed.ask(`{ viewer { name } }`); !strings.Contains(got, "DOCUMENT_NOT_TRUSTED") {
		t.Errorf("a document that is not trusted: %s", got)
	}
	if got := closed.ask(`{ viewer { id } }`); got != `{"data":{"viewer":{"id":"user:alice"}}}` {
		t.Errorf("one that is: %s", got)
	}
	closed.stop()
}

func TestHelpAndREADMEKnowEverySetting(t *testing.T) {
	t.Parallel()
	help, err := command(t, nil, "--help").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	settings := regexp.MustCompile(`\(\$([A-Z_]+)\)`).FindAllSubmatch(help, -1)
	if len(settings) < 27 {
		t.Errorf("only %d settings in the help:\n%s", len(settings), help)
	}
	for _, setting := range settings {
		if !bytes.Contains(readme, []byte("`"+string(setting[1])+"`")) {
			t.Errorf("README.md does not name %s", setting[1])
		}
	}
}

func TestImportAndCheck(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	env := []string{"REDIS_URL=" + redis.URL()}
	file := filepath.Join(t.TempDir(), "articles.csv")
	rows := "id,title,link,votes,poster,posted_at\n"
	for i := range 1200 {
		rows += fmt.Sprintf("%d,article %d,https://www.example%d.org/,%d,poster%d,%d\n", 10+i, i, i%7, i%300, i%50, 1_700_000_000+i*600)
	}
	rows += "x,bad id,https://a.b/,1,p,1700000000\n5000,,https://a.b/,1,p,1700000000\n"
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1200 added", "0 added"} {
		cmd := command(t, env, "import", "--group-by-host", "--shift-to-now", file)
		var refused bytes.Buffer
		cmd.Stderr = &refused
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "2 refused") {
			t.Errorf("import: %v, not %q: %s%s", err, want, out, refused.String())
		}
		for _, line := range []string{"line 1202: ", "line 1203: "} {
			if !strings.Contains(refused.String(), line) {
				t.Errorf("no %q in %q", line, refused.String())
			}
		}
	}
	if out, err := command(t, env, "check").Output(); err != nil || !strings.Contains(string(out), "1200 articles") {
		t.Errorf("check: %v %s", err, out)
	}
	before := redis.Client.ZScore(t.Context(), "score:", "article:300").Val()
	for _, args := range [][]string{{"check"}, {"import", file}} {
		out, err := command(t, append(env, "VOTE_SCORE=100"), args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "vote_score was 432 and is 100") || redis.Client.ZScore(t.Context(), "score:", "article:300").Val() != before {
			t.Errorf("%v under other rules must refuse and change nothing: %v %s", args, err, out)
		}
	}
	if err := redis.Client.HIncrBy(t.Context(), "article:10", "votes", 1).Err(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if out, err := command(t, env, "check").Output(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "article:10: score") {
		t.Errorf("check of a broken store: %v %s", err, out)
	}
	s := start(t, env...)
	if got := s.ask(`{ group(name: "example3.org") { articleCount articles(order: TIME, pageSize: 2) { number } } }`); got != `{"data":{"group":{"articleCount":171,"articles":[{"number":1203},{"number":1196}]}}}` {
		t.Error(got)
	}
	if got := s.ask(`mutation { post(input: {title: "t", text: "x"}) { article { number } } }`); got != `{"data":{"post":{"article":{"number":1210}}}}` {
		t.Error(got)
	}
	s.stop()
	for _, args := range [][]string{{"import", file}, {"check"}} {
		if out, err := command(t, []string{"REDIS_URL=memory://"}, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "memory") {
			t.Errorf("%v on memory: %v %s", args, err, out)
		}
	}
}
