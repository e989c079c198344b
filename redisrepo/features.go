package redisrepo

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// feature is a part of the data that a site keeps only if its rules say so. The field of its name in meta: of each
// partition is featureOn while it is kept. When it is switched on, it is built from the articles: then the field is
// featureBuilding and how far that has come. When it is switched off, the field is featureDropping until its keys are
// gone. A start that was interrupted goes on from there.
type feature struct {
	name, what string // what: for the log
	on         func(Rules) bool
	parameter  func(Rules) int64                                                     // what the scripts have to know of it; nil: nothing
	begin      func(r *Repo, ctx context.Context, pipe redis.Pipeliner, p partition) // before the first write; nil: nothing
	build      func(r *Repo, ctx context.Context, b *building) error                 // nil: it is empty at first
	oldest     func(r *Repo) float64                                                 // posting time of the oldest article that it is built from; nil: all
	drop       func(r *Repo, ctx context.Context, p partition) error
}

// States of a feature in meta:. One that is off has none.
const (
	featureOn       = "on"
	featureBuilding = "building" // and a position after a space, unless it has only begun
	featureDropping = "dropping"
)

// features are in the order in which they are built.
func features() []feature {
	return []feature{
		{
			name: "calendar", what: "the calendar",
			on:    func(rules Rules) bool { return rules.Calendar },
			begin: (*Repo).beginCalendar, build: (*Repo).buildCalendar, drop: (*Repo).dropCalendar,
		},
		{
			name: "group_top", what: "the calendars of the groups",
			on:    func(rules Rules) bool { return rules.Calendar && rules.GroupTop },
			build: (*Repo).buildGroupCalendars, drop: (*Repo).dropGroupCalendars,
		},
		{
			name: "cast", what: "the lists of users' votes",
			on:        func(rules Rules) bool { return rules.VoteHistory != NoHistory },
			parameter: func(rules Rules) int64 { return seconds(rules.VoteHistory) },
			build:     (*Repo).buildCasts,
			oldest:    (*Repo).oldestVoters,
			drop:      (*Repo).dropCasts,
		},
		{
			name: "front", what: "the saved front pages",
			on:        func(rules Rules) bool { return rules.FrontPages > 0 },
			parameter: Rules.frontHours,
			begin:     (*Repo).beginFront,
			drop: func(r *Repo, ctx context.Context, p partition) error {
				return r.pipeline(ctx, func(pipe redis.Pipeliner) {
					pipe.Unlink(ctx, p.front(), p.best())
					pipe.HDel(ctx, p.clock(""), "front", "front_since", "ranked")
				})
			},
		},
		{
			name: "events", what: "the change feed",
			on:        func(rules Rules) bool { return rules.Events > 0 },
			parameter: func(rules Rules) int64 { return int64(rules.Events) },
			drop:      func(r *Repo, ctx context.Context, p partition) error { return r.client.Unlink(ctx, p.events()).Err() },
		},
	}
}

// featuresOf returns the names of the features that are on, separated by spaces, as the scripts get them: cast with the time for
// which votes are kept, seconds, front with the hours for which pages are kept, events with the number of events.
func featuresOf(r Rules) string {
	var names []string
	for _, f := range features() {
		switch {
		case !f.on(r):
		case f.parameter == nil:
			names = append(names, f.name)
		default:
			names = append(names, f.name+"="+strconv.FormatInt(f.parameter(r), 10))
		}
	}
	return strings.Join(names, " ")
}

// featureStep is a feature of which the data of a partition is not as the rules say.
type featureStep struct {
	feature
	p        partition
	wanted   bool
	state    string
	articles int64 // that it is built from, not deleted
	isEmpty  bool  // the partition has no articles, not even deleted ones
	isNew    bool  // the partition has no rules yet: no process has written to it
}

// featureSteps returns what has to be done in which partition.
func (r *Repo) featureSteps(ctx context.Context) (steps []featureStep, err error) {
	metas, articles := make([]*redis.MapStringStringCmd, len(r.partitions)), make([]*redis.IntCmd, len(r.partitions))
	deleted := make([]*redis.IntCmd, len(r.partitions))
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.partitions {
			metas[i], articles[i] = pipe.HGetAll(ctx, p.meta()), pipe.ZCard(ctx, p.ranking(ByTime))
			deleted[i] = pipe.ZCard(ctx, p.deleted())
		}
	})
	if err != nil {
		return nil, err
	}
	counts := map[int]*redis.IntCmd{} // by index of the step, if it is built from some articles only
	err = r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, f := range features() {
			for i, p := range r.partitions {
				_, ruled := metas[i].Val()["vote_score"]
				s := featureStep{feature: f, p: p, wanted: f.on(r.rules), state: metas[i].Val()[f.name], articles: articles[i].Val(), isEmpty: articles[i].Val()+deleted[i].Val() == 0, isNew: !ruled}
				if s.wanted && s.state != featureOn || !s.wanted && s.state != "" {
					if f.oldest != nil {
						counts[len(steps)] = pipe.ZCount(ctx, p.ranking(ByTime), number(f.oldest(r)), "+inf")
					}
					steps = append(steps, s)
				}
			}
		}
	})
	for i, count := range counts {
		steps[i].articles = count.Val()
	}
	return steps, err
}

