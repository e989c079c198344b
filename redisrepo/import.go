package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxImportVotes is the maximum number of net votes, up or down, of an imported article. It is limited
// because a placeholder is stored for each voter while voting is open.
const maxImportVotes = 1_000_000

// Imported is an article from another site, with its votes.
type Imported struct {
	ID       ArticleID // becomes its number on this site
	Poster   UserName
	PostedAt time.Time // whole seconds; not in the future
	Votes    int       // net, from -1,000,000 to 1,000,000
	Draft    Draft     // checked like a post, except that a title alone is enough
}

// Import stores articles in one round trip, each completely or not at all. Both results have one
// element for each article: added reports whether it is new, and a Refusal in errs says why it was not
// stored. An article that exists already, with the same poster, title and link, stays as it is, deleted
// or not; this is not an error. Links are neither compared with those of other articles nor reserved.
//
// If an article's voting window is open, its poster becomes one of the upvoters, unless the rules do
// not count that vote. The other votes belong to placeholders, so every user can still vote. The numbers
// that Post gives out continue after the highest ID.
//
// If Redis does not answer, errs holds that error for each article that may not have been stored. The
// call is safe to repeat.
func (r *Repo) Import(ctx context.Context, articles []Imported) (added []bool, errs []error) {
	added, errs = make([]bool, len(articles)), make([]error, len(articles))
	submissions, calls := make([]submission, len(articles)), make([]*redis.Cmd, len(articles))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, a := range articles {
			submissions[i], errs[i] = r.checkImport(a)
			if errs[i] != nil {
				continue
			}
			keys, args := r.postCall(a.ID, a.Poster, submissions[i], postOptions{at: strconv.FormatInt(a.PostedAt.Unix(), 10), votes: a.Votes, kind: kindImported})
			calls[i] = postScript.EvalSha(ctx, pipe, keys, args...)
		}
	})
	for i, call := range calls {
		if call == nil {
			continue
		}
		answer, callErr := call.Slice()
		if callErr != nil {
			errs[i] = storeError("import "+articles[i].ID.String(), errors.Join(callErr, err))
			continue
		}
		added[i], errs[i] = importResult(articles[i], submissions[i], answer)
	}
	return added, errs
}

// importResult interprets the reply of post.lua.
func importResult(a Imported, s submission, answer reply) (added bool, err error) {
	switch status := answer.status(); status {
	case "CREATED":
		return true, nil
	case "TAKEN":
		hash, err := answer.hash(1)
		if err != nil {
			return false, err
		}
		if !s.isStoredAs(hash, a.Poster) {
			return false, refuse(Conflict, "id", "%v is another article: %s by %s", a.ID, shown(hash[fieldTitle]), userOf(hash[fieldPoster]))
		}
		return false, nil
	default:
		return false, fmt.Errorf("import %v: the script replied %q", a.ID, status)
	}
}

func (r *Repo) checkImport(a Imported) (submission, error) {
	s, err := a.Draft.check(importRules)
	var broken Refusal
	errors.As(err, &broken)
	if _, err := ParseArticleID(a.ID.String()); err != nil {
		broken = append(broken, refuse(Invalid, "id", "%d is not an article number", a.ID)...)
	}
	if a.Votes < -maxImportVotes || a.Votes > maxImportVotes {
		broken = append(broken, refuse(Invalid, "votes", "votes are between %d and %d, not %d", -maxImportVotes, maxImportVotes, a.Votes)...)
	}
	if a.PostedAt.After(r.now()) {
		broken = append(broken, refuse(Invalid, "posted_at", "it was posted in the future: %s", a.PostedAt.UTC().Format(time.RFC3339))...)
	}
	if len(broken) > 0 {
		return submission{}, broken
	}
	return s, nil
}
