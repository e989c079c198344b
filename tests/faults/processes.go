package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a process of the site, which is started again whenever it ended.
type server struct {
	program string
	name    string
	proxy   *proxy
	log     *os.File // standard error of all its runs
	history *history

	mu      sync.Mutex
	url     string // empty while it does not serve
	process *os.Process
	killed  bool          // by a fault, or at the end
	held    chan struct{} // closed when it may start again
}

// settings of the servers: an authenticating proxy names the users, and limits are counted but never reached.
var settings = []string{
	"FRONTPAGE_ADDR=127.0.0.1:0", "FRONTPAGE_PROXY_USER_HEADER=X-User", "FRONTPAGE_PROXY_ROLES_HEADER=X-Roles", "FRONTPAGE_TRUSTED_PROXIES=127.0.0.0/8", "FRONTPAGE_SERVE=off",
	"FRONTPAGE_RATES=votes=1000000/1m posts=1000000/1m changes=1000000/1m cost=1000000000/1m",
}

var serving = regexp.MustCompile(`endpoint"?[=:]"?(https?://[^\s"]+)/query`)

// run keeps the process running until ctx ends. A process that ends by itself after it served is a violation.
func (s *server) run(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		held := s.held
		s.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return
		}
		s.serve()
		pause(ctx, 50*time.Millisecond)
	}
}

func (s *server) serve() {
	cmd := exec.Command(s.program)
	cmd.Dir = filepath.Dir(s.program)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "REDIS_URL=" + s.proxy.url()}, settings...)
	log, err := cmd.StderrPipe()
	if err == nil {
		s.mu.Lock()
		err = cmd.Start()
		s.process, s.killed = cmd.Process, false
		s.mu.Unlock()
	}
	if err != nil {
		s.history.fail(works, "server %s cannot start: %v", s.name, err)
		return
	}
	served := false
	lines := bufio.NewScanner(io.TeeReader(log, s.log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			served = true
			s.mu.Lock()
			s.url = m[1]
			s.mu.Unlock()
		}
	}
	err = cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url, s.process = "", nil
	if served && !s.killed {
		s.history.fail("a server never ends by itself", "server %s: %v", s.name, err)
	}
}

// address is empty while the server does not serve.
func (s *server) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

func (s *server) signal(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = s.killed || signal == syscall.SIGKILL || signal == syscall.SIGTERM
	if s.process != nil {
		_ = s.process.Signal(signal)
	}
}

// hold keeps the server from starting again until the returned function is called.
func (s *server) hold() (release func()) {
	held := make(chan struct{})
	s.mu.Lock()
	s.held = held
	s.mu.Unlock()
	return func() { close(held) }
}

// descriptors is the number of open files and sockets, or 0 if the system does not say.
func (s *server) descriptors() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.process.Pid))
	return len(files)
}

// memory is the resident size, such as "42 MB", or "unknown".
func (s *server) memory() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return "unknown"
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid))
	for line := range strings.Lines(string(text)) {
		if size, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.Join(strings.Fields(size), " ")
		}
	}
	return "unknown"
}
