package graph

import (
	"context"
	"errors"
	"sync"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/erase"
	"frontpage/redisrepo/personal"
	"frontpage/redisrepo/site"
)

// ErasedArticles says what becomes of the articles of a user who is erased.
type ErasedArticles string

// What becomes of the articles.
const (
	KeepArticles   ErasedArticles = "keep"
	RemoveArticles ErasedArticles = "remove"
)

// EraseViewerInput confirms that the viewer is to be erased.
type EraseViewerInput struct {
	Confirm  string
	Articles ErasedArticles
}

// EraseViewerPayload is the result of erasing the viewer.
type EraseViewerPayload struct {
	Done       bool
	UserErrors []UserError
}

// erasedPerPoint is how many keys, entries and fields are looked at for a point: about 20 points for each millisecond.
const erasedPerPoint = 3

// erasures lets one erasure of the site run at a time. It goes on when the request that began it has ended.
type erasures struct {
	mu      sync.Mutex
	running *erasure // nil: none
}

// erasure is one that runs.
type erasure struct {
	user  site.UserName
	ended chan struct{}
	err   error // set before ended is closed
}

// EraseViewer erases the viewer, also one who is denied changes.
func (r *mutationResolver) EraseViewer(ctx context.Context, input EraseViewerInput) (*EraseViewerPayload, error) {
	payload := new(EraseViewerPayload)
	return payload, authenticated(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		switch {
		case v.Via != "":
			return site.Refuse(site.Forbidden, "", "a service cannot erase the user for whom it acts")
		case input.Confirm != string(v.Name):
			return site.Refuse(site.Invalid, "confirm", "type your user name to confirm that you want to be erased: %s", site.Shown(string(v.Name)))
		}
		payload.Done, err = r.erase(ctx, v.Name, input.Articles == RemoveArticles)
		return err
	})
}

// erase begins the erasure of a user, unless one runs, and waits for half of the time that a request has. It reports whether the
// user is erased.
func (r *Resolver) erase(ctx context.Context, user site.UserName, remove bool) (bool, error) {
	r.erasures.mu.Lock()
	e := r.erasures.running
	if e == nil {
		if _, taken, err := r.repo.Erasing.Take(ctx); err != nil || !taken {
			r.erasures.mu.Unlock()
			return false, err
		}
		e = &erasure{user: user, ended: make(chan struct{})}
		r.erasures.running = e
		ctx := context.WithoutCancel(ctx)
		holding, release := context.WithCancel(ctx)
		go r.repo.Erasing.Hold(holding) // without it, another process may erase, too: that is safe
		go func() {
			did, err := erase.User(ctx, r.repo, string(user), erase.Options{Remove: remove, Settle: erase.Settle})
			release()
			e.err = errors.Join(err, r.repo.Erasing.GiveBack(ctx))
			endpoint.Owe(ctx, did.Looked/erasedPerPoint)
			r.erasures.mu.Lock()
			r.erasures.running = nil
			r.erasures.mu.Unlock()
			close(e.ended)
		}()
	}
	r.erasures.mu.Unlock()
	select {
	case <-e.ended:
		if e.user != user {
			return false, nil
		}
		return e.err == nil, e.err
	case <-time.After(r.timeout / 2):
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (r *queryResolver) ViewerExport(ctx context.Context, after *string) (*personal.Part, error) {
	v := endpoint.ViewerOf(ctx)
	switch {
	case v.Name == "":
		return nil, endpoint.Unauthenticated("sign in to export what the site has about you")
	case v.Via != "":
		return nil, endpoint.Forbidden("a service cannot export the data of the user for whom it acts")
	}
	return r.repo.Personal.ExportUser(ctx, v.Name, after)
}
