package web

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// colour has red, green and blue, 0 to 255.
type colour [3]float64

// The backgrounds on which style.css shows the accent as text: the paper with a tint of the ink, light and dark.
var (
	lightTint = colour{0xee, 0xec, 0xea}
	darkTint  = colour{0x23, 0x23, 0x20}
)

// The contrasts of text that WCAG asks for (AA), and what the accent gets on a dark background.
const (
	minContrast  = 4.5
	darkContrast = 7
)

// CheckAccent returns why a text is no accent for the site: a colour such as #17624a that is dark enough to be read on a
// light background. On a dark one the site lightens it.
func CheckAccent(text string) error {
	c, err := parseColour(text)
	if err != nil {
		return err
	}
	if have := contrast(c, lightTint); have < minContrast {
		return fmt.Errorf("%s has a contrast of %.1f to the background of the site, want at least %.1f: choose a darker colour", text, have, minContrast)
	}
	return nil
}

var hexColour = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

func parseColour(text string) (c colour, err error) {
	if !hexColour.MatchString(text) {
		return c, fmt.Errorf("%q is not a colour such as #17624a", text)
	}
	for i := range c {
		n, err := strconv.ParseUint(text[1+2*i:3+2*i], 16, 8)
		if err != nil {
			return c, err
		}
		c[i] = float64(n)
	}
	return c, nil
}

// accentStyle returns the rules that replace the accent of style.css.
func accentStyle(accent string) string {
	c, err := parseColour(accent)
	if err != nil {
		panic(err) // the caller has checked it
	}
	dark := c
	for share := 0.0; contrast(dark, darkTint) < darkContrast; share += 0.02 {
		for i := range dark {
			dark[i] = math.Round(c[i] + (255-c[i])*share)
		}
	}
	rule := fmt.Sprintf("{--accent:#%02x%02x%02x}", int(dark[0]), int(dark[1]), int(dark[2]))
	return ":root{--accent:" + accent + "}:root[data-theme=dark]" + rule +
		"@media (prefers-color-scheme:dark){:root:not([data-theme=light])" + rule + "}"
}

// contrast returns the contrast of two colours as WCAG defines it, 1 to 21.
func contrast(a, b colour) float64 {
	brighter, darker := luminance(a), luminance(b)
	return (max(brighter, darker) + 0.05) / (min(brighter, darker) + 0.05)
}

func luminance(c colour) float64 {
	linear := func(part float64) float64 {
		if part /= 255; part <= 0.04045 {
			return part / 12.92
		}
		return math.Pow((part+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}
