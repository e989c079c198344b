package repotest

import (
	"fmt"
	"sync"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
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
		articles[i] = redisrepo.Imported{
			ID: site.ArticleID(1001 + i), Poster: "zoe", PostedAt: Opened.Add(-28 * site.Day), Votes: i, Draft: Draft("old"),
		}
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
