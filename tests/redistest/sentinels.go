package redistest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"frontpage/tests/require"
)

// master is the name by which Sentinels know their primary.
const master = "main"

// Sentinels are a private primary with replicas on 127.0.0.1, and three Sentinels that replace it when it fails.
type Sentinels struct {
	Servers   []*Server // the first one started as the primary, the others as its replicas
	Sentinels []*Server

	tb testing.TB
}

// StartSentinels runs them until the test ends, with args in addition to those that every server of the data has. A
// server counts as failed after two seconds of silence.
func StartSentinels(tb testing.TB, replicas int, args ...string) *Sentinels {
	tb.Helper()
	s := &Sentinels{tb: tb}
	args = append([]string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}, append(appendOnly, args...)...)
	for i := range 1 + replicas {
		own := args
		if i > 0 {
			own = append(args[:len(args):len(args)], "--replicaof", words(s.Servers[0].Addr))
		}
		n := newNode(tb, own...)
		s.Servers = append(s.Servers, n)
		n.Restart()
	}
	for range 3 {
		n := newNode(tb)
		n.config = filepath.Join(n.folder, "sentinel.conf")
		s.Sentinels = append(s.Sentinels, n)
	}
	set := rand.Uint64()
	for i, n := range s.Sentinels {
		require.NoError(tb, os.WriteFile(n.config, []byte(s.configuration(i, set)), 0o600))
		n.Restart()
	}
	s.AwaitHealthy()
	return s
}

// configuration is the file of a Sentinel, which knows all servers from the start.
func (s *Sentinels) configuration(of int, set uint64) string {
	var lines strings.Builder
	fmt.Fprintf(&lines, "sentinel myid %020x%020x\n", set, of)
	fmt.Fprintf(&lines, "sentinel monitor %s %s 2\n", master, words(s.Servers[0].Addr))
	fmt.Fprintf(&lines, "sentinel down-after-milliseconds %s 2000\nsentinel failover-timeout %s 4000\n", master, master)
	for _, n := range s.Servers[1:] {
		fmt.Fprintf(&lines, "sentinel known-replica %s %s\n", master, words(n.Addr))
	}
	for i, n := range s.Sentinels {
		if i != of {
			fmt.Fprintf(&lines, "sentinel known-sentinel %s %s %020x%020x\n", master, words(n.Addr), set, i)
		}
	}
	return lines.String()
}

// words are the host and the port of an address as Redis' settings have them.
func words(addr string) string { return strings.Replace(addr, ":", " ", 1) }

// URL is the address in the form of REDIS_URL.
func (s *Sentinels) URL() string {
	return "redis+sentinel://" + hosts(s.Sentinels) + "/" + master
}

// Primary returns the server that all Sentinels, and the server itself, call the primary; otherwise nil.
func (s *Sentinels) Primary() *Server {
	var primary *Server
	for _, sentinel := range s.Sentinels {
		named, err := sentinel.Client.Do(context.Background(), "sentinel", "get-master-addr-by-name", master).StringSlice()
		if err != nil || len(named) != 2 {
			return nil
		}
		for _, n := range s.Servers {
			if n.Addr != net.JoinHostPort(named[0], named[1]) {
				continue
			}
			if primary != nil && n != primary {
				return nil
			}
			primary = n
		}
	}
	if primary == nil || !primary.running() || !strings.Contains(replication(primary), "role:master") {
		return nil
	}
	return primary
}

// AwaitFailover waits until the primary is a server other than before, and returns it.
func (s *Sentinels) AwaitFailover(before *Server) (now *Server) {
	s.tb.Helper()
	require.Eventually(s.tb, "failover of "+before.Addr, func() bool {
		now = s.Primary()
		return now != nil && now != before
	})
	return now
}

// AwaitHealthy waits until all servers run, all replicas are up to date, and all Sentinels agree on the primary.
func (s *Sentinels) AwaitHealthy() {
	s.tb.Helper()
	require.Eventually(s.tb, "healthy set of Sentinels", func() bool {
		primary := s.Primary()
		if primary == nil || strings.Count(replication(primary), "state=online") < len(s.Servers)-1 {
			return false
		}
		_, port, _ := net.SplitHostPort(primary.Addr)
		for _, n := range s.Servers {
			if text := replication(n); n != primary && (!strings.Contains(text, "master_port:"+port) || !strings.Contains(text, "master_link_status:up")) {
				return false
			}
		}
		want := fmt.Sprintf("status=ok,address=%s,slaves=%d,sentinels=%d", primary.Addr, len(s.Servers)-1, len(s.Sentinels))
		for _, sentinel := range s.Sentinels {
			state := sentinel.Client.Info(context.Background(), "sentinel").Val()
			quorum := sentinel.Client.Do(context.Background(), "sentinel", "ckquorum", master).Err()
			if !strings.Contains(state, want) || quorum != nil {
				return false
			}
		}
		return true
	})
}

func replication(n *Server) string {
	return n.Client.Info(context.Background(), "replication").Val()
}
