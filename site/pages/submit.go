package pages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"frontpage/redisrepo/site"
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
		if posted, _ := s.change(w, req, p, "Post", p.Draft.input()); posted.Article != nil {
			w.Header().Set("Cache-Control", "private, no-store")
			http.Redirect(w, req, posted.Article.Path(), http.StatusSeeOther)
			return
		}
	}
	if p.status >= http.StatusInternalServerError {
		p.Title = p.T("postInDoubt")
	}
	s.refuse(w, req, p)
}

// input is the input of the mutation.
func (d *draft) input() map[string]any {
	optional := func(text string) *string { return site.Optional(strings.TrimSpace(text)) }
	content, _ := json.Marshal(d) // of texts: no errors
	key := sha256.Sum256(content) // a form that is sent twice is one post
	return map[string]any{
		"title": d.Title, "link": optional(d.Link), "text": optional(d.Text),
		"groups":         append([]string{}, strings.Fields(strings.ReplaceAll(d.Groups, ",", " "))...),
		"idempotencyKey": hex.EncodeToString(key[:]),
	}
}
