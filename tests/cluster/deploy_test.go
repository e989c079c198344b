package cluster_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// The commands of deploy/cluster.yaml start a cluster with which a start finds no fault. They run here without Docker.
func TestDeployedClusterHasNoFault(t *testing.T) {
	const folder = "../../deploy"
	text := require.Value(os.ReadFile(filepath.Join(folder, "cluster.yaml")))(t)
	var file struct {
		Services map[string]struct{ Image, Command string }
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	ports := map[string]string{} // by those in the file
	here := func(command string) string {
		return regexp.MustCompile(`\b700\d\b`).ReplaceAllStringFunc(command, func(port string) string {
			if ports[port] == "" {
				ports[port] = redistest.UnusedPort(t)
			}
			return ports[port]
		})
	}
	configuration := require.Value(filepath.Abs(filepath.Join(folder, "cluster.conf")))(t)
	for name, service := range file.Services {
		options, isNode := strings.CutPrefix(service.Command, "redis-server /etc/redis/cluster.conf ")
		if !isNode {
			continue
		}
		args := append(strings.Fields(here(options)), "--cluster-port", redistest.UnusedPort(t), "--dir", t.TempDir(), "--logfile", "log")
		node := exec.CommandContext(t.Context(), "redis-server", append([]string{configuration}, args...)...)
		if err := node.Start(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(func() { _ = node.Wait() }) // the end of t.Context kills it
	}
	var addresses []string
	for _, port := range ports {
		address := net.JoinHostPort("127.0.0.1", port)
		addresses = append(addresses, address)
		await(t, address, "PONG", func(c *redis.Client) string { return c.Ping(t.Context()).Val() })
	}
	if len(addresses) != 6 {
		t.Fatalf("%d nodes run, want 6", len(addresses))
	}
	create := exec.CommandContext(t.Context(), "sh", "-c", strings.Trim(strings.TrimPrefix(here(file.Services["create"].Command), "sh -c "), "'"))
	if output, err := create.CombinedOutput(); err != nil {
		t.Fatalf("create: %v\n%s", err, output)
	}
	for _, address := range addresses {
		await(t, address, "cluster_state:ok", func(c *redis.Client) string { return c.ClusterInfo(t.Context()).Val() })
		await(t, address, ":online", func(c *redis.Client) string {
			return regexp.MustCompile(`state=online|master_link_status:up`).ReplaceAllString(c.Info(t.Context(), "replication").Val(), ":online")
		})
	}

	var log strings.Builder
	o := store.Options{URL: "redis+cluster://" + strings.Join(addresses, ","), Log: slog.New(slog.NewTextHandler(&log, nil))}
	s := require.Value(store.Open(t.Context(), o))(t)
	t.Cleanup(func() { _ = s.Close() })
	if log.Len() > 0 {
		t.Errorf("log of the start = %s, want nothing", &log)
	}
	failover.LimitWaiting(s.Client)
	repo := require.Value(redisrepo.New(t.Context(), s.Client, site.DefaultRules(), redisrepo.WithAcks(s.Acks)))(t)
	require.Value(repo.Post(t.Context(), "alice", site.Draft{Title: "title", Text: new("text")}))(t)
}

// await waits until what the node at address says contains the text.
func await(t *testing.T, address, text string, say func(*redis.Client) string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: address, DialerRetries: 1, MaxRetries: -1})
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for said := ""; !strings.Contains(said, text); said = say(client) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s says %q, want it to contain %q", address, said, text)
		}
	}
}
