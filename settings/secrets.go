package settings

import (
	"errors"
	"os"
	"strings"
)

// secretFlag returns the flag that gave a secret: that of its file if there is one.
func secretFlag(file, flag string) string {
	if file != "" {
		return flag + "-file"
	}
	return flag
}

// secret returns a secret that is given as text, or by the name of a file whose setting is called like that of the
// text and -file. Line breaks at the end of the file are not part of it. The errors do not contain it.
func secret(text, file, flag string) (string, error) {
	switch {
	case file == "":
		return text, nil
	case text != "":
		return "", Invalid(errors.New("set only one of them"), flag, flag+"-file")
	}
	content, err := os.ReadFile(file) // #nosec G304 -- the path is a setting
	if err != nil {
		return "", Invalid(err, flag+"-file")
	}
	read := strings.TrimRight(string(content), "\r\n")
	if read == "" {
		return "", Invalid(errors.New(file+" is empty"), flag+"-file")
	}
	return read, nil
}
