package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"frontpage/redisrepo"
	"frontpage/redisrepo/check"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/settings"
	"frontpage/settings/manual"
)

// program is the command line: the settings of all commands, and the commands.
type program struct {
	settings.Settings `embed:""`

	Serve         serve           `cmd:"" default:"withargs" help:"Serve the site. This is the default command."`
	Import        importFile      `cmd:"" help:"Add the articles of a CSV file, or all of an export. For an export, the store must be empty."`
	Export        exportSite      `cmd:"" help:"Write the site to standard output: articles, groups, votes, the moderation log. import reads it back."`
	ExportUser    exportUser      `cmd:"" help:"Write all that the store has about a user, as NDJSON. It changes nothing, and the server may run."`
	Check         checkStore      `cmd:"" help:"Check the store for inconsistencies. Exit code 1 if there are any."`
	Adopt         adopt           `cmd:"" help:"Take over what programs of the book have written. The server may run."`
	Rank          rank            `cmd:"" help:"Preview the front page under other settings. Give them, as in --ranking halflife:6h: it is printed beside the present one, and nothing changes."`
	Delete        deletion        `cmd:"" help:"Delete articles, as a moderator does. undelete restores them."`
	DescribeGroup describeGroup   `cmd:"" help:"Say what a group is about, and its rules, as a moderator does. What was said before is replaced."`
	Undelete      undelete        `cmd:"" help:"Restore a deleted article, with its rank."`
	Erase         eraseUser       `cmd:"" help:"Take a user's name out of the store, beside a running server. The next call goes on with what was interrupted."`
	Audit         audit           `cmd:"" help:"List who voted on an article. If FRONTPAGE_AUDIT_SECRET is set, also when and from which address (as a keyed hash)."`
	Rings         findRings       `cmd:"" help:"Find users who vote together above chance, beside a server. It changes nothing."`
	Webhooks      webhookCommands `cmd:"" help:"List, add, change and remove webhooks: endpoints to which the site sends its events. The server may run."`
	Backup        backup          `cmd:"" help:"Write a snapshot of the private server's data to a file. The site can be used meanwhile."`
	Restore       restore         `cmd:"" help:"Restore a backup of the private server. Its data directory must be empty."`
	Token         token           `cmd:"" help:"Print a token of a user for FRONTPAGE_JWT_SECRET."`
	Config        showConfig      `cmd:"" help:"Print the settings in force and where each comes from. Secrets are masked."`
	Health        health          `cmd:"" help:"Ask the server on FRONTPAGE_ADDR whether it is alive. Exit code 1 if it is not."`
	Completion    completion      `cmd:"" help:"Print the completion of commands and settings for a shell."`
	Manual        manualPage      `cmd:"" hidden:"" help:"Print the manual page."`
	Help          helpCommand     `cmd:"" hidden:"" help:"Print the help of a command or, for settings, of all of them."`
	PrintVersion  version         `cmd:"" name:"version" help:"Print version, commit, Go version and data layout."`

	Version kong.VersionFlag `help:"Print the version, like the command version."`
}

// commandLine is who acts by a command.
var commandLine = site.Actor{Name: site.CommandLine, Moderator: true}

// batchTimeout is the minimum timeout for a reply from the store in all commands but serve: they send it
// much work at once, and no client waits for them.
const batchTimeout = 30 * time.Second

// healthTimeout is more than the server itself takes for a reply about a store that does not answer.
const healthTimeout = 2 * readyTimeout

func batchOptions(s *settings.Settings, log *slog.Logger) store.Options {
	o := s.StoreOptions(log)
	o.Timeout = max(o.Timeout, batchTimeout)
	return o
}

// withStore opens the store for a command and closes it after use. A store in memory is an error: its
// data would be lost when the command ends.
func withStore(ctx context.Context, s *settings.Settings, log *slog.Logger, use func(*store.Store) error) (err error) {
	st, err := store.Open(ctx, batchOptions(s, log))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(st.Explain(err), st.Close()) }()
	if st.Kind == store.Memory {
		return fmt.Errorf("%s: the data is in memory and would be lost when this command ends: install redis-server, or set REDIS_URL to a running Redis", settings.Name("redis-url"))
	}
	failover.LimitWaiting(st.Client)
	log.Info("the store is " + st.Where())
	return use(st)
}

