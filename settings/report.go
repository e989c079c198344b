package settings

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"frontpage/endpoint"
)

// Value is a setting in force.
type Value struct {
	Variable string
	Text     string // without secrets; empty if the setting has no value
	Source   string // flag, environment, file or default
}

// Values returns all settings in force, in the order of --help.
func (s *Settings) Values(command *kong.Context) (values []Value) {
	derived := s.derived()
	for _, flag := range command.Model.Flags {
		if len(flag.Envs) == 0 {
			continue
		}
		v := Value{flag.Envs[0], textOf(flag.Target), source(command, flag)}
		if text, found := derived[flag.Name]; found && v.Source == "default" {
			v.Text = text
		}
		v.Text = mask(flag.Name, v.Text)
		values = append(values, v)
	}
	return values
}

// derived are the values of settings whose defaults depend on other settings, by flag.
func (s *Settings) derived() map[string]string {
	rates := s.Rates.values(s.Development())
	return map[string]string{
		"partitions":   "1",
		"link-window":  formatDuration(s.SiteRules().LinkWindow),
		"rate-votes":   rateText(rates.Votes),
		"rate-posts":   rateText(rates.Posts),
		"rate-changes": rateText(rates.Changes),
		"rate-cost":    rateText(rates.Cost),
	}
}

func rateText(r endpoint.Rate) string {
	if r.Most == 0 {
		return "off"
	}
	return fmt.Sprintf("%d/%s", r.Most, formatDuration(r.Window))
}

// source says where the value of a flag comes from.
func source(command *kong.Context, flag *kong.Flag) string {
	for _, step := range command.Path {
		if step.Flag == flag && step.Resolved {
			return "file"
		}
		if step.Flag == flag {
			return "flag"
		}
	}
	if isSet(flag.Envs[0]) {
		return "environment"
	}
	return "default"
}

// textOf returns a value in the form in which it is set.
func textOf(value reflect.Value) string {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return ""
		}
		value = value.Elem()
	}
	switch v := value.Interface().(type) {
	case time.Duration:
		return formatDuration(v)
	case slog.Level:
		return strings.ToLower(v.String())
	case Rate:
		return rateText(v.Rate)
	case []string:
		return strings.Join(v, ",")
	case []int:
		return joined(v)
	case []netip.Prefix:
		texts := make([]string, len(v))
		for i, prefix := range v {
			texts[i] = prefix.String()
		}
		return strings.Join(texts, ",")
	default:
		return fmt.Sprint(v)
	}
}

// joined returns numbers as a list is set: separated by commas.
func joined(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

const masked = "********"

var (
	// credentials match the user and the password in a URL, also if it cannot be parsed because they are not encoded.
	credentials   = regexp.MustCompile(`://.*@`)
	withoutScheme = regexp.MustCompile(`^.*@`)
	// secretParameter matches a parameter of a URL, such as sentinel_password=TEXT.
	secretParameter = regexp.MustCompile(`(?i)([?&][a-z0-9_-]*(?:password|secret|token|key)=)[^&#]*`)
)

// mask replaces secrets in the text of a setting.
func mask(flag, text string) string {
	if text != "" && (strings.HasSuffix(flag, "-secret") || strings.HasSuffix(flag, "-token") || strings.HasSuffix(flag, "-password")) {
		return masked
	}
	if strings.HasSuffix(flag, "-url") && !strings.Contains(text, "://") { // a mistake, as in user:password@host
		text = withoutScheme.ReplaceAllString(text, masked+"@")
	}
	if !strings.HasPrefix(text, "unix:///") { // a path, which may contain an @
		text = credentials.ReplaceAllString(text, "://"+masked+"@")
	}
	return secretParameter.ReplaceAllString(text, "${1}"+masked)
}

// ownPrefixes begin the names of settings, and hardly of anything else.
var ownPrefixes = []string{"ADMIN_", "AUDIT_", "DEV_HOST", "DRAIN_", "FRONTPAGE_", "JWKS_", "JWT_", "OIDC_", "RATE_", "REDIS_", "SHUTDOWN_", "STREAMS_", "TRUSTED_", "WATCHED_"}

// notOurs are variables of other programs whose names are close to settings.
var notOurs = []string{"SSL_CERT_FILE", "SSL_CERT_DIR"}

// serviceLink matches the variables that Kubernetes and Docker set for a service, such as REDIS_PORT_6379_TCP.
var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?|NAME|ENV_\w+)$`)

// WarnOfUnknown logs a warning for each environment variable that looks like a setting and is none: a name that differs
// from one in few letters, or begins like one.
func WarnOfUnknown(command *kong.Context, log *slog.Logger) {
	var known []string
	_ = kong.Visit(command.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			known = append(known, flag.Envs...)
		}
		return next(nil)
	})
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if closest, unknown := looksLike(name, known); unknown {
			log.Warn("this environment variable is not a setting", "name", name, "closest", closest)
		}
	}
}

// looksLike returns the setting that is closest to a name that looks like one, and is none.
func looksLike(name string, known []string) (setting string, unknown bool) {
	setting, distance := closest(strings.TrimPrefix(name, "FRONTPAGE_"), known)
	if name == setting || slices.Contains(notOurs, name) || serviceLink.MatchString(name) {
		return "", false
	}
	if distance <= min(len(setting)/4, 3) {
		return setting, true
	}
	for _, prefix := range ownPrefixes {
		if strings.HasPrefix(name, prefix) {
			return setting, true
		}
	}
	return "", false
}
