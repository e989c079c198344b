package keys

import (
	"net/url"
	"slices"
	"strings"

	"frontpage/redisrepo/site"
)

// Kind is a kind of key. Its row determines which rights the start checks, whether an export has it, with which feature
// it is dropped, and its text in docs/data.md.
type Kind struct {
	Name    string // up to the first colon
	Holds   Type
	Of      *Of // what the rest of the key names
	Export  Export
	Expires bool
	Feature string // whose end removes the key; empty: it stays
	Doc     string // its contents, in the Markdown of docs/data.md
}

// Type is the type of a key's value, as docs/data.md names it.
type Type string

// The types.
const (
	String    Type = "string"
	Hash      Type = "hash"
	Set       Type = "set"
	SortedSet Type = "zset"
	Stream    Type = "stream"
	Channel   Type = "channel"
)

// Export says how an export represents a key.
type Export int

// The values of Export.
const (
	Within Export = iota // in the lines of articles, users and others, or derived from these
	AsKey                // in a line of its own, as it is
	Left                 // not at all; docs/backup.md says why
)

// Of says what a key belongs to.
type Of struct {
	Shown string                       // an example of it
	is    func(rest string) bool       // whether the rest of a key is one
	Index func(n int, rest string) int // its partition, of n; nil: any partition can have such a key
}

// What keys belong to.
var (
	All       = &Of{"", func(rest string) bool { return rest == "" }, nil} // all of the partition
	Article   = &Of{"17", isNumber, func(n int, rest string) int { id, _ := site.ParseArticleID(rest); return int(id) % n }}
	Batch     = &Of{"17:0", isBatch, batchIndex} // of an article's notices
	Group     = &Of{"go", isText, nil}
	User      = &Of{"alice", isText, nil}
	UserHome  = &Of{"alice", isText, HomeIndex}                                                                     // in one partition
	Name      = &Of{"alice", isText, func(n int, rest string) int { return SubjectIndex(n, site.UserPrefix+rest) }} // in one partition
	UserMonth = &Of{"alice:647", isText, nil}
	Host      = &Of{"go.dev", isText, nil}
	Span      = &Of{"d:20715", func(rest string) bool { return isText(rest) && strings.Count(rest, ":") < 2 }, nil} // an hour, a day or a month
	GroupSpan = &Of{"d:20715:go", func(rest string) bool { return strings.Count(rest, ":") >= 2 }, nil}
	Digest    = &Of{"DIGEST", isText, func(n int, rest string) int { digest, _, _ := strings.Cut(rest, ":"); return LinkIndex(n, digest) }}
	Document  = &Of{"1f3", isText, DocumentIndex}
	Rate      = &Of{"votes:user:alice", isText, rateIndex}
	Post      = &Of{"alice:KEY", isPost, postIndex}
	LogCopy   = &Of{"events:DIGEST", isText, nil}
	Database  = &Of{"0", isText, nil}
	Hook      = &Of{"k7q2zb4mxw3d", isText, func(int, string) int { return 0 }}
	Site      = &Of{"", func(rest string) bool { return rest == "" }, func(int, string) int { return 0 }} // the first partition's, of the whole site
)

func isText(rest string) bool { return rest != "" }

func isNumber(rest string) bool {
	id, err := site.ParseArticleID(rest)
	return err == nil && id.Number() == rest
}

func isBatch(rest string) bool {
	article, decisions, found := strings.Cut(rest, ":")
	return found && isNumber(article) && decisions != ""
}

func batchIndex(n int, rest string) int {
	article, _, _ := strings.Cut(rest, ":")
	return Article.Index(n, article)
}

// HomeIndex returns the index of the partition, of n, with the keys of a user by name.
func HomeIndex(n int, name string) int { return SubjectIndex(n, site.UserName(name).Member()) }

func rateIndex(n int, rest string) int {
	_, subject, _ := strings.Cut(rest, ":")
	return SubjectIndex(n, strings.TrimPrefix(subject, "address:"))
}

func isPost(rest string) bool {
	_, err := url.QueryUnescape(rest[strings.LastIndexByte(rest, ':')+1:])
	return err == nil && strings.Contains(rest, ":")
}

// postIndex is the partition of an idempotency key. Its record can be in the link's partition, too.
func postIndex(n int, rest string) int {
	colon := strings.LastIndexByte(rest, ':')
	key, _ := url.QueryUnescape(rest[colon+1:])
	return KeyIndex(n, site.UserName(rest[:colon]), key)
}

