package repotest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"frontpage/redisrepo/check"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/rankings"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// Orders are the orders of listings.
var Orders = []site.Order{site.ByScore, site.ByTime}

// Article reads an article.
func (s *Site) Article(id site.ArticleID) *site.Article {
	s.T.Helper()
	articles, errs := s.Articles.ArticlesByID(s.Ctx, []site.ArticleID{id})
	if errs[0] != nil {
		s.T.Fatalf("ArticlesByID %v: %v", id, errs[0])
	}
	return articles[0]
}

// Positions returns the user's votes on the articles, one character each; "?" stands for a forgotten one.
func (s *Site) Positions(user site.UserName, ids ...site.ArticleID) string {
	s.T.Helper()
	articles, errs := s.Articles.ArticlesByID(s.Ctx, ids)
	require.NoError(s.T, errors.Join(errs...))
	return Signs(require.Value(s.Casts.Votes(s.Ctx, user, articles))(s.T))
}

// Signs writes votes as Positions does.
func Signs(votes []*site.Vote) string {
	var b strings.Builder
	for _, vote := range votes {
		if vote == nil {
			b.WriteByte('?')
		} else {
			b.WriteByte("-0+"[*vote+1])
		}
	}
	return b.String()
}

// List returns the first page of a listing.
func (s *Site) List(l lists.Listing) []site.ArticleID {
	s.T.Helper()
	return require.Value(s.Lists.List(s.Ctx, l, 1, nil))(s.T)
}

// Best lists a group by score, the highest first.
func Best(group site.GroupName) lists.Listing {
	return lists.InGroup(group, site.ByScore, site.Descending)
}

// WantList compares the first page of a listing.
func (s *Site) WantList(l lists.Listing, want ...site.ArticleID) {
	s.T.Helper()
	if got := s.List(l); !slices.Equal(got, want) {
		s.T.Errorf("List = %v, want %v", got, want)
	}
}

// Violations returns what Check reports, sorted.
func (s *Site) Violations() []string {
	s.T.Helper()
	var found []string
	require.Value(check.Check(s.Ctx, s.Repo, func(violation string) { found = append(found, violation) }))(s.T)
	slices.Sort(found)
	return found
}

