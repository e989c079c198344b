package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/personal"
)

// viewerExport returns a part of the export of the viewer.
func (r *Resolver) viewerExport(ctx context.Context, after *string) (*personal.Part, error) {
	v := endpoint.ViewerOf(ctx)
	switch {
	case v.Name == "":
		return nil, endpoint.Unauthenticated("sign in to export what the site has about you")
	case v.Via != "":
		return nil, endpoint.Forbidden("a service cannot export the data of the user for whom it acts")
	}
	return r.repo.Personal.ExportUser(ctx, v.Name, after)
}
