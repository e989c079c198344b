package settings

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"frontpage/redisrepo/site"
	"frontpage/site/web"
)

// Appearance are the settings of the site's looks and language.
type Appearance struct {
	SiteName     string   `default:"Frontpage" help:"Name of the site, one line of at most 40 characters."`
	SiteAbout    string   `placeholder:"TEXT" help:"What the site is about, one line of at most 200 characters, for search engines and previews."`
	SiteLanguage string   `default:"en" help:"Language of the site's texts: ${languages}. Error messages of the API are in English."`
	SiteAccent   string   `placeholder:"COLOUR" help:"Colour of buttons and links, such as #17624a: dark enough to be read on a light background. On a dark one it is lightened."`
	SiteLogo     string   `placeholder:"FILE" help:"Logo beside the name, and icon of the site: a file in SVG or PNG format of at most 256 KiB, best square."`
	SiteLinks    []string `placeholder:"TEXT=URL" help:"Links at the bottom of each page, such as Rules=https://example.org/rules: at most 10, to http and https URLs, paths and mailto addresses."`
	RulesInWords string   `name:"site-rules" placeholder:"TEXT" help:"Rules for users, separated by semicolons or line breaks, such as No advertising; Be kind: at most 10 of at most 200 characters. Moderators choose one when they remove an article, users read them when they report."`
}

const (
	maxSiteName  = 40
	maxSiteAbout = 200
	maxLogo      = 256 << 10 // bytes
	maxLinks     = 10
	maxRules     = 10
)

func (s *Appearance) check() error {
	if s.SiteName == "" {
		return Invalid(errors.New("it is empty"), "site-name")
	}
	if err := checkLine(s.SiteName, maxSiteName); err != nil {
		return Invalid(err, "site-name")
	}
	if err := checkLine(s.SiteAbout, maxSiteAbout); err != nil {
		return Invalid(err, "site-about")
	}
	if _, err := web.ReadTexts(s.SiteLanguage); err != nil {
		return Invalid(err, "site-language")
	}
	if s.SiteAccent != "" {
		if err := web.CheckAccent(s.SiteAccent); err != nil {
			return Invalid(err, "site-accent")
		}
	}
	if _, err := s.logo(); err != nil {
		return err
	}
	if _, err := s.links(); err != nil {
		return err
	}
	_, err := s.rules()
	return err
}

// checkLine returns an error unless text is one line of at most most characters.
func checkLine(text string, most int) error {
	if n := utf8.RuneCountInString(text); n > most {
		return fmt.Errorf("it has %d characters, want at most %d", n, most)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || strings.TrimSpace(text) != text {
		return fmt.Errorf("%q is not one line of text without spaces around it", text)
	}
	return nil
}

// logo reads FRONTPAGE_SITE_LOGO. Without one, it returns none.
func (s *Appearance) logo() (web.Logo, error) {
	if s.SiteLogo == "" {
		return web.Logo{}, nil
	}
	content, err := os.ReadFile(s.SiteLogo)
	if err != nil {
		return web.Logo{}, Invalid(err, "site-logo")
	}
	if len(content) > maxLogo {
		return web.Logo{}, Invalid(fmt.Errorf("%s has %d bytes, want at most %d", s.SiteLogo, len(content), maxLogo), "site-logo")
	}
	switch {
	case bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
		return web.Logo{Content: content, Extension: ".png"}, nil
	case utf8.Valid(content) && bytes.Contains(content, []byte("<svg")):
		return web.Logo{Content: content, Extension: ".svg"}, nil
	}
	return web.Logo{}, Invalid(fmt.Errorf("%s is neither an SVG nor a PNG file", s.SiteLogo), "site-logo")
}

func (s *Appearance) links() (links []web.Link, err error) {
	for _, pair := range s.SiteLinks {
		text, target, found := strings.Cut(pair, "=")
		u, err := url.Parse(target)
		address := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
		mail := err == nil && u.Scheme == "mailto" && strings.Contains(u.Opaque, "@")
		path := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/")
		if !found || text == "" || checkLine(text, maxSiteName) != nil || !address && !mail && !path {
			return nil, Invalid(fmt.Errorf("%q is not a text of at most %d characters and a URL, such as Rules=https://example.org/rules", pair, maxSiteName), "site-links")
		}
		links = append(links, web.Link{Text: text, URL: target})
	}
	if len(links) > maxLinks {
		return nil, Invalid(fmt.Errorf("there are %d, want at most %d", len(links), maxLinks), "site-links")
	}
	return links, nil
}

// rules returns the site's rules. Each can be the basis of a removal.
func (s *Appearance) rules() (rules []string, err error) {
	for rule := range strings.FieldsFuncSeq(s.RulesInWords, func(c rune) bool { return c == ';' || c == '\n' }) {
		if rule = strings.TrimSpace(rule); rule == "" {
			continue
		}
		if err := checkLine(rule, site.MaxBasis); err != nil {
			return nil, Invalid(err, "site-rules")
		}
		rules = append(rules, rule)
	}
	if len(rules) > maxRules {
		return nil, Invalid(fmt.Errorf("there are %d, want at most %d", len(rules), maxRules), "site-rules")
	}
	return rules, nil
}
