package personal

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// line is a line of an export. Which members it has depends on its kind: docs/export-user.md has them.
type line struct {
	Kind string `json:"kind"`

	Name        string     `json:"name,omitempty"`
	Account     string     `json:"account,omitempty"`
	FirstSignIn *time.Time `json:"firstSignIn,omitempty"`
	ExportedAt  *time.Time `json:"exportedAt,omitempty"`

	ID        string           `json:"id,omitempty"`
	Article   string           `json:"article,omitempty"`
	Title     *string          `json:"title,omitempty"`
	Link      *string          `json:"link,omitempty"`
	Text      *string          `json:"text,omitempty"`
	Groups    []site.GroupName `json:"groups,omitempty"`
	Upvotes   *int             `json:"upvotes,omitempty"`
	Downvotes *int             `json:"downvotes,omitempty"`
	EditedAt  *time.Time       `json:"editedAt,omitempty"`
	DeletedAt *time.Time       `json:"deletedAt,omitempty"`
	History   []version        `json:"history,omitempty"`
	Removal   *removal         `json:"removal,omitempty"`

	Direction string     `json:"direction,omitempty"`
	At        *time.Time `json:"at,omitempty"`
	Audit     *audit     `json:"audit,omitempty"`
	Void      *void      `json:"void,omitempty"`

	Note      *string    `json:"note,omitempty"`
	State     string     `json:"state,omitempty"`
	DecidedAt *time.Time `json:"decidedAt,omitempty"`
	Decision  *string    `json:"decision,omitempty"`

	Target string `json:"target,omitempty"`

	User  string     `json:"user,omitempty"`
	Until *time.Time `json:"until,omitempty"`

	Action string           `json:"action,omitempty"`
	ByYou  bool             `json:"byYou,omitempty"`
	Ground site.Ground      `json:"ground,omitempty"`
	Basis  *string          `json:"basis,omitempty"`
	Reason *string          `json:"reason,omitempty"`
	Before []site.GroupName `json:"before,omitempty"`
	After  []site.GroupName `json:"after,omitempty"`

	Lines  *int   `json:"lines,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// version is an earlier version of an article.
type version struct {
	Title string    `json:"title"`
	Text  string    `json:"text,omitempty"`
	Until time.Time `json:"until"`
	Votes int64     `json:"votes"`
	ByYou bool      `json:"byYou"` // who replaced it
}

// removal is why a moderator deleted or changed an article. Who it was is not said.
type removal struct {
	site.Why
	At         time.Time `json:"at"`
	FromReport bool      `json:"fromReport"`
}

// audit is what the record of votes has about one.
type audit struct {
	At      time.Time `json:"at"`
	Address string    `json:"address"` // the keyed hash of the address
}

// void is why a vote does not count. Which moderator took it out is not said.
type void struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// readProfile adds the user, what is denied, whom the user has blocked, and what the user follows.
func (e *export) readProfile(ctx context.Context, _ string) (string, bool, error) {
	account, signedIn, err := e.sessions.AccountOf(ctx, e.user)
	if err != nil {
		return "", false, err
	}
	lines := []line{{Kind: "profile", ID: e.user.Member(), Name: string(e.user), Account: account, ExportedAt: new(e.store.Now().UTC().Truncate(time.Second))}}
	if !signedIn.IsZero() {
		lines[0].FirstSignIn = &signedIn
	}
	if d := e.denials.LastDenial(e.user); d != nil {
		lines = append(lines, line{Kind: "denial", At: &d.At, Until: d.Until, Ground: d.Ground, Reason: &d.Reason})
	}
	blocked, err := e.denials.Blocked(ctx, e.user)
	for _, name := range blocked {
		lines = append(lines, line{Kind: "block", User: name.Member()})
	}
	followed, followErr := e.saved.Following(ctx, e.user)
	for _, f := range followed {
		lines = append(lines, line{Kind: "follow", Target: f.Member(), At: &f.At})
	}
	err = errors.Join(err, followErr)
	for _, l := range lines {
		err = errors.Join(err, e.add(l))
	}
	return "", false, err
}

// idsOf returns the articles whose members or numbers are found; what no script has written is an article that does not exist.
func idsOf(found []redis.Z) []site.ArticleID {
	ids := make([]site.ArticleID, len(found))
	for i, z := range found {
		ids[i], _ = site.ParseArticleID(strings.TrimPrefix(z.Member.(string), "-"))
	}
	return ids
}

// addPosted adds the articles of the user that are not deleted.
func (e *export) addPosted(ctx context.Context, found []redis.Z) (int, error) {
	return e.addArticles(ctx, found, false)
}

// addArticles adds the articles of the user that are deleted, or those that are not, until the part is full. It returns how many
// of those found it has looked at.
func (e *export) addArticles(ctx context.Context, found []redis.Z, deleted bool) (int, error) {
	read, errs := e.articles.ReadArticles(ctx, idsOf(found))
	for i, a := range read {
		switch {
		case errors.As(errs[i], new(site.Refusal)):
			continue
		case errs[i] != nil:
			return 0, errs[i]
		case a.Poster.Name != e.user || deleted != (a.DeletedAt != nil):
			continue
		}
		if err := e.addArticle(ctx, a); err != nil {
			return 0, err
		}
		if e.isFull() {
			return i + 1, nil
		}
	}
	return len(found), nil
}

func (e *export) addArticle(ctx context.Context, a *site.Article) (err error) {
	l := line{Kind: "article", ID: a.ID.String(), Title: &a.Title, Link: a.Link, Text: a.Text, Groups: a.Groups, At: &a.CreatedAt,
		Upvotes: &a.Upvotes, Downvotes: &a.Downvotes, EditedAt: a.EditedAt, DeletedAt: a.DeletedAt, ByYou: a.DeletedBy != nil && *a.DeletedBy == e.user}
	if a.Removal != nil {
		l.Removal = &removal{a.Removal.Why, a.Removal.At, a.Removal.FromReport}
	}
	if a.Stored.Edits > 0 {
		if l.History, err = e.history(ctx, a.ID); err != nil {
			return err
		}
	}
	return e.add(l)
}

// history returns the earlier versions of an article that are kept, the oldest first.
func (e *export) history(ctx context.Context, id site.ArticleID) (versions []version, err error) {
	history, err := e.store.Client.HGetAll(wire.Reading(ctx), e.store.Partition(id).History(id)).Result()
	if err != nil {
		return nil, err
	}
	for _, number := range site.VersionNumbers(history) {
		v, err := site.ParseVersion(history[strconv.FormatInt(number, 10)])
		if err != nil {
			return nil, err
		}
		versions = append(versions, version{v.Title, v.Text, site.UnixTime(v.Until), v.Votes, v.By == e.user})
	}
	return versions, nil
}

// addDeleted adds the user's own ones of deleted articles, and votes on any of them that no list of the user has.
func (e *export) addDeleted(ctx context.Context, found []redis.Z) (int, error) {
	posters, err := e.posters(ctx, idsOf(found))
	if err != nil {
		return 0, err
	}
	done := 0
	for done < len(found) && !e.isFull() {
		if posters[done] != e.user {
			done++
			continue
		}
		n := 1 // as many in a row as the user posted
		for n < articlesStep && done+n < len(found) && posters[done+n] == e.user {
			n++
		}
		if n, err = e.addArticles(ctx, found[done:done+n], true); err != nil {
			return 0, err
		}
		done += n
	}
	return done, e.addUnlisted(ctx, idsOf(found[:done]))
}

// posters returns who posted articles, in one round trip.
func (e *export) posters(ctx context.Context, ids []site.ArticleID) ([]site.UserName, error) {
	found, err := wire.ReadEach(ctx, e.store, ids, func(pipe redis.Pipeliner, id site.ArticleID) *redis.StringCmd {
		return pipe.HGet(ctx, e.store.Partition(id).Article(id), site.FieldPoster)
	})
	names := make([]site.UserName, len(ids))
	for i, text := range found {
		names[i] = site.UserOf(text.Val())
	}
	return names, err
}

// addReported adds the user's reports of articles.
func (e *export) addReported(ctx context.Context, found []redis.Z) (int, error) {
	made, err := e.reports.MadeBy(ctx, e.user, idsOf(found))
	if err != nil {
		return 0, err
	}
	for _, r := range made {
		if r == nil {
			continue // it was refused, or has ended
		}
		err := e.add(line{Kind: "report", ID: r.ID(), Article: r.Article.String(), Reason: new(string(r.Reason)), Note: r.NoteIfAny(), At: &r.At,
			State: string(r.State), DecidedAt: r.DecidedAt, Decision: r.Decision})
		if err != nil {
			return 0, err
		}
	}
	return len(found), nil
}

// addSaved adds articles that the user has saved.
func (e *export) addSaved(_ context.Context, found []redis.Z) (int, error) {
	for i, id := range idsOf(found) {
		if err := e.add(line{Kind: "saved", Article: id.String(), At: at(found[i].Score)}); err != nil {
			return 0, err
		}
	}
	return len(found), nil
}

// addModeration adds the entries that are about articles of the user, about the user, or about what the user did.
func (e *export) addModeration(ctx context.Context, partition int, found []redis.XMessage) error {
	var entries []events.ModerationEntry
	var ids []site.ArticleID
	for _, message := range found {
		entry, ok := events.LogEntry{At: events.NewLogCursor(message.ID, partition), Fields: message.Values}.Decode()
		if ok {
			entries, ids = append(entries, entry), append(ids, entry.Article)
		}
	}
	posters, err := e.posters(ctx, ids)
	if err != nil {
		return err
	}
	for i, entry := range entries {
		byUser := entry.By == e.user || entry.OnBehalfOf != nil && *entry.OnBehalfOf == e.user
		ofUser := entry.Target == e.user.Member()
		if !byUser && !ofUser && posters[i] != e.user {
			continue
		}
		l := line{Kind: "moderation", Action: string(entry.Kind), At: &entry.At, Until: entry.Until, ByYou: byUser,
			Basis: entry.Basis, Reason: entry.Reason, Before: entry.Before, After: entry.After}
		if ofUser {
			l.User = entry.Target
		}
		if entry.Article != 0 {
			l.Article = entry.Article.String()
		}
		if entry.Ground != nil {
			l.Ground = *entry.Ground
		}
		if err := e.add(l); err != nil {
			return err
		}
	}
	return nil
}
