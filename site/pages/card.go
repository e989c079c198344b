package pages

import (
	"context"
	"encoding/hex"
	"image/color"
	"net/http"
	"strconv"
	"strings"
	"time"

	"frontpage/redisrepo/rates"
	"frontpage/site/cards"
)

const (
	// cardKept is how long a drawn card is kept, and how long caches may keep it.
	cardKept = time.Hour
	// cardBytes is how many bytes of cards are kept.
	cardBytes = 8 << 20
	// cardCost is what drawing a card costs, points.
	cardCost = 200
)

// card sends the picture of an article, which costs what its query costs, and more for drawing it. A title in other letters has
// no card.
func (s *server) card(w http.ResponseWriter, req *http.Request) {
	p, err := s.article(req)
	if err != nil {
		http.NotFound(w, req)
		return
	}
	s.describe(p, req)
	p.query, p.fill, p.article = "Card", func(*page) {}, 0
	if s.ask(w, req, p) == nil {
		http.Error(w, p.Problem, p.status)
		return
	}
	a := p.Data.Article
	if a == nil || a.DeletedAt != nil || !cards.Has(a.Title) {
		http.NotFound(w, req)
		return
	}
	c := cards.Card{Site: s.Site.Name, Title: a.Title, Accent: accent(s.Site.Accent)}
	if a.Link != nil {
		c.Host = host(*a.Link)
	}
	var wait time.Duration
	drawn, _ := s.cards.Do(req.Context(), c, func(context.Context) (content []byte, size int) {
		wait, _ = s.Work(req, cardCost, func() { content = c.PNG() })
		if content == nil {
			return nil, -1
		}
		return content, len(content)
	})
	if req.Context().Err() != nil {
		return // the client did not wait
	}
	if drawn == nil { // another client may have been the one that could not pay
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Retry-After", strconv.Itoa(max(rates.Seconds(wait), 1)))
		http.Error(w, p.T("tooMany"), http.StatusTooManyRequests)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "image/png")
	header.Set("Content-Length", strconv.Itoa(len(drawn)))
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(cardKept.Seconds())))
	header.Set("X-Content-Type-Options", "nosniff")
	if req.Method != http.MethodHead {
		_, _ = w.Write(drawn) // fails only if the client is gone
	}
}

// accent is a colour as in the settings, such as #17624a; without one, the style's.
func accent(setting string) color.RGBA {
	rgb, err := hex.DecodeString(strings.TrimPrefix(setting, "#"))
	if err != nil || len(rgb) != 3 {
		rgb = []byte{0x17, 0x62, 0x4a}
	}
	return color.RGBA{rgb[0], rgb[1], rgb[2], 0xff}
}

// Card is the URL of the picture in previews of an article, if it has one.
func (p *page) Card() string {
	if p.Article == nil || !cards.Has(p.Data.Article.Title) {
		return ""
	}
	return p.Base + p.Data.Article.Path() + "/card.png"
}
