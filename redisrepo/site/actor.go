package site

import (
	"net/netip"
)

// Actor is the user who performs an action reserved for an article's poster and for moderators.
type Actor struct {
	Name      UserName
	Moderator bool     // may change the articles of others
	Service   bool     // may put any article into reserved groups, and take it out
	Via       UserName // the service that acts for Name; empty: Name itself acts
}

// ViaMember returns the member of the service that acts for the actor, or an empty text.
func (a Actor) ViaMember() string {
	if a.Via == "" {
		return ""
	}
	return a.Via.Member()
}

// MayDelete reports whether Delete would accept the actor. A deleted article cannot be changed.
func (a Actor) MayDelete(article *Article) bool {
	return article.DeletedAt == nil && a.Name != "" && (a.Moderator || a.Name == article.Poster.Name)
}

// Subject is whom and what a charge is for. It can be compared.
type Subject struct {
	Rule    string
	User    UserName
	Address netip.Addr
}
