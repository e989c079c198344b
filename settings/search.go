package settings

import (
	"fmt"

	"frontpage/redisrepo/search"
)

// SearchIndex are the settings of search.
type SearchIndex struct {
	Search       string `default:"titles" enum:"off,titles,texts" help:"What can be searched: off, titles or texts (titles and texts). It needs events: see FRONTPAGE_EVENTS_KEPT. Each process has an index in its memory."`
	SearchMemory int    `default:"256" help:"Memory of that index, MiB, 1 to 1048576. A title takes about 200 bytes. When it is full, the articles that were posted first are left out."`
}

const maxSearchMemory = 1 << 20 // MiB

func (s *SearchIndex) check() error {
	if s.SearchMemory < 1 || s.SearchMemory > maxSearchMemory {
		return Invalid(fmt.Errorf("%d is not between 1 and %d", s.SearchMemory, maxSearchMemory), "search-memory")
	}
	return nil
}

// SearchOptions returns what the site's search knows.
func (s *SearchIndex) SearchOptions() search.Options {
	return search.Options{Titles: s.Search != "off", Texts: s.Search == "texts", Memory: s.SearchMemory << 20}
}
