package redisrepo_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

var (
	themes = []string{"a", "b-c", "b.c", "go", "日本"}
	states = []string{"is.open", "is.done"} // reserved, one at a time
)

// Random operations have the results that the oracle predicts. Few seconds pass and a vote is worth few of
// them, so many articles tie.
func TestRandomOperationsMatchTheOracle(t *testing.T) {
	t.Parallel()
	first := uint64(0)
	for _, tags := range repotest.Layouts {
		for _, byPosters := range []bool{true, false} {
			first++ // the walks differ by their seeds, in the ranking for example
			for i := range programtest.Size[uint64](1, 4) {
				seed := first + i
				t.Run(fmt.Sprintf("partitions %q, PosterVotes %t, seed %d", tags, byPosters, seed), func(t *testing.T) {
					t.Parallel()
					w := newWalk(t, seed, byPosters, tags)
					for step := 1; step <= 600; step++ {
						w.step()
						if step%40 == 0 {
							w.compare()
						}
						if t.Failed() {
							t.Fatalf("the site and the oracle differ after step %d", step)
						}
					}
					w.WantClean()
				})
			}
		}
	}
}

// walk is a sequence of random operations on a site and on its oracle.
type walk struct {
	*repotest.Site
	other  *repotest.Site // a second process, whose cached groups are outdated at times
	oracle *oracle
	*rand.Rand
	tags []string
}

func newWalk(t *testing.T, seed uint64, byPosters bool, tags []string) *walk {
	partitions := redisrepo.WithPartitions(len(tags))
	s := repotest.New(t, func(r *site.Rules) {
		r.VoteScore, r.VotingWindow, r.InterestingVotes, r.PosterVotes, r.LinkWindow, r.EditWindow = 2, 20*time.Second, 3, byPosters, time.Hour, 5*time.Second
		r.ReservedGroups = []site.GroupPattern{"is.*"}
		if seed%2 == 1 {
			r.VoteHistory = site.NoHistory
		}
		r.Ranking, r.RankCap, r.HalfLife = site.Ranking(seed%3), time.Minute, time.Minute
		if r.Ranking == site.Capped {
			r.VoteScore = 20 // so that votes reach the cap
		}
	}, partitions)
	return &walk{
		Site: s, other: s.Reopened(s.Server.Client, nil, partitions), tags: tags,
		oracle: &oracle{now: repotest.Opened.Unix(), window: 20, ranking: s.Rules.Ranking, worth: int64(s.Rules.VoteScore), decay: 60, famous: 3, byPosters: byPosters, reserved: 3600, editable: 5},
		Rand:   rand.New(rand.NewPCG(seed, 0)),
	}
}

