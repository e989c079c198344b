package redisrepo

import (
	"context"
	"strconv"
	"sync"
	"time"
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
	if f.tried == nil {
		f.running, f.tried = map[string]bool{}, map[string]time.Time{}
	}
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
func (r *Repo) foldDue(p partition, name GroupName, folded string) {
	if last, err := strconv.ParseInt(folded, 10, 64); err == nil && last >= r.lastFolded() {
		return
	}
	clock := p.clock(name)
	if !r.folds.begin(clock, r.now()) {
		return
	}
	go func() {
		defer r.folds.end(clock)
		ctx, cancel := context.WithTimeout(context.Background(), foldTime)
		defer cancel()
		_ = r.fold(ctx, p, name)
	}()
}

// foldPosted is foldDue for the calendars of a new article. folded is the least of their fold pointers.
func (r *Repo) foldPosted(p partition, groups []GroupName, folded string) {
	r.foldDue(p, "", folded)
	if r.has("group_top") {
		for _, name := range groups {
			r.foldDue(p, name, folded)
		}
	}
}

// Fold folds the calendars of all articles and of some groups as far as that is due: articles of more than eight full
// days ago leave the lists of hours for those of days and 32 days. Each day of a calendar is one call of a script. It is safe to
// repeat and to interrupt, and a no-op without calendars. No caller needs it: a post folds the calendars that it enters.
func (r *Repo) Fold(ctx context.Context, groups ...GroupName) error {
	names := []GroupName{""}
	if r.has("group_top") {
		names = append(names, groups...)
	}
	if !r.has("calendar") {
		return nil
	}
	for _, p := range r.partitions {
		for _, name := range names {
			if err := r.fold(ctx, p, name); err != nil {
				return storeError("fold the calendar", err)
			}
		}
	}
	return nil
}

func (r *Repo) fold(ctx context.Context, p partition, name GroupName) error {
	for day := r.lastFolded(); ; {
		answer, err := r.write(ctx, foldScript, foldKeys(p, day, name), []any{
			day,              // ARGV[1] day
			daysUnfolded + 1, // ARGV[2] unfolded
			r.scriptNow(),    // ARGV[3] now
		})
		if err != nil {
			return err
		}
		next := answer.text(1) // STALE
		if answer.status() == "OK" {
			next = answer.text(2)
		}
		if next == "" {
			return nil
		}
		if day, err = strconv.ParseInt(next, 10, 64); err != nil {
			return err
		}
	}
}

func foldKeys(p partition, day int64, name GroupName) []string {
	keys := []string{
		p.clock(name),         // KEYS[1] clock
		p.top("d", day, name), // KEYS[2] days
		p.top("m", floorDiv(day, monthDays), name), // KEYS[3] months
	}
	for h := 24 * day; h < 24*(day+1); h++ {
		keys = append(keys, p.top("h", h, name)) // KEYS[4...]
	}
	return keys
}
