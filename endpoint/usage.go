package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
)

// What a subscription takes, bytes, measured as growth of the heap: besides its document and its variables,
// and for each article that it watches. Subscriptions of one client share a document if its text is
// the same; without what the cache of documents has besides, it takes half as much as there.
const (
	perSubscription = 4 << 10
	perWatched      = 64
	// perEventStream is what an event stream takes besides its subscription: its connection, its request and their
	// goroutines.
	perEventStream = 24 << 10
	perSocket      = 4 << 10
)

// usage is what a client holds, or all clients.
type usage struct {
	streams, subscriptions, watched, bytes int
	documents                              map[*ast.QueryDocument]int // how many subscriptions have it
}

// usageOf returns the usage of a client.
func usageOf[K comparable](all map[K]*usage, key K) *usage {
	u := all[key]
	if u == nil {
		u = &usage{}
		all[key] = u
	}
	return u
}

func forgetUnused[K comparable](all map[K]*usage, key K) {
	if u := all[key]; u != nil && u.streams == 0 && u.subscriptions == 0 {
		delete(all, key)
	}
}

// weight is what one subscription adds to a usage.
type weight struct {
	watched, bytes int
	document       *ast.QueryDocument
	documentBytes  int
}

// weigh returns the weight of a subscription.
func (s *streams) weigh(o *operation) weight {
	w := weight{watched: 1, document: o.asked.Doc, documentBytes: perDocument + len(o.asked.RawQuery) + perToken/2*countTokens(o.asked.RawQuery)}
	if s.watchedBy != nil {
		root := rootFields(o.asked)[0]
		w.watched = s.watchedBy(root.ArgumentMap(o.asked.Variables))
	}
	w.bytes = perSubscription + perWatched*w.watched + len(asJSON(o.asked.Variables))
	return w
}

// more returns how many bytes the usage grows by.
func (u *usage) more(w weight) int {
	if w.document == nil || u.documents[w.document] > 0 {
		return w.bytes
	}
	return w.bytes + w.documentBytes
}

func (u *usage) add(w weight) {
	if u.documents == nil {
		u.documents = map[*ast.QueryDocument]int{}
	}
	u.bytes += u.more(w)
	u.documents[w.document]++
	u.watched += w.watched
	u.subscriptions++
}

func (u *usage) remove(w weight) {
	if u.documents[w.document]--; u.documents[w.document] == 0 {
		delete(u.documents, w.document)
	}
	u.bytes -= u.more(w)
	u.watched -= w.watched
	u.subscriptions--
}

// admit counts a subscription and the bytes of what only it uses, or refuses it.
func (s *streams) admit(o *operation, besides int) *refusal {
	w := s.weigh(o)
	w.bytes += besides
	s.mu.Lock()
	defer s.mu.Unlock()
	bounds := s.bounds(ViewerOf(o.ctx))
	for _, b := range bounds {
		if refused := b.exceededBy(w); refused != nil {
			s.forget(ViewerOf(o.ctx))
			return refused
		}
	}
	for _, b := range bounds {
		b.add(w)
	}
	o.admitted = &w
	return nil
}

// dismiss counts a subscription out, if it was counted.
func (s *streams) dismiss(o *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.admitted == nil {
		return
	}
	for _, b := range s.bounds(ViewerOf(o.ctx)) {
		b.remove(*o.admitted)
	}
	s.forget(ViewerOf(o.ctx))
	o.admitted = nil
}

// bounds returns what bounds the subscriptions of a client.
func (s *streams) bounds(v Viewer) []bound {
	part := s.limits.Memory / 5
	all := []bound{
		{&s.total, "this server", s.limits.Watched, s.limits.Memory},
		{usageOf(s.addresses, v.Network()), "your address", s.limits.WatchedPerAddress, part},
	}
	if v.Name != "" {
		all = append(all, bound{usageOf(s.viewers, v.Name), string(v.Name), s.limits.WatchedPerViewer, part})
	}
	return all
}

// forget drops the usage of a client that holds nothing.
func (s *streams) forget(v Viewer) {
	forgetUnused(s.addresses, v.Network())
	forgetUnused(s.viewers, v.Name)
}

// bound is a usage and its limits.
type bound struct {
	*usage
	owner      string
	maxWatched int
	maxBytes   int64
}

// exceededBy returns a refusal if the bound leaves no room for a subscription.
func (b bound) exceededBy(w weight) *refusal {
	refused := &refusal{code: codeWatchLimit, status: http.StatusTooManyRequests}
	switch {
	case b.watched+w.watched > b.maxWatched:
		refused.message = fmt.Sprintf("too many watched articles for %s: watch fewer, or complete a subscription", b.owner)
		refused.asked, refused.allowed = int64(b.watched+w.watched), int64(b.maxWatched)
	case int64(b.bytes+b.more(w)) > b.maxBytes:
		refused.message = fmt.Sprintf("the subscriptions for %s take too much memory: ask for fewer fields, use the same document for all, or complete a subscription", b.owner)
		refused.asked, refused.allowed = int64(b.bytes+b.more(w)), b.maxBytes
	default:
		return nil
	}
	return refused
}

// begins runs f, which charges or begins a subscription. Of thousands that come at once, a few use the store at a
// time: the others wait here, and not for a connection that requests need.
func (s *streams) begins(ctx context.Context, timeout time.Duration, f func() *refusal) *refusal {
	select {
	case s.opening <- struct{}{}: // without a timer
	default:
		patience := time.NewTimer(timeout)
		defer patience.Stop()
		select {
		case s.opening <- struct{}{}:
		case <-patience.C:
			return tookTooLong(http.StatusServiceUnavailable)
		case <-ctx.Done():
			return wasCancelled()
		}
	}
	defer func() { <-s.opening }()
	return f()
}
