package web_test

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"frontpage/site/web"
	"frontpage/tests/require"
)

// contrast returns the contrast of two colours such as #17624a, by the formula of WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(colour string) (sum float64) {
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n := require.Value(strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8))(t)
			part := float64(n) / 255
			if part <= 0.04045 {
				sum += weight * part / 12.92
			} else {
				sum += weight * math.Pow((part+0.055)/1.055, 2.4)
			}
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Accents that are accepted can be read, in light and in dark: as text on the paper and on its tint, and under the text of
// a button.
func TestAccentCanBeRead(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for i := range 400 {
		accent := "#000000"
		if i > 0 {
			accent = "#" + strconv.FormatInt(1<<24+random.Int64N(1<<24), 16)[1:]
		}
		if web.CheckAccent(accent) != nil {
			if contrast(t, accent, "#fbfaf7") > 5.5 {
				t.Errorf("%s is refused", accent)
			}
			continue
		}
		accepted++
		style := string(serve(t, web.Options{Site: true, Accent: accent}).get("/").body)
		colours := regexp.MustCompile(`\{--accent:(#[0-9a-f]{6})\}`).FindAllStringSubmatch(style, -1)
		if len(colours) != 3 || colours[0][1] != accent || colours[1][1] != colours[2][1] {
			t.Fatalf("%s: the style has the accents %v", accent, colours)
		}
		for background, colour := range map[string]string{
			"#fbfaf7": accent, "#eeedea": accent, "#ffffff": accent, "#161614": colours[1][1], "#232320": colours[1][1], "#1f1f1c": colours[1][1],
		} {
			if have := contrast(t, colour, background); have < 4.5 {
				t.Errorf("%s becomes %s, whose contrast to %s is %.2f", accent, colour, background, have)
			}
		}
	}
	if accepted < 50 {
		t.Errorf("%d colours were accepted, want at least 50", accepted)
	}
}

func TestStyleWithoutAnAccentIsThatOfTheBuild(t *testing.T) {
	t.Parallel()
	style := string(serve(t, web.Options{Site: true}).get("/assets/index.css").body)
	if strings.HasSuffix(style, "}}") && strings.Contains(style, ":root{--accent:#") {
		t.Error("the style has an accent of the settings")
	}
}
