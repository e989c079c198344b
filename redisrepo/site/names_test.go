package site_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"frontpage/redisrepo/site"
	"frontpage/tests/repotest"
)

func TestArticleIDHasOneSpellingAndItsNumber(t *testing.T) {
	t.Parallel()
	tests := map[string]site.ArticleID{ // 0: refused
		"article:17": 17, "17": 17, "1": 1, "article:1": 1, "2147483647": 1<<31 - 1, "article:2147483647": 1<<31 - 1,
		"": 0, "0": 0, "article:0": 0, "017": 0, "article:017": 0, "+1": 0, "-1": 0, "article:-1": 0,
		"article:": 0, "article": 0, "article:article:1": 0, "Article:1": 0, "user:1": 0, "group:1": 0,
		" 1": 0, "1 ": 0, "1\n": 0, "1.0": 0, "1e3": 0, "0x1": 0, "1_000": 0, "١": 0,
		"2147483648": 0, "9223372036854775808": 0, strings.Repeat("9", 1000): 0,
	}
	for s, want := range tests {
		t.Run(fmt.Sprintf("%.20q", s), func(t *testing.T) {
			t.Parallel()
			got, err := site.ParseArticleID(s)
			if want == 0 {
				repotest.WantRefused(t, err, "INVALID")
				if len(err.Error()) > 200 {
					t.Errorf("the message has %d bytes, want at most 200", len(err.Error()))
				}
				return
			}
			if err != nil || got != want {
				t.Fatalf("ParseArticleID(%q) = %v, %v, want %d", s, got, err, want)
			}
			if again, err := site.ParseArticleID(got.String()); again != got || err != nil {
				t.Errorf("ParseArticleID(%q) = %v, %v, want %v", got.String(), again, err, got)
			}
		})
	}
}

func TestInvalidUserNamesAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ name, refused string }{
		"a letter":                      {name: "a"},
		"a name of two words":           {name: "Ada Lovelace"},
		"an e-mail address":             {name: "ada@example.com"},
		"colons and braces":             {name: "user:{1}"},
		"64 characters":                 {name: strings.Repeat("x", 64)},
		"64 characters of many bytes":   {name: strings.Repeat("世", 64)},
		"65 characters":                 {name: strings.Repeat("x", 65), refused: "TOO_LONG"},
		"65 characters of many bytes":   {name: strings.Repeat("世", 65), refused: "TOO_LONG"},
		"an empty name":                 {name: "", refused: "INVALID"},
		"a blank":                       {name: " ", refused: "INVALID"},
		"a space before the name":       {name: " a", refused: "INVALID"},
		"a space after the name":        {name: "a ", refused: "INVALID"},
		"a wide space after the name":   {name: "a\u3000", refused: "INVALID"},
		"a line break":                  {name: "a\nb", refused: "INVALID"},
		"a zero byte":                   {name: "a\x00b", refused: "INVALID"},
		"a control character of Latin1": {name: "a\u0085b", refused: "INVALID"},
		"invalid UTF-8":                 {name: "a\xffb", refused: "INVALID"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := site.ParseUserName(tt.name)
			if tt.refused != "" {
				repotest.WantRefused(t, err, tt.refused)
				return
			}
			if err != nil || string(got) != tt.name {
				t.Errorf("ParseUserName(%q) = %q, %v, want the name unchanged", tt.name, got, err)
			}
		})
	}
}

func TestGroupNamesAreFoldedAndInvalidOnesRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name    string
		want    site.GroupName
		refused string
	}{
		"letters":                              {name: "go", want: "go"},
		"digits and marks":                     {name: "c-99_x.y", want: "c-99_x.y"},
		"large letters are folded":             {name: "GoLang", want: "golang"},
		"sharp s is folded":                    {name: "Straße", want: "strasse"},
		"final sigma is folded":                {name: "ΛΟΓΟΣ", want: "λογοσ"},
		"large Cherokee stays large":           {name: "Ꭰ", want: "Ꭰ"},
		"small Cherokee is folded to large":    {name: "ꭰ", want: "Ꭰ"},
		"small Cherokee Ye is folded to large": {name: "ᏸ", want: "Ᏸ"},
		"a composed accent":                    {name: "caf\u00e9", want: "caf\u00e9"},
		"a combining accent is composed":       {name: "cafe\u0301", want: "caf\u00e9"},
		"letters with combining marks":         {name: "हिन्दी", want: "हिन्दी"},
		"digits of another script":             {name: "٣", want: "٣"},
		"64 characters":                        {name: strings.Repeat("x", 64), want: site.GroupName(strings.Repeat("x", 64))},
		"64 characters of many bytes":          {name: strings.Repeat("世", 64), want: site.GroupName(strings.Repeat("世", 64))},
		"64 characters when composed":          {name: strings.Repeat("e\u0301", 64), want: site.GroupName(strings.Repeat("\u00e9", 64))},
		"65 characters":                        {name: strings.Repeat("x", 65), refused: "TOO_LONG"},
		"65 characters of many bytes":          {name: strings.Repeat("世", 65), refused: "TOO_LONG"},
		"66 characters when folded":            {name: strings.Repeat("ß", 33), refused: "TOO_LONG"},
		"an empty name":                        {name: "", refused: "INVALID"},
		"a blank":                              {name: "a b", refused: "INVALID"},
		"a space before the name":              {name: " a", refused: "INVALID"},
		"a slash":                              {name: "a/b", refused: "INVALID"},
		"a colon":                              {name: "group:go", refused: "INVALID"},
		"braces":                               {name: "{p11}", refused: "INVALID"},
		"an asterisk":                          {name: "*", refused: "INVALID"},
		"a zero byte":                          {name: "a\x00", refused: "INVALID"},
		"an emoji":                             {name: "🎉", refused: "INVALID"},
		"invalid UTF-8":                        {name: "a\xff", refused: "INVALID"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := site.ParseGroupName(tt.name)
			if tt.refused != "" {
				repotest.WantRefused(t, err, tt.refused)
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("ParseGroupName(%q) = %q, %v, want %q", tt.name, got, err, tt.want)
			}
		})
	}
}

