package rankings

import (
	"context"
	"strconv"
	"sync"
	"time"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

const (
	// foldPause is the minimum time between two attempts of this process to fold the same calendar.
	foldPause = time.Minute
	// foldTime is how long one attempt may take.
	foldTime = 30 * time.Second
)

// folds are the attempts of this process to fold calendars.
type folds struct {
	mu      sync.Mutex
	running map[string]bool // by the key of the clock
	tried   map[string]time.Time
}

// begin reports whether the caller is to fold a calendar now, and call end then.
func (f *folds) begin(clock string, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, at := range f.tried {
		if age := now.Sub(at); age < 0 || age >= foldPause {
			delete(f.tried, key)
		}
	}
	if _, tried := f.tried[clock]; tried || f.running[clock] {
		return false
	}
	f.running[clock], f.tried[clock] = true, now
	return true
}

func (f *folds) end(clock string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.running, clock)
}

// foldDue has the calendar of all articles, or of a group, folded in the background if its fold pointer, as scripts reply
// it, is behind. Errors are left to the next call: folding late is slower to read, never wrong.
func (r *Rankings) foldDue(p keys.Partition, name site.GroupName, folded string) {
	if last, err := strconv.ParseInt(folded, 10, 64); err == nil && last >= r.LastFolded() {
		return
	}
	clock := p.Clock(name)
	if !r.folds.begin(clock, r.store.Now()) {
		return
	}
	go func() {
		defer r.folds.end(clock)
		ctx, cancel := context.WithTimeout(context.Background(), foldTime)
		defer cancel()
		_ = r.Fold(ctx, p, name)
	}()
}

// Fold folds the calendar of a partition, or of a group in it, as far as that is due: articles of more than eight full days
// ago leave the lists of hours for those of days and 32 days. Each day is one call of a script. It is safe to repeat and to
// interrupt. No other package needs it: a calendar that changes is folded.
func (r *Rankings) Fold(ctx context.Context, p keys.Partition, name site.GroupName) error {
	for day := r.LastFolded(); ; {
		answer, err := r.store.Call(ctx, foldScript, foldKeys(p, day, name), []any{
			day,                 // ARGV[1] day
			daysUnfolded + 1,    // ARGV[2] unfolded
			r.store.ScriptNow(), // ARGV[3] now
		})
		if err != nil {
			return err
		}
		next := answer.Text(1) // STALE
		if answer.Status() == "OK" {
			next = answer.Text(2)
		}
		if next == "" {
			return nil
		}
		if day, err = strconv.ParseInt(next, 10, 64); err != nil {
			return err
		}
	}
}

func foldKeys(p keys.Partition, day int64, name site.GroupName) []string {
	keys := []string{
		p.Clock(name),         // KEYS[1] clock
		p.Top("d", day, name), // KEYS[2] days
		p.Top("m", site.FloorDiv(day, site.MonthDays), name), // KEYS[3] months
	}
	for h := 24 * day; h < 24*(day+1); h++ {
		keys = append(keys, p.Top("h", h, name)) // KEYS[4...]
	}
	return keys
}
