package sessions_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/sessions"
	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

func wantAccountName(s *repotest.Site, account, wanted, want string) {
	s.T.Helper()
	if got, err := s.Sessions.AccountName(s.Ctx, account, wanted); err != nil || string(got) != want {
		s.T.Errorf("%s, who wants %q: got %q, %v, want %q", account, wanted, got, err, want)
	}
}

func TestAccountsGetNamesOfTheirOwn(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		long := strings.Repeat("é", 64)
		for _, tt := range []struct{ account, wanted, want string }{
			{"a", "Alice", "Alice"},
			{"a", "Alice", "Alice"},
			{"b", "Alice", "Alice-2"},
			{"c", "alice", "alice-3"},
			{"d", "ＡＬＩＣＥ", "ＡＬＩＣＥ-4"}, // full-width letters
			{"a", "Alicia", "Alice"},  // a name is kept
			{"e", "Alicia", "Alicia"},
			{"f", "alice-2", "alice-2-2"},
			{"b", "Alice", "Alice-2"},
			{"g", "zoë", "zoë"},
			{"h", "zoe\u0308", "zoe\u0308-2"}, // composed otherwise
			{"i", long, long},
			{"j", long, strings.Repeat("é", 62) + "-2"},
		} {
			wantAccountName(s, tt.account, tt.wanted, tt.want)
		}
		var refused site.Refusal
		if _, err := s.Sessions.AccountName(s.Ctx, "k", strings.Repeat("x", 65)); !errors.As(err, &refused) {
			t.Errorf("got %v, want a refusal", err)
		}
	})
}

func TestAccountsThatWantOneNameAtOnce(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil)
	var names sync.Map
	var all sync.WaitGroup
	for account := range 10 {
		for range 3 { // several processes, one account
			all.Go(func() {
				name, err := s.Sessions.AccountName(s.Ctx, fmt.Sprint(account), "sam")
				if err != nil {
					t.Error(err)
				}
				if other, found := names.LoadOrStore(name, account); found && other != account {
					t.Errorf("accounts %v and %v have the name %s", other, account, name)
				}
			})
		}
	}
	all.Wait()
	for account := range 10 {
		name, err := s.Sessions.AccountName(s.Ctx, fmt.Sprint(account), "other")
		if owner, found := names.Load(name); err != nil || !found || owner != account {
			t.Errorf("account %d: got %s, %v, which account %v had", account, name, err, owner)
		}
	}
}

func TestAccountsGetNamesThatLookLikeNoOther(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		for i, tt := range []struct{ wanted, want string }{
			{"ada", "ada"},
			{"\u0430da", "\u0430da-2"}, // Cyrillic
			{"ad\u0430", "ad\u0430-3"},
			{"\u0251da", "\u0251da-4"}, // Latin alpha
			{"ADA", "ADA-5"},
			{"\u0391DA", "\u0391DA-6"}, // Greek
			{"Ida", "Ida"},
			{"lda", "lda-2"},
			{"1da", "1da-3"},
			{"\u0441arl", "\u0441arl"}, // the first one, whatever it consists of
			{"carl", "carl-2"},
			{"adam", "adam"},
			{"adarn", "adarn-2"},
			{"дада", "дада"},
			{"дед", "дед"},
		} {
			for range 2 {
				wantAccountName(s, fmt.Sprint(i), tt.wanted, tt.want)
			}
		}
	})
}

func TestAccountsThatWantNamesThatLookAlikeAtOnce(t *testing.T) { // with the race detector
	t.Parallel()
	s := repotest.New(t, nil)
	for round := range 20 {
		var all sync.WaitGroup
		got := make([]site.UserName, 3)
		wanted := []string{"sam", "s\u0430m", "\u0455am"}
		for i, name := range wanted {
			all.Go(func() {
				var err error
				if got[i], err = s.Sessions.AccountName(s.Ctx, fmt.Sprint(round, i), name+fmt.Sprint("-of-", round)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var unnumbered int
		for i, name := range got {
			if string(name) == wanted[i]+fmt.Sprint("-of-", round) {
				unnumbered++
			}
		}
		if unnumbered != 1 {
			t.Fatalf("round %d: the names are %q, want one without a number", round, got)
		}
	}
}

// Users of tokens have the names in them, and are first seen when they post.
func TestFirstPostNeedsANameThatLooksLikeNoOther(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		var last *site.Article
		post := func(user site.UserName, refused string) {
			t.Helper()
			article, err := s.Post(s.Ctx, user, site.Draft{Title: "t", Text: new("x")})
			var refusal site.Refusal
			switch {
			case refused == "" && (err != nil || article.Poster.Name != user):
				t.Errorf("%q: got %v, want a post", user, err)
			case refused != "" && (!errors.As(err, &refusal) || refusal[0].Code != site.Forbidden || !strings.Contains(err.Error(), refused)):
				t.Errorf("%q: got %v, want a refusal with %s", user, err, refused)
			}
			if err == nil {
				last = article
			}
		}
		post("ada", "")
		for _, like := range []site.UserName{"\u0430da", "\u0251da", "ADA", "ada\ufe0f", "a\u034fda", "a\u200dda", "ada\U000e0061"} {
			post(like, `looks like "ada", which another user has: post with another user name`)
		}
		post("adam", "")
		wantAccountName(s, "account", "\u0430da", "\u0430da-2") // another name than that of the token
		post("\u0430da-2", "")
		post("ada-2", "post with another user name")
		if s.MustVote(last.ID, "\u0430da", site.Up).Article.Votes != 2 {
			t.Error("a vote of a user who cannot post is missing")
		}
	})
}

// Names from a time when none was compared stay, in any order of posts.
func TestExistingNamesThatLookAlikeStay(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		s.MustPost("\u0430da")
		for _, key := range s.Raw.Keys(s.Ctx, "*name:*").Val() {
			s.Do("DEL", key)
		}
		s.MustPost("ada")
		wantAccountName(s, "carl", "carl", "carl")
		for range 2 {
			s.MustPost("\u0430da")
			s.MustPost("ada")
			s.MustPost("carl")
			wantAccountName(s, "carl", "other", "carl")
		}
	})
}

