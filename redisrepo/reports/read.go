package reports

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

// filed names a report by its article, and the member of the user or ! and the reference of a notice.
type filed struct {
	article site.ArticleID
	by      string
}

// find reads reports, nil for those that do not exist, in two round trips.
func (r *Reports) find(ctx context.Context, asked []filed) ([]*Report, error) {
	heads, err := wire.ReadEach(ctx, r.store, asked, func(pipe redis.Pipeliner, f filed) *redis.SliceCmd {
		return pipe.HMGet(ctx, r.store.Partition(f.article).Flags(f.article), append(stateFields, f.by)...)
	})
	if err != nil {
		return nil, failover.Wrap("read reports", err)
	}
	reports, states, numbers := make([]*Report, len(asked)), make([]state, len(asked)), make([]int, len(asked))
	texts := make([]*redis.SliceCmd, len(asked))
	for i, head := range heads {
		values := head.Val()
		if states[i], err = parseState(values[0], values[1]); err != nil {
			return nil, err
		}
		text, _ := values[2].(string)
		numbers[i], _ = strconv.Atoi(text)
	}
	err = r.store.Read(ctx, func(pipe redis.Pipeliner) {
		for i, f := range asked {
			if numbers[i] > 0 {
				_, through := states[i].batch(numbers[i])
				texts[i] = pipe.HMGet(ctx, r.store.Partition(f.article).Flags(f.article), strconv.Itoa(numbers[i]), decisionField(through))
			}
		}
	})
	if err != nil {
		return nil, failover.Wrap("read reports", err)
	}
	for i, f := range asked {
		if texts[i] == nil {
			continue
		}
		values := wire.Reply(texts[i].Val())
		if values.Text(0) == "" { // it has been changed meanwhile
			again, err := r.find(ctx, []filed{f})
			if err != nil {
				return nil, err
			}
			reports[i] = again[0]
			continue
		}
		if reports[i], err = states[i].report(f.article, numbers[i], values.Text(0), values.Text(1)); err != nil {
			return nil, err
		}
	}
	return reports, nil
}

// Item is an article in the queue of reports.
type Item struct {
	Article site.ArticleID
	Cursor  string
	Open    int        // number of open reports when it was read
	Since   *time.Time // of the first of them; nil: none is open
	Latest  int        // number of the newest one, decided or not

	state state
}

// LatestID returns the id of the newest report, nil if none is open: a decision through it is about all reports that
// were open when the item was read.
func (i *Item) LatestID() *string {
	if i.Open == 0 {
		return nil
	}
	return new((&Report{Article: i.Article, Number: i.Latest}).ID())
}

// place is a place in the queue, or in the list of a user's reports: at is the score, and articles with the same one are ordered by number.
type place struct {
	at float64
	id site.ArticleID
}

func (p place) compare(q place) int { return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(p.id, q.id)) }

func (p place) encode(list string) string {
	return site.EncodeCursor(list, strconv.FormatFloat(p.at, 'f', -1, 64), p.id.Number())
}

// decodePlace returns a function that decodes cursors of a list.
func decodePlace(list string) func(field, text string) (place, error) {
	return func(field, text string) (place, error) {
		parts, err := site.DecodeCursor(field, list, text)
		if err != nil {
			return place{}, err
		}
		if len(parts) == 2 {
			at, err := strconv.ParseFloat(parts[0], 64)
			id, wrong := site.ParseArticleID(parts[1])
			if err == nil && wrong == nil && math.Abs(at) <= site.MaxExact {
				return place{at, id}, nil
			}
		}
		return place{}, site.NotACursor(field)
	}
}

const queue = "flagged"