// Kinds are all kinds of keys.
var Kinds = []Kind{
	{Name: "article", Holds: String, Of: All, Doc: "the last article number"},
	{Name: "article", Holds: Hash, Of: Article,
		Doc: "title, link, text, poster (`user:alice`), time, votes (net), downvotes, groups, revision (number of changes), uncounted (1 if the poster's vote does not count), cast (those net votes that are in `cast:alice:647` of their voters; missing for an article from a time without it), voided (number of votes in `void:17`; missing without any); for an edited article also edits (number of changes of title or text), edited (time of the last) and edition (revision of the last change of title, text or groups); with a change feed also milestone (the highest of `FRONTPAGE_MILESTONES` that the net votes have reached); for a deleted article also deleted and deleted_by, and reported (1 if a moderator deleted it because of reports), and an empty title and link, no text and no edits if `FRONTPAGE_DELETED_TEXT_DAYS` have passed; if a moderator said why they deleted or last changed it also why: time, ground and moderator on a line, then the basis and the reason"},
	{Name: "history", Holds: Hash, Of: Article,
		Doc: "what edits replaced, up to 20 versions: the first, the one of the others that got the most votes, and the newest; number of the edit to time, net votes, bytes of the title and `user:alice`, who replaced it, on a line, the title and the text after it; `best`: the number of the edit that replaced the one with the most votes, and these"},
	{Name: "time", Holds: SortedSet, Of: All, Doc: "`article:17` by posting time"},
	{Name: "score", Holds: SortedSet, Of: All, Doc: "`article:17` by score"},
	{Name: "voted", Holds: Set, Of: Article, Expires: true, Doc: "`user:alice` of the upvoters, and `gone:` with random characters of [erased](erasing.md) ones; kept an hour longer than voting is open"},
	{Name: "downvoted", Holds: Set, Of: Article, Expires: true, Doc: "the same of the downvoters; kept as long"},
	{Name: "cast", Holds: SortedSet, Of: UserMonth, Expires: true, Feature: "cast",
		Doc: "what alice voted on among the articles posted in the 32 days 647: `17`, or `-17` for a downvote, by the time of the vote; it follows `events:` within a second; at most 10,000, the oldest are dropped, and `0` says so; until [`FRONTPAGE_VOTES_KEPT`](operations.md#memory) after the last vote that can be cast on these articles"},
	{Name: "void", Holds: Hash, Of: Article,
		Doc: "the [votes that do not count](moderation.md#votes-that-do-not-count): `user:alice` to the vote (1, -1, or 0 for both of a legacy client), when it was taken out, when it was cast (from `cast:`; `-`: it is not there) and the moderator (`user:mod`) on a line, and the reason after it; `user: gone:` with random characters instead of `user:alice` for an [erased user](erasing.md)"},
	{Name: "group", Holds: Set, Of: Group, Doc: "`article:17`"},
	{Name: "time", Holds: SortedSet, Of: Group, Expires: true,
		Doc: "the cached listing of a group: its part of `time:`, from the first use until a minute after the last; with more than 2,000 articles, for ever. A listing that is not complete has the member `building:PASS:CURSOR` with the score -inf: how far it is. Those by score, and both of `interesting`, follow `events:` within a second, and whenever they are read"},
	{Name: "score", Holds: SortedSet, Of: Group, Expires: true, Doc: "its part of `score:`, likewise"},
	{Name: "groups", Holds: SortedSet, Of: All, Doc: "names of the groups that are not empty, without `interesting`"},
	{Name: "sizes", Holds: SortedSet, Of: All, Doc: "the same names by negated number of articles: the largest groups come first"},
	{Name: "posted", Holds: SortedSet, Of: User, Doc: "`article:17` that alice posted, by time; those of [erased users](erasing.md) are all in `posted: deleted user`"},
	{Name: "host", Holds: SortedSet, Of: Host, Doc: "`article:17` with links to the host, by time"},
	{Name: "top", Holds: SortedSet, Of: Span, Feature: "calendar",
		Doc: "`article:17` by net votes, of those posted on the day 20715 since 1970, `top:m:647` in these 32 days, `top:h:497160` in this hour: an article is in the list of its hour until the day is folded, later in those of its day and its month"},
	{Name: "top", Holds: SortedSet, Of: GroupSpan, Feature: "group_top", Doc: "with `FRONTPAGE_CALENDAR=groups`, the same of a group"},
	{Name: "clock", Holds: Hash, Of: All,
		Doc: "folded, the last folded day; the peak of each list of `top:`, such as `p:d:20715`: no article in it has more votes, and a list without a peak is empty; front, the last hour of which the page is saved, front_since, the first, and ranked, up to which the best ranks are entered"},
	{Name: "clock", Holds: Hash, Of: Group, Feature: "group_top", Doc: "folded and the peaks of a group's lists"},
	{Name: "front", Holds: SortedSet, Of: All, Feature: "front",
		Doc: "saved front pages by full hour, hours since 1970: the hour, then number and score of the first 100 articles"},
	{Name: "best", Holds: SortedSet, Of: All, Feature: "front",
		Doc: "`article:17` by 10,000,000 × the best rank at a full hour + that hour; entered when best ranks are read"},
	{Name: "post", Holds: String, Of: Post, Export: Left, Expires: true,
		Doc: "the article made by a post with an idempotency key, and a digest of the draft; `-` instead of the article if its link put it into another partition, which has the full record; 24 h"},
	{Name: "deleted", Holds: SortedSet, Of: All, Doc: "`article:17` by time of deletion; a deleted article is in no other list but `unexplained:`"},
	{Name: "unexplained", Holds: SortedSet, Of: All, Doc: "those of `deleted:` that moderators deleted without saying on which ground"},
	{Name: "moderation", Holds: Stream, Of: All, Doc: "the moderation log, about the last 100,000 entries: kind, article (`article:17`; for a denial or its end `user:eve`, `user: deleted user` or `host:go.dev`, and for what is said about a group `group:go`, in the first partition), by (`user:mod`), at, and what is known of title, link, reason, ground, basis, before and after (groups), on_behalf_of, and until (the end of a denial; `-`: never)"},
	{Name: "events", Holds: Stream, Of: All, Export: Left,
		Doc: "the [log](architecture.md#the-log) of changes, of which the [change feed](events.md) is a part: kind, article (`17`), revision, votes (net), downvotes, score, by (`alice`), to: the vote, the net votes of a milestone, or the groups; time (of the posting), groups, at (time of the change), and some also left (groups that it was taken out of), ground, basis and reason (of a moderator)"},
	{Name: "views", Holds: Hash, Of: All,
		Doc: "how far what follows from `events:` has it: listing (`score:go`), cast (`cast:alice:647`) and calendar (`top:`), the id of the last entry that each has; hidden, the number of entries that are no events of the change feed, looked, the entry up to which these were dropped, dropped, the last event that was, and since, the last entry before that is known"},
	{Name: "flags", Holds: Hash, Of: Article, Expires: true,
		Doc: "[reports](moderation.md) of the article: `0`, the last number, how many are open, since when, how many of these name illegal content, and how many are notices; number to reason, time, digest of a notice's secret or `-`, `user:alice` or `!REFERENCE`, and on the next lines the note; `user:alice` or `!REFERENCE` to number; decided, the numbers up to which reports were decided, one after the other, and for each, as in `=5`, acted or dismissed, time, moderator, and on the next line the answer to the reporters; 400 days after the last decision, if none is open"},
	{Name: "flagged", Holds: SortedSet, Of: All, Doc: "`17` of the articles with open reports, by the time of the first of them; 10,000,000,000 less if one names illegal content"},
	{Name: "contact", Holds: Hash, Of: Batch, Export: AsKey, Expires: true,
		Doc: "number of a notice to name and mail of who sent it, encrypted with `FRONTPAGE_SECRET`: those of the article that came after its reports were decided so many times; `FRONTPAGE_NOTICE_CONTACT_DAYS` after the next decision"},
	{Name: "reported", Holds: SortedSet, Of: UserHome, Expires: true,
		Doc: "`17` of the articles that alice reported, by time; at most 1,000, the oldest are dropped; 800 days after the last"},
	{Name: "link", Holds: String, Of: Digest, Doc: "the newest article that has the link, and its posting time; digest of the normalized link"},
	{Name: "audit", Holds: Hash, Of: Article, Expires: true,
		Doc: "with `FRONTPAGE_AUDIT_SECRET`: `user:alice` with vote, time and bucket (the keyed hash of the address); kept as long as the voters"},
	{Name: "rate", Holds: String, Of: Rate, Export: Left, Expires: true, Doc: "what a user or an address has used of a rate limit and when, until a window after the last use"},
	{Name: "query", Holds: String, Of: Document, Export: Left, Expires: true, Doc: "the persisted document whose SHA-256 begins with these digits; 30 days"},
	{Name: "account", Holds: String, Of: Digest, Export: AsKey,
		Doc: "the name of [a user](sign-in.md#one-user) who signs in on the site, or whose tokens are named like that; digest of its issuer and subject"},
	{Name: "name", Holds: String, Of: Digest, Export: AsKey,
		Doc: "the digest of the account that has a name, and the time of its first sign-in, Unix seconds (missing for one from a time before it was kept); digest of the name, folded. Also the first name of those that look alike; digest of their skeleton (UTS 39). Each takes 120 bytes, one for each user who has posted or has an account"},
	{Name: "state", Holds: String, Of: Digest, Export: Left, Expires: true, Doc: "a sign-in that has ended, so that it cannot end again; digest of its state; for an hour"},
	{Name: "session", Holds: String, Of: Digest, Export: Left, Expires: true,
		Doc: "a session of the site, encrypted with the value of its cookie; digest of that value; until it ends. `session:DIGEST:renewing` exists for a minute while a process asks the provider whether it goes on"},
	{Name: "ended", Holds: String, Of: Digest, Export: Left, Expires: true,
		Doc: "a random text, since a moderator ended all sessions of a user: only those with the same text go on; digest of the user's name; 400 days and an hour"},
	{Name: "denials", Holds: Hash, Of: Site,
		Doc: "[denied users and hosts](moderation.md#denied-users), in the first partition: `user:alice` or `host:go.dev` to the end (Unix seconds; `-`: never), the time, the ground, 1 if it is also about the names below the host, else 0, and the moderator (`user:mod`) on a line, and the reason after it; ended ones stay for 400 days; `erased:DIGEST` instead of `user:alice` for an [erased user](erasing.md), by a digest of the name, and `erasing:DIGEST` while one is erased; version, a random text that each change replaces"},
	{Name: "blockers", Holds: SortedSet, Of: Site, Doc: "`user:alice` who have [blocked](moderation.md#blocks) others, or had, in the order of their first block, in the first partition"},
	{Name: "blocked", Holds: Set, Of: Name, Doc: "`user:bob` whom alice has blocked, at most 1,000; in the partition that also has the rates of alice"},
	{Name: "saved", Holds: SortedSet, Of: UserHome,
		Doc: "`17` of the articles that alice has [saved](saved.md), by time, each later by a millisecond at least; at most 1,000"},
	{Name: "following", Holds: SortedSet, Of: UserHome,
		Doc: "`group:go` and `user:bob` of the groups and users that alice [follows](saved.md), by time, likewise; at most 200"},
	{Name: "erased", Holds: SortedSet, Of: Site, Export: AsKey, Doc: "digests of the names of [erased users](erasing.md), by the time when each was erased last, in the first partition"},
	{Name: "erasing", Holds: Hash, Of: All, Export: Left, Doc: "how often `events:` and `moderation:` were replaced by a copy [without a name](erasing.md), and of a copy that is being made, as in `events:DIGEST`, how often that was when it was begun; in the first partition also the process that erases, as in `lease:`"},
	{Name: "erasing", Holds: Stream, Of: LogCopy, Export: Left, Expires: true, Doc: "a copy of `events:` or `moderation:` that is being made, without the name of the digest; for a day"},
	{Name: "lease", Holds: Hash, Of: Site, Export: Left, Doc: "the process that does what only one should do, in the first partition: holder, a random name of it, until when it has the lease, Unix seconds, and token, a number that grows with each other holder, and the holder"},
	{Name: "described", Holds: Hash, Of: Site, Doc: "names of groups to what moderators have [said about them](moderation.md#groups), JSON: description and rules, in the first partition"},
	{Name: "webhooks", Holds: Hash, Of: Site, Export: AsKey, Doc: "name of a [webhook](webhooks.md) to its address, in the first partition"},
	{Name: "webhook", Holds: Hash, Of: Hook, Export: AsKey, Expires: true, Doc: "config, JSON: the address, the kinds of events, the time of its creation, and its secrets, encrypted with `FRONTPAGE_SECRET`; cursor of the change feed, paused (why; empty: it is not), and edition, the number of changes that others than the deliveries made; until it is removed"},
	{Name: "undelivered", Holds: Hash, Of: Hook, Export: AsKey, Expires: true, Doc: "events that a webhook did not get yet, at most 10,000 and those of one reading: number to JSON with id, article, body, number of tries and time of the next, Unix milliseconds"},
	{Name: "meta", Holds: Hash, Of: All,
		Doc: "version of this layout, number of [partitions](#partitions) and index of this one, the rules by which scores were computed, the features that are kept, the posting time before which voters were forgotten when the voting window was changed, the time of deletion up to which texts have been erased, the posting time from which all votes are in `cast:`, the epoch, a random name of this data, in the first partition the secret key of the cursors of [rankings](ranking.md#rankings-as-a-query) and the UUID from which [ids in feeds](site.md#feeds) follow, and after the import of an export its digest"},
	{Name: "changes", Holds: Channel, Of: Database,
		Doc: "messages of processes that have added to the [log](architecture.md#the-log): `K7Q2ZB4M 0 3` is a random name of the process, and the partitions. The number in the channel's name is that of the database, and all partitions have one channel"},
}

