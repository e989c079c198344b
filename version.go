package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"frontpage/redisrepo/layout"
	"frontpage/settings"
)

// build identifies this program.
type build struct {
	version   string // of the module, or (devel)
	commit    string // empty if unknown, as with go run
	dirty     bool   // files differed from the commit
	date      string // of the commit, such as 2026-11-22; empty if unknown
	goVersion string
	layout    string // of the data, see layout.LayoutVersion
}

// thisBuild identifies the running program.
func thisBuild() build { return readBuild(debug.ReadBuildInfo()) }

// readBuild reads what go build recorded.
func readBuild(info *debug.BuildInfo, ok bool) build {
	b := build{version: "(devel)", goVersion: "unknown", layout: layout.LayoutVersion}
	if !ok {
		return b
	}
	b.version, b.goVersion = cmp.Or(info.Main.Version, b.version), info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date, _, _ = strings.Cut(s.Value, "T")
		case "vcs.modified":
			b.dirty = s.Value == "true"
		}
	}
	return b
}

// commitText is the commit, and whether files differed from it.
func (b build) commitText() string {
	text := cmp.Or(b.commit, "unknown")
	if b.dirty {
		text += " (modified)"
	}
	return text
}

func (b build) String() string {
	return fmt.Sprintf("frontpage %s\ncommit %s\n%s\ndata layout %s", b.version, b.commitText(), b.goVersion, b.layout)
}

func (b build) log(log *slog.Logger) {
	log.Info("frontpage", "version", b.version, "commit", b.commitText(), "go", b.goVersion, "layout", b.layout)
}

type version struct{}

// Run prints what --version prints.
func (version) Run(context.Context, *settings.Settings, *slog.Logger) error {
	fmt.Println(thisBuild())
	return nil
}