func (w *walk) step() {
	w.T.Helper()
	repo := w.Site
	if w.IntN(2) == 0 {
		repo = w.other
	}
	user := repotest.Users[w.IntN(len(repotest.Users))]
	switch n := w.IntN(100); {
	case n < 12 || len(w.oracle.articles) == 0:
		groups, by := w.some(themes), w.actor(user)
		if w.IntN(4) == 0 {
			groups = append(groups, states[w.IntN(2)])
		}
		link := walkLink(w.IntN(60))
		first := w.oracle.first(link)
		a, err := repo.PostAs(w.Ctx, by, site.Draft{Title: "title", Link: &link, Groups: groups})
		if refused := reservedFor(by, "groups", groups); refused != "" {
			w.agree(err, refused)
			return
		} else if first != nil {
			repotest.WantDuplicate(w.T, err, first.id)
			return
		} else if err != nil {
			w.T.Fatalf("Post: %v", err)
		}
		for _, t := range w.oracle.articles {
			if t.id == a.ID {
				w.T.Errorf("Post = %v, want a number that was not given out before", a.ID)
			}
		}
		t := w.oracle.post(a.ID, user, groups)
		t.link = link
		w.wantArticle(a, t)
	case n < 26:
		w.edit(repo, user)
	case n < 66:
		t, vote := w.article(), site.Vote(w.IntN(3)-1)
		before, refused := w.oracle.vote(t, user, vote)
		cast, reads := repo.Vote, w.IntN(2) == 0
		if reads {
			cast = repo.VoteAndRead
		}
		result, err := cast(w.Ctx, t.id, user, vote, "")
		if w.agree(err, refused) {
			if result.Previous != before || result.Changed != (before != vote) {
				w.T.Errorf("Vote %d on %v by %s = %+v, want Previous %d", vote, t.id, user, result, before)
			}
			w.wantArticle(result.Article, t)
			if reads {
				w.wantTexts(result.Article, t)
			}
		}
	case n < 76:
		t, by := w.article(), w.actor(user)
		do, refused := func() (*site.Article, error) { return repo.Delete(w.Ctx, t.id, by, site.Why{}) }, ""
		if w.IntN(2) == 0 || t.deleted != "" {
			do, refused = func() (*site.Article, error) { return repo.Undelete(w.Ctx, t.id, by) }, w.oracle.undelete(t, by)
		} else {
			refused = w.oracle.delete(t, by)
		}
		if a, err := do(); w.agree(err, refused) {
			w.wantArticle(a, t)
		}
	case n < 88:
		t := w.article()
		if w.IntN(4) > 0 {
			user = t.poster
		}
		add, remove := w.some(themes), w.some(themes)
		remove = slices.DeleteFunc(remove, func(group string) bool { return slices.Contains(add, group) })
		if len(add)+len(remove) == 0 {
			add = themes[:1]
		}
		switch w.IntN(8) {
		case 0, 1:
			add = slices.Concat(add, []string{states[w.IntN(2)]})
		case 2:
			remove = slices.Concat(remove, []string{states[w.IntN(2)]})
		case 3:
			add, remove = states[:1], states[1:]
		case 4:
			add, remove = states[1:], nil
		}
		by := w.actor(user)
		refused := w.oracle.regroup(t, by, add, remove)
		if a, err := repo.Regroup(w.Ctx, t.id, by, add, remove); w.agree(err, refused) {
			w.wantArticle(a, t)
		}
	case n < 91:
		t, by, takesOut := w.article(), w.actor(user), w.IntN(3) > 0
		var voters []site.UserName
		var names []string
		for _, voter := range repotest.Users {
			if w.IntN(2) == 0 || len(voters) == 0 {
				voters, names = append(voters, voter), append(names, string(voter))
			}
		}
		want, refused := w.oracle.voidVotes(t, by, voters, takesOut)
		if a, n, err := repo.VoidVotes(w.Ctx, t.id, by, names, takesOut, "a ring"); w.agree(err, refused) {
			if n != want {
				w.T.Errorf("VoidVotes %t of %v on %v = %d, want %d", takesOut, names, t.id, n, want)
			}
			w.wantArticle(a, t)
		}
	case n < 95:
		step := []int64{1, 1, 1, 2, 2, 2, 3, 4, 7, 4000}[w.IntN(10)]
		w.oracle.now += step
		w.Clock.Advance(time.Duration(step) * time.Second)
	default: // a listing ends, as if it had not been read for a while
		key := w.tags[w.IntN(len(w.tags))] + []string{"score:", "time:"}[w.IntN(2)] + slices.Concat(themes, states, []string{"interesting"})[w.IntN(len(themes)+len(states)+1)]
		w.Do("DEL", key)
	}
}

// edit makes a random edit, with few different texts: some change nothing.
func (w *walk) edit(repo *repotest.Site, user site.UserName) {
	w.T.Helper()
	t := w.article()
	if w.IntN(4) > 0 {
		user = t.poster
	}
	by, e := w.actor(user), redisrepo.Edit{}
	if w.IntN(2) == 0 {
		e.Title = new([]string{"title", "Title", "日本 %s"}[w.IntN(3)])
	}
	if w.IntN(2) == 0 {
		e.Text = new([]string{"", "text", "a\nb"}[w.IntN(3)])
	}
	if w.IntN(3) == 0 || e.Title == nil && e.Text == nil {
		e.Groups = append([]string{}, w.some(themes)...)
		if w.IntN(3) == 0 {
			e.Groups = append(e.Groups, states[w.IntN(2)])
		}
	}
	if w.IntN(3) == 0 {
		e.IfRevision = new(max(t.revision-w.Int64N(4), 0))
	}
	refused := w.oracle.edit(t, by, e)
	if a, err := repo.Edit(w.Ctx, t.id, by, e); w.agree(err, refused) {
		w.wantArticle(a, t)
		w.wantTexts(a, t)
	}
}

