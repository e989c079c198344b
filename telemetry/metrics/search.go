package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"frontpage/redisrepo"
)

// searchState exports the state of a process's search.
type searchState struct {
	described
	repo *redisrepo.Repo
}

var (
	searchArticles = describe("frontpage_search_articles", "Articles in the index of search.")
	searchBytes    = describe("frontpage_search_index_bytes", "Memory that the index of search takes, about.")
	searchLag      = describe("frontpage_search_lag_seconds", "How long ago the index of search was last complete. Not exported until it is.")
)

// Collect implements prometheus.Collector.
func (s *searchState) Collect(to chan<- prometheus.Metric) {
	v, status := values(to), s.repo.Search.Status()
	v.gauge(searchArticles, float64(status.Articles))
	v.gauge(searchBytes, float64(status.Bytes))
	if status.Ready {
		v.gauge(searchLag, max(s.repo.Store.Now().Sub(status.Through), time.Duration(0)).Seconds())
	}
}
