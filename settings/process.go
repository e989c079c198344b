package settings

import (
	"fmt"
	"io"
	"log/slog"
	"os"
)

// Process are the settings of logging and memory.
type Process struct {
	LogLevel       slog.Level `env:"LOG_LEVEL" default:"info" help:"Minimum level of the log: debug, info, warn or error."`
	LogFormat      string     `env:"LOG_FORMAT" default:"text" help:"Format of the log, which goes to standard error: text or json."`
	AccessLog      string     `env:"ACCESS_LOG" default:"off" help:"Which requests get a line in the log: off, errors (those that fail) or all."`
	GCPercent      int        `env:"GC_PERCENT" name:"gc-percent" default:"400" help:"How much the heap may grow between two garbage collections, percent of the live heap, at least 1. More is faster and takes more memory."`
	MemoryLimitMiB int64      `env:"MEMORY_LIMIT_MIB" name:"memory-limit-mib" default:"1024" help:"Memory above which garbage is collected more often, MiB, at least 1."`
}

func (p *Process) check() error {
	switch {
	case p.LogFormat != "text" && p.LogFormat != "json":
		return Invalid(fmt.Errorf("%q is not text or json", p.LogFormat), "log-format")
	case p.AccessLog != "off" && p.AccessLog != "errors" && p.AccessLog != "all":
		return Invalid(fmt.Errorf("%q is not off, errors or all", p.AccessLog), "access-log")
	case p.GCPercent < 1:
		return Invalid(fmt.Errorf("%d is below 1", p.GCPercent), "gc-percent")
	case p.MemoryLimitMiB < 1:
		return Invalid(fmt.Errorf("%d is below 1", p.MemoryLimitMiB), "memory-limit-mib")
	}
	return nil
}

// Logger returns a logger that writes to standard error. It bounds the rate of equal lines.
func (p *Process) Logger() *slog.Logger { return p.loggerTo(os.Stderr) }

func (p *Process) loggerTo(w io.Writer) *slog.Logger {
	return slog.New(newLimited(p.handler(w, p.LogLevel)))
}

// AccessLogger returns a logger for a line of each request. It bounds no rate and writes at every LOG_LEVEL.
func (p *Process) AccessLogger() *slog.Logger { return slog.New(p.handler(os.Stderr, slog.LevelInfo)) }

func (p *Process) handler(w io.Writer, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration { // in JSON, it would be a number of nanoseconds
			a.Value = slog.StringValue(a.Value.Duration().String())
		}
		return a
	}}
	if p.LogFormat == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}
