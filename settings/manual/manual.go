// Package manual writes the manual page, the completions for shells, and the lists of commands and settings in docs, from the
// definition of the command line.
package manual

import (
	"cmp"
	"embed"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

//go:embed page.tmpl commands.tmpl settings.tmpl bash.tmpl zsh.tmpl fish.tmpl
var templates embed.FS

var parsed = template.Must(template.New("").Funcs(template.FuncMap{
	"roff": roff, "describe": describe, "cell": cell, "sentences": func(title string) []string { return strings.SplitN(title, ". ", 2) },
}).ParseFS(templates, "*.tmpl"))

// Page writes the manual page, in roff with the macros of man. version and date are those of the program.
func Page(w io.Writer, app *kong.Application, version, date string) error {
	return parsed.ExecuteTemplate(w, "page.tmpl", program{commandOf(app.Node), version, date, groupsOf(app.Node)})
}

// Settings writes a table of the settings for each group of --help, in Markdown.
func Settings(w io.Writer, app *kong.Application) error {
	return parsed.ExecuteTemplate(w, "settings.tmpl", program{Groups: groupsOf(app.Node)})
}

// Commands writes a table of the commands, in Markdown.
func Commands(w io.Writer, app *kong.Application) error {
	return parsed.ExecuteTemplate(w, "commands.tmpl", commandOf(app.Node))
}

// Completion writes the completion for a shell: bash, zsh or fish.
func Completion(w io.Writer, app *kong.Application, shell string) error {
	return parsed.ExecuteTemplate(w, shell+".tmpl", program{command: commandOf(app.Node), Groups: groupsOf(app.Node)})
}

// program is what the templates show.
type program struct {
	command
	Version, Date string
	Groups        []group // of the flags that all commands have
}

type group struct {
	Title string
	Flags []flag
}

type command struct {
	Name, Help string
	Arguments  []argument
	Flags      []flag // its own ones
	Commands   []command
}

// Leaves returns the commands that do something. Instead of a group it has the group's commands, with the group's name
// before theirs.
func (c command) Leaves() (leaves []command) {
	for _, child := range c.Commands {
		if child.Commands == nil {
			leaves = append(leaves, child)
		}
		for _, leaf := range child.Leaves() {
			leaf.Name = child.Name + " " + leaf.Name
			leaves = append(leaves, leaf)
		}
	}
	return leaves
}

type argument struct {
	Name, Help string // Name is as in --help, such as <file>
	Values     []string
	File       bool // a path
}

type flag struct {
	Name, Help, Variable string
	Default              string
	Value                string // the default or a placeholder; empty if the flag needs no value
	Switch, Negatable    bool
	File                 bool // the value is a path
}

func commandOf(node *kong.Node) command {
	c := command{Name: node.Name, Help: node.Help}
	for _, p := range node.Positional {
		c.Arguments = append(c.Arguments, argument{p.Summary(), p.Help, valuesOf(p), isFile(p)})
	}
	for _, f := range node.Flags {
		if !f.Hidden {
			c.Flags = append(c.Flags, flagOf(f))
		}
	}
	for _, child := range node.Children {
		if !child.Hidden && child.Type == kong.CommandNode {
			c.Commands = append(c.Commands, commandOf(child))
		}
	}
	return c
}

func flagOf(f *kong.Flag) flag {
	out := flag{Name: f.Name, Help: f.Help, Default: f.Default, Switch: f.IsBool(), Negatable: f.Tag.Negatable != ""}
	if len(f.Envs) > 0 {
		out.Variable = f.Envs[0]
	}
	if out.Switch {
		out.Default = cmp.Or(f.Default, "false")
	} else {
		out.Value = strings.Trim(f.FormatPlaceHolder(), `"`)
	}
	out.File = f.PlaceHolder == "FILE" || strings.HasSuffix(f.Name, "-dir") || isFile(f.Value)
	return out
}

func isFile(v *kong.Value) bool {
	return v.Target.Type() == reflect.TypeFor[*os.File]() || strings.HasSuffix(v.Tag.Type, "path") || strings.HasSuffix(v.Tag.Type, "file")
}

func valuesOf(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// groupsOf are the flags of all commands in the groups of --help, first those without a group.
func groupsOf(node *kong.Node) []group {
	groups := []group{{Title: "Flags"}}
	index := map[string]int{}
	for _, f := range node.Flags {
		at := 0
		if f.Group != nil {
			var known bool
			if at, known = index[f.Group.Key]; !known {
				at = len(groups)
				index[f.Group.Key] = at
				groups = append(groups, group{Title: strings.TrimSuffix(f.Group.Title, ":")})
			}
		}
		if !f.Hidden {
			groups[at].Flags = append(groups[at].Flags, flagOf(f))
		}
	}
	return groups
}

// roff escapes text for roff: backslashes, hyphens of flags and names, and what would be a request at the start of a
// line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

var verbatim = regexp.MustCompile(`FRONTPAGE_\w+|REDIS_URL|GOGC|GOMEMLIMIT|[a-z+]+://(?:\S*[\w/])?|[a-z]+\.\*|\S*[*={|]\S*\w}?`)

// cell is a help text for a cell of a table: names of variables, URLs, and what Markdown would interpret, are code.
func cell(help string) string {
	return verbatim.ReplaceAllStringFunc(strings.TrimSuffix(help, "."), func(word string) string {
		return "`" + strings.ReplaceAll(word, "|", `\|`) + "`"
	})
}

var sentenceEnd = regexp.MustCompile(`\. [A-Z]|\.$|: `)

// describe is the beginning of a help text for a list of completions, without characters that shells or _arguments of
// zsh interpret.
func describe(help string) string {
	if end := sentenceEnd.FindStringIndex(help); end != nil {
		help = help[:end[0]]
	}
	return strings.NewReplacer("[", "(", "]", ")", ":", ",", `\`, "", "'", "’").Replace(help)
}
