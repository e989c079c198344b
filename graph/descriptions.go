package graph

import (
	"context"

	"frontpage/endpoint"
	"frontpage/redisrepo/site"
)

// DescribeGroupInput is what a moderator says about a group.
type DescribeGroupInput struct {
	Group, Description string
	Rules              []string
}

// DescribeGroupPayload is the result of describing a group.
type DescribeGroupPayload struct {
	Group      *site.Group
	UserErrors []UserError
}

func (r *Resolver) describeGroup(ctx context.Context, input DescribeGroupInput) (*DescribeGroupPayload, error) {
	var payload DescribeGroupPayload
	var err error
	payload.UserErrors, err = r.signedIn(ctx, endpoint.RuleChanges, func(v endpoint.Viewer) (err error) {
		payload.Group, err = r.repo.Descriptions.DescribeGroup(ctx, input.Group, input.Description, input.Rules, actor(v))
		return err
	})
	if payload.Group == nil || err != nil || !selected(ctx, "DescribeGroupPayload.group", "Group.articleCount") {
		return &payload, err
	}
	return &payload, r.countArticles(ctx, payload.Group)
}
