package endpoint

import (
	"fmt"
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
	received int        // bytes of connections, and of requests until they are answered
	running  [kinds]int // queries and mutations at work
	waiting  int        // those that wait for others of the address
	unread   int        // bytes of responses that are being sent

	turns   int           // that have begun, or wait for that
	sending chan struct{} // has an element for each that has begun

	streams, subscriptions, watched int
	held                            int                        // bytes of streams and subscriptions
	documents                       map[*ast.QueryDocument]int // how many subscriptions have it
}

func (a *account) unused() bool {
	return a.received == 0 && a.running == [kinds]int{} && a.waiting == 0 && a.unread == 0 && a.turns == 0 && a.streams == 0 && a.subscriptions == 0 && a.held == 0
}

// accountOf returns the account of an address or a user.
func accountOf[K comparable](all map[K]*account, key K) *account {
	a := all[key]
	if a == nil {
		a = &account{}
		all[key] = a
	}
	return a
}

// dropUnused drops the account of an address or a user that has nothing.
func dropUnused[K comparable](all map[K]*account, key K) {
	if a := all[key]; a != nil && a.unused() {
		delete(all, key)
	}
}

// weight is what a subscription, or a stream without one, adds to an account.
type weight struct {
	subscriptions, watched, bytes int
	document                      *ast.QueryDocument
	documentBytes                 int
}

// weigh returns the weight of a subscription.
func (s *streams) weigh(o *operation) weight {
	w := weight{subscriptions: 1, watched: 1, document: o.asked.Doc, documentBytes: perDocument + len(o.asked.RawQuery) + perToken/2*countTokens(o.asked.RawQuery)}
	if s.watchedBy != nil {
		root := rootFields(o.asked)[0]
		w.watched = s.watchedBy(root.ArgumentMap(o.asked.Variables))
	}
	w.bytes = perSubscription + perWatched*w.watched + len(asJSON(o.asked.Variables))
	return w
}

// more returns how many bytes the account grows by.
func (a *account) more(w weight) int {
	if w.document == nil || a.documents[w.document] > 0 {
		return w.bytes
	}
	return w.bytes + w.documentBytes
}

func (a *account) add(w weight) {
	a.held += a.more(w)
	a.watched += w.watched
	a.subscriptions += w.subscriptions
	if w.document == nil {
		return
	}
	if a.documents == nil {
		a.documents = map[*ast.QueryDocument]int{}
	}
	a.documents[w.document]++
}

func (a *account) remove(w weight) {
	if w.document != nil {
		if a.documents[w.document]--; a.documents[w.document] == 0 {
			delete(a.documents, w.document)
		}
	}
	a.held -= a.more(w)
	a.watched -= w.watched
	a.subscriptions -= w.subscriptions
}

// bound is an account and the limits of its subscriptions.
type bound struct {
	*account
	owner      string
	maxWatched int
	maxHeld    int64
}

// bounds returns what bounds the subscriptions of a client.
func (s *streams) bounds(v Viewer) []bound {
	part := s.limits.Memory / 5
	all := []bound{
		{&s.total, "this server", s.limits.Watched, s.limits.Memory},
		{accountOf(s.addresses, v.Network()), "your address", s.limits.WatchedPerAddress, part},
	}
	if v.Name != "" {
		all = append(all, bound{accountOf(s.users, v.Name), string(v.Name), s.limits.WatchedPerViewer, part})
	}
	return all
}

// add adds a weight to all accounts of a client, or to none if one of them has no room. It is for those who hold mu.
func (s *streams) add(v Viewer, w weight) *refusal {
	defer s.dropUnused(v)
	bounds := s.bounds(v)
	for _, b := range bounds {
		if refused := b.exceededBy(w); refused != nil {
			return refused
		}
	}
	for _, b := range bounds {
		b.account.add(w)
	}
	return nil
}

// remove is for those who hold mu.
func (s *streams) remove(v Viewer, w weight) {
	for _, b := range s.bounds(v) {
		b.account.remove(w)
	}
	s.dropUnused(v)
}

func (s *streams) dropUnused(v Viewer) {
	dropUnused(s.addresses, v.Network())
	dropUnused(s.users, v.Name)
}

// admit counts a subscription and the bytes of what only it uses, or refuses it.
func (s *streams) admit(o *operation, besides int) *refusal {
	w := s.weigh(o)
	w.bytes += besides
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
		s.remove(ViewerOf(o.ctx), *o.admitted)
		o.admitted = nil
	}
}

// exceededBy returns a refusal if the bound leaves no room for a subscription.
func (b bound) exceededBy(w weight) *refusal {
	refused := &refusal{code: codeWatchLimit, status: http.StatusTooManyRequests}
	held := int64(b.held + b.more(w))
	switch {
	case b.watched+w.watched > b.maxWatched:
		refused.message = fmt.Sprintf("too many watched articles for %s: watch fewer, or complete a subscription", b.owner)
		refused.asked, refused.allowed = int64(b.watched+w.watched), int64(b.maxWatched)
	case held > b.maxHeld:
		refused.message = fmt.Sprintf("the subscriptions for %s take too much memory: ask for fewer fields, use the same document for all, or complete a subscription", b.owner)
		refused.asked, refused.allowed = held, b.maxHeld
	default:
		return nil
	}
	return refused
}