// WantViolations compares what Check reports.
func (s *Site) WantViolations(want ...string) {
	s.T.Helper()
	if got := s.Violations(); !slices.Equal(got, want) {
		s.T.Errorf("Check reports\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// WantClean fails the test if Check reports something.
func (s *Site) WantClean() {
	s.T.Helper()
	s.WantViolations()
}

// WantRefused fails the test unless err is a refusal with exactly these codes and fields, such as
// "INVALID title".
func WantRefused(t *testing.T, err error, want ...string) {
	t.Helper()
	var refusal site.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("err = %v, want a refusal with %q", err, want)
	}
	got := make([]string, len(refusal))
	for i, e := range refusal {
		got[i] = strings.TrimSpace(string(e.Code) + " " + strings.Join(e.Field, "."))
		if e.Message == "" || strings.HasSuffix(e.Message, ".") {
			t.Errorf("message of %s = %q, want a sentence without a full stop", got[i], e.Message)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("refused with %q, want %q: %v", got, want, err)
	}
}

// Groups returns the first 100 groups with their counts.
func (s *Site) Groups() ([]*site.Group, error) {
	edges, _, err := s.Lists.Groups(s.Ctx, lists.GroupList{}, site.PageRequest{First: new(100)})
	if err != nil {
		return nil, err
	}
	names := make([]site.GroupName, len(edges))
	for i, edge := range edges {
		names[i] = edge.Name
	}
	counts, err := s.Articles.ArticleCounts(s.Ctx, names)
	if err != nil {
		return nil, err
	}
	groups := make([]*site.Group, len(edges))
	for i, name := range names {
		groups[i] = &site.Group{Name: name, ArticleCount: counts[i]}
	}
	return groups, nil
}

// WantCounts fails the test unless these are all groups by name, each with its number of articles: "go 2".
func (s *Site) WantCounts(want ...string) {
	s.T.Helper()
	var got []string
	for _, group := range require.Value(s.Groups())(s.T) {
		got = append(got, fmt.Sprint(group.Name, " ", group.ArticleCount))
	}
	if !slices.Equal(got, want) {
		s.T.Errorf("Groups = %q, want %q", got, want)
	}
}

// WantDuplicate fails the test unless err is a refusal that names the first article.
func WantDuplicate(t *testing.T, err error, first site.ArticleID) {
	t.Helper()
	WantRefused(t, err, "DUPLICATE_LINK link")
	var refusal site.Refusal
	if errors.As(err, &refusal) && (refusal[0].Article == nil || *refusal[0].Article != first) {
		t.Errorf("Article = %v, want %v", refusal[0].Article, first)
	}
}

// WantNewest fails the test unless the newest article with a link is this one.
func (s *Site) WantNewest(link string, want site.ArticleID) {
	s.T.Helper()
	id, err := s.Articles.ArticleByLink(s.Ctx, link)
	if err != nil || want == 0 && id != nil || want != 0 && (id == nil || *id != want) {
		s.T.Errorf("ArticleByLink(%s) = %v, %v, want %v", link, id, err, want)
	}
}

// Whole returns all articles of a listing, in its order.
func (s *Site) Whole(l lists.Listing) (all []site.ArticleID) {
	s.T.Helper()
	for page := 1; ; page++ {
		ids := require.Value(s.Lists.List(s.Ctx, l, page, new(100)))(s.T)
		if all = append(all, ids...); len(ids) < 100 {
			return all
		}
	}
}

// Ranking returns the ids of the first page of a ranking.
func (s *Site) Ranking(q rankings.RankQuery) string {
	s.T.Helper()
	list := require.Value(s.Rankings.RankedList(q))(s.T)
	page := require.Value(s.Rankings.Rank(s.Ctx, list, nil, nil))(s.T)
	var ids []site.ArticleID
	for _, edge := range page.Edges {
		ids = append(ids, edge.ID)
	}
	return fmt.Sprint(ids)
}

// WantFollowing compares what a user follows, the latest first.
func (s *Site) WantFollowing(by site.UserName, want string) {
	s.T.Helper()
	var members []string
	for _, f := range require.Value(s.Saved.Following(s.Ctx, by))(s.T) {
		members = append(members, f.Member())
	}
	if got := strings.Join(members, " "); got != want {
		s.T.Errorf("%s follows %q, want %q", by, got, want)
	}
}

// Derived is what follows from the log, as a reader sees it.
func (s *Site) Derived() (all []string) {
	s.T.Helper()
	day, half := rankings.SpanDay, 3600
	for _, group := range []site.GroupName{"", "a", "interesting"} {
		for _, q := range []rankings.RankQuery{
			{}, {Span: &day}, {By: rankings.RankBy{Formula: rankings.RankLinear}},
			{By: rankings.RankBy{Formula: rankings.RankHalfLife, HalfLife: &half}}, {By: rankings.RankBy{Formula: rankings.RankGravity}},
		} {
			q.Group = group
			list := require.Value(s.Rankings.RankedList(q))(s.T)
			var after *string
			for page, first := range []int{7, 7, 7, 60} {
				if page == 3 {
					after = nil
				}
				p := require.Value(s.Rankings.Rank(s.Ctx, list, &first, after))(s.T)
				line := fmt.Sprintf("%+v %s page %d:", q.By.Formula, group, page)
				for _, e := range p.Edges {
					line += fmt.Sprintf(" %d=%.0f", e.ID, e.Key)
				}
				all, after = append(all, line), p.Info.EndCursor
			}
		}
	}
	return all
}

// WantEqual compares articles, by all that Show shows.
func WantEqual(t *testing.T, a, b *site.Article) {
	t.Helper()
	if x, y := Show(a), Show(b); x != y {
		t.Errorf("article =\n%s\nwant\n%s", x, y)
	}
}

// Show returns all fields of an article as text.
func Show(a *site.Article) string {
	b := *a
	b.Stored.Recorded = false // depends on how the article was read
	b.Link, b.Text, b.DeletedAt, b.DeletedBy = nil, nil, nil, nil
	deleted := "never"
	if a.DeletedAt != nil {
		deleted = fmt.Sprint(a.DeletedAt, " by ", *a.DeletedBy)
	}
	text := func(s *string) string {
		if s == nil {
			return "none"
		}
		return *s
	}
	return fmt.Sprintf("%+v link %q text %q deleted %s", b, text(a.Link), text(a.Text), deleted)
}

// Sized are groups by name with their numbers of articles.
type Sized map[string]int

// List returns the groups of a list, as name and size.
func (groups Sized) List(order site.GroupOrder, prefix string) (want []string) {
	var names []string
	for name := range groups {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if order == site.ByArticleCount {
			return cmp.Or(groups[b]-groups[a], cmp.Compare(a, b))
		}
		return cmp.Compare(a, b)
	})
	for _, name := range names {
		want = append(want, fmt.Sprint(name, groups[name]))
	}
	return want
}

// with returns the groups whose names have a part.
func (groups Sized) with(part string) Sized {
	found := maps.Clone(groups)
	maps.DeleteFunc(found, func(name string, _ int) bool { return !strings.Contains(name, part) })
	return found
}

// WantGroups walks through the lists of groups with a prefix and with a part in pages, and compares them.
func (s *Site) WantGroups(order site.GroupOrder, text string, size int, groups Sized) {
	s.T.Helper()
	canonical := strings.ToLower(text)
	s.wantGroupList(lists.GroupList{Order: order, Prefix: text}, size, groups, groups.List(order, canonical))
	s.wantGroupList(lists.GroupList{Order: order, Part: text}, size, groups, groups.with(canonical).List(order, ""))
}

func (s *Site) wantGroupList(list lists.GroupList, size int, groups Sized, want []string) {
	s.T.Helper()
	for _, backward := range []bool{false, true} {
		var got []string
		for _, edge := range WalkAll(s.T, size, backward, len(want), func(span site.PageRequest) ([]lists.GroupEdge, site.PageInfo, error) {
			return s.Lists.Groups(s.Ctx, list, span)
		}) {
			if list.Order == site.ByName {
				edge.ArticleCount = groups[string(edge.Name)]
			}
			got = append(got, fmt.Sprint(edge.Name, edge.ArticleCount))
		}
		if !slices.Equal(got, want) {
			s.T.Errorf("pages of %d of %+v, backward %t:\n got %v\nwant %v", size, list, backward, got, want)
		}
	}
	if n, err := s.Lists.GroupCount(s.Ctx, list); err != nil || n != len(want) {
		s.T.Errorf("GroupCount of %+v = %d, %v, want %d", list, n, err, len(want))
	}
}

// WalkAll reads a whole list in pages of a size, from the start or from the end, and checks the PageInfo of
// each. total is the number of items, unless it changes meanwhile.
func WalkAll[E any](t *testing.T, size int, backward bool, total int, read func(site.PageRequest) ([]E, site.PageInfo, error)) []E {
	t.Helper()
	var all []E
	span := site.PageRequest{First: &size}
	if backward {
		span = site.PageRequest{Last: &size}
	}
	for {
		part, info, err := read(span)
		require.NoError(t, err)
		done := len(all)
		more, less := info.HasNextPage, info.HasPreviousPage
		if backward {
			all, more, less = append(part, all...), less, more
			span.Before = info.StartCursor
		} else {
			all, span.After = append(all, part...), info.EndCursor
		}
		if total >= 0 && (more != (len(all) < total) || less != (done > 0)) {
			t.Errorf("pages of %d, backward %t: at item %d of %d there are more: %t, and earlier ones: %t; want the opposite of one", size, backward, len(all), total, more, less)
		}
		if !more {
			return all
		}
		if len(part) != size {
			t.Fatalf("pages of %d, backward %t: a page of %d items is not the last, want a full one", size, backward, len(part))
		}
	}
}
