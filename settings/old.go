package settings

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"
)

// Until 1.0 the variables of settings are read without the prefix, too, and those of renamed and merged settings by the names
// that they had.

// oldParts are the settings that consisted of several, by flag.
var oldParts = map[string][]string{
	"serve":    {"site", "explorer"},
	"ranking":  {"ranking", "rank-cap", "half-life"},
	"calendar": {"calendar", "group-top"},
	"rates":    {"rate-votes", "rate-posts", "rate-changes", "rate-cost", "rate-addresses"},
}

// gone says what became of flags that are gone.
var gone = func() map[string]string {
	became := map[string]string{}
	for text, flags := range map[string]string{
		"set serve to site, explorer, both or off":                   "site explorer",
		"it is a part of ranking, as in capped:24h or halflife:226m": "rank-cap half-life",
		"set calendar to groups":                                     "group-top",
		"it is a part of rates, as in votes=60/1m addresses=10":      "rate-votes rate-posts rate-changes rate-cost rate-addresses",
		"set the variable GOGC, as in GOGC=400":                      "gc-percent",
		"set the variable GOMEMLIMIT, as in GOMEMLIMIT=1024MiB":      "memory-limit-mib",
		"HTTP/2 without TLS is accepted whenever TLS is off":         "h2c",
		"a GET never writes, and cors-origins says who can read it":  "get-preflight",
		"a request has at most 131072 bytes":                         "body-limit",
		"a document has at most 1500 tokens":                         "token-limit",
		"an operation has at most 15 aliases":                        "alias-limit",
		"an operation has at most 20 fields at its root":             "root-field-limit",
		"an operation has at most 20 directives":                     "directive-limit",
		"an operation has at most 500 fields":                        "field-limit",
		"it follows from streams-per-address":                        "streams-per-viewer header-bytes-per-address",
		"a WebSocket has at most 100 operations at a time":           "operations-per-socket",
		"it follows from max-watched":                                "watched-per-address watched-per-viewer",
		"the listing of a small group is cached for a minute":        "group-cache-ttl",
		"clocks may differ by 30 seconds":                            "jwt-leeway",
		"keys are loaded again every 5 minutes":                      "jwks-refresh",
	} {
		for flag := range strings.FieldsSeq(flags) {
			became[flag] = text
		}
	}
	return became
}()

// common are the old names that other programs read from the environment, too: a value that is no valid setting is theirs.
var common = []string{
	"ACCESS_LOG", "ADDR", "CALENDAR", "CONFIG", "DATA_DIR", "DEMO", "EVENTS", "EXPLORER", "INTROSPECTION", "LOG_FORMAT", "LOG_LEVEL", "MILESTONES", "MODERATORS",
	"PAGE_SIZE", "PARTITIONS", "PUBLIC_URL", "RANKING", "SITE", "SITE_NAME",
}

// prefixed are settings that are newer than the prefix: SECRET is a variable of other programs.
var prefixed = []string{"secret", "secret-file", "notice-contact-days"}

// oldVariables are the variables with old names that are set.
type oldVariables struct {
	read    map[string][]string // by flag, those that gave its value
	ignored []string
}

// readOld copies the values of variables with old names to those with the new ones, unless these are set.
func readOld(flags []*kong.Flag) *oldVariables {
	old := &oldVariables{read: map[string][]string{}}
	for flag, parts := range oldParts {
		names := slices.DeleteFunc(oldNames(parts), func(name string) bool { return !isSet(name) })
		if len(names) > 0 {
			old.adopt(flag, joinOld(flag), names...)
		}
	}
	for _, flag := range flags {
		if len(flag.Envs) == 0 || oldParts[flag.Name] != nil || slices.Contains(prefixed, flag.Name) {
			continue
		}
		for _, name := range oldNames(append([]string{flag.Name}, flag.Aliases...)) {
			if value, set := os.LookupEnv(name); set && name != flag.Envs[0] {
				old.adopt(flag.Name, value, name)
			}
		}
	}
	return old
}

func oldNames(flags []string) (names []string) {
	for _, flag := range flags {
		names = append(names, withoutPrefix(flag))
	}
	return names
}

// adopt sets the variable of a flag, unless it is set. An empty value is that of no setting.
func (o *oldVariables) adopt(flag, value string, names ...string) {
	variable := Variable(flag)
	given, set := os.LookupEnv(variable)
	switch {
	case value == "" || set && given != value:
		o.ignored = append(o.ignored, names...)
	case !set:
		_ = os.Setenv(variable, value)
		o.read[flag] = names
	}
}

