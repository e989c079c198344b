package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Regroup puts an article into groups and takes it out of others. Names are
// case-folded. To add a group it is in, or to remove one it is not in, changes
// nothing and is no error. A group exists from its first article to its last.
//
// A moderator can regroup what others posted. What that changes is entered in
// the moderation log.
//
// It refuses with NotFound when there is no such article, with Forbidden when by
// is neither its poster nor a moderator, with Invalid or TooLong for bad names, a
// name in both lists, the group "interesting", or more than MaxGroups groups in
// the end.
func (r *Repo) Regroup(ctx context.Context, id ArticleID, by Actor, add, remove []string) (*Article, error) {
	adding, removing, err := parseRegroup(add, remove)
	if err != nil {
		return nil, err
	}
	p := r.partition(id)
	answer, err := r.runKnowingGroups(ctx, id, "", func(known known) (reply, error) {
		keys := append(make([]string, 0, 32),
			p.article(id), p.ranking(ByTime), p.ranking(ByScore), p.groups(), p.posted(userOf(known.poster)), p.changes(r.database), p.moderation())
		keys = groupKeys(groupKeys(groupKeys(keys, p, groupNames(known.groups)...), p, adding...), p, removing...)
		return r.run(ctx, regroupScript, keys, []any{
			id.String(), groupText(adding), groupText(removing), MaxGroups, known.groups, by.Name.member(), known.poster,
			by.Moderator, moderationEntries, r.scriptNow(),
		})
	})
	if err != nil {
		return nil, storeError(fmt.Sprintf("regroup %v", id), err)
	}
	switch status := answer.status(); status {
	case "OK":
		return r.observeReply(id, answer, 1)
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

// regroupLimit bounds each list of names, and so the keys of the script.
const regroupLimit = 100

func parseRegroup(add, remove []string) (adding, removing []GroupName, err error) {
	var broken, refused Refusal
	parse := func(field string, names []string) []GroupName {
		if len(names) > regroupLimit {
			broken = append(broken, refuse(TooLong, field, "at most %d groups can be named at once, these are %d", regroupLimit, len(names))...)
			return nil
		}
		groups, err := parseGroups(field, names)
		if errors.As(err, &refused) {
			broken = append(broken, refused...)
		}
		return groups
	}
	adding, removing = parse("add", add), parse("remove", remove)
	for i, name := range remove {
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
