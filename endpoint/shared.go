package endpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"sync/atomic"
	"time"

	"frontpage/endpoint/plan"
	"frontpage/endpoint/sharing"
	"frontpage/redisrepo"
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
)

// Dependence is what the response to an operation depends on, besides its document and its variables.
type Dependence int

// The dependences, from most to least.
const (
	OnCaller  Dependence = iota // the caller, the time, or what the caller is charged
	OnStore                     // the store: the response is the same for all callers
	OnEvent                     // the state of one article and the position of its event; no reads are needed
	OnArticle                   // the state of one article; no reads are needed
	OnSchema                    // the schema alone, which never changes while the process runs
)

// sharedBytes is how many bytes of responses to queries are kept.
const sharedBytes = 32 << 20

// ofSchemaBytes is how many bytes of responses that depend on the schema alone are kept. That to the standard
// introspection query takes up to 0.4 MB with its compressed forms.
const ofSchemaBytes = 16 << 20

// sharedQueries are the responses to queries that are the same for all callers. Each is made once at one moment: the
// callers that ask together get the same one, and so do those that ask within Options.SharedAnswers, until the next
// change that this process makes or learns of.
type sharedQueries = sharing.Results[sharedQuery, *finished]

// sharedQuery is an operation, its variables in JSON, and what an error does to its response.
type sharedQuery struct {
	preparedKey
	variables string
	onError   plan.OnError
}

func newSharedQueries(repo *redisrepo.Repo, lifetime time.Duration) *sharedQueries {
	if lifetime == 0 {
		return nil
	}
	return sharing.New[sharedQuery, *finished](lifetime, sharedBytes, func() uint64 { return repo.Store.Version() })
}

func (o *operation) query() sharedQuery {
	return sharedQuery{preparedKey{o.asked.RawQuery, o.asked.OperationName}, o.variables, o.onError}
}

// recall finds the response of an operation that depends on the schema alone, if it was made before. It costs a point for
// each PointBytes of it.
func (o *operation) recall() {
	if o.prepared.dependence != OnSchema {
		return
	}
	if f, ok := o.exec.ofSchema.get(o.query()); ok {
		o.kept, o.cost = f, max(o.cost, f.points())
	}
}

// run runs a query or a mutation, or returns the response to an equal query. Once that is sent, sent has to be called.
func (o *operation) run(timeout time.Duration) (f *finished) {
	if o.kept != nil {
		o.shares()
		f = o.kept
	} else {
		f = o.shared(timeout)
		if o.prepared.dependence == OnSchema && f.whole && len(o.asked.RawQuery) <= maxDocument {
			o.exec.ofSchema.add(o.query(), f, f.size()+len(o.asked.RawQuery)+len(o.variables))
		}
	}
	o.unread = len(f.plain.body)
	o.exec.shares.sends(o.exec.sharing(o.ctx), o.unread)
	return f
}

// sent notes that the response of run was sent.
func (o *operation) sent() { o.exec.shares.sends(o.exec.sharing(o.ctx), -o.unread) }

// shared runs a query or a mutation, or returns the response to an equal query of this moment.
func (o *operation) shared(timeout time.Duration) *finished {
	answers, query := o.exec.queries, o.query()
	if answers != nil && (o.prepared.dependence == OnCaller || o.exec.leavesOut(ViewerOf(o.ctx).Name)) {
		answers = nil
	}
	if answers != nil {
		if f, ok := answers.Get(query); ok && !o.differs(f) {
			o.shares()
			return f
		}
	}
	kind, address := o.kind(), o.exec.sharing(o.ctx)
	if refused := o.exec.shares.acquire(o.ctx, kind, address); refused != nil {
		return refused.finish(o)
	}
	defer o.exec.shares.release(kind, address)
	if answers == nil {
		return o.once(timeout)
	}
	f, err := answers.Do(o.ctx, query, func(ctx context.Context) (*finished, int) {
		o.led = true
		shared, differs := *o, new(atomic.Bool)
		shared.ctx = context.WithValue(withoutCaller(ctx), differsKey{}, differs)
		f := shared.once(timeout)
		f.differs = differs.Load()
		if !f.whole {
			return f, -1
		}
		return f, f.size()
	})
	if err != nil {
		return wasCancelled().finish(o)
	}
	if o.differs(f) {
		return o.once(timeout)
	}
	if !o.led {
		o.shares()
	}
	return f
}

// differs reports whether a shared response may not be that for this caller.
func (o *operation) differs(f *finished) bool { return f.differs && ViewerOf(o.ctx).Name != "" }

type differsKey struct{}

// MayDiffer notes that the response to authenticated users may differ from the shared one.
func MayDiffer(ctx context.Context) {
	if differs, ok := ctx.Value(differsKey{}).(*atomic.Bool); ok {
		differs.Store(true)
	}
}

// noCaller is the viewer of what is shared.
var noCaller = new(Viewer)

// withoutCaller returns a context in which nothing is known of a caller but who pays, so that nothing of one can be shared.
func withoutCaller(ctx context.Context) context.Context {
	b := billOf(ctx)
	return context.WithValue(context.WithValue(ctx, viewerKey{}, noCaller), billKey{}, bill{meter: b.meter, payers: b.payers})
}

// answerBytes is how many bytes of answers are kept. Each is needed only until it was sent to all watchers.
const answerBytes = 16 << 20

// perAnswer is what an answer takes besides its text, bytes.
const perAnswer = 256

// answerKey is the question of a subscription, see subscription.question, and the article that it is about.
type answerKey struct {
	question [sha256.Size]byte
	article  site.ArticleID
}

// readBytes is how many bytes of Reads are kept.
const readBytes = 16 << 20

// Reads shares results of reads that are the same for all callers, among operations whose responses are not. A result
// is shared for as long as a response would be, see Options.SharedAnswers.
type Reads struct {
	results *sharing.Results[any, outcome]
}

// outcome is what a read returned.
type outcome struct {
	value any
	err   error
}

// NewReads returns empty Reads. With the lifetime 0 they share nothing.
func NewReads(repo *redisrepo.Repo, lifetime time.Duration) Reads {
	if lifetime == 0 {
		return Reads{}
	}
	return Reads{sharing.New[any, outcome](lifetime, readBytes, func() uint64 { return repo.Store.Version() })}
}

// Shares reports whether Share shares reads for the operation of ctx. It does not for a response that is shared as a
// whole: older results would make it too old.
func (r Reads) Shares(ctx context.Context) bool {
	return r.results != nil && ctx.Value(viewerKey{}) != any(noCaller)
}

// Share returns the result of read, or of another operation's read with an equal key. Different kinds of reads need
// keys of different types. Do not modify the value, which operations use concurrently. read also returns the size of
// the value in bytes; its context has no caller.
func Share[V any](ctx context.Context, r Reads, key any, read func(context.Context) (value V, bytes int, err error)) (V, error) {
	if !r.Shares(ctx) {
		value, _, err := read(ctx)
		return value, err
	}
	result, err := r.results.Do(ctx, key, func(ctx context.Context) (outcome, int) {
		value, bytes, err := read(withoutCaller(ctx))
		if err != nil {
			bytes = -1
		}
		return outcome{value, err}, bytes
	})
	err = cmp.Or(err, result.err)
	failover.NoteOutage(ctx, err) // if it was another operation that called Redis
	value, _ := result.value.(V)
	return value, err
}
