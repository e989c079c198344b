package pages

import (
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"frontpage/redisrepo/site"
)

// hourForm is the form of an hour of the day in an address, which web/site/src/pages/past.tsx has, too.
var hourForm = regexp.MustCompile(`^([01]?\d|2[0-3])$`)

// firstOfPast is how many articles of a past hour a page begins with: a phone takes long for all 100. past.tsx has the same number.
const firstOfPast = 10

// past returns the page of the front page of an hour, which is that of hourOf in web/site/src/pages/past.tsx.
func (s *server) past(req *http.Request) (*page, error) {
	form, day := req.URL.Query(), strings.TrimSpace(req.PathValue("day"))
	now := s.Now().UTC().Truncate(time.Hour)
	at, path := now.Add(-24*time.Hour), "/past"
	if chosen := cmp.Or(day, form.Get("day")); chosen != "" {
		first, err := time.Parse(time.DateOnly, chosen)
		if err != nil {
			return nil, errNoPage
		}
		hour := 23
		if text := form.Get("hour"); hourForm.MatchString(text) {
			hour, _ = strconv.Atoi(text)
		}
		at, path = first.Add(time.Duration(hour)*time.Hour), "/past/"+chosen
		if day == "" { // what the form sends
			return &page{moved: hourPath(at)}, nil
		}
		if at.After(now) {
			at = now
		}
	}
	hour := &pastHour{at, now}
	return &page{
		query: "Past", variables: map[string]string{"at": at.Format(site.DateTime)}, canonical: path, later: true, Kind: "past", Past: hour,
		Title: s.Site.Texts.Text("frontPageOf", "day", hour.Day()), About: s.Site.Texts.Text("aboutFrontPages"),
		fill: func(p *page) { p.fillPast(day == "", form.Has("all")) },
	}, nil
}

// fillPast sets the rows of a past hour: the first ones, unless all are asked for. An hour that was not chosen and has no page,
// such as on a site that was imported since then, leads to the latest one.
func (p *page) fillPast(unchosen, all bool) {
	if p.Data.FrontPage != nil {
		for _, edge := range p.Data.FrontPage.Edges {
			p.Rows = append(p.Rows, row{Article: edge.Node, Page: p, Rank: edge.Rank})
		}
	}
	if len(p.Rows) == 0 && unchosen {
		p.moved = hourPath(p.Past.Last)
	}
	if all || len(p.Rows) <= firstOfPast {
		return
	}
	p.Rows, p.More = p.Rows[:firstOfPast], hourPath(p.Past.At)+"&all=1"
	var whole struct {
		Site, Viewer json.RawMessage
		FrontPage    struct{ Edges []json.RawMessage }
	}
	_ = json.Unmarshal(p.Answer.Data, &whole) // it was decoded before
	p.Answer.Data, _ = json.Marshal(map[string]any{
		"site": whole.Site, "viewer": whole.Viewer, "frontPage": map[string]any{"edges": whole.FrontPage.Edges[:firstOfPast]},
	})
}

// pastHour is the hour of a past front page, and the last one that can be chosen.
type pastHour struct{ At, Last time.Time }

// Day is the day of the hour.
func (h pastHour) Day() string { return h.At.Format(time.DateOnly) }

// Before is the path of the same hour a day before.
func (h pastHour) Before() string { return hourPath(h.At.Add(-day)) }

// Next is the path of the same hour a day later, if that is not in the future.
func (h pastHour) Next() string {
	if next := h.At.Add(day); !next.After(h.Last) {
		return hourPath(next)
	}
	return ""
}

// Latest is the path of the front page of this hour, unless it is the page.
func (h pastHour) Latest() string {
	if h.At.Equal(h.Last) {
		return ""
	}
	return hourPath(h.Last)
}

// hourPath is the path of the front page of an hour.
func hourPath(at time.Time) string {
	return "/past/" + at.Format(time.DateOnly) + "?hour=" + strconv.Itoa(at.Hour())
}
