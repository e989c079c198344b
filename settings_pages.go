package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"frontpage/web"
)

// pages are the settings of what is served for browsers.
type pages struct {
	Site      string `env:"SITE" default:"on" enum:"on,off" help:"Whether the site is served at /: on or off."`
	Explorer  string `env:"EXPLORER" default:"on" enum:"on,off" help:"Whether GraphiQL is served at /graphiql: on or off."`
	SignInURL string `env:"SIGN_IN_URL" name:"sign-in-url" placeholder:"URL" help:"Where the site sends people to sign in, with {return} for the address to send them back to; with tokens, with #token=... behind it."`
}

func (p *pages) check() error {
	if p.SignInURL == "" {
		return nil
	}
	u, err := url.Parse(strings.ReplaceAll(p.SignInURL, "{return}", ""))
	address := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	path := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/")
	if !address && !path {
		return fmt.Errorf("--sign-in-url: %q is neither an http or https URL nor a path that begins with /", p.SignInURL)
	}
	if !strings.Contains(p.SignInURL, "{return}") {
		return errors.New("--sign-in-url: it has no {return}, where the address to come back to goes")
	}
	return nil
}

// pageOptions are what the pages are told.
func (s *settings) pageOptions() web.Options {
	o := web.Options{
		Site: s.Site == "on", Explorer: s.Explorer == "on", SignIn: web.ByToken, SignInURL: s.SignInURL,
		Downvotes: s.Downvotes, VoteScore: s.VoteScore,
	}
	switch {
	case s.development():
		o.SignIn = web.ByName
	case s.ProxyUserHeader != "":
		o.SignIn = web.ByProxy
	}
	return o
}