// Queue returns a page of the articles with open reports: first those with reports of illegal content, then by waiting
// time, longest first. kind limits it to articles with reports of that kind. Invalid requests are refused as by Walk.
func (r *Reports) Queue(ctx context.Context, kind *Kind, first *int, after *string) ([]*Item, site.PageInfo, error) {
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, r.store.Rules.PageSize, decodePlace(queue))
	if err != nil {
		return nil, site.PageInfo{}, err
	}
	var places []place
	items := map[site.ArticleID]*Item{}
	for size := q.Size + 2; ; size *= 4 {
		found, more, err := r.places(ctx, q.After, size)
		if err != nil {
			return nil, site.PageInfo{}, failover.Wrap("read the queue of reports", err)
		}
		read, err := r.Items(ctx, ids(found))
		if err != nil {
			return nil, site.PageInfo{}, err
		}
		places = places[:0]
		for i, item := range read {
			notices := item.state.notices
			if item.Open > 0 && (kind == nil || *kind == Notice && notices > 0 || *kind == Flag && item.Open > notices) {
				places, items[item.Article] = append(places, found[i]), item
			}
		}
		if !more || len(places) > q.Size {
			break
		}
	}
	p := site.NewPage(places, q.Size, false, q.After != nil, false)
	page := make([]*Item, len(p.Items))
	for i, place := range p.Items {
		page[i] = items[place.id]
		page[i].Cursor = place.encode(queue)
	}
	return page, p.Info(func(p place) string { return p.encode(queue) }), nil
}

// QueueLength returns the number of articles with open reports.
func (r *Reports) QueueLength(ctx context.Context) (int, error) {
	n, err := r.store.Sum(ctx, func(pipe redis.Pipeliner, p keys.Partition) *redis.IntCmd { return pipe.ZCard(ctx, p.Flagged()) })
	return n, failover.Wrap("count the reported articles", err)
}

// places reads the queue after a place, at least size of each partition if it has as many, and reports whether it goes on.
func (r *Reports) places(ctx context.Context, after *place, size int) (found []place, more bool, err error) {
	from := "-inf"
	if after != nil {
		from = strconv.FormatFloat(after.at, 'f', -1, 64)
	}
	parts, err := wire.ReadEach(ctx, r.store, r.store.Partitions, func(pipe redis.Pipeliner, p keys.Partition) *redis.ZSliceCmd {
		return pipe.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: p.Flagged(), ByScore: true, Start: from, Stop: "+inf", Count: int64(size)})
	})
	if err != nil {
		return nil, false, err
	}
	var end *place // up to here every partition was read; nil: to its end
	for _, part := range parts {
		some := placesOf(part.Val())
		if found = append(found, some...); len(some) == size {
			more = true
			// Redis orders articles with the same score by the bytes of their numbers: the last score may go on.
			if last := (place{some[size-1].at, 0}); end == nil || last.compare(*end) < 0 {
				end = &last
			}
		}
	}
	slices.SortFunc(found, place.compare)
	found = slices.DeleteFunc(found, func(p place) bool {
		return after != nil && p.compare(*after) <= 0 || end != nil && p.compare(*end) > 0
	})
	return found, more, nil
}

func placesOf(members []redis.Z) (places []place) {
	for _, z := range members {
		text, _ := z.Member.(string)
		if id, err := site.ParseArticleID(text); err == nil {
			places = append(places, place{z.Score, id})
		}
	}
	return places
}

func ids(places []place) []site.ArticleID {
	return site.Collect(places, func(p place) site.ArticleID { return p.id })
}

// Items returns an item for each article, also for those without open reports, in one round trip.
func (r *Reports) Items(ctx context.Context, ids []site.ArticleID) ([]*Item, error) {
	heads, err := wire.ReadEach(ctx, r.store, ids, func(pipe redis.Pipeliner, id site.ArticleID) *redis.SliceCmd {
		return pipe.HMGet(ctx, r.store.Partition(id).Flags(id), stateFields...)
	})
	if err != nil {
		return nil, failover.Wrap("read reports", err)
	}
	items := make([]*Item, len(ids))
	for i, head := range heads {
		s, err := parseState(head.Val()[0], head.Val()[1])
		if err != nil {
			return nil, err
		}
		items[i] = &Item{Article: ids[i], Open: s.open, Latest: s.last, state: s}
		if s.open > 0 {
			items[i].Since = &s.since
		}
	}
	return items, nil
}

