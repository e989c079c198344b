package endpoint

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"time"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/endpoint/measure"
	"frontpage/redisrepo/site"
)

// Limits bound what one document may ask for. A fragment counts at each of its spreads.
type Limits struct {
	Tokens     int
	Depth      int // maximum nesting of fields, without those of introspection
	Aliases    int
	RootFields int
	Directives int
	Fields     int
	Cost       int // maximum number of objects and scalars in the response, by the sizes of its lists; see PointBytes
	PageSize   int // assumed size of a list whose size is not given: the site's page size
}

// PointBytes is the maximum number of bytes in a response for each point of cost: a name of at most maxAlias bytes and
// a scalar, or an object without its fields. A schema whose scalars can be longer sets their cost in its
// ComplexityRoot.
const PointBytes = 2_200

// maxAlias is the maximum length of an alias, bytes. A response repeats it for each element of a list.
const maxAlias = 100

// maxSchemas is how often an operation may ask for the schema: the standard introspection query does once. An alias of a
// field in __schema or __type counts as another time, since it repeats as much.
const maxSchemas = 2

// DefaultLimits returns limits that allow every query of the site's clients, and no document that takes a server
// seconds. The standard introspection query has 184 tokens; a page of 100 articles with every field costs about 8,000.
func DefaultLimits() Limits {
	return Limits{
		Tokens: 1500, Depth: 12, Aliases: 15, RootFields: 20, Directives: 20, Fields: 500, Cost: 10_000,
		PageSize: site.DefaultRules().PageSize,
	}
}

// check returns an error for each limit that an operation of the document exceeds.
func (l Limits) check(document *ast.QueryDocument) (errs gqlerror.List) {
	for i, t := range measure.Operations(document) {
		for _, limit := range []struct {
			code, things   string
			asked, allowed int
		}{
			{codeDepthLimit, "levels", t.Depth, l.Depth},
			{codeAliasLimit, "aliases", t.Aliases, l.Aliases},
			{codeAliasLimit, "bytes in an alias", t.Longest, maxAlias},
			{codeAliasLimit, "fields __schema and __type or aliases in them", t.Schemas, maxSchemas},
			{codeRootFieldLimit, "root fields", t.Width, l.RootFields},
			{codeDirectiveLimit, "directives", t.Directives, l.Directives},
			{codeFieldLimit, "fields", t.Fields, l.Fields},
		} {
			if limit.asked > limit.allowed {
				refused := overLimit(limit.code, limit.things, limit.asked, limit.allowed)
				err := gqlerror.ErrorPosf(document.Operations[i].Position, "%s", refused.message)
				err.Err = refused
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// costOf returns the cost of an operation: each scalar and each object costs at least 1, and a list costs its maximum
// length times the cost of an element. The calculation expands every spread of a fragment, so it relies on the other
// limits, which are checked before.
func costOf(schema graphql.ExecutableSchema, operation *ast.OperationDefinition, variables map[string]any) int {
	return complexity.Calculate(context.Background(), schema, operation, variables)
}

// costs refuses an operation whose response could be too large.
func (l Limits) costs(asked int) *refusal {
	if asked <= l.Cost {
		return nil
	}
	return overLimit(codeCostLimit, "points of complexity", asked, l.Cost)
}

// maxErrors is how many errors of one response are shown. A short document, and a page, can have thousands.
const maxErrors = 20

// boundResponse replaces errors beyond maxErrors by one that says how many they are. It also replaces data that is
// longer than the limit of cost allows, which happens only if the store holds longer values than this program
// writes.
func (l Limits) boundResponse(response *graphql.Response) {
	if size, allowed := len(response.Data), min(l.Cost, math.MaxInt32)*PointBytes; size > allowed {
		response.Data = []byte("null")
		response.Errors = gqlerror.List{overLimit(codeResponseLimit, "bytes in its response", size, allowed).shown()}
	}
	if more := len(response.Errors) - maxErrors; more > 0 {
		code := response.Errors[maxErrors].Extensions["code"]
		response.Errors = append(response.Errors[:maxErrors:maxErrors], &gqlerror.Error{
			Message: fmt.Sprintf("%d more errors are not shown", more), Extensions: map[string]any{"code": code},
		})
	}
}

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
			return outOfRange("Origins", "%q is not of the form https://example.org, without a slash at the end", origin)
		}
	}
	if o.Streams.Ping < 100*time.Millisecond {
		return outOfRange("Streams.Ping", "%v is below 100ms", o.Streams.Ping)
	}
	for _, least := range []struct {
		option         string
		value, minimum int
	}{
		{"Streams.PerAddress", o.Streams.PerAddress, 1},
		{"Streams.PerViewer", o.Streams.PerViewer, 1},
		{"Streams.Operations", o.Streams.Operations, 1},
		{"Streams.Watched", o.Streams.Watched, 1},
		{"Streams.WatchedPerAddress", o.Streams.WatchedPerAddress, 1},
		{"Streams.WatchedPerViewer", o.Streams.WatchedPerViewer, 1},
		{"Limits.Tokens", o.Limits.Tokens, 1},
		{"Limits.Depth", o.Limits.Depth, 1},
		{"Limits.Aliases", o.Limits.Aliases, 0},
		{"Limits.RootFields", o.Limits.RootFields, 1},
		{"Limits.Directives", o.Limits.Directives, 0},
		{"Limits.Fields", o.Limits.Fields, 1},
		{"Limits.Cost", o.Limits.Cost, 1},
		{"Limits.PageSize", o.Limits.PageSize, 1},
	} {
		if least.value < least.minimum {
			return outOfRange(least.option, "%d is below %d", least.value, least.minimum)
		}
	}
	return o.Rates.validate()
}

// validate returns an *OptionError for the first rate that is out of its range.
func (r Rates) validate() error {
	type named struct {
		option string
		Rate
	}
	all := []named{{"Rates.Cost", r.Cost}, {"Rates.Votes", r.Votes}, {"Rates.Posts", r.Posts}, {"Rates.Changes", r.Changes}, {"Rates.Reports", r.Reports}}
	for _, rate := range r.New {
		all = append(all, named{"Rates.New", rate})
	}
	for _, rate := range all {
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
