package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"frontpage/exchange/csvimport"
	"frontpage/exchange/export"
	"frontpage/redisrepo"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/layout"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/preview"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/redisrepo/transfer"
	"frontpage/settings"
)

type importFile struct {
	File        *os.File `arg:"" help:"A file that export wrote, or a CSV file with a header: id, title, link, votes, poster, posted_at; text and groups are optional. posted_at is Unix seconds or RFC 3339. - is standard input."`
	GroupByHost bool     `help:"Put each link of a CSV file into a group named after its host, without www."`
	Erased      *os.File `help:"A file with the digests that erase --list printed: these users are erased again if an export has them. Of an export only."`
	ShiftToNow  bool     `help:"Move all times of a CSV file by the same amount, so that the newest article is posted now."`
}

// Run imports the file. Refused rows of a CSV file are reported, and at the end an error.
func (i *importFile) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	file, err := spooled(ctx, i.File)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	isExport, err := export.IsExport(file)
	if err != nil {
		return err
	}
	if isExport {
		return i.importSite(ctx, s, log, file)
	}
	if i.Erased != nil {
		return errors.New("--erased is for exports: a CSV file has no voters, so leave out what erased users posted")
	}
	return withStore(ctx, s, log, func(st *store.Store) error {
		repo, err := openCommandSite(ctx, s, st, log)
		if err != nil {
			return err
		}
		summary, err := csvimport.Run(ctx, repo, file, csvimport.Options{
			GroupByHost: i.GroupByHost, ShiftToNow: i.ShiftToNow, Report: os.Stderr, Progress: progress(),
		})
		if err == nil || summary.Read > 0 {
			fmt.Println(summary)
		}
		if err != nil {
			return err
		}
		if advice := advise(ctx, repo, log); advice != nil {
			fmt.Printf("%s; see frontpage rank --ranking %s\n", printable(advice.String()), advice.Ranking())
		}
		if summary.Refused > 0 {
			return fmt.Errorf("%d of %d rows were refused, as the lines above say", summary.Refused, summary.Read)
		}
		return nil
	})
}

// advise returns which ranking would serve the site better, if one would.
func advise(ctx context.Context, repo *redisrepo.Repo, log *slog.Logger) *preview.Advice {
	advice, err := preview.Advise(ctx, repo)
	if err != nil {
		log.Warn("could not check whether another ranking suits this site better: run frontpage rank to compare", "err", err)
	}
	return advice
}

func (i *importFile) importSite(ctx context.Context, s *settings.Settings, log *slog.Logger, file *os.File) error {
	if i.GroupByHost || i.ShiftToNow {
		return errors.New("--group-by-host and --shift-to-now are for CSV files: an export is imported as it is")
	}
	erased, err := digests(i.Erased)
	if err != nil {
		return err
	}
	return withStore(ctx, s, log, func(st *store.Store) error {
		o := export.Options{Report: os.Stderr, Progress: progress(), Erased: erased}
		sum, err := export.Read(ctx, st.Client, s.SiteRules(), file, o, siteOptions(s, st)...)
		if err != nil {
			return fmt.Errorf("%s: %w", i.File.Name(), explainPartitions(err, st))
		}
		fmt.Println("imported " + sum.String())
		return nil
	})
}

// digests reads what erase --list printed.
func digests(file *os.File) ([]string, error) {
	if file == nil {
		return nil, nil
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	all := strings.Fields(string(text))
	for _, digest := range all {
		if decoded, err := hex.DecodeString(digest); err != nil || len(decoded) != 16 {
			return nil, fmt.Errorf("%s: %.40q is no digest that erase --list printed", file.Name(), digest)
		}
	}
	return all, nil
}

// spooled returns a file that can be read twice: the file itself or, if it is a pipe, a copy that ends with the process.
func spooled(ctx context.Context, file *os.File) (*os.File, error) {
	if _, err := file.Seek(0, io.SeekCurrent); err == nil {
		return file, nil
	}
	copied, err := os.CreateTemp("", "frontpage-import-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(copied.Name()) // a system that keeps it cleans its temporary files up later
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(copied, file)
		read <- err
	}()
	select {
	case err = <-read:
	case <-ctx.Done(): // what waits for the pipe ends with the process
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, copied.Close())
	}
	_, err = copied.Seek(0, io.SeekStart)
	return copied, err
}

type exportSite struct {
	Format string `enum:"ndjson,csv" default:"ndjson" help:"ndjson has everything; csv has the articles that are not deleted, without voters."`
}

