package redisrepo_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
	"frontpage/tests/redistest"
	"frontpage/tests/repotest"
	"frontpage/tests/require"
)

// otherwise are the scripts that write without the check of types.lua, and why.
var otherwise = map[string]string{
	"vote.lua":           "it reads all keys that it changes, which takes less time: see TestVoteNamesAKeyOfAnotherType",
	"rate.lua":           "it reads all keys first, and each charge is a call of it",
	"listing.lua":        "it reads, and what it stores can be made again",
	"follow.lua":         "it leaves a listing of another type as it is, so that the others follow the log",
	"rights.lua":         "it asks for rights, and changes nothing",
	"applycasts.lua":     "it leaves a list of another type as it is, so that the others follow the log",
	"apply_calendar.lua": "it leaves a list of another type as it is, so that the others follow the log",
}

// A script that writes finds a key of another type before all else: its error names the key, and it writes nothing.
func TestScriptsCheckTypesBeforeTheyWrite(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client
	writing := regexp.MustCompile(`'(HSET|HSETNX|HINCRBY|HDEL|SADD|SREM|ZADD|ZREM|SET|UNLINK|XADD|XDEL|EXPIRE)'`)
	functions := regexp.MustCompile(`\b(append|append_hidden|notice|enter|leave|index_group|save_front|keep_front|settle|log_moderation)\(`)
	checked := 0
	for _, f := range luaFiles(t) {
		if f.isFunctions() || !writing.MatchString(f.body) && !functions.MatchString(f.body) || otherwise[f.name] != "" {
			continue
		}
		scriptKeys := f.keys()
		for _, key := range scriptKeys {
			require.NoError(t, client.FlushAll(t.Context()).Err())
			require.NoError(t, client.RPush(t.Context(), key, "a list, which no kind of key is").Err())
			err := client.Eval(t.Context(), wire.Ruled(f.name, nil), scriptKeys).Err()
			if err == nil || !strings.HasPrefix(err.Error(), "WRONGTYPE ") || !strings.HasSuffix(err.Error(), ": "+loggedKey(key)) {
				t.Errorf("%s with %s: err = %v, want WRONGTYPE and the key", f.name, key, err)
			}
			if stored := require.Value(client.Keys(t.Context(), "*").Result())(t); len(stored) != 1 {
				t.Errorf("%s with %s: the store has %v", f.name, key, stored)
			}
			checked++
		}
	}
	if checked < 500 {
		t.Errorf("%d keys were checked, want at least 500", checked)
	}
}

// loggedKey is a key as an error names it: without names of users and groups.
func loggedKey(key string) string {
	return regexp.MustCompile(`^(.*?[a-z]+:).*\D.*$`).ReplaceAllString(key, "$1*")
}

// keys returns the keys of a script as its header names them, and one of each kind instead of a run of any number.
func (f lua) keys() (all []string) {
	for _, m := range headerLine.FindAllStringSubmatch(f.header, -1) {
		switch {
		case m[1] != "KEY":
		case m[2] == "":
			all = append(all, strings.TrimSuffix(strings.Fields(m[4])[0], ","))
		default:
			for _, kind := range keys.Kinds {
				if kind.Holds != keys.Channel {
					all = append(all, kind.Name+":"+kind.Of.Shown)
				}
			}
		}
	}
	return all
}

