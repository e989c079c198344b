package redisrepo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxImportVotes bounds the votes of one imported article: its voters are made
// up one by one while voting is open.
const maxImportVotes = 1_000_000

// Imported is an article that comes from elsewhere, with its votes.
type Imported struct {
	ID       ArticleID // its number here, too
	Poster   UserName
	PostedAt time.Time // whole seconds; not after now
	Votes    int       // net, from -1,000,000 to 1,000,000
	Draft    Draft     // checked like a post, but a bare title will do
}

// Import stores articles in one round trip, each wholly or not at all. The
// slots of both slices are those of articles: added tells whether the article
// is new, and a Refusal in errs says why it was not stored. An article that is
// here already, with the same poster, title and link, is left as it is, deleted
// or not, and is not an error. Links are neither compared with those of other
// articles nor reserved.
//
// Of an article whose voting window is open, the poster is taken to be among
// who voted up, unless the rules do not count that vote; the other voters have
// no names, and so nobody is kept from voting. The numbers that Post gives out
// go on behind the highest ID.
//
// When Redis does not answer, errs holds that error for the articles that may
// not have been stored; to repeat the call is safe.
func (r *Repo) Import(ctx context.Context, articles []Imported) (added []bool, errs []error) {
	added, errs = make([]bool, len(articles)), make([]error, len(articles))
	submissions, calls := make([]submission, len(articles)), make([]*redis.Cmd, len(articles))
	err := r.pipeline(ctx, func(pipe redis.Pipeliner) {
		for i, a := range articles {
			submissions[i], errs[i] = r.checkImport(a)
			if errs[i] != nil {
				continue
			}
			keys, args := r.postCall(a.ID, a.Poster, submissions[i], posted{at: strconv.FormatInt(a.PostedAt.Unix(), 10), votes: a.Votes, kind: kindImported})
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
		added[i], errs[i] = imported(articles[i], submissions[i], answer)
	}
	return added, errs
}

func imported(a Imported, s submission, answer reply) (added bool, err error) {
	switch status := answer.status(); status {
	case "CREATED":
		return true, nil
	case "TAKEN":
		hash, err := answer.hash(1)
		if err != nil {
			return false, err
		}
		if !s.is(hash, a.Poster) {
			return false, refuse(Conflict, "id", "%v is another article: %s by %s", a.ID, shown(hash[fieldTitle]), userOf(hash[fieldPoster]))
		}
		return false, nil
	default:
		return false, fmt.Errorf("import %v: the script replied %q", a.ID, status)
	}
}

func (r *Repo) checkImport(a Imported) (submission, error) {
	s, err := a.Draft.check(true)
	var broken Refusal
	errors.As(err, &broken)
	if _, err := ParseArticleID(a.ID.String()); err != nil {
		broken = append(broken, refuse(Invalid, "id", "%d is not the number of an article", a.ID)...)
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
