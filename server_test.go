package main

import (
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"frontpage/settings"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// parse reads the settings of a program started with these arguments.
func parse(t *testing.T, args ...string) *settings.Settings {
	t.Helper()
	var p program
	require.Value(settings.Parse(&p, args, "", ""))(t)
	return &p.Settings
}

func TestListenerIsClosedWhenTheDemoFails(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	require.NoError(t, redis.Client.Set(t.Context(), "groups:", "of the wrong type", 0).Err())
	probe := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := probe.Addr().String()
	require.NoError(t, probe.Close())
	s := parse(t, "--demo-articles", "--redis-url="+redis.URL(), "--addr="+address)
	if err := (serve{}).Run(t.Context(), s, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Fatalf("serve with a groups: key of the wrong type: %v, want WRONGTYPE", err)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the listener is still open: %v", err)
	}
	_ = again.Close()
}

// The store is open until nothing follows it, and spans are sent until all else is closed.
func TestServerIsClosedInTheReverseOrderOfItsStart(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	r := &running{s: parse(t, "--redis-url="+redis.URL(), "--addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0")}
	require.NoError(t, errors.Join(r.prepare(t.Context(), slog.New(slog.DiscardHandler)), r.listen(), r.openSite(t.Context())))
	r.follow()
	r.mount(t.Context())
	var closed []string
	for i, c := range r.close {
		r.close[i].close = func() error { closed = append(closed, c.part); return c.close() }
	}
	if err := r.end(); err != nil {
		t.Error(err)
	}
	if want := []string{"leases", "followers", "store", "server", "operator", "background", "tracing"}; !slices.Equal(closed, want) {
		t.Errorf("closed %q, want %q", closed, want)
	}
}

func TestVersionNamesCommitAndModification(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"},
	}}
	for want, got := range map[string]build{
		"frontpage v1.2.3\ncommit 0123456789abcdef (modified)\ngo1.26.0\ndata layout 9": readBuild(info, true),
		"frontpage (devel)\ncommit unknown\ngo1.26.0\ndata layout 9":                    readBuild(&debug.BuildInfo{GoVersion: "go1.26.0"}, true),
		"frontpage (devel)\ncommit unknown\nunknown\ndata layout 9":                     readBuild(nil, false),
	} {
		if got.String() != want {
			t.Errorf("the version is %q, want %q", got, want)
		}
	}
}
