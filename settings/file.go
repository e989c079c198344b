package settings

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// File is the path of a file with settings in YAML or JSON.
type File string

// BeforeResolve lets kong look up settings in the file. Flags and variables take precedence.
func (File) BeforeResolve(ctx *kong.Context, trace *kong.Path) error {
	path, _ := ctx.FlagValue(trace.Flag).(File)
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(string(path))
	if err != nil {
		return Invalid(err, "config")
	}
	values, err := parseFile(text)
	if err != nil {
		return Invalid(fmt.Errorf("%s: %w", path, err), "config")
	}
	for key := range values {
		if names := flagNames(ctx.Model.Flags); !slices.Contains(names, key) {
			return Invalid(fmt.Errorf("%s: %q is not a setting: did you mean %s?", path, key, closest(key, names)), "config")
		}
	}
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
		value, found := values[flag.Name]
		if !found || parent.App == nil || slices.ContainsFunc(flag.Envs, isSet) {
			return nil, nil //nolint:nilnil // how kong wants to learn that there is no value
		}
		return value, nil
	}))
	return nil
}

func isSet(variable string) bool {
	_, set := os.LookupEnv(variable)
	return set
}

// flagNames returns the names of the settings that a file may have.
func flagNames(flags []*kong.Flag) (names []string) {
	for _, flag := range flags {
		if len(flag.Envs) > 0 && flag.Name != "config" {
			names = append(names, flag.Name)
		}
	}
	return names
}

// flagName returns the flag of a key in a file or of a variable, with the prefix or without it.
func flagName(key string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(key), "_", "-"), "frontpage-")
}

// closest returns the name that differs least from text.
func closest(text string, names []string) string {
	return slices.MinFunc(names, func(a, b string) int {
		return cmp.Compare(levenshtein.ComputeDistance(text, a), levenshtein.ComputeDistance(text, b))
	})
}

// parseFile returns the values by the names of their flags. Keys may be written like flags or like variables. Values are
// the text of the file, so that a secret of digits stays what it is. The errors contain no values.
func parseFile(text []byte) (map[string]string, error) {
	file, err := parser.ParseBytes(text, 0)
	if problem := yaml.Error(nil); errors.As(err, &problem) {
		return nil, fmt.Errorf("line %d: %s", problem.GetToken().Position.Line, problem.GetMessage())
	}
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, document := range file.Docs {
		if document.Body == nil {
			continue
		}
		entries, ok := document.Body.(ast.MapNode)
		if !ok {
			return nil, errors.New("it must consist of lines such as vote-score: 432")
		}
		for entry := entries.MapRange(); entry.Next(); {
			name := flagName(entry.Key().GetToken().Value)
			if _, twice := values[name]; twice {
				return nil, fmt.Errorf("%s is given twice", name)
			}
			if values[name], err = valueText(entry.Value()); err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", entry.Key().GetToken().Position.Line, name, err)
			}
		}
	}
	return values, nil
}

var errNotText = errors.New("it must be text, a number, true or false, or a list of these")

// valueText returns the text of a scalar, or of a list of them as a flag has it: separated by commas.
func valueText(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return strings.TrimRight(n.Value.Value, "\n"), nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.SequenceNode:
		texts := make([]string, len(n.Values))
		for i, element := range n.Values {
			if _, nested := element.(*ast.SequenceNode); nested {
				return "", errNotText
			}
			text, err := valueText(element)
			if err != nil {
				return "", err
			}
			texts[i] = strings.ReplaceAll(text, ",", `\,`)
		}
		return strings.Join(texts, ","), nil
	}
	return "", errNotText
}

// secretFlag returns the flag that gave a secret: its file's, if it has one.
func secretFlag(file, flag string) string {
	if file != "" {
		return flag + "-file"
	}
	return flag
}

// secret returns a secret that is given as text, or by the name of a file whose setting is called like that of the
// text and -file. Line breaks at the end of the file are not part of it. If there is one, it has at least so many bytes. The
// errors do not contain it.
func secret(text, file, flag string, least int) (string, error) {
	if file != "" {
		if text != "" {
			return "", Invalid(errors.New("set only one of them"), flag, flag+"-file")
		}
		content, err := os.ReadFile(file) // #nosec G304 -- the path is a setting
		if err != nil {
			return "", Invalid(err, flag+"-file")
		}
		text = strings.TrimRight(string(content), "\r\n")
		if text == "" {
			return "", Invalid(errors.New(file+" is empty"), flag+"-file")
		}
	}
	if n := len(text); n > 0 && n < least {
		return "", Invalid(fmt.Errorf("it has %d bytes, want at least %d", n, least), secretFlag(file, flag))
	}
	return text, nil
}
