// Package settings reads the flags and environment variables of the program, checks them, and turns them into the
// options of the other packages. Each setting is a field of a struct here, which determines its flag, such as
// --voting-window, its variable, FRONTPAGE_VOTING_WINDOW, the help, the manual page and docs/settings.md.
package settings

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"

	"frontpage/endpoint"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/reports"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/store"
	"frontpage/site/web"
)

// Settings are the settings of all commands.
type Settings struct {
	Config      File `placeholder:"FILE" group:"file" help:"File with settings in YAML or JSON, such as vote-score: 432. Flags and variables take precedence."`
	Serving     `embed:"" group:"serving"`
	Appearance  `embed:"" group:"looks"`
	Store       `embed:"" group:"store"`
	Rules       `embed:"" group:"rules"`
	SearchIndex `embed:"" group:"search"`
	SignIn      `embed:"" group:"sign-in"`
	API         `embed:"" group:"api"`
	Rates       `embed:"" group:"rates"`
	Notices     `embed:"" group:"notices"`
	Process     `embed:"" group:"process"`
	Admin       `embed:"" group:"admin"`
}

// groups are the sections of --help, in the order of the fields of Settings.
var groups = []kong.Group{
	{Key: "file", Title: "File:"},
	{Key: "serving", Title: "Serving:"},
	{Key: "looks", Title: "Appearance of the site:"},
	{Key: "store", Title: "Store:"},
	{Key: "rules", Title: "Rules of the site. They must be the same in all processes on one store:"},
	{Key: "search", Title: "Search:"},
	{Key: "sign-in", Title: "Sign-in. If none of FRONTPAGE_OIDC_ISSUER, FRONTPAGE_JWT_SECRET, FRONTPAGE_JWKS and FRONTPAGE_PROXY_USER_HEADER is set, the server runs in development mode: callers may claim any name, and only this machine can connect:"},
	{Key: "api", Title: "API:"},
	{Key: "rates", Title: "Rate limits and audit:"},
	{Key: "notices", Title: "Notices of illegal content, and what is said of moderation:"},
	{Key: "process", Title: "Log. Memory has no settings: Go's variables GOGC, here 400 by default, and GOMEMLIMIT, here 1GiB by default, bound it:"},
	{Key: "admin", Title: "Metrics and profiles:"},
}

// Error reports settings that are invalid or cannot be used.
type Error struct {
	Flags []string // such as voting-window; none: the cause names the settings
	Cause error
}

// Invalid returns an error that names the settings with these flags.
func Invalid(cause error, flags ...string) *Error { return &Error{Flags: flags, Cause: cause} }

// Error names each setting by variable and flag: "FRONTPAGE_VOTING_WINDOW (--voting-window): ...".
func (e *Error) Error() string {
	if len(e.Flags) == 0 {
		return e.Cause.Error()
	}
	names := site.Collect(e.Flags, Name)
	return strings.Join(names, ", ") + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// prefix begins the names of the variables. Only REDIS_URL has a name that many programs know.
const prefix = "FRONTPAGE_"

// Variable returns the environment variable of a flag: FRONTPAGE_VOTING_WINDOW for voting-window.
func Variable(flag string) string {
	name := strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	if flag == "redis-url" || flag == "redis-url-file" {
		return name
	}
	return prefix + name
}

// Name returns the name of a setting in messages: "FRONTPAGE_VOTING_WINDOW (--voting-window)".
func Name(flag string) string { return Variable(flag) + " (--" + flag + ")" }

// Validate returns an *Error for the first setting that is out of its range or conflicts with
// another one.
func (s *Settings) Validate() error {
	for _, validate := range []func() error{
		s.Rules.check, s.Store.check, s.SearchIndex.check, s.Serving.check, s.Appearance.check, s.SignIn.check, s.Rates.check, s.Notices.check, s.Process.check, s.Admin.check, s.checkAdminAddr, s.checkDevHosts, s.checkEndpoint, s.checkSignInURL,
	} {
		if err := validate(); err != nil {
			return err
		}
	}
	return nil
}

// checkEndpoint validates the options of the endpoint.
func (s *Settings) checkEndpoint() error {
	err := s.endpointOptions().Validate()
	if invalid, ok := errors.AsType[*endpoint.OptionError](err); ok {
		return Invalid(errors.New(invalid.Problem), endpointFlags[invalid.Option])
	}
	return err
}

func (s *Settings) checkAdminAddr() error {
	if s.AdminAddr != "" && s.AdminAddr == s.Addr && !strings.HasSuffix(s.Addr, ":0") {
		return Invalid(fmt.Errorf("%s is given for both: choose two ports", s.Addr), "admin-addr", "addr")
	}
	return nil
}

// devHost matches a name of FRONTPAGE_DEV_HOSTS. A star stands for any names before the rest.
var devHost = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9_-][A-Za-z0-9_.-]*$`)

func (s *Settings) checkDevHosts() error {
	if len(s.DevHosts) > 0 && !s.Development() {
		return Invalid(errors.New("this is not development mode, which answers to any name, since sign-in is configured"), "dev-hosts")
	}
	for _, host := range s.DevHosts {
		if !devHost.MatchString(host) {
			return Invalid(fmt.Errorf("%q is not a name such as devbox or *.app.github.dev, without a port", host), "dev-hosts")
		}
	}
	return nil
}

func (s *Settings) checkSignInURL() error {
	if s.SignInURL != "" && s.Development() {
		return Invalid(errors.New("in development mode callers may claim any name: set FRONTPAGE_JWT_SECRET, FRONTPAGE_JWKS or FRONTPAGE_PROXY_USER_HEADER, too"), "sign-in-url")
	}
	if s.SignInURL != "" && s.OIDCIssuer != "" {
		return Invalid(errors.New("users sign in at the OIDC provider: set only one of them"), "sign-in-url", "oidc-issuer")
	}
	return nil
}

// defaults are the values of the placeholders in the tags, such as ${VoteScore}.
func defaults() kong.Vars {
	vars := kong.Vars{
		"languages": strings.Join(web.Languages(), ", "), "MaxPageSize": fmt.Sprint(site.MaxPageSize),
		"MaxPartitions": fmt.Sprint(keys.MaxPartitions), "MaxAcks": fmt.Sprint(store.MaxAcks),
		"NoticeContactDays": fmt.Sprint(int(reports.DefaultContactKept / site.Day)), "ReportsKeptDays": fmt.Sprint(int(reports.Kept / site.Day)),
	}
	r, o := site.DefaultRules(), endpoint.DefaultOptions()
	for _, options := range []any{r, o, o.Limits, o.Streams} {
		for field, value := range reflect.ValueOf(options).Fields() {
			vars[field.Name] = textOf(value)
		}
	}
	return vars
}
