package pages

import (
	"strings"
	"time"
)

// The objects of schema.org that describe an article, as JSON-LD.
type (
	posting struct {
		Context     string        `json:"@context"`
		Type        string        `json:"@type"`
		ID          string        `json:"@id"`
		URL         string        `json:"url"`
		Headline    string        `json:"headline"`
		Text        string        `json:"text,omitempty"`
		Author      person        `json:"author"`
		Published   time.Time     `json:"datePublished"`
		Modified    *time.Time    `json:"dateModified,omitempty"`
		Keywords    string        `json:"keywords,omitempty"`
		Shared      *sharedPage   `json:"sharedContent,omitempty"`
		Interaction []interaction `json:"interactionStatistic"`
	}
	person struct {
		Type string `json:"@type"`
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	sharedPage struct {
		Type string `json:"@type"`
		URL  string `json:"url"`
	}
	interaction struct {
		Type   string `json:"@type"`
		Action string `json:"interactionType"`
		Count  int    `json:"userInteractionCount"`
	}
)

// posting returns the description of the article that a page is about.
func (p *page) posting() *posting {
	a := p.data.Article
	at := p.Base + a.Path()
	described := &posting{
		Context: "https://schema.org", Type: "DiscussionForumPosting", ID: at, URL: at, Headline: a.Title,
		Author: person{"Person", a.Poster.Name, p.Base + p.UserPath(a.Poster.Name)}, Published: a.CreatedAt, Modified: a.EditedAt,
		Interaction: []interaction{
			{"InteractionCounter", "https://schema.org/LikeAction", a.Upvotes}, {"InteractionCounter", "https://schema.org/DislikeAction", a.Downvotes},
		},
	}
	if a.Text != nil {
		described.Text = *a.Text
	}
	if a.Link != nil {
		described.Shared = &sharedPage{"WebPage", *a.Link}
	}
	var names []string
	for _, group := range a.Groups {
		names = append(names, group.Name)
	}
	described.Keywords = strings.Join(names, ", ")
	return described
}
