package graph

import "frontpage/redisrepo/site"

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
