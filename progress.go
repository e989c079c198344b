package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"golang.org/x/term"
)

// terminal returns the file if it is a terminal.
func terminal(file *os.File) io.Writer {
	if term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// progress returns where a progress bar goes: to standard error or, if that is no terminal, into lines there.
func progress() io.Writer {
	if bar := terminal(os.Stderr); bar != nil {
		return bar
	}
	return &progressLines{out: os.Stderr, now: time.Now, last: time.Now()}
}

// progressLines writes lines instead of a progress bar, for a file or a log: after a second, at most one a second, and
// one for each tenth or after ten seconds.
type progressLines struct {
	out    io.Writer
	now    func() time.Time
	last   time.Time
	tenths string
}

// percent is what a progress bar shows, in two parts: full tenths, and the rest.
var percent = regexp.MustCompile(`(\d*)(\d)%`)

func (l *progressLines) Write(bar []byte) (int, error) {
	found := percent.FindSubmatch(bar)
	since := l.now().Sub(l.last)
	if found == nil || since < time.Second || string(found[1]) == l.tenths && since < 10*time.Second {
		return len(bar), nil
	}
	l.last, l.tenths = l.now(), string(found[1])
	_, err := fmt.Fprintf(l.out, "%s of the file are done\n", found[0])
	return len(bar), err
}
