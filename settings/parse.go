package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"frontpage/redisrepo/site"
)

// Parse parses arguments and environment into program, a pointer to a struct that embeds Settings and
// has a field for each command. version is what --version prints. An invalid setting is an *Error.
func Parse(program any, args []string, description, version string) (*kong.Context, error) {
	var failed *Error
	parser, err := kong.New(program,
		kong.Name("frontpage"), kong.Description(description), kong.Vars{"version": version}, defaults(),
		kong.ExplicitGroups(groups), kong.ConfigureHelp(kong.HelpOptions{FlagsLast: true, Compact: true}),
		kong.KindMapper(reflect.Bool, boolMapper{&failed}),
		kong.KindMapper(reflect.Int, mapper(&failed, strconv.Atoi, "a whole number")),
		kong.KindMapper(reflect.Int64, mapper(&failed, parseInt64, "a whole number")),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), mapper(&failed, parseDuration, "a duration such as 7d, 1d12h, 90s or 400ms")),
		kong.TypeMapper(reflect.TypeFor[netip.Prefix](), mapper(&failed, parsePrefix, "an address such as 192.0.2.1, or a range such as 10.0.0.0/8")),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), mapper(&failed, parseLevel, "debug, info, warn or error")),
		kong.TypeMapper(reflect.TypeFor[site.Ranking](), mapper(&failed, site.ParseRanking, "linear, capped or halflife")),
		kong.TypeMapper(reflect.TypeFor[History](), mapper(&failed, parseHistory, historyForm)),
		kong.TypeMapper(reflect.TypeFor[Rate](), mapper(&failed, parseRate, rateForm)),
	)
	if err != nil {
		panic(err) // the flags and commands are fixed, so this is a bug
	}
	command, err := parser.Parse(args)
	if failed != nil {
		return nil, failed // kong turns the error of a variable into text, which loses its type
	}
	if invalid := new(Error); errors.As(err, &invalid) {
		return nil, invalid
	}
	if err != nil {
		return nil, fmt.Errorf("%w: see frontpage --help", err)
	}
	return command, nil
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

func parseInt64(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

func parseLevel(text string) (level slog.Level, err error) {
	err = level.UnmarshalText([]byte(text))
	return level, err
}

// boolMapper accepts true and false, and the older spellings on, off, yes, no, 1 and 0. Of these, on and
// off may also be an argument of their own: --site off. A flag without a value is true.
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
			text := fmt.Sprint(given)
			switch strings.ToLower(text) {
			case "true", "on", "yes", "1":
			case "false", "off", "no", "0":
				value = false
			default:
				*m.failed = Invalid(fmt.Errorf("%q is neither true nor false", text), ctx.Value.Name)
				return *m.failed
			}
		}
	}
	target.SetBool(value)
	return nil
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
