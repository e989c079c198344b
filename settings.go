package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"frontpage/redisrepo"
	"frontpage/store"
)

// settings are all that can be set, by environment or by flag, for any command.
type settings struct {
	Addr        string `env:"ADDR" default:"127.0.0.1:8080" help:"Address to listen on, HOST:PORT. In development mode, when nothing says who is asking, it must be a loopback address."`
	TLSCertFile string `env:"TLS_CERT_FILE" name:"tls-cert-file" placeholder:"FILE" help:"Certificate with which to serve by https, and the key in TLS_KEY_FILE."`
	TLSKeyFile  string `env:"TLS_KEY_FILE" name:"tls-key-file" placeholder:"FILE" help:"Its private key."`
	H2C         string `env:"H2C" name:"h2c" default:"off" enum:"on,off" help:"Whether HTTP/2 is spoken without TLS, for a proxy that does: on or off."`

	endpointSettings `embed:""`
	recognition      `embed:""`
	pages            `embed:""`

	RedisURL      string        `env:"REDIS_URL" placeholder:"URL" help:"The store: redis://, rediss://, unix:// or redis+sentinel://h1,h2/master (rediss+sentinel:// with TLS), or spawn:///dir, or memory://. Unset: a private redis-server with its data in DATA_DIR or, where there is none, memory."`
	RedisTimeout  time.Duration `env:"REDIS_TIMEOUT" default:"400ms" help:"Longest wait for a reply of the store."`
	RedisCAFile   string        `env:"REDIS_CA_FILE" name:"redis-ca-file" placeholder:"FILE" help:"Authorities whose certificates of a rediss:// server count, in the place of the system's."`
	RedisCertFile string        `env:"REDIS_CERT_FILE" placeholder:"FILE" help:"Our certificate for a rediss:// server that asks for one, and the key in REDIS_KEY_FILE."`
	RedisKeyFile  string        `env:"REDIS_KEY_FILE" placeholder:"FILE" help:"Its private key."`
	DataDir       string        `env:"DATA_DIR" default:"./data" help:"Where a private redis-server keeps its data."`

	VoteScore        int            `env:"VOTE_SCORE" default:"${vote_score}" help:"Seconds of ranking that a vote is worth. After a change the next start ranks all articles anew."`
	VotingWindow     time.Duration  `env:"VOTING_WINDOW" default:"${voting_window}" help:"How long after its posting an article can be voted on, such as 168h."`
	PosterVotes      bool           `env:"POSTER_VOTES" default:"true" negatable:"" help:"Whether the vote of an article's poster counts, as the first. It does unless this says no."`
	InterestingVotes int            `env:"INTERESTING_VOTES" default:"${interesting_votes}" help:"Net votes that put an article into the group interesting."`
	PageSize         int            `env:"PAGE_SIZE" default:"${page_size}" help:"Articles on a page when a query does not say, 1 to 100."`
	LinkWindow       *time.Duration `env:"LINK_WINDOW" placeholder:"TIME" help:"How long a link that was posted is refused to others, such as 168h, or 0 for never. Default: the voting window."`
	Downvotes        bool           `env:"DOWNVOTES" default:"true" negatable:"" help:"Whether anybody can vote down."`
	GroupCacheTTL    time.Duration  `env:"GROUP_CACHE_TTL" default:"${group_cache_ttl}" help:"How long the sorted listing of a group is kept after its last use."`

	LogLevel       slog.Level `env:"LOG_LEVEL" default:"info" help:"Least level that is logged: debug, info, warn or error."`
	LogFormat      string     `env:"LOG_FORMAT" default:"text" enum:"text,json" help:"How log lines on standard error look: text or json."`
	GCPercent      int        `env:"GC_PERCENT" default:"400" help:"How much the heap may grow between two collections, percent of what is live. More is faster and takes more memory."`
	MemoryLimitMiB int64      `env:"MEMORY_LIMIT_MIB" name:"memory-limit-mib" default:"1024" help:"Memory, MiB, above which it is collected more often."`

	Serve    serve      `cmd:"" default:"withargs" help:"Serve the site. This is what happens without a command."`
	Import   importFile `cmd:"" help:"Add the articles of a CSV file to the store."`
	Check    check      `cmd:"" help:"Prove that the store contradicts itself nowhere. Exit code 1 when it does."`
	Undelete undelete   `cmd:"" help:"Bring a deleted article back, with its rank."`
	Audit    audit      `cmd:"" help:"Show who voted on an article, and, if AUDIT_SECRET is set, when and from which concealed address."`
}

