package graph

import (
	"math"
	"time"

	"frontpage/redisrepo"
	"frontpage/redisrepo/denials"
	"frontpage/redisrepo/saved"
	"frontpage/redisrepo/site"
)

// Site describes a site to clients. NewHandler sets Name and Rules.
type Site struct {
	Name      string
	Version   string // of the program
	Rules     SiteRules
	SignIn    SignInMethod
	SignInURL *string // of a sign-in page, with {return} for the URL to come back to; nil for none
	Explorer  bool    // whether GraphiQL is served
	Contact   *string // how to reach the operator; nil: not given

	PublicLog bool   // whether publicLog answers
	Subgraph  string // the schema for a router of Apollo Federation; empty: the site is not a subgraph
}

// SignInMethod is a way to sign in.
type SignInMethod string

// The ways to sign in.
const (
	ByName  SignInMethod = "NAME"  // with any name: development mode
	ByToken SignInMethod = "TOKEN" // with a token
	ByProxy SignInMethod = "PROXY" // through a proxy that authenticates users

	BySession SignInMethod = "SESSION" // at an OIDC provider; a cookie then identifies the user
)

// SiteRules are the rules of a site as the schema shows them.
type SiteRules struct {
	VoteScore, VotingWindow, InterestingVotes int
	Downvotes, PosterVotes                    bool
	PageSize, EditWindow, LinkWindow          int
	Ranking                                   site.Ranking
	RankCap, HalfLife                         int

	ReservedGroups []string // names, and beginnings of names with a star

	MaxTitle, MaxText, MaxLink, MaxGroups, MaxGroupName int
	MaxSaved, MaxFollowing, MaxBlocked                  int

	// Whether the site has these parts.
	Rankings, GroupRankings, FrontPages, VoteLists, Events bool
	Webhooks, Notices, PublicLog                           bool
}

func siteRules(repo *redisrepo.Repo, publicLog bool) SiteRules {
	r := repo.Store.Rules
	return SiteRules{
		VoteScore: r.VoteScore, VotingWindow: inSeconds(r.VotingWindow), InterestingVotes: min(r.InterestingVotes, math.MaxInt32),
		Downvotes: r.Downvotes, PosterVotes: r.PosterVotes, PageSize: r.PageSize,
		EditWindow: inSeconds(r.EditWindow), LinkWindow: inSeconds(r.LinkWindow),
		Ranking: r.Ranking, RankCap: inSeconds(r.RankCap), HalfLife: inSeconds(r.HalfLife),
		ReservedGroups: site.Collect(r.ReservedGroups, func(p site.GroupPattern) string { return string(p) }),
		MaxTitle:       site.MaxTitle, MaxText: site.MaxText, MaxLink: site.MaxLink, MaxGroups: site.MaxGroups, MaxGroupName: site.MaxGroupName,
		MaxSaved: saved.MaxSaved, MaxFollowing: saved.MaxFollowed, MaxBlocked: denials.MaxBlocked,
		Rankings: r.Calendar, GroupRankings: r.GroupTop, FrontPages: r.FrontPages > 0, VoteLists: r.VoteHistory != site.NoHistory, Events: r.Events > 0,
		Webhooks: repo.Webhooks.HasWebhooks(), Notices: repo.Reports.TakesNotices(), PublicLog: publicLog,
	}
}

// inSeconds returns a duration in seconds, as far as an Int can hold it.
func inSeconds(d time.Duration) int { return int(min(d/time.Second, math.MaxInt32)) }
