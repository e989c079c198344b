package redisrepo_test

import (
	"fmt"
	"strings"
	"testing"

	"frontpage/redisrepo/site"
)

func TestPostRefusesInvalidDrafts(t *testing.T) {
	t.Parallel()
	s := newSite(t, noLinkWindow)
	x := func(n int) string { return strings.Repeat("x", n) }
	wide := func(n int) string { return strings.Repeat("世", n) }
	link := func(link string) site.Draft { return site.Draft{Title: "t", Link: &link} }
	text := func(text string) site.Draft { return site.Draft{Title: "t", Text: &text} }
	title := func(title string) site.Draft { return site.Draft{Title: title, Text: new("x")} }
	key := func(key string) site.Draft {
		return site.Draft{Title: key, Text: new("x"), IdempotencyKey: &key}
	}
	groups := func(groups ...string) site.Draft { return draft("t", groups...) }
	names := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("g", i))
		}
		return names
	}
	tests := map[string]struct {
		draft   site.Draft
		refused []string // nil when accepted
	}{
		"a title of 200 characters":               {draft: title(x(200))},
		"a title of 200 characters of many bytes": {draft: title(wide(200))},
		"a title of 200 characters and blanks":    {draft: title("  " + x(200) + "\n")},
		"a title of 201 characters":               {draft: title(x(201)), refused: []string{"TOO_LONG title"}},
		"a title of 201 characters of many bytes": {draft: title(wide(201)), refused: []string{"TOO_LONG title"}},
		"no title":             {draft: title(""), refused: []string{"INVALID title"}},
		"a title of blanks":    {draft: title(" \t\u3000"), refused: []string{"INVALID title"}},
		"a title of two lines": {draft: title("a\nb"), refused: []string{"INVALID title"}},
		"a title with a control character of Latin1": {draft: title("a\u0085b"), refused: []string{"INVALID title"}},
		"a title that is not UTF-8":                  {draft: title("a\xffb"), refused: []string{"INVALID title"}},

		"a text of 10000 characters":               {draft: text(x(10_000))},
		"a text of 10000 characters of many bytes": {draft: text(wide(10_000))},
		"a text of 10001 characters":               {draft: text(x(10_001)), refused: []string{"TOO_LONG text"}},
		"a text of lines and tabs":                 {draft: text("a\r\n\tb\n")},
		"a text with an escape":                    {draft: text("a\x1bb"), refused: []string{"INVALID text"}},
		"a text that is not UTF-8":                 {draft: text("a\xffb"), refused: []string{"INVALID text"}},
		"a text of blanks":                         {draft: text(" \n"), refused: []string{"INVALID link"}},

		"a link of 2000 bytes":                 {draft: link("https://example.com/" + x(1980))},
		"a link of 2001 bytes":                 {draft: link("https://example.com/" + x(1981)), refused: []string{"TOO_LONG link"}},
		"a link of 2001 bytes, few characters": {draft: link("https://example.com/a" + wide(660)), refused: []string{"TOO_LONG link"}},
		"an http link":                         {draft: link("http://example.com")},
		"a link in large letters":              {draft: link("HTTP://Example.com")},
		"a link with everything":               {draft: link("https://me:pw@example.com:8080/a%zz|{}?q=1&r=[]#f")},
		"a link to an address":                 {draft: link("http://[::1]:8080/")},
		"a link in other letters":              {draft: link("https://müller.example/ä")},
		"a link between blanks":                {draft: link(" https://example.com \n")},
		"a link of blanks and no text":         {draft: link(" "), refused: []string{"INVALID link"}},
		"a script":                             {draft: link("javascript:alert(1)"), refused: []string{"INVALID link"}},
		"a script that looks like a link":      {draft: link("javascript://example.com/%0aalert(1)"), refused: []string{"INVALID link"}},
		"data":                                 {draft: link("data:text/html,x"), refused: []string{"INVALID link"}},
		"an ftp link":                          {draft: link("ftp://example.com/"), refused: []string{"INVALID link"}},
		"a relative link":                      {draft: link("/a/b"), refused: []string{"INVALID link"}},
		"a link without a scheme":              {draft: link("//example.com/"), refused: []string{"INVALID link"}},
		"a link without a host":                {draft: link("https:///a"), refused: []string{"INVALID link"}},
		"a link with a port alone":             {draft: link("https://:80/"), refused: []string{"INVALID link"}},
		"a link with a user alone":             {draft: link("https://me@/"), refused: []string{"INVALID link"}},
		"a link with one slash":                {draft: link("https:/example.com"), refused: []string{"INVALID link"}},
		"a link with a bad port":               {draft: link("https://example.com:x/"), refused: []string{"INVALID link"}},
		"a link with a blank":                  {draft: link("https://example.com/a b"), refused: []string{"INVALID link"}},
		"a link of two lines":                  {draft: link("https://example.com/\nx"), refused: []string{"INVALID link"}},
		"a link that is not UTF-8":             {draft: link("https://example.com/\xff"), refused: []string{"INVALID link"}},
		"neither link nor text":                {draft: site.Draft{Title: "t"}, refused: []string{"INVALID link"}},
		"a link and a text":                    {draft: site.Draft{Title: "t", Link: new("https://example.com"), Text: new("x")}},

		"a key of 100 characters":               {draft: key(x(100))},
		"a key of 100 characters of many bytes": {draft: key(wide(100))},
		"a key of 101 characters":               {draft: key(x(101)), refused: []string{"TOO_LONG idempotencyKey"}},
		"an empty key":                          {draft: site.Draft{Title: "t", Text: new("x"), IdempotencyKey: new("")}, refused: []string{"INVALID idempotencyKey"}},

		"10 groups":                   {draft: groups(names(10)...)},
		"11 groups":                   {draft: groups(names(11)...), refused: []string{"TOO_LONG groups"}},
		"11 names of 10 groups":       {draft: groups(append(names(10), "G0")...)},
		"a group without a name":      {draft: groups("go", ""), refused: []string{"INVALID groups.1"}},
		"a long group name":           {draft: groups(x(65)), refused: []string{"TOO_LONG groups.0"}},
		"the group interesting":       {draft: groups("Interesting"), refused: []string{"INVALID groups.0"}},
		"a group that is not a name":  {draft: groups("group:go"), refused: []string{"INVALID groups.0"}},
		"two bad groups among others": {draft: groups("a", "b c", "d", "e/f"), refused: []string{"INVALID groups.1", "INVALID groups.3"}},

		"everything at once": {
			draft: site.Draft{Title: x(201), Link: new("ftp://x"), Text: new("\x00"), Groups: []string{"interesting", "ok", " "}, IdempotencyKey: new("")},
			refused: []string{
				"TOO_LONG title", "INVALID link", "INVALID text", "INVALID idempotencyKey", "INVALID groups.0", "INVALID groups.2",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := s.Post(s.ctx, "alice", tt.draft)
			if tt.refused != nil {
				wantRefused(t, err, tt.refused...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, a, s.article(a.ID))
			if a.Title != strings.TrimSpace(tt.draft.Title) {
				t.Errorf("Title = %q, want the title of the draft, trimmed", a.Title)
			}
			if want := tt.draft.Link; (a.Link == nil) != (want == nil) || want != nil && *a.Link != strings.TrimSpace(*want) {
				t.Errorf("Link = %v, want the link of the draft, trimmed", a.Link)
			}
			if want := tt.draft.Text; (a.Text == nil) != (want == nil) || want != nil && *a.Text != *want {
				t.Errorf("Text = %v, want the text of the draft", a.Text)
			}
		})
	}
}

func TestRefusedDraftWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	before := s.dump()
	_, err := s.Post(s.ctx, "alice", site.Draft{Title: "t", IdempotencyKey: new("k")})
	wantRefused(t, err, "INVALID link")
	if after := s.dump(); after != before {
		t.Errorf("the store holds\n%s\nwant it unchanged:\n%s", after, before)
	}
}
