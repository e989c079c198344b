package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/preview"
	"frontpage/settings"
	"frontpage/store"
)

type rank struct{}

// Run prints a line for each place of the front page: the article that has it, and the one that would have it.
func (rank) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return withStore(ctx, s, log, func(st *store.Store) error {
		p, err := preview.Ranking(ctx, st.Client, s.SiteRules(), s.PageSize, siteOptions(s, st)...)
		if err != nil {
			return explainPartitions(err, st)
		}
		if len(p.Rules) == 0 {
			fmt.Println("these are the rules of the site: give others, such as --ranking halflife:6h")
		}
		for _, change := range p.Rules {
			fmt.Println(change)
		}
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "PLACE\tNOW\tVOTES\tAGE\tTHEN AT\tTHEN\tVOTES\tAGE\tNOW AT")
		moved := 0
		for i := range max(len(p.Before), len(p.After)) {
			now, then := "\t\t\t", "\t\t\t"
			if i < len(p.Before) {
				now = placeText(p.Before[i], p.Before[i].After)
			}
			if i < len(p.After) {
				then = placeText(p.After[i], p.After[i].Before)
				if b := p.After[i].Before; b == 0 || b > len(p.Before) {
					moved++
				}
			}
			fmt.Fprintf(table, "%d\t%s\t%s\n", i+1, now, then)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Printf("%d of %d articles would be new on the page; nothing was changed\n", moved, len(p.After))
		return nil
	})
}

// titleWidth is the number of characters of a title that rank prints.
const titleWidth = 40

// placeText is an article with its place in the other ranking.
func placeText(p preview.Placed, other int) string {
	title := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?' // it could control the terminal
		}
		return r
	}, p.Title))
	if len(title) > titleWidth {
		title = append(title[:titleWidth-1], '…')
	}
	place := fmt.Sprint(other)
	if other == 0 {
		place = fmt.Sprintf(">%d", lists.MaxRank)
	}
	return fmt.Sprintf("%s\t%d\t%s\t%s", string(title), p.Votes, ageText(time.Since(p.CreatedAt)), place)
}

// ageText is an age in its largest unit, such as 3h.
func ageText(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", max(0, d/time.Minute))
}
