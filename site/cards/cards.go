// Package cards draws the pictures in previews of a link to an article: 1200 x 630 pixels with the title, the host
// of the link and the name of the site.
package cards

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Width and Height are the size of a card in pixels, as for large previews.
const (
	Width  = 1200
	Height = 630
)

const (
	margin     = 80
	titleSize  = 64 // pixels, as all sizes
	smallSize  = 36
	lineHeight = 78
	maxLines   = 4
)

// Card is what a picture shows.
type Card struct {
	Site, Title, Host string // the host is empty for an article without a link
	Accent            color.RGBA
}

var (
	paper = color.RGBA{0xfb, 0xfa, 0xf7, 0xff}
	ink   = color.RGBA{0x1c, 0x1b, 0x18, 0xff}

	bold, regular = parse(gobold.TTF), parse(goregular.TTF)
)

func parse(ttf []byte) *opentype.Font {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic(err) // impossible: the fonts are embedded
	}
	return f
}

// Has reports whether the fonts have all letters of a text. They have those of Latin, Greek and Cyrillic; a card
// shows boxes for others.
func Has(text string) bool {
	var buffer sfnt.Buffer
	for _, r := range text {
		if glyph, err := bold.GlyphIndex(&buffer, r); (err != nil || glyph == 0) && !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}

// PNG draws the card. A title that does not fit ends with an ellipsis. Equal cards give equal files.
func (c Card) PNG() []byte {
	picture := image.NewRGBA(image.Rect(0, 0, Width, Height))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	accent := image.NewUniform(c.Accent)
	for i, width := range []int{56, 40, 24} { // the mark of the site's header
		y := margin + i*18
		draw.Draw(picture, image.Rect(margin, y, margin+width, y+11), accent, image.Point{}, draw.Src)
	}
	small, large := face(regular, smallSize), face(bold, titleSize)
	write(picture, small, ink, margin+80, margin+38, cut(small, c.Site, Width-2*margin-80))
	for i, line := range lines(large, c.Title) {
		write(picture, large, ink, margin, 230+i*lineHeight, line)
	}
	write(picture, small, c.Accent, margin, Height-margin, cut(small, c.Host, Width-2*margin))
	paletted := image.NewPaletted(picture.Bounds(), shades(c.Accent))
	draw.Draw(paletted, paletted.Bounds(), picture, image.Point{}, draw.Src)
	var out bytes.Buffer
	_ = png.Encode(&out, paletted) // into memory: no errors
	return out.Bytes()
}

// shades are the colours between the paper and those of the letters: few, so that the file is small.
func shades(accent color.RGBA) color.Palette {
	const steps = 15
	palette := color.Palette{paper}
	for _, to := range []color.RGBA{ink, accent} {
		for i := 1; i <= steps; i++ {
			mix := func(from, to uint8) uint8 { return uint8((int(from)*(steps-i) + int(to)*i) / steps) } // #nosec G115 -- between both
			palette = append(palette, color.RGBA{mix(paper.R, to.R), mix(paper.G, to.G), mix(paper.B, to.B), 0xff})
		}
	}
	return palette
}

func face(f *opentype.Font, size float64) font.Face {
	made, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		panic(err) // impossible: the options are valid
	}
	return made
}

func write(picture draw.Image, f font.Face, c color.Color, x, y int, text string) {
	d := font.Drawer{Dst: picture, Src: image.NewUniform(c), Face: f, Dot: fixed.P(x, y)}
	d.DrawString(text)
}

// lines breaks a title between words, and a word that is longer than a line within it.
func lines(f font.Face, title string) []string {
	width := Width - 2*margin
	fits := func(text string) bool { return font.MeasureString(f, text).Ceil() <= width }
	var all []string
	line := ""
	for _, word := range strings.Fields(title) {
		if joined := strings.TrimSpace(line + " " + word); fits(joined) {
			line = joined
			continue
		}
		if line != "" {
			all = append(all, line)
		}
		for line = word; !fits(line); {
			letters := []rune(line)
			n := len(letters) - 1
			for n > 1 && !fits(string(letters[:n])) {
				n--
			}
			all, line = append(all, string(letters[:n])), string(letters[n:])
		}
	}
	if line != "" {
		all = append(all, line)
	}
	if len(all) > maxLines {
		all[maxLines-1] = cut(f, all[maxLines-1]+" "+all[maxLines], width)
		all = all[:maxLines]
	}
	return all
}

// cut shortens a text to a width, with an ellipsis.
func cut(f font.Face, text string, width int) string {
	if font.MeasureString(f, text).Ceil() <= width {
		return text
	}
	letters := []rune(text)
	for len(letters) > 0 && font.MeasureString(f, string(letters)+"…").Ceil() > width {
		letters = letters[:len(letters)-1]
	}
	return strings.TrimSpace(string(letters)) + "…"
}
