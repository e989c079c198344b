package erase

import (
	"context"
	"crypto/rand"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// goneLength is the number of characters of a random voter: 60 bits.
const goneLength = 12

// leaveArticle has the name leave an article and its versions. An article that is to be emptied is deleted first.
func leaveArticle(ctx context.Context, j *job, f found) (bool, error) {
	id, err := site.ParseArticleID(f.rest)
	if err != nil {
		return false, err
	}
	scriptKeys := []string{
		f.p.Article(id),             // KEYS[1] article
		f.p.History(id),             // KEYS[2] history
		f.p.Ranking(site.ByTime),    // KEYS[3] times
		f.p.Posted(j.name),          // KEYS[4] posted
		f.p.Posted(site.ErasedUser), // KEYS[5] erased_posted
		f.p.Events(),                // KEYS[6] events
		f.p.Views(),                 // KEYS[7] views
	}
	for {
		answer, err := j.Store.Call(ctx, articleScript, scriptKeys, []any{
			id.String(),                   // ARGV[1] member
			j.member,                      // ARGV[2] user
			site.ErasedUser.Member(),      // ARGV[3] erased
			site.ErasedModerator.Member(), // ARGV[4] moderator
			j.o.Remove,                    // ARGV[5] empties
			j.Store.ScriptNow(),           // ARGV[6] now
		})
		if err != nil || answer.Status() == "OK" {
			return answer.Number(1) > 0, err
		}
		if _, err := j.Delete(ctx, id, site.Actor{Name: j.name}, site.Why{}); err != nil {
			return false, err
		}
	}
}

// leaveVoters replaces the user among the voters of an article by one that is in no other: a common one would join the votes again.
func leaveVoters(ctx context.Context, j *job, f found) (bool, error) {
	id, err := site.ParseArticleID(f.rest)
	if err != nil {
		return false, err
	}
	scriptKeys := []string{
		f.p.Article(id),   // KEYS[1] article
		f.p.Voted(id),     // KEYS[2] voted
		f.p.Downvoted(id), // KEYS[3] downvoted
		f.p.Audit(id),     // KEYS[4] audit
	}
	answer, err := j.Store.Call(ctx, votersScript, scriptKeys, []any{
		j.member,                           // ARGV[1] user
		site.ErasedUser.Member(),           // ARGV[2] erased
		"gone:" + rand.Text()[:goneLength], // ARGV[3] gone
	})
	return answer.Number(1) > 0, err
}

func leaveFlags(ctx context.Context, j *job, f found) (bool, error) {
	return j.leaveFields(ctx, flagsScript, f.key, false, // KEYS[1] flags, ARGV[4...] field
		j.member,                      // ARGV[1] user
		site.ErasedUser.Member(),      // ARGV[2] erased
		site.ErasedModerator.Member(), // ARGV[3] moderator
	)
}

func leaveVoids(ctx context.Context, j *job, f found) (bool, error) {
	gone := site.UserName(" gone:" + rand.Text()[:goneLength]) // as with site.ErasedUser, the space keeps it from being a user's name
	return j.leaveFields(ctx, voidsScript, f.key, false,       // KEYS[1] void, ARGV[4...] field
		j.member,                      // ARGV[1] user
		site.ErasedModerator.Member(), // ARGV[2] moderator
		gone.Member(),                 // ARGV[3] gone
	)
}

const (
	// mostCopied is how many entries one call of eraselog.lua copies: it takes Redis about 2 ms.
	mostCopied = 200
	// mostLooked is how many entries of a log are read at once.
	mostLooked = 500
	// copyKept is how long a copy is kept that is not completed.
	copyKept = site.Day
)

// leaveLog has the name leave a log, by a copy that takes its place, unless no entry has it.
func leaveLog(ctx context.Context, j *job, f found) (bool, error) {
	by, instead := j.member, site.ErasedUser.Member()
	if f.kind.Name == "events" {
		by, instead = string(j.name), string(site.ErasedUser)
	}
	has, emptied, err := j.lookThrough(ctx, f, by)
	if err != nil || !has {
		return false, err
	}
	scriptKeys := []string{
		f.key,                                 // KEYS[1] log
		f.p.LogCopy(f.key, j.digest),          // KEYS[2] copy
		f.p.LogCopy(f.key, j.digest) + ":old", // KEYS[3] old
		f.p.Erasing(),                         // KEYS[4] erasing
		f.p.Views(),                           // KEYS[5] views
	}
	args := []any{
		f.kind.Name,            // ARGV[1] name
		j.digest,               // ARGV[2] digest
		by,                     // ARGV[3] by
		instead,                // ARGV[4] instead
		mostCopied,             // ARGV[5] most
		site.Seconds(copyKept), // ARGV[6] kept
	}
	for _, number := range emptied { // ARGV[7...] emptied
		args = append(args, number)
	}
	for {
		j.looked.Add(mostCopied)
		answer, err := j.Store.Call(ctx, logScript, scriptKeys, args)
		if err != nil || answer.Status() == "OK" {
			return true, err
		}
	}
}

// lookThrough reports whether a log has the name, or words of articles that were emptied, whose numbers it returns.
func (j *job) lookThrough(ctx context.Context, f found, by string) (has bool, emptied []string, err error) {
	told := map[string]bool{} // numbers of articles with words in the log
	err = j.eachEntry(ctx, f.key, func(m redis.XMessage) {
		has = has || m.Values["by"] == by || m.Values["on_behalf_of"] == by || m.Values["article"] == j.member
		title, _ := m.Values["title"].(string)
		link, _ := m.Values["link"].(string)
		if member, _ := m.Values["article"].(string); j.o.Remove && title+link != "" {
			told[strings.TrimPrefix(member, site.ArticlePrefix)] = true
		}
	})
	if err != nil {
		return false, nil, err
	}
	for number := range told {
		is, err := j.isEmptied(ctx, f.p, number)
		if err != nil {
			return false, nil, err
		}
		if is {
			has, emptied = true, append(emptied, number)
		}
	}
	return has, emptied, nil
}

// isEmptied reports whether an article of an erased user was emptied.
func (j *job) isEmptied(ctx context.Context, p keys.Partition, number string) (bool, error) {
	id, err := site.ParseArticleID(number)
	if err != nil {
		return false, nil // of no article
	}
	values, err := j.Store.Client.HMGet(ctx, p.Article(id), site.FieldPoster, site.FieldTitle, site.FieldText, site.FieldLink).Result()
	if err != nil {
		return false, err
	}
	return values[0] == site.ErasedUser.Member() && values[1] == "" && values[2] == nil && values[3] == "", nil
}

var escaped = regexp.MustCompile(`(?:\\u[0-9a-fA-F]{4})+|\\u\{[0-9a-fA-F]{1,6}\}`)

// hasName reports whether a document contains the name, with characters as they are or escaped.
func hasName(document, name string) bool {
	plain := escaped.ReplaceAllStringFunc(document, func(text string) string {
		if digits, braced := strings.CutPrefix(text, `\u{`); braced {
			n, _ := strconv.ParseInt(strings.TrimSuffix(digits, "}"), 16, 32)
			return string(rune(n))
		}
		var units []uint16
		for _, digits := range strings.Split(text, `\u`)[1:] {
			n, _ := strconv.ParseUint(digits, 16, 16)
			units = append(units, uint16(n))
		}
		return string(utf16.Decode(units))
	})
	plain = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\/`, `/`).Replace(plain)
	return strings.Contains(plain, name) || strings.Contains(document, name)
}
