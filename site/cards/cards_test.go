package cards_test

import (
	"bytes"
	"image/color"
	"image/png"
	"os"
	"strings"
	"testing"

	"frontpage/site/cards"
)

var green = color.RGBA{0x17, 0x62, 0x4a, 0xff}

func TestCardsShowTheirTexts(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, c := range []cards.Card{
		{"Frontpage", "A title", "go.dev", green},
		{"Frontpage", "A title", "", green},
		{"Frontpage", "Another title", "go.dev", green},
		{"Gopher News", "A title", "go.dev", green},
		{"Frontpage", "A title", "go.dev", color.RGBA{0x8a, 0x1c, 0x5a, 0xff}},
		{"Frontpage", strings.Repeat("many words ", 40), "go.dev", green},
		{"Frontpage", strings.Repeat("W", 200), strings.Repeat("w", 253), green},
		{"", "", "", green},
	} {
		content := c.PNG()
		picture, err := png.Decode(bytes.NewReader(content))
		if err != nil || picture.Bounds().Dx() != cards.Width || picture.Bounds().Dy() != cards.Height {
			t.Fatalf("%+v: %v", c, err)
		}
		if len(content) > 32<<10 || !bytes.Equal(content, c.PNG()) {
			t.Errorf("%+v is a file of %d bytes, and another one each time", c, len(content))
		}
		if other, ok := seen[string(content)]; ok {
			t.Errorf("the pictures of %q and %q are the same", other, c.Title)
		}
		seen[string(content)] = c.Title
		for x := range cards.Width { // nothing is written over the margins
			for _, y := range []int{0, 40, cards.Height - 20} {
				if picture.At(x, y) != picture.At(0, 0) {
					t.Fatalf("%+v: there is a mark at %d, %d", c, x, y)
				}
			}
		}
		for y := range cards.Height {
			if picture.At(cards.Width-40, y) != picture.At(0, 0) {
				t.Fatalf("%+v: there is a mark at %d, %d", c, cards.Width-40, y)
			}
		}
		if dir := os.Getenv("CARDS"); dir != "" {
			_ = os.WriteFile(dir+"/card"+string(rune('a'+len(seen)))+".png", content, 0o600)
		}
	}
}

func TestFontsHaveEuropeanLetters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Go 1.26: “faster” – and smaller…": true, "Größe, ça, Łódź, Žižek": true, "Москва": true, "Ελλάδα": true, "": true, "a b\u00a0c": true,
		"東京": false, "سلام": false, "שלום": false, "👍": false,
	} {
		if got := cards.Has(text); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}

func BenchmarkPNG(b *testing.B) {
	c := cards.Card{Site: "Frontpage", Title: "Bidirectional Replication is coming to PostgreSQL 9.6, and what it means", Host: "blog.2ndquadrant.com", Accent: green}
	for b.Loop() {
		b.SetBytes(int64(len(c.PNG())))
	}
}
