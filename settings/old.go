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

// gone says what became of the flags that are gone.
var gone = map[string]string{
	"site":                     "set serve to explorer or off",
	"explorer":                 "set serve to site or off",
	"rank-cap":                 "it is a part of ranking, as in capped:24h",
	"half-life":                "it is a part of ranking, as in halflife:226m",
	"group-top":                "set calendar to groups",
	"rate-votes":               "it is a part of rates, as in votes=60/1m",
	"rate-posts":               "it is a part of rates, as in posts=10/10m",
	"rate-changes":             "it is a part of rates, as in changes=30/1m",
	"rate-cost":                "it is a part of rates, as in cost=100000/1m",
	"rate-addresses":           "it is a part of rates, as in addresses=10",
	"gc-percent":               "set the variable GOGC, as in GOGC=400",
	"memory-limit-mib":         "set the variable GOMEMLIMIT, as in GOMEMLIMIT=1024MiB",
	"h2c":                      "HTTP/2 without TLS is accepted whenever TLS is off",
	"get-preflight":            "a GET never writes, and pages of other origins cannot read its answer unless cors-origins lists them",
	"body-limit":               "a request has at most 131072 bytes",
	"token-limit":              "a document has at most 1500 tokens; complexity-limit and depth-limit bound its work",
	"alias-limit":              "an operation has at most 15 aliases; complexity-limit and depth-limit bound its work",
	"root-field-limit":         "an operation has at most 20 fields at its root; complexity-limit and depth-limit bound its work",
	"directive-limit":          "an operation has at most 20 directives; complexity-limit and depth-limit bound its work",
	"field-limit":              "an operation has at most 500 fields; complexity-limit and depth-limit bound its work",
	"streams-per-viewer":       "it follows from streams-per-address",
	"header-bytes-per-address": "it follows from streams-per-address",
	"operations-per-socket":    "a WebSocket has at most 100 operations at a time",
	"watched-per-address":      "it is a quarter of max-watched",
	"watched-per-viewer":       "it is a 100th of max-watched",
	"group-cache-ttl":          "the listing of a small group is cached for a minute",
	"jwt-leeway":               "clocks may differ by 30 seconds",
	"jwks-refresh":             "keys are loaded again every 5 minutes",
}

// common are the old names that other programs read from the environment, too: a value that is no valid setting is theirs.
var common = []string{
	"ACCESS_LOG", "ADDR", "CALENDAR", "CONFIG", "DATA_DIR", "DEMO", "EVENTS", "EXPLORER", "INTROSPECTION", "LOG_FORMAT", "LOG_LEVEL", "MILESTONES", "MODERATORS",
	"PAGE_SIZE", "PARTITIONS", "PUBLIC_URL", "RANKING", "SITE", "SITE_NAME",
}

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
		if len(flag.Envs) == 0 || oldParts[flag.Name] != nil {
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

// explain adds the old names to an error about values that came from them.
func (o *oldVariables) explain(invalid *Error) *Error {
	for _, flag := range invalid.Flags {
		if names := o.read[flag]; names != nil {
			invalid.Cause = fmt.Errorf("%w (read from %s)", invalid.Cause, strings.Join(names, ", "))
		}
	}
	return invalid
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
		merged := slices.ContainsFunc(slices.Collect(maps.Values(oldParts)), func(parts []string) bool { return slices.Contains(parts, flag) })
		if name := withoutPrefix(flag); isSet(name) && !merged && name != "GC_PERCENT" && name != "MEMORY_LIMIT_MIB" {
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

var unknownFlag = regexp.MustCompile(`unknown flag --(?:no-)?([a-z0-9-]+)`)

// becameOf says what became of the flag that an error calls unknown; empty if it never was one.
func becameOf(problem string) string {
	if m := unknownFlag.FindStringSubmatch(problem); m != nil && gone[m[1]] != "" {
		return ": " + gone[m[1]]
	}
	return ""
}

// flagName returns the flag of a key in a file or of a variable, with the prefix or without it.
func flagName(key string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(key), "_", "-"), "frontpage-")
}