// Parse returns the kind of a key without the tag of its partition, and the rest of the key. For a key that is not a
// site's the kind has no name.
func Parse(key string) (Kind, string) {
	name, rest, found := strings.Cut(key, ":")
	for i := range Kinds {
		if k := &Kinds[i]; found && k.Name == name && k.Of.is(rest) {
			return *k, rest
		}
	}
	return Kind{}, rest
}

// commandsOf lists the commands that the scripts and this program run on keys of a type. KEY stands for the key. Redis
// 8 refuses a wrong number of words. Redis 6.2 really runs all but HSETNX: each form fails or changes nothing, or the key is one
// that is never used.
var commandsOf = map[Type][]string{
	Hash: {
		"HSET KEY a b c", "HSETNX KEY a b", "HINCRBY KEY a b", "HDEL KEY /", "HMGET KEY a", "HGET KEY a", "HGETALL KEY",
		"HLEN KEY", "HKEYS KEY", "HSCAN KEY 0", "EXISTS KEY",
	},
	Set: {"SADD KEY a", "SREM KEY a", "SCARD KEY", "SISMEMBER KEY a", "SMISMEMBER KEY a", "SMEMBERS KEY", "SSCAN KEY 0", "DEL KEY", "EXISTS KEY"},
	SortedSet: {
		"ZADD KEY a b", "ZREM KEY /", "ZINCRBY KEY a b", "ZSCORE KEY a", "ZCARD KEY", "ZCOUNT KEY 0 0", "ZRANK KEY a", "ZREVRANK KEY a",
		"ZRANGE KEY 0 0", "ZSCAN KEY 0", "ZMSCORE KEY a", "ZREMRANGEBYSCORE KEY 1 0", "ZREMRANGEBYRANK KEY a a", "ZINTERSTORE KEY 0 KEY",
	},
	String:  {"GET KEY", "SET KEY a EX b", "INCRBY KEY a", "GETEX KEY EX a"},
	Stream:  {"XADD KEY NOMKSTREAM MAXLEN ~ 1000000 0-0 a b", "XDEL KEY 0-0", "XLEN KEY", "XRANGE KEY - + COUNT 1", "XREVRANGE KEY + - COUNT 1", "XTRIM KEY MINID 0-0", "RENAME KEY KEY"},
	Channel: {"PUBLISH KEY /", "SUBSCRIBE KEY"},
}

