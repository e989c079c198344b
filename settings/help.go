package settings

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// needed are the settings that most sites need, with what they are in a few words.
var needed = [][2]string{
	{"addr", "where to listen, as in 127.0.0.1:8080"},
	{"public-url", "the site's address, as in https://a.example"},
	{"data-dir", "where the private Redis keeps its data"},
	{"redis-url", "your own Redis instead, as in redis://host:6379"},
	{"oidc-issuer", "the provider at which users sign in"},
	{"oidc-client-id", "this site's name there"},
	{"oidc-client-secret", "its secret, or ..._FILE with a file of it"},
	{"moderators", "names of moderators, as in alice,bob"},
	{"site-name", "what the site is called"},
	{"trusted-proxies", "addresses of the proxy before the site"},
}

var helpOptions = kong.HelpOptions{FlagsLast: true, Compact: true, ValueFormatter: kong.DefaultHelpValueFormatter}

// Help prints the help of a command, of the program for an empty topic, or of all commands and settings for settings.
// An unknown command is an *Error.
func Help(command *kong.Context, topic string) error {
	var args []string
	if topic != "" && topic != "settings" {
		args = []string{topic}
	}
	about, err := kong.Trace(command.Kong, args)
	switch {
	case err != nil:
		return err
	case about.Error != nil:
		return Invalid(about.Error)
	case topic == "settings":
		about.Path = about.Path[:1] // without the default command
		return kong.DefaultHelpPrinter(helpOptions, about)
	}
	return help(helpOptions, about)
}

// help prints the help of a command without the settings, which all commands have, or the help of the program on one screen.
func help(options kong.HelpOptions, command *kong.Context) error {
	if selected := command.Selected(); selected != nil && selected.Name != "serve" {
		for _, flag := range command.Model.Flags {
			flag.Hidden = flag.Hidden || flag.Group != nil
		}
		if err := kong.DefaultHelpPrinter(options, command); err != nil {
			return err
		}
		_, err := fmt.Fprintln(command.Stdout, "\nIt takes the settings, too: frontpage help settings")
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Usage: frontpage [COMMAND] [ARGUMENTS] [--SETTING VALUE]\n\nCommands; frontpage COMMAND --help says more:\n")
	for _, child := range command.Model.Children {
		if !child.Hidden && child.Type == kong.CommandNode {
			sentence, _, _ := strings.Cut(strings.TrimSuffix(child.Help, "."), ". ")
			sentence, _, _ = strings.Cut(sentence, ": ")
			fmt.Fprintf(&text, "  %-15s%s\n", child.Name, sentence)
		}
	}
	fmt.Fprintf(&text, "\nThe settings that one needs, each a variable or a flag such as --%s:\n", needed[0][0])
	for _, setting := range needed {
		fmt.Fprintf(&text, "  %-31s%s\n", Variable(setting[0]), setting[1])
	}
	text.WriteString("All others: frontpage help settings, and docs/settings.md\n")
	_, err := fmt.Fprint(command.Stdout, text.String())
	return err
}
