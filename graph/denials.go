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

// DenyUserPayload is the result of denying a user changes.
type DenyUserPayload struct {
	Denial     *denials.Denial
	UserErrors []UserError
}

// DenyHostInput names a host to which a moderator denies links.
type DenyHostInput struct {
	Host               string
	Denied, Subdomains bool
	Reason             string
}

// DenyHostPayload is the result of denying links to a host.
type DenyHostPayload struct {
	Denial     *denials.Denial
	UserErrors []UserError
}

// BlockUserInput names a user whom the viewer blocks.
type BlockUserInput struct {
	User    string
	Blocked bool
}

// BlockUserPayload is the result of blocking a user.
type BlockUserPayload struct {
	User       *site.User
	UserErrors []UserError
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

// denialOf returns the denial of a user to the user and to moderators.
func (r *Resolver) denialOf(v endpoint.Viewer, user site.UserName) *denials.Denial {
	if v.Moderator || v.Name != "" && v.Name == user {
		return r.repo.Denials.DenialOf(user)
	}
	return nil
}

// viewerBlocks returns users whom the viewer has blocked, after a name.
func (r *Resolver) viewerBlocks(ctx context.Context, first *int32, after *string) ([]*site.User, error) {
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
