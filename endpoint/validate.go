package endpoint

import (
	"fmt"
	"net/url"
	"time"
)

// MaxRate is the maximum of Rate.Most and of Rates.Addresses. The limit of an address is their product.
const MaxRate = 1_000_000_000

// OptionError says that an option is out of its range.
type OptionError struct {
	Option  string // the path of the field within Options, such as Limits.Depth
	Problem string // for example "0 is below 1"
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Problem }

func outOfRange(option, format string, args ...any) error {
	return &OptionError{Option: option, Problem: fmt.Sprintf(format, args...)}
}

// lower is an option with a minimum.
type lower struct {
	option         string
	value, minimum int
}

// atLeast returns an *OptionError for the first option below its minimum.
func atLeast(options []lower) error {
	for _, o := range options {
		if o.value < o.minimum {
			return outOfRange(o.option, "%d is below %d", o.value, o.minimum)
		}
	}
	return nil
}

// Validate returns an *OptionError for the first option that is out of its range.
func (o Options) Validate() error {
	if o.BodyLimit < 1 {
		return outOfRange("BodyLimit", "%d is below 1 byte", o.BodyLimit)
	}
	if o.Timeout < time.Millisecond {
		return outOfRange("Timeout", "%v is below 1ms", o.Timeout)
	}
	if o.MaxConcurrent < 0 {
		return outOfRange("MaxConcurrent", "%d is below 0", o.MaxConcurrent)
	}
	if o.SharedAnswers < 0 || o.SharedAnswers > time.Minute {
		return outOfRange("SharedAnswers", "%v is not between 0 and 1m", o.SharedAnswers)
	}
	if o.MaxAge < 0 || o.MaxAge > time.Hour || o.MaxAge%time.Second != 0 {
		return outOfRange("MaxAge", "%v is not a whole number of seconds between 0 and 1h", o.MaxAge)
	}
	for _, origin := range o.Origins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || u.Scheme+"://"+u.Host != origin || u.Host == "") {
			return outOfRange("Origins", "%q is not of the form https://example.org", origin)
		}
	}
	for _, part := range []interface{ Validate() error }{o.Streams, o.Limits, o.Rates} {
		if err := part.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Validate returns an *OptionError for the first limit that is out of its range.
func (l Limits) Validate() error {
	return atLeast([]lower{
		{"Limits.Tokens", l.Tokens, 1},
		{"Limits.Depth", l.Depth, 1},
		{"Limits.Aliases", l.Aliases, 0},
		{"Limits.RootFields", l.RootFields, 1},
		{"Limits.Directives", l.Directives, 0},
		{"Limits.Fields", l.Fields, 1},
		{"Limits.Cost", l.Cost, 1},
		{"Limits.PageSize", l.PageSize, 1},
	})
}

// Validate returns an *OptionError for the first limit that is out of its range.
func (l StreamLimits) Validate() error {
	if l.Ping < 100*time.Millisecond {
		return outOfRange("Streams.Ping", "%v is below 100ms", l.Ping)
	}
	return atLeast([]lower{
		{"Streams.PerAddress", l.PerAddress, 1},
		{"Streams.PerViewer", l.PerViewer, 1},
		{"Streams.Operations", l.Operations, 1},
		{"Streams.Watched", l.Watched, 1},
		{"Streams.WatchedPerAddress", l.WatchedPerAddress, 1},
		{"Streams.WatchedPerViewer", l.WatchedPerViewer, 1},
	})
}

// Validate returns an *OptionError for the first rate that is out of its range.
func (r Rates) Validate() error {
	for _, rate := range []struct {
		option string
		Rate
	}{{"Rates.Cost", r.Cost}, {"Rates.Votes", r.Votes}, {"Rates.Posts", r.Posts}, {"Rates.Changes", r.Changes}} {
		switch {
		case rate.Most < 0 || rate.Most > MaxRate:
			return outOfRange(rate.option, "%d is not between 0 and %d", rate.Most, MaxRate)
		case rate.Most > 0 && rate.Window < time.Second:
			return outOfRange(rate.option, "a window of %v is below 1s", rate.Window)
		}
	}
	if r.Addresses < 1 || r.Addresses > MaxRate {
		return outOfRange("Rates.Addresses", "%d is not between 1 and %d", r.Addresses, MaxRate)
	}
	return nil
}
