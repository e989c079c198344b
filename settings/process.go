package settings

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
)

// Process are the settings of logging.
type Process struct {
	LogLevel  slog.Level `default:"info" help:"Minimum level of the log: debug, info, warn or error."`
	LogFormat string     `default:"text" help:"Format of the log, which goes to standard error: text or json."`
	AccessLog string     `default:"off" help:"Which requests get a line in the log: off, errors (those that fail) or all."`
}

func (p *Process) check() error {
	switch {
	case p.LogFormat != "text" && p.LogFormat != "json":
		return Invalid(fmt.Errorf("%q is not text or json", p.LogFormat), "log-format")
	case p.AccessLog != "off" && p.AccessLog != "errors" && p.AccessLog != "all":
		return Invalid(fmt.Errorf("%q is not off, errors or all", p.AccessLog), "access-log")
	}
	return nil
}

// Memory returns the growth of the heap between two garbage collections, percent, and the soft limit of memory, bytes,
// from GOGC and GOMEMLIMIT or else the defaults of this program.
func Memory() (gcPercent int, limit int64) {
	gcPercent, limit = debug.SetGCPercent(defaultGCPercent), debug.SetMemoryLimit(-1)
	if !isSet("GOGC") {
		gcPercent = defaultGCPercent
	}
	if !isSet("GOMEMLIMIT") {
		limit = defaultMemoryMiB << 20
	}
	return gcPercent, limit
}

const (
	defaultGCPercent = 400
	defaultMemoryMiB = 1024
)

// Logger returns a logger that writes to standard error. It limits the rate of equal lines.
func (p *Process) Logger() *slog.Logger { return p.loggerTo(os.Stderr) }

func (p *Process) loggerTo(w io.Writer) *slog.Logger {
	return slog.New(limited{p.handler(w, p.LogLevel), &seenLines{messages: map[string]*seenLine{}}})
}

// AccessLogger returns the logger of the access log, which has no rate limit, and ignores FRONTPAGE_LOG_LEVEL.
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

// minAdminToken is the minimum length of FRONTPAGE_ADMIN_TOKEN, bytes.
const minAdminToken = 16

// Admin are the settings of the listener for operators.
type Admin struct {
	AdminAddr      string `placeholder:"HOST:PORT" help:"Address to serve /metrics and /debug/pprof on, by http. Without FRONTPAGE_ADMIN_TOKEN it must be a loopback address. If unset, they are not served."`
	AdminToken     string `placeholder:"TOKEN" help:"Token that requests to FRONTPAGE_ADMIN_ADDR must show, at least 16 bytes: as a bearer token, or as the password of Basic authentication."`
	AdminTokenFile string `hidden:""`

	adminToken string // of AdminToken or AdminTokenFile, set by check
}

func (a *Admin) check() (err error) {
	a.adminToken, err = secret(a.AdminToken, a.AdminTokenFile, "admin-token", minAdminToken)
	return err
}

// AdminSecret returns the token of the listener for operators; it is empty if none is set.
func (a *Admin) AdminSecret() string { return a.adminToken }
