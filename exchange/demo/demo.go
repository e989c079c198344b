// Package demo fills an empty site with sample articles.
package demo

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"frontpage/exchange/csvimport"
	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

//go:embed articles.csv
var articles string

// Fill adds about 60 articles with votes to an empty site and returns how many it added. They were posted in
// the last six days, the newest now, and all are open for voting.
//
// On a site that has articles, or had some that were deleted, Fill is a no-op.
//
// Processes that fill one site at the same time share the work: their counts add up to the number of articles.
func Fill(ctx context.Context, repo *redisrepo.Repo) (int, error) {
	count, err := repo.Lists.Count(ctx, lists.AllArticles(site.ByTime, site.Descending))
	if err != nil || count > 0 {
		return 0, err
	}
	// Check also counts deleted articles. Without any others it has little to read.
	found, err := check.Check(ctx, repo, func(string) {})
	if err != nil || found.Articles+found.Deleted > 0 {
		return 0, err
	}
	var report strings.Builder
	sum, err := csvimport.Run(ctx, repo, strings.NewReader(articles), csvimport.Options{ShiftToNow: true, Report: &report})
	if err == nil && sum.Refused > 0 {
		err = fmt.Errorf("%d rows refused:\n%s", sum.Refused, &report)
	}
	if err != nil {
		return sum.Added, fmt.Errorf("add the articles of the demo: %w", err)
	}
	return sum.Added, nil
}
