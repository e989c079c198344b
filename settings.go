package main

import (
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
	Addr string `env:"ADDR" default:"127.0.0.1:8080" help:"Address to listen on, HOST:PORT. As long as nobody has to sign in it must be a loopback address."`

	endpoint `embed:""`

	RedisURL     string        `env:"REDIS_URL" placeholder:"URL" help:"The store: redis://, rediss://, unix:// or redis+sentinel://h1,h2/master, or spawn:///dir, or memory://. Unset: a private redis-server with its data in DATA_DIR or, where there is none, memory."`
	RedisTimeout time.Duration `env:"REDIS_TIMEOUT" default:"400ms" help:"Longest wait for a reply of the store."`
	DataDir      string        `env:"DATA_DIR" default:"./data" help:"Where a private redis-server keeps its data."`

	VoteScore        int           `env:"VOTE_SCORE" default:"${vote_score}" help:"Seconds of ranking that a vote is worth. After a change the next start ranks all articles anew."`
	VotingWindow     time.Duration `env:"VOTING_WINDOW" default:"${voting_window}" help:"How long after its posting an article can be voted on, such as 168h."`
	PosterVotes      bool          `env:"POSTER_VOTES" default:"true" negatable:"" help:"Whether the vote of an article's poster counts, as the first. It does unless this says no."`
	InterestingVotes int           `env:"INTERESTING_VOTES" default:"${interesting_votes}" help:"Net votes that put an article into the group interesting."`
	PageSize         int           `env:"PAGE_SIZE" default:"${page_size}" help:"Articles on a page when a query does not say, 1 to 100."`
	GroupCacheTTL    time.Duration `env:"GROUP_CACHE_TTL" default:"${group_cache_ttl}" help:"How long the sorted listing of a group is kept after its last use."`

	LogLevel       slog.Level `env:"LOG_LEVEL" default:"info" help:"Least level that is logged: debug, info, warn or error."`
	LogFormat      string     `env:"LOG_FORMAT" default:"text" enum:"text,json" help:"How log lines on standard error look: text or json."`
	GCPercent      int        `env:"GC_PERCENT" default:"400" help:"How much the heap may grow between two collections, percent of what is live. More is faster and takes more memory."`
	MemoryLimitMiB int64      `env:"MEMORY_LIMIT_MIB" name:"memory-limit-mib" default:"1024" help:"Memory, MiB, above which it is collected more often."`

	Serve  serve      `cmd:"" default:"1" help:"Serve the site. This is what happens without a command."`
	Import importFile `cmd:"" help:"Add the articles of a CSV file to the store."`
	Check  check      `cmd:"" help:"Prove that the store contradicts itself nowhere. Exit code 1 when it does."`
}

// defaults fills the placeholders above with the rules of the book and the
// limits of the endpoint.
func defaults() map[string]string {
	r := redisrepo.BookRules()
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
	return s.endpoint.check()
}

func (s *settings) rules() redisrepo.Rules {
	return redisrepo.Rules{
		VoteScore:        s.VoteScore,
		VotingWindow:     s.VotingWindow,
		PosterVotes:      s.PosterVotes,
		InterestingVotes: s.InterestingVotes,
		PageSize:         s.PageSize,
		GroupCacheTTL:    s.GroupCacheTTL,
	}
}

func (s *settings) storeOptions(log *slog.Logger) store.Options {
	return store.Options{URL: s.RedisURL, DataDir: s.DataDir, Timeout: s.RedisTimeout, Log: log}
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
	percent := min(most, max(100, int(garbage*100/max(live[0].Value.Uint64(), 1))))
	if percent != current {
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new([16]byte), func(percent int) { paceGC(most, percent) }, percent)
}