// The canonical form of a canonical name is the name itself, since ids hold canonical names.
func TestCanonicalGroupNameIsAFixedPoint(t *testing.T) {
	t.Parallel()
	for c := rune(0); c <= 0x1ffff; c++ {
		name, err := site.ParseGroupName("a" + string(c))
		if err != nil {
			continue
		}
		if again, err := site.ParseGroupName(string(name)); err != nil || again != name {
			t.Errorf("%U: the canonical name %q parses to %q, %v, want the same", c, name, again, err)
		}
		for _, other := range []rune{unicode.ToUpper(c), unicode.ToLower(c)} {
			// The dotted and the dotless i of Turkish are different letters.
			if folded, err := site.ParseGroupName("a" + string(other)); c != 'İ' && c != 'ı' && (err != nil || folded != name) {
				t.Errorf("%U parses to %q and %U to %q, %v, want the same name", c, name, other, folded, err)
			}
		}
	}
}

func TestIDsOfUsersAndGroupsHoldTheirNames(t *testing.T) {
	t.Parallel()
	a := site.Article{ID: 17}
	user, group := site.User{Name: "ada"}, site.Group{Name: "go"}
	for got, want := range map[string]string{
		a.ID.String(): "article:17", fmt.Sprint(a.Number()): "17", user.ID(): "user:ada", group.ID(): "group:go",
	} {
		if got != want {
			t.Errorf("id = %q, want %q", got, want)
		}
	}
}

func TestInvisibleAndReversingTitlesAreRefused(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]bool{
		"Go 1.26 is released": true, "\u4f60\u597d": true, "\ud55c\uad6d\uc5b4": true, "\u1112\u1161\u11ab": true, // modern Hangul, also decomposed
		"\u0645\u0631\u062d\u0628\u0627 (Go)": true, "\u05e9\u05dc\u05d5\u05dd 1": true, "\u0928\u092e\u0938\u094d\u0924\u0947": true,
		"\U0001f468\u200d\U0001f469\u200d\U0001f467 family": true, "\u2764\ufe0f": true, "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": true,
		"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~": true, "": false, "  ": false, "a\tb": false, "a\x7f": false,
		"\u200b": false, "\ufeff": false, "a\u200bb": false, "\u202egnp.exe": false, "a\u2066b": false, "\u3164": false, "\u2800": false, "\u200d": false, "\u2060": false,
		"1\ufe0f\u20e3": true, "\U0001f44d\U0001f3fd": true, "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645": true, "\u0915\u094d\u200d\u0937": true,
		"ad\u200da": false, "ad\u200ca": false, "ada\ufe0f": false, "ada\U000e0061": false, "\U000e0041\U000e0042abc": false, "\u2764\u200d": false, "\u2764\ufe0f\ufe0f": false,
	} {
		if line, broken := site.CheckLine("reason", title, 500); title != "" && strings.TrimSpace(title) != "" && (len(broken) == 0) != want {
			t.Errorf("CheckLine(%q) = %q, %v, want it accepted: %t", title, line, broken, want)
		}
		if got := site.Displayable(title); got != want {
			t.Errorf("%+q: got %t, want %t", title, got, want)
		}
	}
	s := repotest.New(t, nil)
	text := "x"
	_, err := s.Post(s.Ctx, "alice", site.Draft{Title: "\u202egnp.exe", Text: &text})
	repotest.WantRefused(t, err, "INVALID title")
	link := "https://exa\u202emple.com/"
	_, err = s.Post(s.Ctx, "alice", site.Draft{Title: "a host that reverses the line", Link: &link})
	repotest.WantRefused(t, err, "INVALID link")
	if host := (&site.Article{Link: &link}).Host(); host != nil {
		t.Errorf("a stored article with %+q shows the host %+q, want none", link, host.Name)
	}
	_, err = s.Post(s.Ctx, "alice", site.Draft{Title: "a group beside another", Text: &text, Groups: []string{"go", "go\ufe0f"}})
	repotest.WantRefused(t, err, "INVALID groups.1")
}

func TestGroupPatterns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"status.*": "status.*", "News": "news", "*": "*", "STATUS*": "status*", "花*": "花*",
		"": "", "a*b": "", "*.a": "", "a**": "", "a b": "", "interesting": "",
	} {
		if got, err := site.ParseGroupPattern(text); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("ParseGroupPattern(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for _, tt := range []struct {
		patterns []site.GroupPattern
		problem  string
	}{
		{patterns: []site.GroupPattern{"a", "a.*", "b*"}},
		{patterns: []site.GroupPattern{"news", "news*"}, problem: "news is covered by news*"},
		{patterns: []site.GroupPattern{"s*", "status.*"}, problem: "status.* is covered by s*"},
		{patterns: []site.GroupPattern{"a", "a"}, problem: "a is covered by a"},
		{patterns: []site.GroupPattern{"A"}, problem: `"A" is not a group`},
		{patterns: []site.GroupPattern{"a", "*"}, problem: "a is covered by *"},
	} {
		rules := site.DefaultRules()
		rules.ReservedGroups = tt.patterns
		if err := rules.Validate(); (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("Validate of %v = %v, want %q", tt.patterns, err, tt.problem)
		}
	}
}
