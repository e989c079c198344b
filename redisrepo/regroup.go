package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// Regroup adds an article to groups and removes it from others. Names are case-folded. Adding a group that the article
// is in, or removing one that it is not in, is a no-op, not an error. A group is listed while it has articles.
//
// A moderator can regroup the articles of others. Moderators and services can put any article into reserved groups and
// take it out. An article that is added to a group of a family leaves the family's other group. All these changes are
// entered in the moderation log.
//
// The Refusal is NotFound if the article does not exist, and Forbidden if the actor has no right to the change. It is
// Invalid or TooLong for an invalid name, a name in both lists, two groups of one family, the group Interesting, or
// more than MaxGroups groups afterwards.
func (r *Repo) Regroup(ctx context.Context, id site.ArticleID, by site.Actor, add, remove []string) (*site.Article, error) {
	return r.RegroupFor(ctx, id, by, add, remove, site.Why{})
}

// RegroupFor is Regroup by a moderator who says why, as in an Edit.
func (r *Repo) RegroupFor(ctx context.Context, id site.ArticleID, by site.Actor, add, remove []string, why site.Why) (article *site.Article, err error) {
	defer func() { r.Writes.Regroupings.count(true, err) }()
	adding, removing, err := parseRegroup(add, remove)
	if err != nil {
		return nil, err
	}
	why, broken := why.Check()
	if len(broken) > 0 {
		return nil, broken
	}
	refusals := append(r.Store.Rules.CheckReserved(by, "add", add), r.Store.Rules.CheckReserved(by, "remove", remove)...)
	if refusals = append(refusals, r.Store.Rules.CheckFamilies("add", add)...); len(refusals) > 0 {
		return nil, refusals
	}
	tooMany, named := 0, slices.Concat(adding, removing)
	reserved := r.Store.Rules.Reserved(slices.Clone(named))
	answer, err := r.runWithGroups(id, "", func(e expected) (wire.Reply, error) {
		current := site.GroupNames(e.groups)
		removing := append(r.Store.Rules.Superseded(current, adding), removing...)
		wanted := slices.DeleteFunc(slices.Concat(current, adding), func(name site.GroupName) bool { return slices.Contains(removing, name) })
		slices.Sort(wanted)
		wanted, tooMany = slices.Compact(wanted), 0
		if len(adding) > 0 && len(wanted) > site.MaxGroups {
			tooMany = len(wanted)
		}
		return r.callEdit(ctx, id, by, editChange{
			regroups: true, groups: wanted, why: why, refused: tooMany > 0, logged: len(reserved) > 0,
			may: by.Moderator || by.Service && len(reserved) == len(named),
		}, e)
	})
	if answer.Status() == "REFUSED" {
		return nil, site.TooManyGroups("add", tooMany)
	}
	return r.changed("regroup", id, answer, err)
}

func parseRegroup(add, remove []string) (adding, removing []site.GroupName, err error) {
	adding, broken := site.ParseGroups("add", add)
	removing, invalid := site.ParseGroups("remove", remove)
	broken = append(broken, invalid...)
	for i, name := range remove {
		if len(broken) > 0 {
			break // there may be any number of names
		}
		if group, err := site.ParseGroupName(name); err == nil && slices.Contains(adding, group) {
			broken = append(broken, site.Refuse(site.Invalid, "remove."+strconv.Itoa(i), "the group %q is both added and removed", group)...)
		}
	}
	if len(adding) == 0 && len(removing) == 0 && len(broken) == 0 {
		broken = site.Refuse(site.Invalid, "add", "name at least one group to add or to remove")
	}
	if len(broken) > 0 {
		return nil, nil, broken
	}
	return adding, removing, nil
}

// expected is what the caller of a script expects to be in the article's hash: the script must be given
// all keys that it touches, and these depend on the article's groups, posting time, poster and link.
type expected struct {
	groups, poster, link string
	time                 string // of posting, as a reply told it; empty otherwise
}

// maxStaleReplies is how often a script is called for an article whose groups have changed since they were
// read or found. Each time, another client must have regrouped it in between.
const maxStaleReplies = 32

var errGroupsKeepChanging = errors.New("the article's groups change faster than they can be read")

// runWithGroups calls a script with the article's cached groups and an expected poster. While it replies
// STALE, it is called again with the groups and the poster of the reply.
func (r *Repo) runWithGroups(id site.ArticleID, poster string, call func(expected) (wire.Reply, error)) (wire.Reply, error) {
	e := expected{poster: poster}
	e.groups, _ = r.Articles.GroupTexts.Get(id)
	for range maxStaleReplies {
		answer, err := call(e)
		if err != nil {
			return nil, err
		}
		if answer.Status() != "STALE" {
			return answer, nil
		}
		e = expected{answer.Text(1), answer.Text(2), answer.Text(3), answer.Text(4)}
	}
	return nil, fmt.Errorf("%w: %w", failover.ErrUnavailable, errGroupsKeepChanging)
}
