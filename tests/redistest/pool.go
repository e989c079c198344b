package redistest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"sync"

	"github.com/redis/go-redis/v9"
)

// pool has the servers that no test of the process uses.
var pool struct {
	mu   sync.Mutex
	free []*Server
}

// take returns an empty server.
func take() (*Server, error) {
	for {
		pool.mu.Lock()
		n := len(pool.free)
		if n == 0 {
			pool.mu.Unlock()
			break
		}
		s := pool.free[n-1]
		pool.free = pool.free[:n-1]
		pool.mu.Unlock()
		if s.isFresh() {
			return s, nil
		}
		s.Close() // it has ended, for example
	}
	s, err := open("--appendonly", "no")
	if err != nil {
		return nil, err
	}
	s.fresh, err = s.settings()
	return s, err
}

// giveBack empties the server for another test, unless this one has kept, paused or configured it. It gets another path:
// what the test has left behind does not find it.
func (s *Server) giveBack() {
	_ = s.Client.Close()
	folder, err := newFolder()
	if err != nil || s.fresh == "" || !s.running() || os.Remove(folder) != nil || os.Rename(s.folder, folder) != nil {
		s.Close()
		return
	}
	next := at(folder)
	next.process, next.fresh = s.process, s.fresh
	ctx := context.Background()
	_, err = next.Client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Do(ctx, "client", "kill", "type", "normal")
		p.Do(ctx, "client", "kill", "type", "pubsub")
		p.Do(ctx, "client", "unpause")
		p.FlushAll(ctx)
		p.ScriptFlush(ctx)
		p.ConfigResetStat(ctx)
		return nil
	})
	if err != nil || !next.isFresh() {
		next.Close()
		return
	}
	pool.mu.Lock()
	pool.free = append(pool.free, next)
	pool.mu.Unlock()
}

// End ends all servers that no test uses, for a TestMain that looks for leftovers.
func End() {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for _, s := range pool.free {
		s.Close()
	}
	pool.free = nil
	if running != nil {
		_ = running.Close()
		_ = remove.Wait()
	}
}

func (s *Server) isFresh() bool {
	settings, err := s.settings()
	return err == nil && settings == s.fresh
}

// settings returns what a test may have changed besides the data: the configuration, users, and the role.
func (s *Server) settings() (string, error) {
	ctx := context.Background()
	configuration, err := s.Client.ConfigGet(ctx, "*").Result()
	if err != nil {
		return "", err
	}
	maps.DeleteFunc(configuration, func(name, _ string) bool { return name == "dir" || name == "unixsocket" })
	users, err := s.Client.Do(ctx, "acl", "list").Result()
	if err != nil {
		return "", err
	}
	return fmt.Sprint(configuration, users), nil
}

// root is the folder of all servers of the process. A shell removes it when the process has ended, however that happened:
// then the pipe to it is closed.
var root = sync.OnceValues(func() (folder string, err error) {
	// Not testing.TB.TempDir: the path of a unix socket has at most 107 bytes.
	if folder, err = os.MkdirTemp("", "redistest"); err != nil {
		return "", err
	}
	remove = exec.Command("sh", "-c", `trap "" INT TERM; read -r _; rm -rf "$0"`, folder)
	if running, err = remove.StdinPipe(); err != nil {
		return "", err
	}
	return folder, remove.Start()
})

var (
	remove  *exec.Cmd // that shell
	running io.Closer // the pipe to it: a file that is not used would get closed
)

func newFolder() (string, error) {
	parent, err := root()
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, "")
}
