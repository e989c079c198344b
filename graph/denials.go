package graph

import (
	"context"
	"slices"
	"time"

	"frontpage/endpoint"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/site"
)

// DenyUserInput names a user whom a moderator denies changes.
type DenyUserInput struct {
	User   string
	Until  *time.Time
	Ground site.Ground
	Reason string
}

// DenialPayload is the result of denying something to a user, or links to a host.
type DenialPayload struct {
	Denial     *denials.Denial
	UserErrors []UserError
}

// DenyHostInput names a host to which a moderator denies links.
type DenyHostInput struct {
	Host               string
	Denied, Subdomains bool
	Reason             string
}

// BlockUserInput names a user whom the viewer blocks.
type BlockUserInput struct {
	User    string
	Blocked bool
}

// DeniedError says until when and why the viewer may not do something.
type DeniedError struct {
	BasicUserError
	Until  *time.Time
	Reason *string
}

// DenialConnection is a page of the denials of users or of hosts.
type DenialConnection struct {
	Edges    []*denials.Edge
	PageInfo site.PageInfo
}

// Nodes returns the denials without their positions.
func (c *DenialConnection) Nodes() []*denials.Denial {
	return site.Collect(c.Edges, func(e *denials.Edge) *denials.Denial { return e.Node })
}

// denials returns a page of denials to moderators.
func (r *Resolver) denials(ctx context.Context, page func(first *int, after *string, ended bool) ([]*denials.Edge, site.PageInfo, error), first *int32, after *string, ended bool) (*DenialConnection, error) {
	if !endpoint.ViewerOf(ctx).Moderator {
		return nil, endpoint.Forbidden("denials are for moderators")
	}
	edges, info, err := page(asInt(first), after, ended)
	if err != nil {
		return nil, err
	}
	return &DenialConnection{edges, info}, nil
}

func (r *queryResolver) ViewerBlocks(ctx context.Context, first *int32, after *string) ([]*site.User, error) {
	v := endpoint.ViewerOf(ctx)
	if v.Name == "" {
		return nil, endpoint.Unauthenticated("sign in to list whom you have blocked")
	}
	most, err := sizeOf(first, r.repo.Store.Rules.PageSize)
	if err != nil {
		return nil, err
	}
	names, err := r.repo.Denials.Blocked(ctx, v.Name)
	if after != nil {
		names = slices.DeleteFunc(names, func(name site.UserName) bool { return string(name) <= *after })
	}
	return site.Collect(names[:min(most, len(names))], func(name site.UserName) *site.User { return &site.User{Name: name} }), err
}

func (r *denialResolver) User(_ context.Context, objs []*denials.Denial) ([]*site.User, error) {
	return site.Collect(objs, func(d *denials.Denial) *site.User {
		if d.User == "" {
			return nil
		}
		return &site.User{Name: d.User}
	}), nil
}

func (r *denialResolver) Host(_ context.Context, objs []*denials.Denial) ([]*site.Host, error) {
	return site.Collect(objs, func(d *denials.Denial) *site.Host {
		if d.Host == "" {
			return nil
		}
		return &site.Host{Name: d.Host}
	}), nil
}

func (r *denialResolver) By(ctx context.Context, objs []*denials.Denial) ([]*site.User, error) {
	viewer := endpoint.ViewerOf(ctx)
	return site.Collect(objs, func(d *denials.Denial) *site.User {
		if !viewer.Moderator {
			return nil
		}
		return &site.User{Name: d.By}
	}), nil
}

func (r *deniedErrorResolver) Redress(_ context.Context, _ *DeniedError) (*string, error) {
	return r.site.Contact, nil
}

func (r *mutationResolver) DenyUser(ctx context.Context, input DenyUserInput) (*DenialPayload, error) {
	payload := new(DenialPayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.Denial, err = r.repo.Denials.DenyUser(ctx, input.User, input.Until, input.Ground, input.Reason, actor(v))
		return err
	})
}

func (r *mutationResolver) DenyHost(ctx context.Context, input DenyHostInput) (*DenialPayload, error) {
	payload := new(DenialPayload)
	return payload, r.signedIn(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.Denial, err = r.repo.Denials.DenyHost(ctx, input.Host, input.Denied, input.Subdomains, input.Reason, actor(v))
		return err
	})
}

func (r *mutationResolver) BlockUser(ctx context.Context, input BlockUserInput) (*UserPayload, error) {
	payload := new(UserPayload)
	return payload, authenticated(ctx, endpoint.RuleChanges, &payload.UserErrors, func(v endpoint.Viewer) (err error) {
		payload.User, err = r.repo.Denials.BlockUser(ctx, v.Name, input.User, input.Blocked)
		return err
	})
}

func (r *queryResolver) DeniedUsers(ctx context.Context, first *int32, after *string, ended bool) (*DenialConnection, error) {
	return r.denials(ctx, r.repo.Denials.DeniedUsers, first, after, ended)
}

func (r *queryResolver) DeniedHosts(ctx context.Context, first *int32, after *string, ended bool) (*DenialConnection, error) {
	return r.denials(ctx, r.repo.Denials.DeniedHosts, first, after, ended)
}

func (r *userResolver) Denial(ctx context.Context, objs []*site.User) ([]*denials.Denial, error) {
	v := endpoint.ViewerOf(ctx)
	return site.Collect(objs, func(u *site.User) *denials.Denial {
		if v.Moderator || v.Name != "" && v.Name == u.Name {
			return r.repo.Denials.DenialOf(u.Name)
		}
		return nil
	}), nil
}

func (r *userResolver) ViewerHasBlocked(ctx context.Context, objs []*site.User) ([]bool, error) {
	posters, err := r.repo.Denials.Blocked(ctx, endpoint.ViewerOf(ctx).Name)
	return site.Collect(objs, func(u *site.User) bool { return leftOut{posters: posters}.has(u.Name) }), err
}