// defaults fills the placeholders above with the rules of the book and the
// limits of the endpoint.
func defaults() map[string]string {
	r := redisrepo.DefaultRules()
	vars := endpointDefaults()
	maps.Copy(vars, map[string]string{
		"vote_score":        fmt.Sprint(r.VoteScore),
		"voting_window":     r.VotingWindow.String(),
		"interesting_votes": fmt.Sprint(r.InterestingVotes),
		"page_size":         fmt.Sprint(r.PageSize),
		"group_cache_ttl":   r.GroupCacheTTL.String(),
	})
	return vars
}

// Validate checks what the types do not. The program stops with its error,
// which names the setting.
func (s *settings) Validate() error {
	if err := s.rules().Validate(); err != nil {
		rule, why, _ := strings.Cut(err.Error(), ": ")
		return fmt.Errorf("--%s: %s", strings.ToLower(strings.ReplaceAll(rule, " ", "-")), why)
	}
	switch {
	case s.RedisTimeout < time.Millisecond:
		return fmt.Errorf("--redis-timeout: %v is below 1ms", s.RedisTimeout)
	case s.GCPercent < 1:
		return fmt.Errorf("--gc-percent: %d is below 1", s.GCPercent)
	case s.MemoryLimitMiB < 1:
		return fmt.Errorf("--memory-limit-mib: %d is below 1", s.MemoryLimitMiB)
	}
	if (s.TLSCertFile == "") != (s.TLSKeyFile == "") {
		return errors.New("--tls-cert-file and --tls-key-file: one is set and the other is not")
	}
	if s.SignInURL != "" && s.development() {
		return errors.New("--sign-in-url: in development mode any name will do: set JWT_SECRET, JWKS_URL or PROXY_USER_HEADER, too")
	}
	return errors.Join(s.endpointSettings.check(), s.recognition.check(), s.pages.check())
}

func (s *settings) rules() redisrepo.Rules {
	return redisrepo.Rules{
		VoteScore:        s.VoteScore,
		VotingWindow:     s.VotingWindow,
		PosterVotes:      s.PosterVotes,
		InterestingVotes: s.InterestingVotes,
		PageSize:         s.PageSize,
		GroupCacheTTL:    s.GroupCacheTTL,
		LinkWindow:       s.linkWindow(),
		Downvotes:        s.Downvotes,
	}
}

// linkWindow is what was set, or the voting window.
func (s *settings) linkWindow() time.Duration {
	if s.LinkWindow == nil {
		return s.VotingWindow
	}
	return *s.LinkWindow
}

func (s *settings) storeOptions(log *slog.Logger) store.Options {
	return store.Options{
		URL: s.RedisURL, DataDir: s.DataDir, Timeout: s.RedisTimeout, Log: log,
		TLS: store.TLS{CAFile: s.RedisCAFile, CertFile: s.RedisCertFile, KeyFile: s.RedisKeyFile},
		Names: map[string]string{
			"URL": "REDIS_URL", "DataDir": "DATA_DIR", "CAFile": "REDIS_CA_FILE", "CertFile": "REDIS_CERT_FILE", "KeyFile": "REDIS_KEY_FILE",
		},
	}
}

func (s *settings) logger() *slog.Logger {
	options := &slog.HandlerOptions{Level: s.LogLevel}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// setMemory lets garbage lie around for as long as there is little of it: what
// many open streams hold is not to be multiplied by GCPercent.
func (s *settings) setMemory() {
	debug.SetMemoryLimit(s.MemoryLimitMiB << 20)
	paceGC(s.GCPercent, debug.SetGCPercent(s.GCPercent))
}

// garbage is how much may lie around by GCPercent, bytes. With more that is live,
// the heap may grow by 100 % or GCPercent, whichever is less.
const garbage = 16 << 20

// paceGC sets the percentage anew after each collection, from what was live.
func paceGC(most, current int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := min(most, max(100, int(garbage*100/max(live[0].Value.Uint64(), 1)))) // #nosec G115 -- at most 100 times garbage
	if percent != current {
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new([16]byte), func(percent int) { paceGC(most, percent) }, percent)
}
