package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// maxDraft is the maximum size of the form to post in bytes: a browser sends up to 12 for each letter of the longest text.
const maxDraft = 256 << 10

// draft is what the form to post has, as it was filled in.
type draft struct {
	Title, Link, Text, Groups string

	ByName bool   // whether the form asks who posts: in development mode
	Name   string // of the poster
}

// readDraft reads a draft from a form, or from the address of the form: ?link= ?title= ?text= ?group=. Some programs share an
// address as a text.
func (s *server) readDraft(form url.Values) *draft {
	d := &draft{ByName: s.API.Identity.InDevelopment(), Name: strings.TrimSpace(form.Get("name")), Title: form.Get("title"), Link: form.Get("link"), Text: form.Get("text"), Groups: strings.TrimSpace(form.Get("groups") + " " + form.Get("group"))}
	if text := strings.TrimSpace(d.Text); d.Link == "" && (strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")) && !strings.ContainsAny(text, " \n") {
		d.Link, d.Text = text, ""
	}
	return d
}

// submit returns the page of the form to post. The script shows its own.
func (s *server) submit(req *http.Request) (*page, error) {
	p := scriptPage("/submit", s.Site.Texts.Text("submit"), "")
	p.Without, p.Draft = "submit", s.readDraft(req.URL.Query())
	return p, nil
}

// post posts what the form has, as the API's mutation does, and leads to the article. A refusal shows the form again.
func (s *server) post(w http.ResponseWriter, req *http.Request) {
	p := s.formPage(req)
	p.Title, p.Next = p.T("notPosted"), "/submit"
	if s.readForm(w, req, p, maxDraft) {
		p.Draft = s.readDraft(req.PostForm)
		s.API.Identity.ActAs(req, p.Draft.Name)
		if number := s.send(w, req, p); p.status == 0 {
			w.Header().Set("Cache-Control", "private, no-store")
			http.Redirect(w, req, (&articleData{Number: number}).Path(), http.StatusSeeOther)
			return
		}
	}
	if p.status >= http.StatusInternalServerError {
		p.Title = p.T("postInDoubt")
	}
	s.refuse(w, req, p)
}

// send executes the mutation and returns the number of the article. If it is refused, p says why.
func (s *server) send(w http.ResponseWriter, req *http.Request, p *page) int {
	type input struct {
		Title  string   `json:"title"`
		Link   *string  `json:"link"`
		Text   *string  `json:"text"`
		Groups []string `json:"groups"`
		Key    string   `json:"idempotencyKey"`
	}
	optional := func(text string) *string {
		if text = strings.TrimSpace(text); text == "" {
			return nil
		}
		return &text
	}
	d := p.Draft
	content, _ := json.Marshal(d) // of texts: no errors
	key := sha256.Sum256(content) // a form that is sent twice is one post
	got := s.api.change(req, "Post", map[string]input{"input": {
		d.Title, optional(d.Link), optional(d.Text), append([]string{}, strings.Fields(strings.ReplaceAll(d.Groups, ",", " "))...), hex.EncodeToString(key[:]),
	}})
	var data struct {
		Post *struct {
			Article    *articleData
			UserErrors []userError
		}
	}
	if !s.readChange(w, req, p, got, &data) {
		return 0
	}
	switch {
	case data.Post == nil:
		p.fail(http.StatusInternalServerError, p.T("wentWrong"))
	case data.Post.Article != nil:
		return data.Post.Article.Number
	case len(data.Post.UserErrors) > 0:
		s.refusal(w, p, got, data.Post.UserErrors[0])
	}
	return 0
}