// change is the text of a change of the rules, empty if the step only goes on with one.
func (s featureStep) change() string {
	was := "on"
	switch {
	case s.isNew, s.wanted && strings.HasPrefix(s.state, featureBuilding), !s.wanted && s.state == featureDropping:
		return ""
	case s.state == "", s.state == featureDropping:
		was = "off"
	}
	return fmt.Sprintf("%s was %s and is %s", s.name, was, map[bool]string{true: "on", false: "off"}[s.wanted])
}

// pendingSteps is the text of what the steps of a feature do to the data, empty if that is nothing.
func pendingSteps(f feature, steps []featureStep) string {
	articles := int64(0)
	for _, s := range steps {
		switch {
		case s.name != f.name:
		case !s.wanted:
			return "drop " + f.what
		case f.build != nil:
			articles += s.articles
		}
	}
	if articles == 0 {
		return ""
	}
	return fmt.Sprintf("build %s from %d articles", f.what, articles)
}

// applyFeatures builds the features that were switched on, and drops those that were switched off. A feature can be
// switched only while no process of the site runs: it would go on as before.
func (r *Repo) applyFeatures(ctx context.Context) error {
	steps, err := r.featureSteps(ctx)
	if err != nil || len(steps) == 0 {
		return err
	}
	var changes []string
	for _, s := range steps {
		if change := s.change(); change != "" && !slices.Contains(changes, change) {
			changes = append(changes, change)
		}
	}
	if len(changes) > 0 {
		text := strings.Join(changes, ", ")
		if r.keepRules {
			return fmt.Errorf("the rules differ from those of the data: %s: use the same settings as the server", text)
		}
		n, err := r.listeners(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%s, and %d processes of the site still run: stop them, and start this version again", text, n)
		}
	}
	empty := func(s featureStep) bool {
		return s.wanted && s.state != featureDropping && (s.build == nil || s.isEmpty)
	}
	if i := slices.IndexFunc(steps, func(s featureStep) bool { return !empty(s) }); i >= 0 && r.keepRules {
		return fmt.Errorf("a start of the server has not finished %s, and a command does not go on with that: start the server first", steps[i].what)
	}
	err = r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for _, s := range steps {
			if empty(s) {
				s.queueBegin(ctx, r, pipe)
				pipe.HSet(ctx, s.p.meta(), s.name, featureOn)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, s := range slices.DeleteFunc(steps, empty) {
		if err := r.applyFeature(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}

func (s featureStep) queueBegin(ctx context.Context, r *Repo, pipe redis.Pipeliner) {
	if s.begin != nil {
		s.begin(r, ctx, pipe, s.p)
	}
}

// applyFeature builds or drops a feature in one partition.
func (r *Repo) applyFeature(ctx context.Context, s featureStep) error {
	record := func(state string) error {
		return r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
			switch {
			case state == "":
				pipe.HDel(ctx, s.p.meta(), s.name)
				return
			case state == featureBuilding:
				s.queueBegin(ctx, r, pipe)
			}
			pipe.HSet(ctx, s.p.meta(), s.name, state)
		})
	}
	if !s.wanted || s.state == featureDropping {
		r.onProgress("dropping "+s.what, 0, 1)
		if err := record(featureDropping); err != nil {
			return err
		}
		if err := s.drop(r, ctx, s.p); err != nil {
			return err
		}
		if err := record(""); err != nil || !s.wanted {
			return err
		}
		s.state = ""
	}
	if s.build != nil {
		if s.state == "" || s.state == featureBuilding { // or after markFeatures, which begins nothing
			if err := record(featureBuilding); err != nil {
				return err
			}
		}
		_, from, _ := strings.Cut(s.state, " ")
		if err := s.build(r, ctx, &building{feature: s.feature, p: s.p, from: from, total: int(s.articles)}); err != nil {
			return err
		}
	}
	return record(featureOn)
}

// building is how far a feature of a partition is built.
type building struct {
	feature
	p           partition
	from        string // position of the interrupted start; empty: the beginning
	done, total int    // articles
}

// reached records a position from which the next start goes on, and reports the progress. Nothing is lost with a record.
func (r *Repo) reached(ctx context.Context, b *building, position string) error {
	r.onProgress("building "+b.what, min(b.done, b.total), b.total)
	return r.client.HSet(ctx, b.p.meta(), b.name, featureBuilding+" "+position).Err()
}

// markFeatures is the upgrade from layout 2, which had no features: applyFeatures builds those of the rules. Any
// program that upgrades may do that, also one that keeps the rules.
func (r *Repo) markFeatures(ctx context.Context, p partition) error {
	return r.pipeline(r.confirmed(ctx), func(pipe redis.Pipeliner) {
		for _, f := range features() {
			if f.on(r.rules) {
				pipe.HSetNX(ctx, p.meta(), f.name, featureBuilding)
			}
		}
	})
}

// recordFeatures records that all features of the rules are kept, and no others.
func (r *Repo) recordFeatures(ctx context.Context, pipe redis.Pipeliner, p partition) {
	for _, f := range features() {
		if f.on(r.rules) {
			pipe.HSet(ctx, p.meta(), f.name, featureOn)
		} else {
			pipe.HDel(ctx, p.meta(), f.name)
		}
	}
}

// eachMatching calls handle with the keys of a partition that match a pattern. It looks at all keys of the server.
func (r *Repo) eachMatching(ctx context.Context, p partition, pattern string, handle func(keys []string) error) error {
	return r.onOneServer(ctx, p.meta(), func(ctx context.Context, server redis.Cmdable) error {
		return walk(1, inBatches(handle), func(cursor uint64) *redis.ScanCmd { return server.Scan(impatient(ctx), cursor, pattern, scanBatch) })
	})
}
