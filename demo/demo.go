// Package demo fills an empty site, so that the first look at it is alive.
package demo

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"frontpage/csvimport"
	"frontpage/redisrepo"
)

//go:embed articles.csv
var articles string

// Fill adds about 60 articles of the last six days, with votes, when the site has
// none, and reports how many. The newest is posted now, and voting is open on all.
//
// On a site that has articles it does nothing. Nor does it on one whose articles
// are all deleted: somebody cleaned up there, and what was deleted stays so.
//
// Processes that fill one site at once share the work: their counts add up to
// the number of articles.
func Fill(ctx context.Context, repo *redisrepo.Repo) (int, error) {
	count, err := repo.Count(ctx, redisrepo.Site(redisrepo.ByTime, redisrepo.Descending))
	if err != nil || count > 0 {
		return 0, err
	}
	// Check counts deleted articles, too, and has little to read beside them.
	found, err := repo.Check(ctx, func(string) {})
	if err != nil || found.Articles+found.Deleted > 0 {
		return 0, err
	}
	var refused strings.Builder
	sum, err := csvimport.Run(ctx, repo, strings.NewReader(articles), csvimport.Options{ShiftToNow: true, Refused: &refused})
	if err == nil && sum.Refused > 0 {
		err = fmt.Errorf("%d rows are refused:\n%s", sum.Refused, &refused)
	}
	if err != nil {
		return sum.Added, fmt.Errorf("articles for a demo: %w", err)
	}
	return sum.Added, nil
}
