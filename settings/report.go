package settings

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"
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
		if len(flag.Envs) == 0 || flag.Hidden && flag.Target.IsZero() {
			continue
		}
		v := Value{flag.Envs[0], textOf(flag.Target), source(command, flag)}
		if text, found := derived[flag.Name]; found && (v.Source == "default" || flag.Name == "rates") {
			v.Text = text
		}
		v.Text = mask(flag.Name, v.Text)
		values = append(values, v)
	}
	return values
}

// derived are the values of settings whose defaults depend on other settings, by flag.
func (s *Settings) derived() map[string]string {
	return map[string]string{
		"partitions":     "1",
		"rates":          ratesText(s.Rates.values(s.Development())),
		"links-reserved": formatDuration(s.SiteRules().LinkWindow),
	}
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
	case []string:
		return strings.Join(v, ",")
	case []int, []netip.Prefix:
		return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(v), "[]")), ",")
	default:
		return fmt.Sprint(v)
	}
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
	if text != "" && (flag == "secret" || strings.HasSuffix(flag, "-secret") || strings.HasSuffix(flag, "-token") || strings.HasSuffix(flag, "-password")) {
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

// serviceLink matches the variables that Kubernetes and Docker set for a service, such as REDIS_PORT_6379_TCP.
var serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?|NAME|ENV_\w+)$`)

// Warn logs a warning for each environment variable that begins with FRONTPAGE_ and is not a setting.
func Warn(command *kong.Context, log *slog.Logger) {
	names, known := flagNames(command.Model.Flags), map[string]bool{Variable("config"): true}
	for _, name := range names {
		known[Variable(name)] = true
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, prefix) && !known[name] && !serviceLink.MatchString(name) {
			log.Warn("this environment variable is not a setting: unset it, or use the closest name", "name", name, "closest", Variable(closest(flagName(name), names)))
		}
	}
}