// openStep is how many numbers of an article are read at once. Reports that were changed leave gaps between the others.
const openStep = 200

// OpenReports returns the first open reports of each item, up to most. It usually takes one round trip.
func (r *Reports) OpenReports(ctx context.Context, items []*Item, most int) ([][]*Report, error) {
	all, next := make([][]*Report, len(items)), make([]int, len(items))
	for i, item := range items {
		all[i], next[i] = []*Report{}, item.state.decided()+1
	}
	for {
		replies := make([]*redis.SliceCmd, len(items))
		asked := false
		err := r.store.Read(ctx, func(pipe redis.Pipeliner) {
			for i, item := range items {
				if len(all[i]) >= most || next[i] > item.Latest {
					continue
				}
				var fields []string
				for number := next[i]; number <= item.Latest && len(fields) < openStep; number++ {
					fields = append(fields, strconv.Itoa(number))
				}
				replies[i], asked = pipe.HMGet(ctx, r.store.Partition(item.Article).Flags(item.Article), fields...), true
			}
		})
		if err != nil {
			return nil, failover.Wrap("read reports", err)
		}
		if !asked {
			return all, nil
		}
		for i, item := range items {
			if replies[i] == nil {
				continue
			}
			for _, value := range replies[i].Val() {
				if text, ok := value.(string); ok && len(all[i]) < most {
					report, err := item.state.report(item.Article, next[i], text, "")
					if err != nil {
						return nil, err
					}
					all[i] = append(all[i], report)
				}
				next[i]++
			}
		}
	}
}

// ReportEdge is a report in the list of a user's reports.
type ReportEdge struct {
	Cursor string
	Node   *Report
}

// MadeBy returns a user's report of each article, nil for one that the user has not reported, in two round
// trips.
func (r *Reports) MadeBy(ctx context.Context, user site.UserName, articles []site.ArticleID) ([]*Report, error) {
	asked := site.Collect(articles, func(id site.ArticleID) filed { return filed{id, user.Member()} })
	return r.find(ctx, asked)
}

// Reported returns a page of the reports that a user made, the newest first. It may have fewer reports than requested
// although others follow: PageInfo says so.
func (r *Reports) Reported(ctx context.Context, user site.UserName, first *int, after *string) ([]*ReportEdge, site.PageInfo, error) {
	list := "reported " + user.Member()
	q, err := site.ParseRequest(site.PageRequest{First: first, After: after}, r.store.Rules.PageSize, decodePlace(list))
	if err != nil {
		return nil, site.PageInfo{}, err
	}
	members, err := r.store.Client.ZRevRangeWithScores(wire.Reading(ctx), r.store.Home(user).Reported(user), 0, -1).Result()
	if err != nil {
		return nil, site.PageInfo{}, failover.Wrap("read the reports of a user", err)
	}
	places := placesOf(members)
	slices.SortFunc(places, func(a, b place) int { return b.compare(a) })
	if q.After != nil {
		places = slices.DeleteFunc(places, func(p place) bool { return p.compare(*q.After) >= 0 })
	}
	p := site.NewPage(places, q.Size, false, q.After != nil, false)
	reports, err := r.MadeBy(ctx, user, ids(p.Items))
	if err != nil {
		return nil, site.PageInfo{}, err
	}
	edges := []*ReportEdge{}
	for i, report := range reports {
		if report != nil { // else it was refused, or is not made yet
			edges = append(edges, &ReportEdge{p.Items[i].encode(list), report})
		}
	}
	return edges, p.Info(func(p place) string { return p.encode(list) }), nil
}