// A name that looks like that of a poster of a program of the book is refused once its article is taken over.
func TestNewNamesDoNotLookLikeThoseOfTheBook(t *testing.T) {
	t.Parallel()
	s := repotest.New(t, nil, repotest.One)
	repotest.BookPost(s, "user:ada-7")
	require.Value(s.Layout.Adopt(s.Ctx))(t)
	_, err := s.Post(s.Ctx, "\u0430da-7", site.Draft{Title: "t", Text: new("x")})
	repotest.WantRefused(t, err, "FORBIDDEN")
	s.MustPost("ada-7")
}

func TestSessionsEnd(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		user := sessions.UserDigest("alice")
		want := func(digest, value string) {
			t.Helper()
			if got, _, err := s.Sessions.Session(s.Ctx, digest, user); err != nil || string(got) != value {
				t.Errorf("session %s: got %q, %v, want %q", digest, got, err, value)
			}
		}
		keep := func(digest, value string, lifetime time.Duration) {
			t.Helper()
			require.NoError(t, s.Sessions.KeepSession(s.Ctx, digest, []byte(value), lifetime))
		}
		replace := func(digest, value string, want bool) {
			t.Helper()
			if replaced, err := s.Sessions.ReplaceSession(s.Ctx, digest, []byte(value), time.Hour); err != nil || replaced != want {
				t.Errorf("replacing session %s: got %t, %v, want %t", digest, replaced, err, want)
			}
		}
		want("aa", "")
		keep("aa", "one", time.Hour)
		keep("bb", "two", time.Millisecond)
		want("aa", "one")
		replace("aa", "three", true)
		want("aa", "three")
		require.NoError(t, s.Sessions.EndSession(s.Ctx, "aa"))
		want("aa", "")
		replace("aa", "four", false) // a renewal does not bring back what has ended
		want("aa", "")
		require.Eventually(t, "the session has expired", func() bool {
			value, _, err := s.Sessions.Session(s.Ctx, "bb", user)
			return err == nil && value == nil
		})
		for i, first := range []bool{true, false} {
			if renews, err := s.Sessions.RenewsSession(s.Ctx, "cc", time.Hour); err != nil || renews != first {
				t.Errorf("renewal %d: got %t, %v, want %t", i, renews, err, first)
			}
		}
	})
}

func TestModeratorsMarkTheSessionsOfAUser(t *testing.T) {
	repotest.EachLayout(t, func(t *testing.T, tags []string) {
		s := repotest.New(t, nil, redisrepo.WithPartitions(len(tags)))
		mark := func(name site.UserName) string {
			t.Helper()
			value, mark, err := s.Sessions.Session(s.Ctx, "aa", sessions.UserDigest(name))
			if err != nil || string(value) != "one" {
				t.Errorf("got %q, %v", value, err)
			}
			return mark
		}
		end := func(name string, moderator bool, want string) {
			t.Helper()
			user, err := s.Sessions.EndSessions(s.Ctx, name, site.Actor{Name: "mod", Moderator: moderator})
			if want != "" {
				repotest.WantRefused(t, err, want)
			} else if err != nil || string(user.Name) != name {
				t.Errorf("ending the sessions of %q: got %v, %v", name, user, err)
			}
		}
		require.NoError(t, s.Sessions.KeepSession(s.Ctx, "aa", []byte("one"), time.Hour))
		end("alice", false, "FORBIDDEN name")
		end(" ", true, "INVALID name")
		end(strings.Repeat("x", 65), true, "TOO_LONG name")
		if got := mark("alice"); got != "" {
			t.Errorf("got the mark %s", got)
		}
		end("alice", true, "")
		first := mark("alice")
		end("alice", true, "")
		if second := mark("alice"); first == "" || second == "" || first == second || mark("bob") != "" {
			t.Errorf("got the marks %q and %q, and %q of another user", first, second, mark("bob"))
		}
		for _, key := range s.Raw.Keys(s.Ctx, "*ended:*").Val() {
			if left := s.Raw.PTTL(s.Ctx, key).Val(); left < sessions.MaxSession || left > sessions.MaxSession+time.Hour {
				t.Errorf("%s expires in %v", key, left)
			}
		}
	})
}
