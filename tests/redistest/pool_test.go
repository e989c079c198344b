package redistest_test

import (
	"os"
	"testing"

	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// A test gets a server without data, scripts and clients of the test before, at a path of its own. What that test has
// changed besides does not come back.
func TestServerOfThePoolIsLikeAFreshOne(t *testing.T) {
	var socket string
	var process *os.Process
	change := func(t *testing.T, s *redistest.Server, command ...any) {
		t.Helper()
		require.NoError(t, s.Client.Do(t.Context(), command...).Err())
	}
	for name, tt := range map[string]struct {
		use   func(*testing.T, *redistest.Server)
		again bool // whether the next test gets the same process
	}{
		"data":    {func(t *testing.T, s *redistest.Server) { change(t, s, "set", "key", "value") }, true},
		"script":  {func(t *testing.T, s *redistest.Server) { change(t, s, "script", "load", "return 1") }, true},
		"setting": {func(t *testing.T, s *redistest.Server) { change(t, s, "config", "set", "maxmemory", "1") }, false},
		"user":    {func(t *testing.T, s *redistest.Server) { change(t, s, "acl", "setuser", "alice", "on") }, false},
		"role":    {func(t *testing.T, s *redistest.Server) { change(t, s, "replicaof", "127.0.0.1", "1") }, false},
		"pause":   {func(_ *testing.T, s *redistest.Server) { s.Pause() }, false},
		"kill":    {func(_ *testing.T, s *redistest.Server) { s.Kill() }, false},
		"own":     {func(_ *testing.T, s *redistest.Server) { s.Own() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("test", func(t *testing.T) {
				s := redistest.Start(t)
				socket, process = s.Socket(), s.Process()
				tt.use(t, s)
			})
			t.Run("next", func(t *testing.T) {
				s := redistest.Start(t)
				if again := s.Process().Pid == process.Pid; again != tt.again {
					t.Errorf("the same process: %t, want %t", again, tt.again)
				}
				if _, err := os.Stat(socket); err == nil {
					t.Errorf("%s is still there", socket)
				}
				keys, err := s.Client.DBSize(t.Context()).Result()
				exist, _ := s.Client.ScriptExists(t.Context(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db").Result()
				if keys != 0 || err != nil || exist[0] {
					t.Errorf("%d keys, script: %v, %v, want none", keys, exist, err)
				}
			})
		})
	}
}

func TestOwnServerKeepsItsData(t *testing.T) {
	s := redistest.Start(t)
	s.Client.Set(t.Context(), "a", 1, 0)
	s.Own()
	s.Client.Set(t.Context(), "b", 2, 0)
	s.Kill()
	s.Restart()
	if n := s.Client.Exists(t.Context(), "a", "b").Val(); n != 2 {
		t.Errorf("%d of 2 keys are left", n)
	}
}
