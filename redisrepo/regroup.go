package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Regroup adds an article to groups and removes it from others. Names are case-folded. Adding a group
// that the article is in, or removing one that it is not in, is a no-op, not an error. A group exists
// while it has articles.
//
// A moderator can regroup the articles of others. Moderators and services can put any article into reserved groups and
// take it out. An article that is added to one of a family leaves the family's other one. All these changes are entered
// in the moderation log.
//
// The Refusal is NotFound if the article does not exist, and Forbidden if the actor has no right to the change. It is
// Invalid or TooLong for an invalid name, a name in both lists, two groups of one family, the group Interesting, and a
// result of more than MaxGroups groups.
func (r *Repo) Regroup(ctx context.Context, id ArticleID, by Actor, add, remove []string) (article *Article, err error) {
	defer func() { r.stats.regroupings.count(true, err) }()
	adding, removing, err := parseRegroup(add, remove)
	if err != nil {
		return nil, err
	}
	refusals := append(r.rules.checkReserved(by, "add", add), r.rules.checkReserved(by, "remove", remove)...)
	if refusals = append(refusals, r.rules.checkFamilies("add", add)...); len(refusals) > 0 {
		return nil, refusals
	}
	p := r.partition(id)
	answer, err := r.runWithGroups(ctx, id, "", func(e expected) (reply, error) {
		removing := append(r.rules.superseded(groupNames(e.groups), adding), removing...)
		keys := append(make([]string, 0, 32),
			p.article(id),         // KEYS[1] article
			p.ranking(ByTime),     // KEYS[2] times
			p.ranking(ByScore),    // KEYS[3] scores
			p.groups(),            // KEYS[4] group_names
			p.changes(r.database), // KEYS[5] changes
			p.moderation(),        // KEYS[6] log
			p.sizes(),             // KEYS[7] sizes
			p.events(),            // KEYS[8] events
			p.clock(""),           // KEYS[9] clock
		)
		names := slices.Concat(groupNames(e.groups), adding, removing)
		keys = r.groupTopKeys(groupKeys(keys, p, names...), p, e.posted, names...)
		return r.write(ctx, regroupScript, keys, []any{
			id.String(),         // ARGV[1] member
			groupText(adding),   // ARGV[2] add
			groupText(removing), // ARGV[3] remove
			MaxGroups,           // ARGV[4] max_groups
			e.groups,            // ARGV[5] current
			by.Name.member(),    // ARGV[6] by
			by.Moderator || by.Service && r.rules.areReserved(adding, removing), // ARGV[7] may
			moderationEntries,                     // ARGV[8] max_entries
			r.scriptNow(),                         // ARGV[9] now
			by.via(),                              // ARGV[10] via
			r.rules.anyReserved(adding, removing), // ARGV[11] logged
			r.on,                                  // ARGV[12] features
		})
	})
	if err != nil {
		return nil, storeError(fmt.Sprintf("regroup %v", id), err)
	}
	switch status := answer.status(); status {
	case "OK":
		return r.observeReply(id, answer)
	case "NOT_FOUND":
		return nil, noArticle(id)
	case "FORBIDDEN":
		return nil, refuse(Forbidden, "article", "only its poster and moderators can regroup %v", id)
	case "TOO_MANY":
		n, _ := answer[1].(int64)
		return nil, tooManyGroups("add", int(n))
	default:
		return nil, fmt.Errorf("regroup %v: the script replied %q", id, status)
	}
}

func parseRegroup(add, remove []string) (adding, removing []GroupName, err error) {
	var broken, invalid Refusal
	parse := func(field string, names []string) []GroupName {
		groups, err := parseGroups(field, names)
		if errors.As(err, &invalid) {
			broken = append(broken, invalid...)
		}
		return groups
	}
	adding, removing = parse("add", add), parse("remove", remove)
	for i, name := range remove {
		if len(broken) > 0 {
			break // there may be any number of names
		}
		if group, err := ParseGroupName(name); err == nil && slices.Contains(adding, group) {
			broken = append(broken, refuse(Invalid, "remove."+strconv.Itoa(i), "the group %q is both added and removed", group)...)
		}
	}
	if len(adding) == 0 && len(removing) == 0 && len(broken) == 0 {
		broken = refuse(Invalid, "add", "name at least one group to add or to remove")
	}
	if len(broken) > 0 {
		return nil, nil, broken
	}
	return adding, removing, nil
}
