package documents_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// The commands of a document run in order, all documents in one folder as in a clone, README first. CONTRIBUTING.md says
// how a document marks the commands that are not run, and which parts of a reply may vary.
func TestDocumentedCommandsReplyAsDocumented(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"curl", "sh", "redis-server"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the documents need %s: %v", tool, err)
		}
	}
	var replies atomic.Int64
	clone := t.TempDir()
	try := func(t *testing.T, path string) {
		document := blocks(read(t, path))
		for _, problem := range uncovered(document) {
			t.Error(problem)
		}
		if !t.Failed() {
			replies.Add(int64(follow(t, clone, document)))
		}
	}
	paths := documents(t)
	t.Run(paths[0], func(t *testing.T) { try(t, paths[0]) })
	t.Run("documents", func(t *testing.T) {
		for _, path := range paths[1:] {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				try(t, path)
			})
		}
	})
	if replies.Load() < 15 {
		t.Errorf("%d replies were compared, want at least 15", replies.Load())
	}
}

const (
	notRun       = "not run: " // and the reason
	keepsRunning = "keeps running"
	prints       = "the running command prints"
)

// starts matches a block whose last command serves: it has flags, and no command of the program.
var starts = regexp.MustCompile(`go run \.( --?\S+)*\n$`)

// needsReply reports whether the next block has to be what this one prints.
func (b block) needsReply() bool {
	return b.language == "sh" && b.comment != keepsRunning && !strings.HasPrefix(b.comment, notRun) && !starts.MatchString(b.text)
}

func (b block) isReply() bool { return b.language == "json" || b.language == "text" }

// uncovered says which commands have no reply, and which replies have no command.
func uncovered(document []block) (problems []string) {
	watching := false
	for i, b := range document {
		answered := i+1 < len(document) && document[i+1].isReply() && document[i+1].follows
		if b.needsReply() && !answered {
			problems = append(problems, fmt.Sprintf("line %d: this command has no reply", b.line))
		}
		switch {
		case b.isReply() && b.comment == prints && watching:
		case b.isReply() && (b.comment != "" || !b.follows || i == 0 || !document[i-1].needsReply()):
			problems = append(problems, fmt.Sprintf("line %d: this reply has no command", b.line))
		}
		watching = watching || b.language == "sh" && b.comment == keepsRunning
	}
	return problems
}

func TestUncoveredCommandsAreFound(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]int{
		"~~~sh\necho a\n~~~\n~~~json\n{}\n~~~\n":                                                        0,
		"~~~sh\necho a\n~~~\n\n~~~text\na\n~~~\n":                                                       0,
		"<!-- not run: it takes long -->\n~~~sh\necho a\n~~~\n":                                         0,
		"~~~sh\nPAGE_SIZE=3 go run . --demo-articles\n~~~\n":                                            0,
		"<!-- keeps running -->\n~~~sh\nx\n~~~\n<!-- the running command prints -->\n~~~text\na\n~~~\n": 0,
		"~~~sh\necho a\n~~~\n":                                                                          1,
		"~~~sh\necho a\n~~~\nText.\n~~~json\n{}\n~~~\n":                                                 2,
		"~~~sh\necho a\n~~~\n~~~sh\necho b\n~~~\n~~~json\n{}\n~~~\n":                                    1,
		"~~~sh\ngo run . check\n~~~\n":                                                                  1,
		"~~~json\n{}\n~~~\n":                                                                            1,
		"~~~sh\ngo run .\n~~~\n~~~json\n{}\n~~~\n":                                                      1,
		"<!-- the running command prints -->\n~~~text\na\n~~~\n":                                        1,
		"<!-- not run -->\n~~~sh\necho a\n~~~\n":                                                        1, // the reason is missing
	} {
		if got := uncovered(blocks(strings.ReplaceAll(document, "~", "`"))); len(got) != want {
			t.Errorf("%q: problems are %q, want %d", document, got, want)
		}
	}
}

// follow runs the commands of a document in a folder, as a user who reads it would, and compares the replies. It returns
// the number of replies that it compared.
func follow(t *testing.T, dir string, document []block) (compared int) {
	s := &session{t: t, dir: dir}
	defer s.stop()
	var output string
	for _, b := range document {
		switch {
		case b.isReply():
			if b.comment == prints {
				output = s.event()
			}
			compared++
			if got, want := stable(output), stable(b.text); got != want {
				t.Errorf("line %d:\n got %s\nwant %s", b.line, output, b.text)
			}
		case b.needsReply():
			output = s.run(b.text)
		case b.language == "sh" && b.comment == keepsRunning:
			s.watch(b.text)
		case b.language == "sh" && !strings.HasPrefix(b.comment, notRun):
			s.start(b.text)
		}
	}
	return compared
}

var (
	address = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	moment  = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	seconds = regexp.MustCompile(`\b1\d{9}(\.\d+)?\b`)
)

// stable replaces what varies from run to run: times in RFC 3339, Unix seconds and addresses of this machine.
func stable(reply string) string {
	reply = address.ReplaceAllString(reply, "ADDRESS")
	reply = moment.ReplaceAllString(reply, "TIME")
	return seconds.ReplaceAllString(reply, "SECONDS")
}

// session is a user with several terminals in one folder.
type session struct {
	t   *testing.T
	dir string

	server *exec.Cmd
	url    string
	admin  string      // the address of the listener for operators
	log    chan string // the whole log of the server, once it has ended

	events chan string // of the command that keeps running, without the empty line at the end
	cancel context.CancelFunc
}

// adminAddress is the listener for operators in the documents.
const adminAddress = "127.0.0.1:9464"

