package search

import (
	"slices"
	"time"

	"frontpage/redisrepo/site"
)

// MaxFilter is the maximum number of values in a list of a Filter. Search does not check it.
const MaxFilter = 10

// Filter has conditions of a search, which must all be met. Unset ones are met.
type Filter struct {
	Groups, NotGroups []site.GroupName // in any of these; in none of these
	Hosts             []site.HostName
	Posters           []site.UserName
	PostedAfter       *time.Time // at this time or later
	PostedBefore      *time.Time
	MinVotes          *int
	MaxVotes          *int
	In                []Field // none: all that the site searches
}

// keep returns a function that reports whether an article is in the results.
func (f Filter) keep(leftOut func(site.UserName) bool) func(*site.Article) bool {
	return func(a *site.Article) bool {
		has := func(name site.GroupName) bool {
			return slices.Contains(a.Groups, name) || name == site.Interesting && a.IsInteresting
		}
		host := a.Host()
		switch {
		case leftOut(a.Poster.Name),
			f.Groups != nil && !slices.ContainsFunc(f.Groups, has),
			slices.ContainsFunc(f.NotGroups, has),
			f.Hosts != nil && (host == nil || !slices.Contains(f.Hosts, host.Name)),
			f.Posters != nil && !slices.Contains(f.Posters, a.Poster.Name),
			f.PostedAfter != nil && a.CreatedAt.Before(*f.PostedAfter),
			f.PostedBefore != nil && !a.CreatedAt.Before(*f.PostedBefore),
			f.MinVotes != nil && a.Votes < *f.MinVotes,
			f.MaxVotes != nil && a.Votes > *f.MaxVotes:
			return false
		}
		return true
	}
}
