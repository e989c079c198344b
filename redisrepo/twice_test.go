package redisrepo_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/tests/programtest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// A script that is sent twice has the same effect as one that is sent once.
func TestScriptsAreSafeToRunTwice(t *testing.T) {
	t.Parallel()
	for seed := range programtest.Size[uint64](2, 6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rules := func(r *site.Rules) {
				r.InterestingVotes, r.VotingWindow, r.PosterVotes = 3, 20*time.Second, seed%2 == 0
			}
			type outcome struct {
				log   []string // what calls returned
				votes []string // the Previous of their votes
				dump  string
			}
			play := func(hooks ...redis.Hook) (o outcome) {
				s := repotest.New(t, rules)
				s = s.Reopened(s.Client(hooks...), nil)
				s.Views.Young = time.Hour // a busy machine may take longer than the default, and then trims the log
				random := rand.New(rand.NewPCG(seed, 0))
				for range 150 {
					did, vote := anything(s, random)
					o.log, o.votes = append(o.log, did), append(o.votes, vote)
				}
				s = s.Reopened(s.Client(hooks...), func(r *site.Rules) { r.VoteScore, r.InterestingVotes = 7, 2 })
				s.Views.Young = time.Hour
				s.WantClean()
				s.Views.Young = 0 // an adoption that runs twice notes twice what it found
				require.NoError(t, s.Views.CatchUpAll(s.Ctx))
				o.dump = s.Dump()
				return o
			}
			once, first, second := play(), play(repotest.Twice(false)), play(repotest.Twice(true))
			if !slices.Equal(once.votes, first.votes) {
				t.Errorf("votes before = %v, want %v", first.votes, once.votes)
			}
			for name, again := range map[string]outcome{"first": first, "second": second} {
				for i := range once.log {
					if again.log[i] != once.log[i] {
						t.Fatalf("call %d, given the %s reply, returns\n%s\nwant\n%s", i, name, again.log[i], once.log[i])
					}
				}
				if again.dump != once.dump {
					t.Errorf("given the %s reply, the store holds\n%s\nwant\n%s", name, again.dump, once.dump)
				}
			}
		})
	}
}

// anything makes one random call and returns its results as text.
func anything(s *repotest.Site, random *rand.Rand) (did, vote string) {
	user := repotest.Users[random.IntN(3)]
	id := site.ArticleID(random.IntN(12) + 1)
	theme := themes[random.IntN(3)]
	describe := func(a *site.Article, err error) string {
		if err != nil {
			return err.Error()
		}
		return repotest.Show(a)
	}
	actor := site.Actor{Name: user, Moderator: random.IntN(3) == 0}
	switch n := random.IntN(30); n {
	case 0, 1, 2:
		d := repotest.Draft(fmt.Sprint("title", random.IntN(12)), theme)
		if n > 0 {
			d.IdempotencyKey = new(fmt.Sprint("key", random.IntN(4)))
		}
		return "Post: " + describe(s.Post(s.Ctx, user, d)), ""
	case 3, 4:
		return "Regroup: " + describe(s.Regroup(s.Ctx, id, actor, []string{theme}, nil)), ""
	case 5:
		return "Regroup: " + describe(s.Regroup(s.Ctx, id, actor, nil, []string{theme})), ""
	case 6:
		_, errs := s.Import(s.Ctx, []redisrepo.Imported{
			{ID: id + 3, Poster: user, PostedAt: s.Clock.Now().Add(-time.Second), Votes: random.IntN(9) - 4, Draft: repotest.Draft("import")},
		})
		return fmt.Sprint("Import: ", errs), ""
	case 7:
		ids, err := s.Lists.List(s.Ctx, repotest.Best(site.GroupName(theme)), 1, nil)
		return fmt.Sprint("List: ", ids, err), ""
	case 8:
		s.Clock.Advance(time.Second)
		return "", ""
	case 9:
		if random.IntN(3) == 0 {
			repotest.BookRegroup(s, repotest.BookPost(s, userID(user)), []string{theme}, nil)
			_, err := s.Layout.Adopt(s.Ctx)
			return fmt.Sprint("Adopt: ", err), ""
		}
		return "", ""
	case 10:
		e := redisrepo.Edit{Text: new(fmt.Sprint("text", random.IntN(3)))}
		if random.IntN(2) == 0 {
			e.Title, e.Groups, e.IfRevision = new(fmt.Sprint("title", random.IntN(3))), []string{theme}, new(int64(1+random.IntN(5)))
		}
		return "Edit: " + describe(s.Edit(s.Ctx, id, actor, e)), ""
	case 11:
		return "Delete: " + describe(s.Delete(s.Ctx, id, actor, site.Why{})), ""
	case 12, 13:
		return "Undelete: " + describe(s.Undelete(s.Ctx, id, actor)), ""
	case 24, 25:
		_, err := s.Reports.Flag(s.Ctx, user, id, []reports.Reason{reports.Spam, reports.Illegal}[random.IntN(2)], fmt.Sprint("note", random.IntN(2)))
		return fmt.Sprint("Flag: ", err), ""
	case 26:
		return fmt.Sprint("Settle: ", s.Reports.Settle(s.Ctx, id, repotest.Moderator, reports.Settling{Through: 1 + random.IntN(4), State: reports.Dismissed})), ""
	case 27:
		return "SettleByDeleting: " + describe(s.SettleByDeleting(s.Ctx, id, repotest.Moderator, reports.Settling{Through: 1 + random.IntN(4), State: reports.Acted, Decision: fmt.Sprint(random.IntN(2))})), ""
	case 28, 29:
		a, n, err := s.VoidVotes(s.Ctx, id, repotest.Moderator, []string{string(user), "bob"}, random.IntN(3) > 0, "a ring")
		return fmt.Sprint("VoidVotes: ", n, describe(a, err)), ""
	case 14:
		result, err := s.Vote(s.Ctx, id, user, site.Vote(random.IntN(3)-1), "bucket")
		if err != nil {
			return "VoteFrom: " + err.Error(), ""
		}
		return "VoteFrom: " + repotest.Show(result.Article), fmt.Sprint(result.Previous, result.Changed)
	default:
		result, err := s.Vote(s.Ctx, id, user, site.Vote(random.IntN(3)-1), "")
		if err != nil {
			return "Vote: " + err.Error(), ""
		}
		return "Vote: " + repotest.Show(result.Article), fmt.Sprint(result.Previous, result.Changed)
	}
}

func userID(name site.UserName) string { return site.User{Name: name}.ID() }
