package articles

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Hash is an article's hash. Missing fields are empty, other fields are ignored.
type Hash struct {
	Title, Link, Text, Poster, Time, Votes, Downvotes, Groups, Revision, cast, Uncounted, Edits, Edited, Edition, Deleted, DeletedBy, Why, Reported, Voided string

	Grouped bool // whether it has the field groups
}

func (h *Hash) set(field, value string) {
	switch field {
	case site.FieldTitle:
		h.Title = value
	case site.FieldLink:
		h.Link = value
	case site.FieldText:
		h.Text = value
	case site.FieldPoster:
		h.Poster = value
	case site.FieldTime:
		h.Time = value
	case site.FieldVotes:
		h.Votes = value
	case site.FieldDownvotes:
		h.Downvotes = value
	case site.FieldGroups:
		h.Groups, h.Grouped = value, true
	case site.FieldRevision:
		h.Revision = value
	case site.FieldCast:
		h.cast = value
	case site.FieldUncounted:
		h.Uncounted = value
	case site.FieldEdits:
		h.Edits = value
	case site.FieldEdited:
		h.Edited = value
	case site.FieldEdition:
		h.Edition = value
	case site.FieldDeleted:
		h.Deleted = value
	case site.FieldDeletedBy:
		h.DeletedBy = value
	case site.FieldWhy:
		h.Why = value
	case site.FieldVoided:
		h.Voided = value
	case site.FieldReported:
		h.Reported = value
	}
}

// HashOf returns the known fields of an article.
func HashOf(fields map[string]string) (h Hash) {
	for field, value := range fields {
		h.set(field, value)
	}
	return h
}

// ParseHash parses the raw reply to HGETALL, of RESP2 or RESP3. The values are substrings of it. fields is the number
// of fields; ok is false if the reply is not a hash, such as an error.
func ParseHash(reply string) (h Hash, fields int, ok bool) {
	kind, fields, rest, ok := wire.CutHeader(reply)
	switch {
	case !ok:
		return h, 0, false
	case kind == '*' && fields%2 == 0: // RESP2
		fields /= 2
	case kind != '%': // RESP3
		return h, 0, false
	}
	for range fields {
		var field, value string
		if field, rest, ok = wire.CutBulk(rest); !ok {
			return Hash{}, 0, false
		}
		if value, rest, ok = wire.CutBulk(rest); !ok {
			return Hash{}, 0, false
		}
		h.set(field, value)
	}
	return h, fields, rest == ""
}

// HashIn returns the article's hash that is element 1 of a script's reply.
func HashIn(answer wire.Reply) (h Hash, err error) {
	err = answer.Fields(1, h.set)
	return h, err
}

// ArticleByLink returns the id of the newest article with a link, which may be deleted, or nil if no article has it.
// The link may have any form, see NormalizeLink. An invalid link is refused as by Post.
func (r *Articles) ArticleByLink(ctx context.Context, link string) (*site.ArticleID, error) {
	text, broken := site.PostRules.CheckLink(&link)
	if text == "" && broken == nil {
		broken = site.Refuse(site.Invalid, "link", "the link is empty: give an absolute http or https URL")
	}
	if broken != nil {
		return nil, broken
	}
	record, err := r.store.Client.Get(wire.Reading(ctx), r.LinkRecord(text)).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, failover.Wrap("look up a link", err)
	}
	id, _, err := ParseLinkRecord(record)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

// LinkRecord returns the key of the record of the newest article with a link. It is in the partition to which the link
// is posted; an imported article may be in another one.
func (r *Articles) LinkRecord(link string) string {
	digest := site.LinkDigest(link)
	return r.store.Partitions[keys.LinkIndex(len(r.store.Partitions), digest)].Link(digest)
}

// ParseLinkRecord returns the article that the record of a link names, and its posting time as text.
func ParseLinkRecord(record string) (id site.ArticleID, time string, err error) {
	member, time, _ := strings.Cut(record, " ")
	if id, err = site.ParseArticleID(member); err != nil {
		return 0, "", fmt.Errorf("record of a link: %w", err)
	}
	return id, time, nil
}

// Linked is an article with a link, and its posting time as text.
type Linked struct {
	ID         site.ArticleID
	Link, Time string
}
