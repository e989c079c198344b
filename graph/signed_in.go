package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
)

// signedIn calls do for an authenticated viewer who has not exceeded the rate of rule, and whom no moderator has denied
// changes. It sets the user errors of a payload, which is an empty list if all went well, and returns any other error.
func (r *Resolver) signedIn(ctx context.Context, rule string, errs *[]UserError, do func(endpoint.Viewer) error) error {
	return authenticated(ctx, rule, errs, func(v endpoint.Viewer) error {
		if err := r.repo.Denials.MayChange(actor(v)); err != nil {
			return err
		}
		return do(v)
	})
}

// authenticated is signedIn for what concerns the viewer alone: no denial matters.
func authenticated(ctx context.Context, rule string, errs *[]UserError, do func(endpoint.Viewer) error) (err error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		*errs = []UserError{&BasicUserError{Code: unauthenticated, Message: "sign in first"}}
	} else if wait := endpoint.Exceeded(ctx, rule); wait > 0 {
		*errs = []UserError{rateLimitedError(wait)}
	} else {
		*errs, err = userErrors(do(v))
	}
	return err
}

// actor returns the viewer as one who changes articles.
func actor(v endpoint.Viewer) site.Actor {
	return site.Actor{Name: v.Name, Moderator: v.Moderator, Service: v.Service, Via: v.Via}
}

// viewerMay reports for each article whether the viewer may do something.
func viewerMay(ctx context.Context, articles []*site.Article, do func(site.Actor, *site.Article) bool) ([]bool, error) {
	by, may := actor(endpoint.ViewerOf(ctx)), make([]bool, len(articles))
	for i, article := range articles {
		may[i] = do(by, article)
	}
	return may, nil
}

func (r *articleResolver) ViewerCanDelete(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return viewerMay(ctx, objs, site.Actor.MayDelete)
}

func (r *articleResolver) ViewerCanRegroup(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return viewerMay(ctx, objs, r.repo.MayRegroup)
}

func (r *articleResolver) ViewerCanEdit(ctx context.Context, objs []*site.Article) ([]bool, error) {
	return viewerMay(ctx, objs, r.repo.CanEdit)
}

func (r *userResolver) IsModerator(ctx context.Context, objs []*site.User) ([]bool, error) {
	v, is := endpoint.ViewerOf(ctx), make([]bool, len(objs))
	for i, user := range objs {
		is[i] = v.Moderator && user.Name == v.Name
	}
	return is, nil
}

func (r *queryResolver) Viewer(ctx context.Context) (*site.User, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, nil
	}
	return &site.User{Name: v.Name}, nil
}

func (r *mutationResolver) EndSessions(ctx context.Context, input EndSessionsInput) (*UserPayload, error) {
	payload := new(UserPayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.User, err = r.repo.Sessions.EndSessions(ctx, input.Name, actor(v))
		return err
	})
}

func (r *groupResolver) ViewerCanPost(ctx context.Context, objs []*site.Group) ([]bool, error) {
	by := actor(endpoint.ViewerOf(ctx))
	return site.Collect(objs, func(g *site.Group) bool { return r.repo.Store.Rules.MayPost(by, g.Name) }), nil
}