// Commands that are run on a key that expires, or that ends with its feature. They have an effect.
var (
	expiring = []string{"EXPIRE KEY a", "PEXPIRE KEY a", "PERSIST KEY", "PTTL KEY", "DEL KEY", "UNLINK KEY"}
	dropped  = []string{"UNLINK KEY"}
)

// Keyless are the commands that run without a key.
var Keyless = []string{"TIME", "PING", "SCAN 0 COUNT 1", "DBSIZE", "ZINTER 0 KEY", "MULTI", "EXEC", "SCRIPT LOAD a", "EVAL a 0", "EVALSHA a 0"}

// Reserved is a name that no group, user or other part of a key has.
const Reserved = "/"

// Commands returns a key of the kind, and the commands that run on such keys. If a partition can have several keys of
// the kind, the key is one that is never used.
func (k Kind) Commands(p Partition, database int) (key string, commands []string) {
	commands = commandsOf[k.Holds]
	switch {
	case k.Holds == Channel:
		return ChangesChannel(database), commands
	case k.Of == All || k.Of == Site:
		return p.Key(k.Name, ":"), commands
	case k.Expires:
		commands = slices.Concat(commands, expiring)
	case k.Feature != "":
		commands = slices.Concat(commands, dropped)
	}
	return p.Key(k.Name, ":", Reserved), commands
}