// A vote that finds a key of another type leaves the store as it was, and its error names the key.
func TestVoteNamesAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before    func(s *repotest.Site)
		vote      site.Vote
		bucket    string
		untouched []string // keys that the vote does not need
	}{
		"an upvote":              {vote: up, untouched: []string{"time:interesting", "void:1"}},
		"a downvote":             {vote: down, untouched: []string{"void:1"}},
		"a vote from an address": {vote: up, bucket: "b", untouched: []string{"time:interesting", "void:1"}},
		"a vote that is withdrawn": {
			before: func(s *repotest.Site) { s.MustVote(1, "bob", down) }, vote: none, untouched: []string{"void:1"},
		},
		"a vote beside one that does not count": {
			before: func(s *repotest.Site) { require.Value(s.Void(1, true, "dave"))(s.T) }, vote: down, untouched: []string{"group:interesting", "time:interesting", "score:interesting"},
		},
		"an upvote without downvotes": {
			before: func(s *repotest.Site) { s.MustVote(1, "carol", none) }, vote: up, untouched: []string{"time:interesting", "void:1", "downvoted:1"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, func(r *site.Rules) { r.InterestingVotes = 2 }, repotest.One)
			s.MustPost("alice", "a", "b")
			for voter, vote := range map[site.UserName]site.Vote{"carol": down, "dave": up, "erin": up} {
				s.MustVote(1, voter, vote)
			}
			s.MustVote(s.MustPost("alice").ID, "bob", up) // so that bob has a list of votes
			if tt.before != nil {
				tt.before(s)
			}
			for _, group := range []site.GroupName{"a", "b", "interesting"} {
				for _, order := range repotest.Orders {
					s.List(lists.InGroup(group, order, site.Descending))
				}
			}
			restore := s.Snapshot()
			other, scriptKeys := seesKeys(s)
			require.Value(other.Vote(s.Ctx, 1, "bob", tt.vote, tt.bucket))(t)
			for _, key := range slices.Clone(*scriptKeys) {
				restore()
				s.Do("DEL", key)
				s.Do("SET", key, "wrong")
				before := s.Dump()
				_, err := other.Vote(s.Ctx, 1, "bob", tt.vote, tt.bucket)
				if slices.Contains(tt.untouched, key) {
					if err != nil {
						t.Errorf("%s: err = %v, want none", key, err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") || !strings.Contains(err.Error(), ": "+loggedKey(key)) {
					t.Errorf("%s: err = %v, want WRONGTYPE and the key", key, err)
				}
				s.WantStore(before, key, ":")
			}
		})
	}
}

// seesKeys returns the site by another client, and the keys of its last vote on article 1.
func seesKeys(s *repotest.Site) (*repotest.Site, *[]string) {
	last := new([]string)
	hook := redistest.Before(func(commands ...redis.Cmder) {
		for _, c := range commands {
			args := c.Args()
			if c.Name() != "evalsha" || args[2].(int) < 9 || args[3] != "article:1" {
				continue
			}
			*last = nil
			for _, key := range args[3 : 3+args[2].(int)] {
				*last = append(*last, key.(string))
			}
		}
	})
	return s.Reopened(s.Client(hook), nil), last
}

func TestScriptsRefuseCorruptValues(t *testing.T) {
	t.Parallel()
	vote := func(s *repotest.Site) error {
		_, err := s.Vote(s.Ctx, 1, "bob", up, "")
		return err
	}
	post := func(s *repotest.Site) error {
		_, err := s.Post(s.Ctx, "bob", repotest.Draft("title"))
		return err
	}
	tests := map[string]struct {
		corrupt string
		call    func(s *repotest.Site) error
	}{
		"votes that are no number":       {corrupt: "HSET article:1 votes x", call: vote},
		"votes in fractions":             {corrupt: "HSET article:1 votes 1.5", call: vote},
		"downvotes that are no number":   {corrupt: "HSET article:1 downvotes x", call: vote},
		"no score":                       {corrupt: "ZREM score: article:1", call: vote},
		"a counter that is not a number": {corrupt: "SET article: x", call: post},
		"a counter, for an import": {corrupt: "SET article: x", call: func(s *repotest.Site) error {
			_, errs := s.Import(s.Ctx, repotest.OldArticles(1))
			return errs[0]
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := repotest.New(t, nil, repotest.One)
			s.MustPost("alice")
			s.Do(tt.corrupt)
			before := s.Dump()
			var refusal site.Refusal
			if err := tt.call(s); err == nil || errors.As(err, &refusal) || errors.Is(err, failover.ErrUnavailable) {
				t.Errorf("err = %v, want an error that is not a refusal", err)
			}
			if after := s.Dump(); repotest.WithoutCounter(after) != repotest.WithoutCounter(before) {
				t.Errorf("the store holds\n%s\nwant it unchanged:\n%s", after, before)
			}
		})
	}
}
