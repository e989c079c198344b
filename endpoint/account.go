package endpoint

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"

	"frontpage/redisrepo/site"
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

// Accounts count what each address and each user occupies in this process, so that one cannot take what others need:
// connections and requests, running operations, open streams and subscriptions.
type Accounts struct {
	mu        sync.Mutex
	addresses map[netip.Addr]*account
	users     map[site.UserName]*account // streams and subscriptions only
	total     account                    // subscriptions of all
}

// NewAccounts returns empty accounts.
func NewAccounts() *Accounts {
	return &Accounts{addresses: map[netip.Addr]*account{}, users: map[site.UserName]*account{}}
}

// account is what an address or a user has. Its fields are guarded by Accounts.mu.
type account struct {
	amounts
	sending   chan struct{}              // has an element for each turn that has begun
	documents map[*ast.QueryDocument]int // how many subscriptions have it
}

// amounts are what an account counts. It is kept while one of them is not 0.
type amounts struct {
	received int        // bytes of connections, and of requests until they are answered
	running  [kinds]int // queries and mutations at work
	waiting  int        // those that wait for others of the address
	unread   int        // bytes of responses that are being sent
	turns    int        // that have begun, or wait for that

	streams, subscriptions, watched int
	held                            int // bytes of streams and subscriptions
}

// change changes the account of an address or a user. It is for those who hold Accounts.mu.
func change[K comparable](all map[K]*account, key K, by func(*account)) {
	a := all[key]
	if a == nil {
		a = &account{}
		all[key] = a
	}
	by(a)
	if a.amounts == (amounts{}) {
		delete(all, key)
	}
}

// weight is what a stream or a subscription adds to an account. Subscriptions of one account that share a document add its
// bytes once.
type weight struct {
	streams, subscriptions, watched, bytes int
	document                               *ast.QueryDocument
	documentBytes                          int
}

// add counts a weight once more, or once less: n is 1 or -1.
func (a *account) add(w weight, n int) {
	a.streams += n * w.streams
	a.subscriptions += n * w.subscriptions
	a.watched += n * w.watched
	a.held += n * w.bytes
	if w.document == nil {
		return
	}
	if a.documents == nil {
		a.documents = map[*ast.QueryDocument]int{}
	}
	before := a.documents[w.document]
	a.documents[w.document] = before + n
	if before == 0 || before+n == 0 {
		a.held += n * w.documentBytes
	}
	if before+n == 0 {
		delete(a.documents, w.document)
	}
}

// count adds a weight to all accounts of a client, or removes it: n is 1 or -1. It is for those who hold mu.
func (s *streams) count(v Viewer, w weight, n int) {
	s.total.add(w, n)
	if address := v.Network(); address.IsValid() {
		change(s.addresses, address, func(a *account) { a.add(w, n) })
	}
	if v.Name != "" {
		change(s.users, v.Name, func(a *account) { a.add(w, n) })
	}
}

// add adds a weight to all accounts of a client, or to none if one of them has no room. It is for those who hold mu.
func (s *streams) add(v Viewer, w weight) *refusal {
	s.count(v, w, 1)
	refused := s.exceeded(v)
	if refused != nil {
		s.count(v, w, -1)
	}
	return refused
}

// bound is an account, and the most that it may have.
type bound struct {
	*account
	owner                           string
	maxStreams, maxWatched, maxHeld int
}

// exceeded refuses a client one of whose accounts has more than it may.
func (s *streams) exceeded(v Viewer) *refusal {
	memory := int(s.limits.Memory)
	bounds := []bound{{&s.total, "this server", math.MaxInt, s.limits.Watched, memory}}
	if a := s.addresses[v.Network()]; a != nil {
		bounds = append(bounds, bound{a, "your address", s.limits.PerAddress, s.limits.WatchedPerAddress, memory / 5})
	}
	if a := s.users[v.Name]; a != nil {
		bounds = append(bounds, bound{a, string(v.Name), s.limits.PerViewer, s.limits.WatchedPerViewer, memory / 5})
	}
	for _, b := range bounds {
		if b.streams > b.maxStreams {
			return b.refuse(codeStreamLimit, "too many open streams for %s: close one", b.streams, b.maxStreams)
		}
	}
	for _, b := range bounds {
		switch {
		case b.watched > b.maxWatched:
			return b.refuse(codeWatchLimit, "too many watched articles for %s: watch fewer, or complete a subscription", b.watched, b.maxWatched)
		case b.held > b.maxHeld:
			return b.refuse(codeWatchLimit, "the subscriptions for %s take too much memory: ask for fewer fields, use the same document for all, or complete a subscription",
				b.held, b.maxHeld)
		}
	}
	return nil
}

func (b bound) refuse(code, message string, asked, allowed int) *refusal {
	return &refusal{
		code: code, message: fmt.Sprintf(message, b.owner), status: http.StatusTooManyRequests, asked: int64(asked), allowed: int64(allowed),
	}
}

// admit counts a subscription and the bytes of what only it uses, or refuses it.
func (s *streams) admit(o *operation, besides int) *refusal {
	text := o.asked.RawQuery
	w := weight{subscriptions: 1, watched: 1, document: o.asked.Doc, documentBytes: perDocument + len(text) + perToken/2*countTokens(text)}
	if s.watchedBy != nil {
		w.watched = s.watchedBy(rootFields(o.asked)[0].ArgumentMap(o.asked.Variables))
	}
	w.bytes = perSubscription + perWatched*w.watched + len(asJSON(o.asked.Variables)) + besides
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := s.add(ViewerOf(o.ctx), w)
	if refused == nil {
		o.admitted = &w
	}
	return refused
}

// dismiss counts a subscription out, if it was counted.
func (s *streams) dismiss(o *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.admitted != nil {
		s.count(ViewerOf(o.ctx), *o.admitted, -1)
		o.admitted = nil
	}
}
