package reports

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/secretbox"
	"frontpage/redisrepo/site"
)

// Limits of notices. Characters are Unicode code points.
const (
	MaxLocations   = 10
	minExplanation = 20
	maxExplanation = 5000
	maxName        = 200
	maxEmail       = 254
	maxKey         = 100

	noticePrefix = "!"
	randomPart   = 10 // bytes of a reference
	secretPart   = 16 // bytes
	maxReference = 16 + MaxLocations*11
)

// The purposes of the keys that follow from the site's secret.
const (
	contactPurpose = "contact of a notice"
	noticePurpose  = "reference and secret of a notice"
)

// NoticeDraft is a notice of illegal content as a client submits it.
type NoticeDraft struct {
	Locations      []string // ids of articles, or addresses of their pages
	Explanation    string
	Name, Email    *string
	GoodFaith      bool
	WithoutContact bool // name and email may be missing
	IdempotencyKey *string
}

// Contact is who sent a notice.
type Contact struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
}

// Receipt identifies a notice: its sender needs both to see the outcome.
type Receipt struct{ Reference, Secret string }

// TakesNotices reports whether the site accepts notices of illegal content.
func (r *Reports) TakesNotices() bool { return r.o.Box != nil }

// Notify accepts a notice of illegal content, as a report of each existing article among its locations, of which there
// must be one. The same notice with the same idempotency key again is a no-op with the same receipt.
//
// The Refusal is Forbidden if the site takes no notices, NotFound if no article exists, and Invalid or TooLong for invalid values.
func (r *Reports) Notify(ctx context.Context, d NoticeDraft) (Receipt, error) {
	if !r.TakesNotices() {
		return Receipt{}, site.Refuse(site.Forbidden, "", "this site takes no notices here: its operator has not set up how they are kept confidential")
	}
	ids, contact, broken := r.checkNotice(d)
	if len(broken) > 0 {
		return Receipt{}, broken
	}
	receipt, err := r.receipt(d, ids)
	if err != nil {
		return Receipt{}, err
	}
	f := filing{by: noticePrefix + receipt.Reference, reason: Illegal, note: d.Explanation, digest: digestOf(receipt.Secret)}
	if contact != (Contact{}) {
		text, _ := json.Marshal(contact) // it has texts only
		if f.contact, err = r.o.Box.Seal(contactPurpose, text, []byte(receipt.Reference)); err != nil {
			return Receipt{}, err
		}
	}
	found := false
	for _, id := range ids {
		status, err := r.flag(ctx, id, f)
		if err != nil {
			return Receipt{}, failover.Wrap("take a notice", err)
		}
		found = found || status == "OK"
	}
	if !found {
		return Receipt{}, site.Refuse(site.NotFound, "locations", "no article exists at these locations, or they were deleted")
	}
	return receipt, nil
}

// receipt makes the reference and the secret of a notice. With an idempotency key both follow from the whole notice, so that it
// gets them again, and another notice with the same key does not.
func (r *Reports) receipt(d NoticeDraft, ids []site.ArticleID) (Receipt, error) {
	seed := rand.Text() + rand.Text()
	if d.IdempotencyKey != nil {
		text, err := json.Marshal(d)
		if err != nil {
			return Receipt{}, err
		}
		seed = string(text)
	}
	digest, err := r.o.Box.Digest(noticePurpose, seed)
	if err != nil {
		return Receipt{}, err
	}
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString
	reference := text(digest[:randomPart])
	for _, id := range ids {
		reference += "-" + id.Number()
	}
	return Receipt{Reference: reference, Secret: text(digest[randomPart:][:secretPart])}, nil
}

