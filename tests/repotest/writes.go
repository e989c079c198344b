package repotest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// MustDeny denies a user changes.
func (s *Site) MustDeny(user string, until *time.Time, reason string) *denials.Denial {
	s.T.Helper()
	return require.Value(s.Denials.DenyUser(s.Ctx, user, until, site.GroundRules, reason, Moderator))(s.T)
}

// MustBlock blocks a user for another, or unblocks.
func (s *Site) MustBlock(by site.UserName, name string, blocks bool) {
	s.T.Helper()
	require.Value(s.Denials.BlockUser(s.Ctx, by, name, blocks))(s.T)
}

// MustEdit edits an article.
func (s *Site) MustEdit(id site.ArticleID, by site.Actor, e redisrepo.Edit) *site.Article {
	s.T.Helper()
	a, err := s.Edit(s.Ctx, id, by, e)
	if err != nil {
		s.T.Fatalf("Edit %v by %+v: %v", id, by, err)
	}
	return a
}

// Draft returns a draft with a link that ends with the title.
func Draft(title string, groups ...string) site.Draft {
	return site.Draft{Title: title, Link: new("https://example.com/" + title), Groups: groups}
}

// Fresh returns a draft with a link that no other draft has.
func (s *Site) Fresh(groups ...string) site.Draft {
	return site.Draft{Title: "title", Link: new(fmt.Sprint("https://example.com/", s.links.Add(1))), Groups: groups}
}

// MustPost posts an article with a link of its own.
func (s *Site) MustPost(poster site.UserName, groups ...string) *site.Article {
	s.T.Helper()
	a, err := s.Post(s.Ctx, poster, s.Fresh(groups...))
	if err != nil {
		s.T.Fatalf("Post by %s into %v: %v", poster, groups, err)
	}
	return a
}

// MustVote votes on an article.
func (s *Site) MustVote(id site.ArticleID, voter site.UserName, vote site.Vote) redisrepo.VoteResult {
	s.T.Helper()
	result, err := s.Vote(s.Ctx, id, voter, vote, "")
	if err != nil {
		s.T.Fatalf("Vote %d by %s on %v: %v", vote, voter, id, err)
	}
	return result
}

// MustRegroup changes the groups of an article, as its poster.
func (s *Site) MustRegroup(a *site.Article, add, remove []string) *site.Article {
	s.T.Helper()
	b, err := s.Regroup(s.Ctx, a.ID, site.Actor{Name: a.Poster.Name}, add, remove)
	if err != nil {
		s.T.Fatalf("Regroup %v, add %v, remove %v: %v", a.ID, add, remove, err)
	}
	return b
}

// Moderator is an actor who posted no article, but may do what posters may.
var Moderator = site.Actor{Name: "mod", Moderator: true}

// MustDelete deletes an article.
func (s *Site) MustDelete(id site.ArticleID, by site.Actor) *site.Article {
	s.T.Helper()
	a, err := s.Delete(s.Ctx, id, by, site.Why{})
	if err != nil {
		s.T.Fatalf("Delete %v by %+v: %v", id, by, err)
	}
	return a
}

// MustUndelete restores an article.
func (s *Site) MustUndelete(id site.ArticleID) *site.Article {
	s.T.Helper()
	a, err := s.Undelete(s.Ctx, id, Moderator)
	if err != nil {
		s.T.Fatalf("Undelete %v: %v", id, err)
	}
	return a
}

