package redisrepo

import (
	"context"
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
	defer func() { r.stats.regroupings.count(true, err) }()
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
	if err != nil {
		return nil, failover.Wrap(fmt.Sprintf("regroup %v", id), err)
	}
	if answer.Status() == "REFUSED" {
		return nil, site.TooManyGroups("add", tooMany)
	}
	return r.changed("regroup", id, answer)
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