// wantTexts compares the text, which an article after a vote need not have, and the earlier versions.
func (w *walk) wantTexts(a *site.Article, t *article) {
	w.T.Helper()
	text := ""
	if a.Text != nil {
		text = *a.Text
	}
	if text != t.text || (a.EditedAt != nil) != (len(t.older) > 0) {
		w.T.Errorf("%v has the text %q, edited %v, want %q, edited %d times", a.ID, text, a.EditedAt, t.text, len(t.older))
	}
	most := 1 + w.IntN(25)
	want := t.versions()
	want = want[:min(len(want), most)]
	versions := require.Value(w.Versions(w.Ctx, []*site.Article{a}, most))(w.T)
	var got []string
	for _, v := range versions[0] {
		text := ""
		if v.Text != nil {
			text = *v.Text
		}
		got = append(got, versionText(v.Title, text, v.By.Name, v.Until.Unix(), v.Votes))
	}
	if !slices.Equal(got, want) {
		w.T.Errorf("the %d newest versions of %v = %q, want %q", most, a.ID, got, want)
	}
}

// article returns a random article, preferably a young one.
func (w *walk) article() *article {
	n := len(w.oracle.articles)
	if w.IntN(3) > 0 {
		return w.oracle.articles[n-1-w.IntN(min(n, 8))]
	}
	return w.oracle.articles[w.IntN(n)]
}

func (w *walk) actor(user site.UserName) site.Actor {
	by := site.Actor{Name: user, Moderator: w.IntN(3) == 0, Service: w.IntN(3) == 0}
	if by.Service && w.IntN(2) == 0 {
		by.Via = "app"
	}
	return by
}

func (w *walk) some(names []string) (some []string) {
	for _, name := range names {
		if w.IntN(3) == 0 {
			some = append(some, name)
		}
	}
	return some
}

// agree fails the test unless err is the expected refusal, or nil if refused is empty. It reports whether err
// is nil.
func (w *walk) agree(err error, refused string) bool {
	w.T.Helper()
	if refused != "" {
		repotest.WantRefused(w.T, err, strings.Split(refused, "\n")...)
	} else if err != nil {
		w.T.Errorf("err = %v, want none", err)
	}
	return err == nil && refused == ""
}

func (w *walk) wantArticle(a *site.Article, t *article) {
	w.T.Helper()
	ups, downs := t.count()
	if (a.DeletedAt != nil) != (t.deleted != "") || a.DeletedBy != nil && *a.DeletedBy != t.deleted {
		w.T.Errorf("%v was deleted at %v by %v, want by %q", a.ID, a.DeletedAt, a.DeletedBy, t.deleted)
	}
	if a.Title != t.title || a.Revision() != int(t.revision) {
		w.T.Errorf("the title of %v = %q at revision %d, want %q at %d", a.ID, a.Title, a.Revision(), t.title, t.revision)
	}
	got := fmt.Sprint(a.ID, a.Poster.Name, a.CreatedAt.Unix(), a.Score, a.Upvotes, a.Downvotes, a.Votes, a.Groups, a.IsInteresting)
	if want := fmt.Sprint(t.id, t.poster, t.at, float64(w.oracle.score(t)), ups, downs, ups-downs, slices.Sorted(maps.Keys(t.groups)), w.oracle.interesting(t)); got != want {
		w.T.Errorf("article = %s, want %s", got, want)
	}
}

// walkHosts are the hosts of the links that a walk posts.
var walkHosts = []string{"example.com", "b.example:8080", "xn--bcher-kva.example"}

func walkLink(i int) string { return fmt.Sprint("https://", walkHosts[i%len(walkHosts)], "/", i) }