// withSite opens the site in the store for a command. It does not upgrade the data: only the server does.
func withSite(ctx context.Context, s *settings.Settings, log *slog.Logger, use func(*redisrepo.Repo) error) error {
	return withStore(ctx, s, log, func(st *store.Store) error {
		repo, err := openCommandSite(ctx, s, st, log)
		if err != nil {
			return err
		}
		return use(repo)
	})
}

// openCommandSite opens the site in a store that withStore opened.
func openCommandSite(ctx context.Context, s *settings.Settings, st *store.Store, log *slog.Logger) (*redisrepo.Repo, error) {
	return openSite(ctx, s, st, redisrepo.KeepRules(), redisrepo.OnProgress(logProgress(log, "preparing the store: ")))
}

type checkStore struct {
	NextStart bool `help:"Only say what the next start of this version would do to the data. It changes nothing."`
}

// Run prints every violation on standard output. If there is one, it returns an error.
func (c checkStore) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	if c.NextStart {
		return printPending(ctx, s, log)
	}
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		checked, err := check.Check(ctx, repo, func(violation string) { fmt.Println(violation) })
		if err != nil {
			return err
		}
		fmt.Printf("checked %d articles, %d deleted articles and %d groups: %d violations\n", checked.Articles, checked.Deleted, checked.Groups, checked.Violations)
		if checked.ByBook {
			return errors.New("the store is inconsistent; if a program of the book has written to it, frontpage adopt takes that over")
		}
		if checked.Violations > 0 {
			return errors.New("the store is inconsistent")
		}
		return nil
	})
}

type adopt struct{}

// Run prints how many articles have changed.
func (adopt) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		adopted, err := repo.Layout.Adopt(ctx)
		fmt.Printf("took over %d articles\n", adopted)
		return err
	})
}

type deletion struct {
	Articles []string    `arg:"" name:"article" help:"Ids of the articles, such as article:17, or their numbers."`
	Ground   site.Ground `enum:"rules,illegal,other" default:"other" help:"Why: against the rules, illegal, or another ground."`
	Basis    string      `placeholder:"TEXT" help:"The rule or the law, of at most 200 characters."`
	Reason   string      `placeholder:"TEXT" help:"Reason that the poster reads, of at most 500 characters."`
}

// Run deletes the articles in this order, unless one does not exist.
func (d *deletion) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	ids := make([]site.ArticleID, len(d.Articles))
	for i, text := range d.Articles {
		id, err := site.ParseArticleID(text)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		_, errs := repo.Articles.ArticlesByID(ctx, ids)
		errs = slices.DeleteFunc(errs, func(err error) bool { // deleting it again adds a reason
			_, isDeleted := errors.AsType[site.Deleted](err)
			return isDeleted
		})
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("nothing was deleted: %w", err)
		}
		for _, id := range ids {
			article, err := repo.Delete(ctx, id, commandLine, site.Why{Ground: d.Ground, Basis: d.Basis, Reason: d.Reason})
			if err != nil {
				return err
			}
			fmt.Printf("deleted %v: %q, %d votes\n", article.ID, article.Title, article.Votes)
		}
		return nil
	})
}

type undelete struct {
	Article string `arg:"" help:"Id of the article, such as article:17, or its number."`
}

// Run restores a deleted article.
func (u *undelete) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	id, err := site.ParseArticleID(u.Article)
	if err != nil {
		return err
	}
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		if _, err := repo.Deleted(ctx, id); err != nil {
			return err
		}
		article, err := repo.Undelete(ctx, id, commandLine)
		if err != nil {
			return err
		}
		fmt.Printf("restored %v: %q, %d votes, score %.0f\n", article.ID, article.Title, article.Votes, article.Score)
		return nil
	})
}

