package layout

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// Feature is a part of the data that a site keeps only if its rules say so. The field of its name in meta: of each
// partition is FeatureOn while it is kept. When it is switched on, it is built from the articles: meanwhile the field
// is featureBuilding and the position. When it is switched off, the field is featureDropping until its keys are gone.
// The next start continues an interrupted one from there.
type Feature struct {
	Name, what string // what: for the log
	On         func(site.Rules) bool
	parameter  func(site.Rules) int64                                                       // parameter for the scripts; nil: none
	begin      func(r *Layout, ctx context.Context, pipe redis.Pipeliner, p keys.Partition) // before the first write; nil: nothing
	Build      func(r *Layout, ctx context.Context, b *building) error                      // nil: it is empty at first
	oldest     func(r *Layout) float64                                                      // posting time of the oldest article that it is built from; nil: all
	forget     func(r *Layout, ctx context.Context, p keys.Partition) error                 // removes its data from other keys than its own; nil: nothing
}

// States of a feature in meta:. One that is off has none.
const (
	FeatureOn       = "on"
	featureBuilding = "building" // and a position after a space, unless it has only begun
	featureDropping = "dropping"
)

// Features returns all features, in the order in which they are built.
func Features() []Feature {
	return []Feature{
		{
			Name: "calendar", what: "the calendar",
			On:    func(rules site.Rules) bool { return rules.Calendar },
			begin: (*Layout).BeginCalendar, Build: (*Layout).buildCalendar, forget: (*Layout).forgetCalendar,
		},
		{
			Name: "group_top", what: "the calendars of the groups",
			On:    func(rules site.Rules) bool { return rules.Calendar && rules.GroupTop },
			Build: (*Layout).buildGroupCalendars,
		},
		{
			Name: "cast", what: "the lists of users' votes",
			On:        func(rules site.Rules) bool { return rules.VoteHistory != site.NoHistory },
			parameter: func(rules site.Rules) int64 { return site.Seconds(rules.VoteHistory) },
			begin: func(r *Layout, ctx context.Context, pipe redis.Pipeliner, p keys.Partition) {
				r.views.QueueBegin(ctx, pipe, p, "cast")
			},
			Build:  (*Layout).buildCasts,
			oldest: func(r *Layout) float64 { return r.casts.OldestVoters() },
			forget: (*Layout).forgetCasts,
		},
		{
			Name: "front", what: "the saved front pages",
			On:        func(rules site.Rules) bool { return rules.FrontPages > 0 },
			parameter: site.Rules.FrontHours,
			begin: func(r *Layout, ctx context.Context, pipe redis.Pipeliner, p keys.Partition) {
				r.rankings.BeginFront(ctx, pipe, p)
			},
			forget: func(r *Layout, ctx context.Context, p keys.Partition) error {
				return r.store.Client.HDel(ctx, p.Clock(""), "front", "front_since", "ranked").Err()
			},
		},
		{
			Name: "events", what: "the change feed",
			On:        func(rules site.Rules) bool { return rules.Events > 0 },
			parameter: func(rules site.Rules) int64 { return int64(rules.Events) },
		},
	}
}

// FeaturesOf returns the names of the features that are on, separated by spaces, as the scripts get them: cast with the time for
// which votes are kept, seconds, front with the hours for which pages are kept, events with the number of events.
func FeaturesOf(r site.Rules) string {
	var names []string
	for _, f := range Features() {
		switch {
		case !f.On(r):
		case f.parameter == nil:
			names = append(names, f.Name)
		default:
			names = append(names, f.Name+"="+strconv.FormatInt(f.parameter(r), 10))
		}
	}
	return strings.Join(names, " ")
}

// FeatureStep is a feature whose data in one partition does not match the rules yet.
type FeatureStep struct {
	Feature
	p        keys.Partition
	wanted   bool
	state    string
	articles int64 // that it is built from, not deleted
	isEmpty  bool  // the partition has no articles, not even deleted ones
	isNew    bool  // the partition has no rules yet: no process has written to it
}

