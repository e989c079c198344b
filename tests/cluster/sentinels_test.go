package cluster_test

import (
	"strings"
	"testing"

	"frontpage/redistest"
	"frontpage/store"
)

// The site has one partition, without a tag.
func underSentinels(s *redistest.Sentinels) store.Options {
	return store.Options{URL: s.URL() + "?partitions=1&acks=1"}
}

// With a replica that confirms writes, Sentinels lose none either.
func TestSiteOutlastsFailuresUnderSentinels(t *testing.T) {
	set := redistest.StartSentinels(t, 2)
	t.Run("primary killed", func(t *testing.T) {
		l := startLoad(t, mustOpen(t, underSentinels(set)), mustOpen(t, underSentinels(set)))
		killed := set.Primary()
		killed.Kill()
		s := mustOpen(t, underSentinels(set)) // waits
		if !strings.Contains(s.log.String(), "waiting for a primary that replies") {
			t.Errorf("log = %s, want it to say what the start waits for", s.log)
		}
		promoted := set.AwaitFailover(killed)
		if a := s.insist("", readArticle(l.numbers[0])); a.Data.Article == nil {
			t.Error("the article that was posted before is missing")
		}
		l.more(50)
		l.verify(promoted.Client, "")
		killed.Restart()
	})
	set.AwaitHealthy()
	t.Run("primary hangs", func(t *testing.T) {
		l := startLoad(t, mustOpen(t, underSentinels(set)), mustOpen(t, underSentinels(set)))
		paused := set.Primary()
		paused.Pause()
		promoted := set.AwaitFailover(paused)
		l.more(50)
		paused.Resume() // Sentinels make it a replica ten seconds later
		l.more(50)
		l.verify(promoted.Client, "")
	})
}