// Run writes the export to standard output, and a summary to standard error.
func (e *exportSite) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		write, o := export.Write, export.Options{Report: os.Stderr}
		if e.Format == "csv" {
			write = export.WriteCSV
		}
		if terminal(os.Stdout) == nil {
			o.Progress = progress()
		}
		sum, err := write(ctx, repo, os.Stdout, o)
		if err != nil {
			return fmt.Errorf("after %d articles: %w", sum.Articles, err)
		}
		fmt.Fprintln(os.Stderr, "exported "+sum.String())
		return nil
	})
}

type exportUser struct {
	Name string `arg:"" help:"Name of the user."`
}

// Run writes the lines to standard output. A user about whom the store has nothing is not an error.
func (e *exportUser) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	name, err := site.ParseUserName(e.Name)
	if err != nil {
		return err
	}
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		for after := (*string)(nil); ; {
			part, err := repo.Personal.ExportUser(ctx, name, after)
			if err != nil {
				return err
			}
			if _, err := os.Stdout.WriteString(part.NDJSON); err != nil {
				return err
			}
			if after = part.Cursor; part.IsLast() {
				return nil
			}
		}
	})
}

type backup struct {
	File string `arg:"" help:"The file to write, an RDB file. An existing one is replaced once the backup is complete."`
}

// Run writes a snapshot, and prints its size and its SHA-256.
func (b *backup) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) (err error) {
	st, err := store.Open(ctx, batchOptions(s, log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(st.Explain(err), st.Close()) }()
	done, err := st.Backup(ctx, b.File)
	if err != nil {
		return ownRedis(err)
	}
	fmt.Printf("%s: %d bytes, SHA-256 %s\n", b.File, done.Bytes, done.SHA256)
	return nil
}

type restore struct {
	File string `arg:"" type:"existingfile" help:"A file that backup wrote."`
}

// Run restores the backup. A backup without a site is an error.
func (r *restore) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	o := batchOptions(s, log)
	articles := 0
	done, err := store.Restore(ctx, r.File, o, func(ctx context.Context, client redis.UniversalClient) (err error) {
		articles, err = transfer.Stored(ctx, client)
		return err
	})
	if err != nil {
		return ownRedis(err)
	}
	fmt.Printf("restored %d articles, %d bytes with SHA-256 %s, into %s\n", articles, done.Bytes, done.SHA256, o.Directory())
	return nil
}

// ownRedis says what to do with a store that Frontpage does not run.
func ownRedis(err error) error {
	if errors.Is(err, store.ErrNotPrivate) {
		return fmt.Errorf("%s: %w: copy a Redis of your own by redis-cli --rdb FILE or by its own snapshots, and any site by frontpage export", settings.Name("redis-url"), err)
	}
	return err
}

// printPending prints what the next start would do to the data.
func printPending(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return withStore(ctx, s, log, func(st *store.Store) error {
		pending, err := redisrepo.Pending(ctx, st.Client, s.SiteRules(), siteOptions(s, st)...)
		for _, step := range pending {
			fmt.Println("the next start would " + step)
		}
		if err == nil && len(pending) == 0 {
			fmt.Printf("the next start would change nothing: the data has layout %s, that of this version\n", layout.LayoutVersion)
		}
		return explainPartitions(err, st)
	})
}

type describeGroup struct {
	Group       string   `arg:"" help:"Name of the group."`
	Description string   `help:"What it is about, in a line of at most 160 characters. Empty: nothing is said."`
	Rule        []string `sep:"none" help:"A rule, in a line of at most 200 characters. Give it once for each rule, at most ten times."`
}

// Run describes the group as a moderator can.
func (d *describeGroup) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		if _, err := repo.Descriptions.DescribeGroup(ctx, d.Group, d.Description, d.Rule, commandLine); err != nil {
			return err
		}
		fmt.Println("described", printable(d.Group))
		return nil
	})
}

type rank struct{}

// Run prints a line for each place of the front page: the article that has it, and the one that would have it by the
// rules in the settings.
func (rank) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return withStore(ctx, s, log, func(st *store.Store) error {
		p, err := preview.Ranking(ctx, st.Client, s.SiteRules(), s.PageSize, siteOptions(s, st)...)
		if err != nil {
			return explainPartitions(err, st)
		}
		if len(p.Rules) == 0 {
			fmt.Println("these are the rules of the site: give others, such as --ranking halflife:6h")
		}
		return printPreview(p)
	})
}