// compare compares everything that can be read with the oracle.
func (w *walk) compare() {
	w.T.Helper()
	groups := slices.Concat([]string{"", "interesting", "empty"}, themes, states)
	for _, group := range groups {
		for _, order := range repotest.Orders {
			for _, direction := range []site.Direction{site.Descending, site.Ascending} {
				l := lists.AllArticles(order, direction)
				if group != "" {
					l = lists.InGroup(site.GroupName(group), order, direction)
				}
				w.comparePages(l, w.oracle.list(order, direction, func(t *article) bool { return w.oracle.in(t, group) }))
			}
		}
	}
	for _, user := range repotest.Users {
		want := w.oracle.list(site.ByTime, site.Descending, func(t *article) bool { return t.poster == user })
		w.comparePages(lists.PostedBy(user), want)
	}
	for _, host := range walkHosts {
		want := w.oracle.list(site.ByTime, site.Descending, func(t *article) bool { return strings.HasPrefix(t.link, "https://"+host+"/") })
		w.comparePages(lists.LinkingTo(site.HostName(host)), want)
	}

	var want []string
	sizes := repotest.Sized{}
	names := slices.Concat([]string{"interesting", "empty"}, themes, states)
	counts := require.Value(w.Articles.ArticleCounts(w.Ctx, groupNames(names)))(w.T)
	for i, name := range names {
		n := len(w.oracle.list(site.ByTime, site.Ascending, func(t *article) bool { return w.oracle.in(t, name) }))
		if counts[i] != n {
			w.T.Errorf("ArticleCounts of %s = %d, want %d", name, counts[i], n)
		}
		if name != "interesting" && n > 0 {
			want = append(want, fmt.Sprint(name, " ", n))
			sizes[name] = n
		}
	}
	slices.Sort(want)
	w.WantCounts(want...)
	w.oracle.now += 5 // the number of all groups is kept for that long
	w.Clock.Advance(5 * time.Second)
	for _, prefix := range []string{"", "b"} {
		w.WantGroups(site.ByArticleCount, prefix, 1+w.IntN(4), sizes)
	}
	for i := range 60 {
		link := walkLink(i)
		w.WantNewest(strings.Replace(link, "//", "//www.", 1), w.oracle.newest(link))
	}
	w.compareArticles()
}

func (w *walk) comparePages(l lists.Listing, want []site.ArticleID) {
	w.T.Helper()
	size := []int{1, 2, 3, 7, 25, 100}[w.IntN(6)]
	for page := 1; page <= len(want)/size+2; page++ {
		first := min((page-1)*size, len(want))
		part := want[first:min(first+size, len(want))]
		if got, err := w.Lists.List(w.Ctx, l, page, &size); err != nil || !slices.Equal(got, part) {
			w.T.Errorf("%+v, page %d of %d = %v, %v, want %v", l, page, size, got, err, part)
		}
	}
}

func (w *walk) compareArticles() {
	w.T.Helper()
	var ids []site.ArticleID
	var listed []*article
	for _, t := range w.oracle.articles {
		if t.deleted == "" {
			ids, listed = append(ids, t.id), append(listed, t)
			continue
		}
		_, errs := w.Articles.ArticlesByID(w.Ctx, []site.ArticleID{t.id})
		repotest.WantRefused(w.T, errs[0], "NOT_FOUND article")
		a := require.Value(w.Deleted(w.Ctx, t.id))(w.T)
		w.wantArticle(a, t)
	}
	articles, errs := w.Articles.ArticlesByID(w.Ctx, ids)
	require.NoError(w.T, errors.Join(errs...))
	for i, a := range articles {
		w.wantArticle(a, listed[i])
		w.wantTexts(a, listed[i])
	}
	for _, user := range repotest.Users {
		var want strings.Builder
		for _, t := range listed {
			switch {
			case w.Rules.VoteHistory == site.NoHistory && w.oracle.now > t.at+w.oracle.window+3600:
				want.WriteByte('?')
			default:
				want.WriteByte("-0+"[t.votes[user]+1])
			}
		}
		if got := w.Positions(user, ids...); got != want.String() {
			w.T.Errorf("positions of %s = %s, want %s", user, got, want.String())
		}
	}
}
