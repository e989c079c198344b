package signin

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"frontpage/identity"
	"frontpage/redisrepo"
	"frontpage/redisrepo/site"
)

const (
	maxKnown  = 10_000          // users whose names a process remembers
	knownTime = 5 * time.Minute // for which it does: the store may have been emptied or restored
)

// Names finds the names of users by issuer and subject, of the site's own sign-in or of a token. It caches the names,
// so most requests with a token do not read the store. It is safe for concurrent use.
type Names struct {
	repo  atomic.Pointer[redisrepo.Repo] // nil until Use
	now   func() time.Time
	known *lru.Cache[[sha256.Size]byte, known] // by the digest of an account, which may be long
}

type known struct {
	name  string
	until time.Time
}

// NewNames returns Names, which finds none before Use. If now is nil, the clock is time.Now.
func NewNames(now func() time.Time) *Names {
	if now == nil {
		now = time.Now
	}
	cache, err := lru.New[[sha256.Size]byte, known](maxKnown)
	if err != nil {
		panic(err) // impossible: the size is fixed
	}
	return &Names{now: now, known: cache}
}

// Use sets the store of the names.
func (n *Names) Use(repo *redisrepo.Repo) { n.repo.Store(repo) }

// Find is identity.Accounts.Find. A new user is recorded as at the first sign-in.
func (n *Names) Find(ctx context.Context, issuer, subject, wanted string) (string, error) {
	of := account(issuer, subject)
	digest := sha256.Sum256([]byte(of))
	if found, ok := n.known.Get(digest); ok && n.now().Before(found.until) {
		return found.name, nil
	}
	repo := n.repo.Load()
	if repo == nil {
		return "", errNotReady
	}
	name, err := repo.Sessions.AccountName(ctx, of, wanted)
	var refused site.Refusal
	switch {
	case errors.As(err, &refused) && wanted == "":
		return "", identity.ErrUnnamed
	case errors.As(err, &refused):
		return "", &identity.Refusal{Code: identity.Invalid, Message: "too many users have the name of the token's user"}
	case err != nil:
		return "", err
	}
	n.known.Add(digest, known{string(name), n.now().Add(knownTime)})
	return string(name), nil
}