// printPreview prints a line for each place of the front page, by both rules.
func printPreview(p preview.Preview) error {
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
}

type findRings struct {
	Days int `default:"30" help:"Compare the votes of this many days, 1 to 366."`
}

// shownRing is how many users and articles of a ring are printed.
const shownRing = 20

// Run prints a line for each ring, the most surprising first: how surprising it is, on how many articles its least
// likely pair voted in one direction, on how many by chance, the median of the seconds between the ring's votes, its
// users, and the articles that most of them voted on, with their posters.
func (f *findRings) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		found, err := repo.Casts.Rings(ctx, f.Days)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "SURPRISE\tTOGETHER\tBY CHANCE\tSECONDS\tUSERS\tARTICLES")
		for _, ring := range found {
			gap := "-"
			if ring.MedianGap != nil {
				gap = fmt.Sprint(*ring.MedianGap)
			}
			users := site.Collect(ring.Users, printable)
			shown := make([]site.ArticleID, min(shownRing, len(ring.Articles)))
			for i := range shown {
				shown[i] = site.ArticleID(ring.Articles[i])
			}
			articles, errs := repo.Articles.ReadArticles(ctx, shown)
			about := make([]string, len(ring.Articles))
			for i, number := range ring.Articles {
				about[i] = fmt.Sprint(number)
				if i < len(shown) {
					if errs[i] != nil {
						return errs[i]
					}
					about[i] += " by " + printable(string(articles[i].Poster.Name))
				}
			}
			fmt.Fprintf(table, "%.1f\t%d\t%.2f\t%s\t%s\t%s\n", ring.Surprise, ring.Together, ring.Expected, gap, some(users), some(about))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Printf("%d rings and pairs in the votes of %d days; a household or fans of one poster vote together, too\n", len(found), f.Days)
		return nil
	})
}

// some joins the first texts of a list, and says how many others there are.
func some(texts []string) string {
	if more := len(texts) - shownRing; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:shownRing], ", "), more)
	}
	return strings.Join(texts, ", ")
}

// printable replaces what could control a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// titleWidth is the number of characters of a title that rank prints.
const titleWidth = 40

// placeText is an article with its place in the other ranking.
func placeText(p preview.Placed, other int) string {
	title := []rune(printable(p.Title))
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

type eraseUser struct {
	Name  string `arg:"" optional:"" help:"The user's name."`
	Posts string `enum:"keep,remove" default:"keep" help:"keep: the user's articles stay, as those of a deleted user. remove: they are deleted and emptied."`
	Find  bool   `help:"Only list the words of users that contain the name, such as titles and notes, which stay. It changes nothing."`
	List  bool   `help:"Only list the digests of the names of erased users."`
}

// Run erases the user, and has Redis rewrite its files. With Find or List it changes nothing.
func (e *eraseUser) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	if e.Name == "" && !e.List {
		return errors.New("name the user, or give --list")
	}
	return withStore(ctx, s, log, func(st *store.Store) error {
		repo, err := openSite(ctx, s, st, redisrepo.KeepRules())
		if err != nil {
			return err
		}
		switch {
		case e.List:
			digests, err := erase.Erased(ctx, repo)
			for _, digest := range digests {
				fmt.Println(digest)
			}
			return err
		case e.Find:
			return erase.Find(ctx, repo, e.Name, func(f erase.Found) { fmt.Printf("%s: %q\n", f.Where, f.Words) })
		}
		o := erase.Options{Remove: e.Posts == "remove", Settle: erase.Settle}
		if terminal(os.Stderr) != nil {
			o.Progress = func(keys, changes int) { fmt.Fprintf(os.Stderr, "\r%d keys, %d changes", keys, changes) }
			defer fmt.Fprintln(os.Stderr)
		}
		done, err := erase.User(ctx, repo, e.Name, o)
		if err != nil {
			return fmt.Errorf("%w: call this again, and it goes on", err)
		}
		fmt.Printf("erased: %d changes, %d walks over the keys\n", done.Changes, done.Walks)
		did, err := st.Rewrite(ctx)
		for _, text := range did {
			fmt.Println(strings.TrimSpace(text))
		}
		if err != nil {
			return fmt.Errorf("the name has left the store, but not yet all files: %w: run BGREWRITEAOF and BGSAVE on each Redis", err)
		}
		return nil
	})
}
