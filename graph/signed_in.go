package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
)

// signedIn calls do for an authenticated viewer who has not exceeded the rate of rule. It returns the user
// errors of a payload, which is an empty list if all went well, or a fault.
func signedIn(ctx context.Context, rule string, do func(endpoint.Viewer) error) ([]UserError, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return []UserError{&BasicUserError{Code: unauthenticated, Message: "sign in first"}}, nil
	}
	if wait := endpoint.Exceeded(ctx, rule); wait > 0 {
		return []UserError{rateLimitedError(wait)}, nil
	}
	return userErrors(do(v))
}

// actor returns the viewer as one who changes articles.
func actor(v endpoint.Viewer) site.Actor {
	return site.Actor{Name: v.Name, Moderator: v.Moderator, Service: v.Service, Via: v.Via}
}

// bucket returns the bucket of the viewer's address. That of a service says nothing about the user for whom it acts.
func (r *Resolver) bucket(v endpoint.Viewer) string {
	if v.Via != "" {
		return ""
	}
	return r.buckets.bucket(v.Network())
}

// viewerMay reports for each article whether the viewer may do something.
func viewerMay(ctx context.Context, articles []*site.Article, do func(site.Actor, *site.Article) bool) ([]bool, error) {
	by, may := actor(endpoint.ViewerOf(ctx)), make([]bool, len(articles))
	for i, article := range articles {
		may[i] = do(by, article)
	}
	return may, nil
}