// Together runs n calls at once and waits for them.
func Together(n int, call func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			call(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// Old returns an article that was posted age before now.
func Old(id site.ArticleID, age time.Duration, votes int, groups ...string) redisrepo.Imported {
	return redisrepo.Imported{ID: id, Poster: "zoe", PostedAt: Opened.Add(-age), Votes: votes, Draft: Draft("old", groups...)}
}

// MustImport imports articles, each of which must be new.
func (s *Site) MustImport(articles ...redisrepo.Imported) {
	s.T.Helper()
	added, errs := s.Import(s.Ctx, articles)
	for i, a := range articles {
		if !added[i] || errs[i] != nil {
			s.T.Fatalf("Import of %v = %t, %v, want true and no error", a.ID, added[i], errs[i])
		}
	}
}

// Alice posts in many tests.
func Alice() site.Actor { return site.Actor{Name: "alice"} }

// Users are the users of random tests.
var Users = []site.UserName{"alice", "bob", "carol", "dave", "erin", "{p11}", "user:x"}

// MustFlag reports an article.
func (s *Site) MustFlag(id site.ArticleID, by site.UserName, reason reports.Reason, note string) *reports.Report {
	s.T.Helper()
	report, err := s.Reports.Flag(s.Ctx, by, id, reason, note)
	if err != nil {
		s.T.Fatalf("Flag %v by %s: %v", id, by, err)
	}
	return report
}

// OldArticles returns n articles that were posted four weeks before Opened, from number 1001 on.
func OldArticles(n int) []redisrepo.Imported {
	articles := make([]redisrepo.Imported, n)
	for i := range articles {
		articles[i] = Old(site.ArticleID(1001+i), 4*Week, i)
	}
	return articles
}

// MustSave saves an article for a user, or no longer.
func (s *Site) MustSave(user site.UserName, id site.ArticleID, saves bool) {
	s.T.Helper()
	require.NoError(s.T, s.Saved.SaveArticle(s.Ctx, user, id, saves))
}

// MustFollow has a user follow something, or no longer.
func (s *Site) MustFollow(by site.UserName, t saved.Target, follows bool) {
	s.T.Helper()
	require.NoError(s.T, s.Saved.FollowTarget(s.Ctx, by, t, follows))
}

// Void takes votes on an article out, or puts them back, and returns how many of the users have one that does not count.
func (s *Site) Void(id site.ArticleID, takesOut bool, users ...string) (int, error) {
	_, n, err := s.VoidVotes(s.Ctx, id, Moderator, users, takesOut, "a ring")
	return n, err
}

func voter(i int) site.UserName { return site.UserName(fmt.Sprint("voter", i)) }

// Used has the site listen and write until the function that it returns is called.
func (s *Site) Used() (stop func()) {
	ctx, cancel := context.WithCancel(s.Ctx)
	var all sync.WaitGroup
	all.Go(func() { s.Live.Listen(ctx, func(error) {}) })
	ids := s.List(lists.AllArticles(site.ByTime, site.Descending))
	for w := range 3 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := 0; ctx.Err() == nil; i++ {
				id := ids[random.IntN(len(ids))]
				_, err := s.Vote(s.Ctx, id, voter(random.IntN(8)), site.Vote(random.IntN(3)-1), "bucket")
				switch i % 20 {
				case 5:
					_, _ = s.Delete(s.Ctx, id, Moderator, site.Why{})
				case 6:
					_, err = s.Undelete(s.Ctx, id, Moderator)
				case 7:
					_, err = s.Regroup(s.Ctx, id, Moderator, []string{"moved"}, []string{"go"})
				case 8:
					_, err = s.Post(s.Ctx, voter(w), site.Draft{Title: "live", Text: new("text"), Groups: []string{"live"}})
				}
				if refusal := (site.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
					s.T.Errorf("a write: %v", err)
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// Listens has the site listen until the test ends, and returns when it is subscribed.
func (s *Site) Listens() {
	s.T.Helper()
	ctx, cancel := context.WithCancel(s.Ctx)
	var listening sync.WaitGroup
	listening.Go(func() { s.Live.Listen(ctx, func(error) {}) })
	s.T.Cleanup(func() { cancel(); listening.Wait() })
	s.AwaitProcesses(1)
}

// AwaitProcesses waits until so many processes of the site listen.
func (s *Site) AwaitProcesses(n int64) {
	s.T.Helper()
	require.Eventually(s.T, "processes that listen", func() bool { return s.Do("PUBSUB NUMSUB changes:0").([]any)[1] == n })
}

// The functions Book… send the commands that the Python code of Redis in Action, chapter 1, sends: times have
// fractions, and users are named user:NAME.

// BookNow is the time as the book writes it.
func BookNow(s *Site) string {
	return strconv.FormatFloat(float64(s.Clock.Now().Unix())+0.123457, 'f', -1, 64)
}

// BookPost is post_article(conn, user, title, link).
func BookPost(s *Site, user string) site.ArticleID {
	s.T.Helper()
	now := BookNow(s)
	number := fmt.Sprint(s.Do("INCR article:"))
	s.Do("SADD", "voted:"+number, user)
	s.Do("EXPIRE", "voted:"+number, 7*86400)
	s.Do("HMSET", "article:"+number, "title", "A title", "link", "http://book.example", "poster", user, "time", now, "votes", 1)
	posted, _ := strconv.ParseFloat(now, 64)
	s.Do("ZADD score:", posted+432, "article:"+number)
	s.Do("ZADD time:", now, "article:"+number)
	n, _ := strconv.Atoi(number)
	return site.ArticleID(n)
}

// BookVote is article_vote(conn, user, article).
func BookVote(s *Site, user string, id site.ArticleID) {
	s.T.Helper()
	cutoff := float64(s.Clock.Now().Unix()) - 7*86400
	if s.Do("ZSCORE time:", id.String()).(float64) < cutoff {
		return
	}
	if s.Do("SADD", fmt.Sprint("voted:", int(id)), user) == int64(1) {
		s.Do("ZINCRBY score: 432", id.String())
		s.Do("HINCRBY", id.String(), "votes", 1)
	}
}

// BookRegroup is add_remove_groups(conn, article_id, to_add, to_remove).
func BookRegroup(s *Site, id site.ArticleID, add, remove []string) {
	s.T.Helper()
	for _, group := range add {
		s.Do("SADD", "group:"+group, id.String())
	}
	for _, group := range remove {
		s.Do("SREM", "group:"+group, id.String())
	}
}
