package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"

	"frontpage/redisrepo/site"
)

// Parse parses arguments and environment into program, a pointer to a struct that embeds Settings and
// has a field for each command. version is what --version prints. An invalid setting is an *Error.
func Parse(program any, args []string, description, version string) (*kong.Context, error) {
	var failed *Error
	parser, err := kong.New(program,
		kong.Name("frontpage"), kong.Description(description), kong.Vars{"version": version}, defaults(),
		kong.ExplicitGroups(groups), kong.ConfigureHelp(helpOptions), kong.Help(help),
		kong.KindMapper(reflect.Bool, boolMapper{&failed}),
		kong.KindMapper(reflect.Int, mapper(&failed, strconv.Atoi, "a whole number")),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), mapper(&failed, parseDuration, "a duration such as 7d, 1d12h, 90s or 400ms")),
		kong.TypeMapper(reflect.TypeFor[time.Time](), mapper(&failed, site.ParseTime, "a time such as 2026-01-02T03:04:05Z, with Z or an offset such as +02:00")),
		kong.TypeMapper(reflect.TypeFor[netip.Prefix](), mapper(&failed, parsePrefix, "an address such as 192.0.2.1, or a range such as 10.0.0.0/8")),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), mapper(&failed, parseLevel, "debug, info, warn or error")),
		kong.TypeMapper(reflect.TypeFor[Ranking](), mapper(&failed, parseRanking, rankingForm)),
		kong.TypeMapper(reflect.TypeFor[History](), mapper(&failed, parseHistory, historyForm)),
		kong.TypeMapper(reflect.TypeFor[Calendar](), mapper(&failed, parseCalendar, calendarForm)),
		kong.TypeMapper(reflect.TypeFor[RateList](), mapper(&failed, parseRates, ratesForm)),
		kong.PostBuild(nameVariables),
	)
	if err != nil {
		panic(err) // the flags and commands are fixed, so this is a bug
	}
	command, err := parser.Parse(args)
	if failed != nil {
		err = failed // kong turns the error of a variable into text, which loses its type
	}
	if err == nil {
		return command, nil
	}
	if invalid := new(Error); errors.As(err, &invalid) {
		return nil, invalid
	}
	if file := new(fs.PathError); errors.As(err, &file) {
		return nil, file // an argument that names a file
	}
	return nil, fmt.Errorf("%w%s: see frontpage --help", err, meantCommand(err.Error(), parser.Model.Children))
}

var unknownCommand = regexp.MustCompile(`unexpected argument ([a-z-]+)$`)

// meantCommand says what to write instead of a command that an error calls unknown; empty if that is not known.
func meantCommand(problem string, commands []*kong.Node) string {
	m := unknownCommand.FindStringSubmatch(problem)
	if m == nil {
		return ""
	}
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

// nameVariables gives each setting its variable. The flags of commands have no group, and no variable but those of their own.
func nameVariables(k *kong.Kong) error {
	for _, flag := range k.Model.Flags {
		if flag.Group != nil {
			flag.Tag.Envs = []string{Variable(flag.Name)}
			flag.Envs = flag.Tag.Envs
		}
	}
	return nil
}

// mapper returns a mapper that reads a value with parse. form describes a valid value, for the error
// "7" is not FORM.
func mapper[T any](failed **Error, parse func(string) (T, error), form string) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto(form, &text); err != nil {
			return err
		}
		value, err := parse(text)
		if err != nil {
			problem := fmt.Errorf("%q is not %s", text, form)
			if ctx.Value.Flag == nil || len(ctx.Value.Flag.Envs) == 0 {
				return problem // an argument of a command, which kong names
			}
			*failed = Invalid(problem, ctx.Value.Name)
			return *failed
		}
		target.Set(reflect.ValueOf(value))
		return nil
	}
}

// parsePrefix parses a range of addresses. An address is a range of one.
func parsePrefix(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return address.Prefix(address.BitLen())
	}
	return netip.ParsePrefix(text)
}

func parseLevel(text string) (level slog.Level, err error) {
	err = level.UnmarshalText([]byte(text))
	return level, err
}

// boolMapper accepts true and false, and the spellings on, off, yes, no, 1 and 0. Of these, on and
// off may also be an argument of their own: --downvotes off. A flag without a value is true.
type boolMapper struct{ failed **Error }

// IsBool tells kong that the flag needs no value.
func (boolMapper) IsBool() bool { return true }

// Decode reads a value.
func (m boolMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	value := true
	if next := ctx.Scan.Peek(); next.Type == kong.FlagValueToken || next.Type == kong.UntypedToken && (next.Value == "on" || next.Value == "off") {
		switch given := ctx.Scan.Pop().Value.(type) {
		case bool: // from --no-FLAG
			value = given
		default:
			var err error
			if value, err = parseBool(fmt.Sprint(given)); err != nil {
				*m.failed = Invalid(err, ctx.Value.Name)
				return *m.failed
			}
		}
	}
	target.SetBool(value)
	return nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "on", "yes", "1":
		return true, nil
	case "false", "off", "no", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}

const (
	day     = 24 * time.Hour
	maxDays = int64(1<<63-1) / int64(day)
)

var errDuration = errors.New("invalid duration")

// parseDuration is time.ParseDuration with days: 7d, 1d12h. A day is 24 hours.
func parseDuration(text string) (time.Duration, error) {
	number, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseUint(number, 10, 63)
	if err != nil || int64(days) > maxDays || strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") { // #nosec G115 -- 63 bits
		return 0, errDuration
	}
	d := time.Duration(days) * day // #nosec G115 -- at most maxDays
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || d+more < d {
		return 0, errDuration
	}
	return d + more, nil
}

// formatDuration formats a duration for parseDuration: with days if it has any, and without parts that
// are zero, as in 7d, 1d12h, 5m.
func formatDuration(d time.Duration) string {
	if d < day {
		text := d.String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		return text
	}
	text := fmt.Sprintf("%dd", d/day)
	if d%day != 0 {
		text += formatDuration(d % day)
	}
	return text
}