// joinOld returns the value of a setting from the variables of which it consisted.
func joinOld(flag string) (value string) {
	old := func(part string) string { return os.Getenv(withoutPrefix(part)) }
	switch flag {
	case "serve":
		value = "off"
		for _, page := range oldParts[flag] {
			on, err := parseBool(old(page))
			switch {
			case err != nil && isSet(withoutPrefix(page)):
				return old(page) // is invalid
			case err != nil || on:
				value = strings.TrimPrefix(value+","+page, "off,")
			}
		}
	case "ranking":
		value = old("ranking")
		if length := old(map[string]string{"capped": "rank-cap", "halflife": "half-life"}[value]); length != "" {
			value += ":" + length
		}
	case "calendar":
		value = cmp.Or(old("calendar"), "site")
		site, _ := parseBool(value)
		if groups, _ := parseBool(old("group-top")); groups && (site || value == "site") {
			value = "groups"
		}
	case "rates":
		for _, part := range oldParts[flag] {
			if rate := old(part); rate != "" {
				value += " " + strings.TrimPrefix(part, "rate-") + "=" + rate
			}
		}
	}
	return value
}

// ignore takes the value from one of the flags whose variable has a common name. It reports whether there was one.
func (o *oldVariables) ignore(flags []string) bool {
	for _, flag := range flags {
		names := o.read[flag]
		if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(common, name) }) {
			_ = os.Unsetenv(Variable(flag))
			delete(o.read, flag)
			o.ignored = append(o.ignored, names...)
			return true
		}
	}
	return false
}

// warn logs which old names are in use, which were ignored, and what became of those that are gone.
func (o *oldVariables) warn(log *slog.Logger) {
	var read []string
	for flag, names := range o.read {
		read = append(read, strings.Join(names, "+")+"="+Variable(flag))
	}
	for name, instead := range map[string]string{"GC_PERCENT": "GOGC", "MEMORY_LIMIT_MIB": "GOMEMLIMIT"} {
		if isSet(name) && !isSet(instead) {
			read = append(read, name+"="+instead)
		}
	}
	if len(read) > 0 {
		slices.Sort(read)
		log.Warn("until 1.0 only these variables are read by their old names", "old=new", strings.Join(read, " "))
	}
	if len(o.ignored) > 0 {
		slices.Sort(o.ignored)
		log.Warn("these variables have old names of settings, and are ignored: their values are invalid, or others apply", "names", strings.Join(o.ignored, " "))
	}
	for _, flag := range slices.Sorted(maps.Keys(gone)) {
		name := withoutPrefix(flag)
		if used := strings.Join(append(read, o.ignored...), " ") + "="; isSet(name) && !regexp.MustCompile(`\b`+name+`[ +=]`).MatchString(used) {
			log.Warn("this variable is no longer read", "name", name, "instead", gone[flag])
		}
	}
}

// oldNumber returns the positive number in a variable with an old name.
func oldNumber(name string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(os.Getenv(name), 10, 32); err == nil && n > 0 {
		return n
	}
	return otherwise
}

var (
	unknownFlag    = regexp.MustCompile(`unknown flag --(?:no-)?([a-z0-9-]+)`)
	unknownCommand = regexp.MustCompile(`unexpected argument ([a-z-]+)$`)
)

// becameOf says what to write instead of a flag or a command that an error calls unknown; empty if that is not known.
func becameOf(problem string, commands []*kong.Node) string {
	if m := unknownCommand.FindStringSubmatch(problem); m != nil {
		meant := "serve"
		if !slices.Contains([]string{"start", "run", "server", "up"}, m[1]) {
			names := []string{}
			for _, command := range commands {
				names = append(names, command.Name)
			}
			meant = closest(m[1], names)
			if levenshtein.ComputeDistance(meant, m[1]) > 2 {
				return ""
			}
		}
		return fmt.Sprintf(", did you mean %q?", meant)
	}
	if m := unknownFlag.FindStringSubmatch(problem); m != nil && gone[m[1]] != "" {
		return ": " + gone[m[1]]
	}
	return ""
}

// flagName returns the flag of a key in a file or of a variable, with the prefix or without it.
func flagName(key string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(key), "_", "-"), "frontpage-")
}