// FeatureSteps returns the features to build or drop, in each partition.
func (r *Layout) FeatureSteps(ctx context.Context) (steps []FeatureStep, err error) {
	metas, articles := make([]*redis.MapStringStringCmd, len(r.store.Partitions)), make([]*redis.IntCmd, len(r.store.Partitions))
	deleted := make([]*redis.IntCmd, len(r.store.Partitions))
	err = r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, p := range r.store.Partitions {
			metas[i], articles[i] = pipe.HGetAll(ctx, p.Meta()), pipe.ZCard(ctx, p.Ranking(site.ByTime))
			deleted[i] = pipe.ZCard(ctx, p.Deleted())
		}
	})
	if err != nil {
		return nil, err
	}
	counts := map[int]*redis.IntCmd{} // by index of the step, if it is built from some articles only
	err = r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for _, f := range Features() {
			for i, p := range r.store.Partitions {
				_, ruled := metas[i].Val()["vote_score"]
				s := FeatureStep{Feature: f, p: p, wanted: f.On(r.store.Rules), state: metas[i].Val()[f.Name], articles: articles[i].Val(), isEmpty: articles[i].Val()+deleted[i].Val() == 0, isNew: !ruled}
				if s.wanted && s.state != FeatureOn || !s.wanted && s.state != "" {
					if f.oldest != nil {
						counts[len(steps)] = pipe.ZCount(ctx, p.Ranking(site.ByTime), site.Number(f.oldest(r)), "+inf")
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
func (s FeatureStep) change() string {
	was := "on"
	switch {
	case s.isNew, s.wanted && strings.HasPrefix(s.state, featureBuilding), !s.wanted && s.state == featureDropping:
		return ""
	case s.state == "", s.state == featureDropping:
		was = "off"
	}
	return fmt.Sprintf("%s was %s and is %s", s.Name, was, map[bool]string{true: "on", false: "off"}[s.wanted])
}

// PendingSteps describes what the steps of a feature do to the data; it is empty if they do nothing.
func PendingSteps(f Feature, steps []FeatureStep) string {
	articles := int64(0)
	for _, s := range steps {
		switch {
		case s.Name != f.Name:
		case !s.wanted:
			return "drop " + f.what
		case f.Build != nil:
			articles += s.articles
		}
	}
	if articles == 0 {
		return ""
	}
	return fmt.Sprintf("build %s from %d articles", f.what, articles)
}

// applyFeatures builds the features that were switched on, and drops those that were switched off. It is an error to
// switch one while a process of the site runs, which would not notice.
func (r *Layout) applyFeatures(ctx context.Context) error {
	steps, err := r.FeatureSteps(ctx)
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
		if r.store.KeepRules {
			return fmt.Errorf("the rules differ from those of the data: %s: use the same settings as the server", text)
		}
		n, err := r.store.Listeners(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%s, and %d processes of the site still run: stop them, and start this version again", text, n)
		}
	}
	empty := func(s FeatureStep) bool {
		return s.wanted && s.state != featureDropping && (s.Build == nil || s.isEmpty)
	}
	if i := slices.IndexFunc(steps, func(s FeatureStep) bool { return !empty(s) }); i >= 0 && r.store.KeepRules {
		return fmt.Errorf("a start of the server has not finished %s, and a command does not go on with that: start the server first", steps[i].what)
	}
	err = r.store.Write(ctx, func(pipe redis.Pipeliner) {
		for _, s := range steps {
			if empty(s) {
				s.queueBegin(ctx, r, pipe)
				pipe.HSet(ctx, s.p.Meta(), s.Name, FeatureOn)
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

func (s FeatureStep) queueBegin(ctx context.Context, r *Layout, pipe redis.Pipeliner) {
	if s.begin != nil {
		s.begin(r, ctx, pipe, s.p)
	}
}

// applyFeature builds or drops a feature in one partition.
func (r *Layout) applyFeature(ctx context.Context, s FeatureStep) error {
	record := func(state string) error {
		return r.store.Write(ctx, func(pipe redis.Pipeliner) {
			switch {
			case state == "":
				pipe.HDel(ctx, s.p.Meta(), s.Name)
				return
			case state == featureBuilding:
				s.queueBegin(ctx, r, pipe)
			}
			pipe.HSet(ctx, s.p.Meta(), s.Name, state)
		})
	}
	if !s.wanted || s.state == featureDropping {
		r.OnProgress("dropping "+s.what, 0, 1)
		if err := record(featureDropping); err != nil {
			return err
		}
		if err := r.drop(ctx, s.Feature, s.p); err != nil {
			return err
		}
		if err := record(""); err != nil || !s.wanted {
			return err
		}
		s.state = ""
	}
	if s.Build != nil {
		if s.state == "" || s.state == featureBuilding { // or after markFeatures, which begins nothing
			if err := record(featureBuilding); err != nil {
				return err
			}
		}
		_, from, _ := strings.Cut(s.state, " ")
		if err := s.Build(r, ctx, &building{Feature: s.Feature, p: s.p, from: from, total: int(s.articles)}); err != nil {
			return err
		}
	}
	return record(FeatureOn)
}

// drop removes the keys of a feature from a partition, and what other keys have of it.
func (r *Layout) drop(ctx context.Context, f Feature, p keys.Partition) error {
	for _, kind := range keys.Kinds {
		if kind.Feature != f.Name {
			continue
		}
		remove := func(found []string) error {
			return r.store.Read(ctx, func(pipe redis.Pipeliner) {
				for _, key := range found {
					if is, _ := keys.Parse(strings.TrimPrefix(key, string(p))); is == kind {
						pipe.Unlink(ctx, key)
					}
				}
			})
		}
		err := remove([]string{p.Key(kind.Name, ":")})
		if err == nil && kind.Of != keys.All {
			err = r.store.EachMatching(ctx, p, p.Key(kind.Name, ":*"), remove)
		}
		if err != nil {
			return err
		}
	}
	if f.forget == nil {
		return nil
	}
	return f.forget(r, ctx, p)
}

// building is how far a feature of a partition is built.
type building struct {
	Feature
	p           keys.Partition
	from        string                    // position of the interrupted start; empty: the beginning
	done, total int                       // articles
	only        func(site.ArticleID) bool // which articles; nil: all
}

// reached records a position from which the next start goes on, and reports the progress. Nothing is lost with a record.
func (r *Layout) reached(ctx context.Context, b *building, position string) error {
	r.OnProgress("building "+b.what, min(b.done, b.total), b.total)
	return r.store.Client.HSet(ctx, b.p.Meta(), b.Name, featureBuilding+" "+position).Err()
}

// recordFeatures records that all features of the rules are kept, and no others.
func (r *Layout) recordFeatures(ctx context.Context, pipe redis.Pipeliner, p keys.Partition) {
	for _, f := range Features() {
		if f.On(r.store.Rules) {
			pipe.HSet(ctx, p.Meta(), f.Name, FeatureOn)
		} else {
			pipe.HDel(ctx, p.Meta(), f.Name)
		}
	}
}
