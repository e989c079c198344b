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
	GCPercent      int        `env:"GC_PERCENT" name:"gc-percent" default:"400" help:"How much the heap may grow between two garbage collections, percent of the live heap, at least 1. More is faster and takes more memory."`
	MemoryLimitMiB int64      `env:"MEMORY_LIMIT_MIB" name:"memory-limit-mib" default:"1024" help:"Memory above which garbage is collected more often, MiB, at least 1."`
}

func (p *Process) check() error {
	switch {
	case p.LogFormat != "text" && p.LogFormat != "json":
		return Invalid(fmt.Errorf("%q is not text or json", p.LogFormat), "log-format")
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
	options := &slog.HandlerOptions{Level: p.LogLevel}
	if p.LogFormat == "json" {
		return slog.New(newLimited(slog.NewJSONHandler(w, options)))
	}
	return slog.New(newLimited(slog.NewTextHandler(w, options)))
}