// checkNotice returns the articles that a notice names, and the contact.
func (r *Reports) checkNotice(d NoticeDraft) (ids []site.ArticleID, c Contact, broken site.Refusal) {
	refuse := func(field, format string, args ...any) {
		broken = append(broken, site.Refuse(site.Invalid, field, format, args...)...)
	}
	if n := len(d.Locations); n < 1 || n > MaxLocations {
		refuse("locations", "name 1 to %d locations, not %d", MaxLocations, n)
	} else {
		for i, location := range d.Locations {
			id, problem := r.parseLocation(location)
			if problem != "" {
				refuse("locations."+strconv.Itoa(i), "%s", problem)
			}
			ids = append(ids, id)
		}
	}
	_, refusal := site.CheckNote("explanation", d.Explanation, maxExplanation)
	broken = append(broken, refusal...)
	if n := utf8.RuneCountInString(strings.TrimSpace(d.Explanation)); n < minExplanation {
		refuse("explanation", "explain in at least %d characters why the content is illegal", minExplanation)
	}
	c.Name, refusal = site.CheckLine("name", site.Value(d.Name), maxName)
	broken = append(broken, refusal...)
	if c.Name == "" && len(refusal) == 0 && !d.WithoutContact {
		refuse("name", "your name is required")
	}
	c.Email, refusal = site.CheckLine("email", site.Value(d.Email), maxEmail)
	broken = append(broken, refusal...)
	address, err := mail.ParseAddress(c.Email)
	switch {
	case c.Email == "" && d.WithoutContact || len(refusal) > 0:
	case c.Email == "":
		refuse("email", "your email address is required")
	case err != nil || address.Address != c.Email || address.Name != "":
		refuse("email", "the email address is not one such as alice@example.org")
	}
	if !d.GoodFaith {
		refuse("goodFaith", "confirm that you believe in good faith that what you say is accurate and complete")
	}
	if k := d.IdempotencyKey; k != nil {
		if n := utf8.RuneCountInString(*k); n < 1 || n > maxKey {
			refuse("idempotencyKey", "an idempotency key has 1 to %d characters, this one has %d", maxKey, n)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), c, broken
}

// parseLocation returns the article that a location names, or what is wrong with it.
func (r *Reports) parseLocation(text string) (id site.ArticleID, problem string) {
	text = strings.TrimSpace(text)
	if id, err := site.ParseArticleID(text); err == nil {
		return id, ""
	}
	at, err := url.Parse(text)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" {
		return 0, fmt.Sprintf("%s is neither the id of an article, such as article:17, nor the address of its page", site.Shown(text))
	}
	if origin, err := url.Parse(r.o.Origin); err == nil && origin.Host != "" && !strings.EqualFold(origin.Host, at.Host) {
		return 0, fmt.Sprintf("%s is not on this site, which is %s", site.Shown(text), r.o.Origin)
	}
	number, isArticle := strings.CutPrefix(at.Path, "/a/")
	if id, err = site.ParseArticleID(number); !isArticle || err != nil || id.Number() != number {
		return 0, fmt.Sprintf("%s is not the address of an article, which ends as in /a/17", site.Shown(text))
	}
	return id, ""
}

// Noticed returns the reports of a notice by its reference and its secret. A moderator needs no secret. The
// result is empty if there is no such notice, if it has expired, or if the secret is wrong.
func (r *Reports) Noticed(ctx context.Context, reference, secret string, isModerator bool) ([]*Report, error) {
	words := strings.Split(reference, "-")
	if len(words) < 2 || len(words) > 1+MaxLocations || !isReference(reference) {
		return nil, nil
	}
	var asked []filed
	for _, word := range words[1:] {
		id, err := site.ParseArticleID(word)
		if err != nil {
			return nil, nil //nolint:nilerr // it is the reference of no notice
		}
		asked = append(asked, filed{id, noticePrefix + reference})
	}
	reports, err := r.find(ctx, asked)
	if err != nil {
		return nil, err
	}
	digest := digestOf(secret)
	return slices.DeleteFunc(reports, func(report *Report) bool {
		return report == nil || !isModerator && subtle.ConstantTimeCompare([]byte(report.digest), []byte(digest)) == 0
	}), nil
}

func digestOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Contacts returns for each report the sender of the notice: nil for reports of users, for notices without a contact or
// whose contact was erased, and for contacts sealed with a secret that the site no longer has.
func (r *Reports) Contacts(ctx context.Context, reports []*Report) ([]*Contact, error) {
	contacts, replies := make([]*Contact, len(reports)), make([]*redis.StringCmd, len(reports))
	if r.o.Box == nil {
		return contacts, nil
	}
	err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, report := range reports {
			if report.Kind == Notice {
				replies[i] = pipe.HGet(ctx, r.store.Partition(report.Article).Contact(report.Article, report.batch), strconv.Itoa(report.Number))
			}
		}
	})
	if err != nil {
		return nil, failover.Wrap("read the contacts of notices", err)
	}
	for i, report := range reports {
		if replies[i] == nil || replies[i].Val() == "" {
			continue
		}
		text, err := r.o.Box.Open(contactPurpose, []byte(replies[i].Val()), []byte(report.Reference))
		if errors.Is(err, secretbox.ErrUnreadable) {
			continue
		}
		c := new(Contact)
		if err == nil {
			err = json.Unmarshal(text, c)
		}
		if err != nil {
			return nil, fmt.Errorf("contact of %s: %w", report.ID(), err)
		}
		contacts[i] = c
	}
	return contacts, nil
}
