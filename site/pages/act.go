package pages

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// act is what a button of a form does: a mutation of the site's script, with the members of its input that the form has,
// and those that the button sets.
type act struct {
	mutation string
	fields   []string
	sets     map[string]any
}

// acts are those of the forms on pages of articles, groups, users and denials, by the values of their buttons.
var acts = map[string]act{
	"save":      {mutation: "Save", fields: []string{"article"}},
	"unsave":    {mutation: "Save", fields: []string{"article"}, sets: map[string]any{"saved": false}},
	"follow":    {mutation: "Follow", fields: []string{"target"}},
	"unfollow":  {mutation: "Follow", fields: []string{"target"}, sets: map[string]any{"following": false}},
	"flag":      {mutation: "Flag", fields: []string{"target", "reason", "note"}},
	"edit":      {mutation: "Edit", fields: []string{"article", "title", "text"}},
	"delete":    {mutation: "Delete", fields: []string{"article", "ground", "reason"}},
	"restore":   {mutation: "Restore", fields: []string{"article"}},
	"endDenial": {mutation: "EndDenial", fields: []string{"user"}, sets: map[string]any{"until": time.Unix(0, 0).UTC(), "reason": ""}},
}

// input is what the form has. An empty text is one, too.
func (a act) input(form url.Values) map[string]any {
	input := map[string]any{}
	for _, name := range a.fields {
		value := strings.TrimSpace(strings.ReplaceAll(form.Get(name), "\r\n", "\n"))
		if value != "" || name == "text" {
			input[name] = value
		}
	}
	maps.Copy(input, a.sets)
	return input
}

// act does what the button of a form says, as the API's mutation does, and leads back to the page.
func (s *server) act(w http.ResponseWriter, req *http.Request) {
	p := s.formPage(req)
	p.Title = p.T("notDone")
	if s.readForm(w, req, p, maxDraft) {
		p.Next = localPath(req.PostForm.Get("to"))
		s.perform(w, req, p)
	}
	switch {
	case p.status == 0:
		w.Header().Set("Cache-Control", "private, no-store")
		http.Redirect(w, req, p.Next, http.StatusSeeOther) // #nosec G710 -- localPath has checked it
		return
	case p.status == http.StatusUnauthorized:
		p.Next, p.Link = "/signin?"+url.Values{"to": {p.Next}}.Encode(), p.T("signIn")
	case p.status >= http.StatusInternalServerError:
		p.Title = p.T("doneInDoubt")
	}
	s.refuse(w, req, p)
}

// perform executes the mutation of a form. If it is refused, p says why.
func (s *server) perform(w http.ResponseWriter, req *http.Request, p *page) {
	a, found := acts[req.PostForm.Get("act")]
	if !found {
		p.status, p.Missing = http.StatusBadRequest, p.T("unknownForm")
		return
	}
	_, status := s.change(w, req, p, a.mutation, a.input(req.PostForm))
	if status < http.StatusInternalServerError && p.status == http.StatusInternalServerError { // no input of the mutation
		p.status, p.Missing = http.StatusBadRequest, p.T("unknownForm")
	}
}

// readForm parses what a page of this site sent. If it is anything else, p says so.
func (s *server) readForm(w http.ResponseWriter, req *http.Request, p *page, size int64) bool {
	req.Body = http.MaxBytesReader(w, req.Body, size)
	if s.API.Identity.FromForeignPage(req) {
		p.status, p.Missing = http.StatusForbidden, p.T("foreignForm")
	} else if err := req.ParseForm(); err != nil {
		p.status, p.Missing = http.StatusBadRequest, p.T("unknownForm")
	}
	return p.status == 0
}

// ActsByForm reports whether the page has forms for what its visitor can do with its article, group or user.
func (p *page) ActsByForm() bool { return p.VotesByForm() && p.Viewer() != "" }

// EditsTitle reports whether the visitor, who can edit the article, can change its title, too.
func (r row) EditsTitle() bool {
	seconds := r.Page.Now.Sub(r.Article.CreatedAt).Seconds()
	return r.Page.Moderates() || seconds < float64(r.Page.Data.Site.Rules.EditWindow+1)
}

// Listed is the group or the user of the page; nil if it has none.
func (p *page) Listed() *listed {
	if p.Kind == "group" {
		return p.Data.Group
	}
	return p.Data.User
}

// Follows reports whether the visitor follows it.
func (l *listed) Follows() bool { return *l.ViewerFollows }

// Grounds are those of moderators, in the order of the API.
func (p *page) Grounds() []string { return []string{"RULES", "ILLEGAL", "OTHER"} }

// Reasons are those of reports, in the order of the API.
func (p *page) Reasons() []string {
	return []string{"SPAM", "ABUSE", "OFF_TOPIC", "DUPLICATE", "ILLEGAL", "OTHER"}
}
