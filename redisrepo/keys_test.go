package redisrepo_test

import (
	"testing"

	"frontpage/must"
	"frontpage/redisrepo/lists"
	"frontpage/redisrepo/site"
)

// The keys of a site without partitions, and what they hold, are those of every version so far.
func TestKeysWithoutPartitionsStayTheSame(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(r *site.Rules) { r.InterestingVotes = 3 }, one)
	d := site.Draft{Title: "Title", Link: new("https://example.com/a"), Text: new("Text"), Groups: []string{"Go", "redis"}, IdempotencyKey: new("key")}
	a := must.Get(s.Post(s.ctx, "alice", d))(t)
	b := s.post("bob")
	for _, voter := range []site.UserName{"bob", "carol"} {
		must.Get(s.Vote(s.ctx, a.ID, voter, up, "bucket"))(t)
	}
	s.vote(b.ID, "dave", down)
	s.regroup(b, []string{"go"}, nil)
	for _, order := range orders {
		s.list(lists.InGroup("go", order, site.Descending))
	}
	s.delete(b.ID, moderator)
	const want = `
article:: 2, ends: false
article:1: map[cast:3 downvotes:0 groups:go redis link:https://example.com/a poster:user:alice revision:3 text:Text time:1772366400 title:Title votes:3], ends: false
article:2: map[cast:0 deleted:1772366400 deleted_by:user:mod downvotes:1 edition:3 groups:go link:https://example.com/1 poster:user:bob revision:4 time:1772366400 title:title votes:0], ends: false
audit:1: map[user:bob:1 1772366400 bucket user:carol:1 1772366400 bucket], ends: true
cast:alice:641: [{1.7723664e+09 1}], ends: true
cast:bob:641: [{1.7723664e+09 1} {1.7723664e+09 2}], ends: true
cast:carol:641: [{1.7723664e+09 1}], ends: true
cast:dave:641: [{1.7723664e+09 -2}], ends: true
clock:: map[folded:20504 front:492324 front_since:492325 p:h:492324:3], ends: false
deleted:: [{1.7723664e+09 article:2}], ends: false
downvoted:2: [user:dave], ends: true
events:: [map[article:1 by:alice downvotes:0 kind:posted revision:1 score:1772366832 to:go redis votes:1] map[article:2 by:bob downvotes:0 kind:posted revision:1 score:1772366832 to: votes:1] map[article:1 by:bob downvotes:0 kind:voted revision:2 score:1772367264 to:1 votes:2] map[article:1 by:carol downvotes:0 kind:voted revision:3 score:1772367696 to:1 votes:3] map[article:2 by:dave downvotes:1 kind:voted revision:2 score:1772366400 to:-1 votes:0] map[article:2 by:bob downvotes:1 kind:regrouped revision:3 score:1772366400 to:go votes:0] map[article:2 by:mod downvotes:1 kind:deleted revision:4 score:1772366400 to: votes:0]], ends: false
group:go: [article:1], ends: false
group:interesting: [article:1], ends: false
group:redis: [article:1], ends: false
groups:: [{0 go} {0 redis}], ends: false
host:example.com: [{1.7723664e+09 article:1}], ends: false
link:036cbe16b0015b0a30d733ca981c8ebb: article:1 1772366400, ends: false
link:988628a63aecf11ad5dceeb5817d2a96: article:2 1772366400, ends: false
meta:: map[calendar:on cast:on cast_since:1771761600 640 34560000 604800 events:on front:on index:0 interesting_votes:3 layout:4 partitions:1 ranking:linear vote_score:432 voting_window:604800], ends: false
moderation:: [map[article:article:2 at:1772366400 by:user:mod kind:deleted link:https://example.com/1 reason: title:title]], ends: false
name:090e8f65e0cb05c378629f082e833b1a: bob, ends: false
name:a55dd3906de999b502cf5b7b5b26d5fe: alice, ends: false
post:alice:key: article:1 e00081fbf0f62b63c5b1c20f83f407ebbd2511276a3efd885d6e8a3a4dd4f391, ends: true
posted:alice: [{1.7723664e+09 article:1}], ends: false
score:: [{1.772367696e+09 article:1}], ends: false
score:go: [{1.772367696e+09 article:1}], ends: true
sizes:: [{-1 go} {-1 redis}], ends: false
time:: [{1.7723664e+09 article:1}], ends: false
time:go: [{1.7723664e+09 article:1}], ends: true
top:h:492324: [{3 article:1}], ends: false
voted:1: [user:alice user:bob user:carol], ends: true
voted:2: [user:bob], ends: true
`
	if got := "\n" + s.dump(); got != want {
		t.Errorf("the store has %s\nwant %s", got, want)
	}
}