type audit struct {
	Article string `arg:"" help:"Id of the article, such as article:17, or its number."`
}

// Run prints a line with the names of the columns, and one for each voter: name, vote, time and hashed address,
// separated by tabs. A dash stands for what was not recorded.
func (a *audit) Run(ctx context.Context, s *settings.Settings, log *slog.Logger) error {
	id, err := site.ParseArticleID(a.Article)
	if err != nil {
		return err
	}
	return withSite(ctx, s, log, func(repo *redisrepo.Repo) error {
		entries, err := repo.Audit(ctx, id)
		if err != nil {
			return err
		}
		fmt.Println("voter\tvote\ttime\taddress")
		for _, e := range entries {
			at := "-"
			if e.At != nil {
				at = e.At.Format(time.RFC3339)
			}
			fmt.Printf("%s\t%v\t%s\t%s\n", e.Voter, e.Vote, at, cmp.Or(e.Bucket, "-"))
		}
		return nil
	})
}

type health struct {
	Ready bool `help:"Ask whether it is ready as well: its store replies."`
}

// Run asks /healthz or /readyz, and prints the reply. It is what a container without a shell can run to check itself.
func (h *health) Run(ctx context.Context, s *settings.Settings) error {
	address, err := net.ResolveTCPAddr("tcp", s.Addr)
	if err != nil {
		return settings.Invalid(err, "addr")
	}
	if address.IP == nil || address.IP.IsUnspecified() {
		address.IP = net.IPv4(127, 0, 0, 1)
	}
	scheme, path := "http", "/healthz"
	if s.TLSCertFile != "" {
		scheme = "https"
	}
	if h.Ready {
		path = "/readyz"
	}
	// #nosec G402 -- it asks this machine, by an address that the certificate need not name, and sends no secret
	client := http.Client{Timeout: healthTimeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address.String()+path, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: no server answers there: %w", settings.Name("addr"), errors.Unwrap(err))
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", path, res.Status, bytes.TrimSpace(text))
	}
	fmt.Printf("%s\n", bytes.TrimSpace(text))
	return nil
}

type completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints what the shell is to source.
func (c *completion) Run(command *kong.Context) error {
	return manual.Completion(os.Stdout, command.Model, c.Shell)
}

type helpCommand struct {
	Topic string `arg:"" optional:"" help:"A command, or settings."`
}

// Run prints what --help prints, or with all settings.
func (h helpCommand) Run(command *kong.Context) error { return settings.Help(command, h.Topic) }

type manualPage struct {
	Commands bool `help:"Print the table of docs/commands.md instead."`
	Settings bool `help:"Print the tables of docs/settings.md instead."`
}

// Run prints the page in roff, or the tables in Markdown.
func (m manualPage) Run(command *kong.Context) error {
	switch {
	case m.Commands:
		return manual.Commands(os.Stdout, command.Model)
	case m.Settings:
		return manual.Settings(os.Stdout, command.Model)
	}
	b := thisBuild()
	return manual.Page(os.Stdout, command.Model, b.version, b.date)
}

type token struct {
	User string        `arg:"" help:"Name of the user."`
	Role []string      `placeholder:"NAME" help:"Role of the user: moderator or service."`
	For  time.Duration `default:"1h" help:"How long the token is valid, such as 1h or 30d."`
}

// Run prints the token alone, for use in a shell.
func (t *token) Run(s *settings.Settings) error {
	text, err := s.Token(t.User, t.Role, t.For)
	if err == nil {
		fmt.Println(text)
	}
	return err
}

type showConfig struct{}

// Run prints a line for each setting: its variable, its value and where that comes from.
func (showConfig) Run(command *kong.Context, s *settings.Settings) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SETTING\tVALUE\tFROM")
	for _, v := range s.Values(command) {
		fmt.Fprintf(table, "%s\t%s\t%s\n", v.Variable, v.Text, v.Source)
	}
	return table.Flush()
}
