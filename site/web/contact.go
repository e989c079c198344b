package web

import "regexp"

var (
	webAddress  = regexp.MustCompile(`^https?://\S+$`)
	mailAddress = regexp.MustCompile(`^[^\s@:/?]+@[^\s@:/?]+$`)
)

// ContactURL returns the URL of a contact that is a web or a mail address, and an empty text for any other contact.
func ContactURL(text string) string {
	switch {
	case webAddress.MatchString(text):
		return text
	case mailAddress.MatchString(text):
		return "mailto:" + text
	}
	return ""
}