// shell returns a command that runs text, with the built program instead of go run . and with the URL of
// the server instead of http://127.0.0.1:8080, and a free port instead of that of adminAddress.
func (s *session) shell(ctx context.Context, text string) *exec.Cmd {
	program := programtest.Command(s.t, nil)
	text = strings.ReplaceAll(text, "go run .", program.Path)
	if s.admin == "" && strings.Contains(text, adminAddress) {
		s.admin = net.JoinHostPort("127.0.0.1", redistest.UnusedPort(s.t))
	}
	text = strings.ReplaceAll(text, adminAddress, s.admin)
	if s.url != "" {
		text = strings.ReplaceAll(text, "http://127.0.0.1:8080", s.url)
	}
	cmd := exec.CommandContext(ctx, "sh", "-euc", text)
	cmd.Dir, cmd.Env = s.dir, append(program.Env, goEnvironment(s.t)...)
	return cmd
}

// goEnvironment returns the variables by which go finds modules as it does here: the home of a command is another one.
func goEnvironment(t *testing.T) (variables []string) {
	t.Helper()
	names := []string{"GOCACHE", "GOENV", "GOFLAGS", "GOMODCACHE", "GOPROXY", "GOSUMDB"}
	values := require.Value(exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...).Output())(t)
	for i, value := range strings.Split(strings.TrimSuffix(string(values), "\n"), "\n") {
		variables = append(variables, names[i]+"="+value)
	}
	return variables
}

// run returns what the command writes to standard output.
func (s *session) run(text string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := s.shell(ctx, text)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Errorf("%s%v\n%s%s", text, err, out, &stderr)
	}
	if out = bytes.TrimRight(out, "\n"); len(out) > 0 {
		out = append(out, '\n')
	}
	return string(out)
}

var endpointLine = regexp.MustCompile(`endpoint=(https?://\S+)/query`)

// start ends the server that runs, starts another and waits until it serves.
func (s *session) start(text string) {
	s.t.Helper()
	s.stop()
	cmd := s.shell(context.Background(), "trap : TERM\n"+text) // the shell waits for the program, which stop ends
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}      // so that stop reaches the program within the shell
	stderr := require.Value(cmd.StderrPipe())(s.t)
	require.NoError(s.t, cmd.Start())
	s.server, s.log = cmd, make(chan string, 1)
	serving := make(chan string, 1)
	go func() {
		var log strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if m := endpointLine.FindStringSubmatch(lines.Text()); m != nil {
				serving <- m[1]
			}
		}
		s.log <- log.String()
	}()
	select {
	case s.url = <-serving:
	case log := <-s.log:
		s.t.Fatalf("%sthe server ended: %v\n%s", text, cmd.Wait(), log)
	}
}

func (s *session) stop() {
	if s.cancel != nil {
		s.cancel()
	}
	if s.server == nil {
		return
	}
	if err := syscall.Kill(-s.server.Process.Pid, syscall.SIGTERM); err != nil {
		s.t.Errorf("stop the server: %v", err)
	}
	log := <-s.log
	if err := s.server.Wait(); err != nil {
		s.t.Errorf("the server ended with %v\n%s", err, log)
	}
	s.server, s.url = nil, ""
}

// watch starts a command that prints server-sent events about article:1, and waits for the comment that opens the stream.
func (s *session) watch(text string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.events = cancel, make(chan string, 100)
	cmd := s.shell(ctx, "exec "+text)
	stdout := require.Value(cmd.StdoutPipe())(s.t)
	require.NoError(s.t, cmd.Start())
	go func() {
		defer close(s.events)
		event := ""
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if lines.Text() != "" {
				event += lines.Text() + "\n"
			} else {
				s.events <- event
				event = ""
			}
		}
		_ = cmd.Wait() // it was ended by cancel
	}()
	if got := s.event(); got != ":\n" {
		s.t.Fatalf("the stream began with %q, want a comment", got)
	}
}

// event waits for the next event of the command that keeps running.
func (s *session) event() string {
	s.t.Helper()
	select {
	case event, open := <-s.events:
		if !open {
			s.t.Fatal("the command that keeps running ended")
		}
		return event
	case <-time.After(10 * time.Minute):
		s.t.Fatal("no event within 10 minutes")
		return ""
	}
}

// A comment with the path of a file, or with "part of" before it, marks its text, which clients/run.sh tests.
func TestBlocksOfClientsAreTheTestedFiles(t *testing.T) {
	t.Parallel()
	files := 0
	for _, path := range documents(t) {
		for _, b := range blocks(read(t, path)) {
			name, isPart := strings.CutPrefix(b.comment, "part of ")
			if !strings.HasPrefix(name, "clients/") {
				continue
			}
			files++
			if text := read(t, name); text != b.text && (!isPart || !strings.Contains("\n"+text, "\n"+b.text)) {
				t.Errorf("%s:%d: the block differs from %s: copy the file", path, b.line, name)
			}
		}
	}
	if files < 2 {
		t.Errorf("%d blocks are files, want at least 2", files)
	}
}

// A reader copies them in a clone, which has packages of its own.
func TestNewPackagesAreOutsideOfTheClone(t *testing.T) {
	t.Parallel()
	found := 0
	for _, path := range documents(t) {
		for _, b := range blocks(read(t, path)) {
			before, _, inits := strings.Cut(b.text, "npm init")
			if !inits {
				continue
			}
			found++
			if !strings.Contains(before, `cd "$(mktemp -d)"`) {
				t.Errorf("%s:%d: the files of a clone would be changed: begin with cd \"$(mktemp -d)\"", path, b.line)
			}
		}
	}
	if found == 0 {
		t.Error("no block makes a package, want at least 1")
	}
}
