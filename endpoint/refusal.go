package endpoint

import (
	"fmt"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/rates"
	"frontpage/redisrepo/site"
)

// The closed set of codes of top-level errors. It includes gqlgen's GRAPHQL_PARSE_FAILED and
// GRAPHQL_VALIDATION_FAILED, and the codes of package identity.
const (
	codeBadInput    = "BAD_USER_INPUT" // an argument is malformed; message and path say which
	codeUnavailable = "UNAVAILABLE"    // the store does not answer; the request can be repeated
	codeTimeout     = "TIMEOUT"        // the request took too long; it can be repeated
	codeInternal    = "INTERNAL"       // a fault that was logged

	codeBadRequest       = "BAD_REQUEST"            // not a valid GraphQL over HTTP request
	codeMethod           = "METHOD_NOT_ALLOWED"     // the header Allow lists the allowed methods
	codeNotAcceptable    = "NOT_ACCEPTABLE"         // the client accepts no supported media type
	codeMediaType        = "UNSUPPORTED_MEDIA_TYPE" // the body is not JSON
	codeOrigin           = "ORIGIN_NOT_ALLOWED"     // a WebSocket of a foreign page
	codeNotPersisted     = "PERSISTED_QUERY_NOT_FOUND"
	codeNotTrusted       = "DOCUMENT_NOT_TRUSTED"     // only listed documents run
	codeNoIntrospection  = "INTROSPECTION_DISABLED"   // the schema is not public
	codeRate             = "RATE_LIMITED"             // the header Retry-After says how long to wait
	codeUnauthenticated  = "UNAUTHENTICATED"          // the field is not for anonymous callers
	codeCursorExpired    = "CURSOR_EXPIRED"           // the change feed has dropped what is after the cursor
	codeSearchNotReady   = "SEARCH_NOT_READY"         // the index of search is being built
	codeForbidden        = "FORBIDDEN"                // the caller's role does not allow this field
	codeStreamLimit      = "STREAM_LIMIT_EXCEEDED"    // too many streams for one address or user
	codeWatchLimit       = "WATCH_LIMIT_EXCEEDED"     // too many watched articles, or too much memory of subscriptions
	codeOperationLimit   = "OPERATION_LIMIT_EXCEEDED" // too many operations on one WebSocket
	codeBodyLimit        = "BODY_LIMIT_EXCEEDED"
	codeTokenLimit       = "TOKEN_LIMIT_EXCEEDED" // #nosec G101 -- tokens of a document, not credentials
	codeDepthLimit       = "DEPTH_LIMIT_EXCEEDED"
	codeAliasLimit       = "ALIAS_LIMIT_EXCEEDED"
	codeRootFieldLimit   = "ROOT_FIELD_LIMIT_EXCEEDED"
	codeDirectiveLimit   = "DIRECTIVE_LIMIT_EXCEEDED"
	codeFieldLimit       = "FIELD_LIMIT_EXCEEDED"
	codeValidationLimit  = "VALIDATION_LIMIT_EXCEEDED"
	codeCostLimit        = "COMPLEXITY_LIMIT_EXCEEDED" // gqlgen's own name for it
	codeResponseLimit    = "RESPONSE_LIMIT_EXCEEDED"
	codeIntrospectionMax = "INTROSPECTION_DEPTH_LIMIT_EXCEEDED"
)

// refusal is an error that is safe to show: it says why a request or an operation does not run.
type refusal struct {
	code    string
	message string
	status  int // of HTTP; 0: the usual status of a document that cannot run

	// What was asked for, at least, and what is allowed. 0 if no limit is involved.
	asked, allowed int64
	wait           time.Duration // after which the request may succeed; 0: unknown

	expired  *events.ExpiredError // only for codeCursorExpired
	progress *float64             // only for codeSearchNotReady

	// errors is shown instead of the refusal itself, if not empty.
	errors gqlerror.List
}

func (r *refusal) Error() string { return r.message }

// shown returns the error that a client sees.
func (r *refusal) shown() *gqlerror.Error {
	extensions := map[string]any{"code": r.code}
	if r.allowed > 0 {
		extensions["asked"], extensions["allowed"] = r.asked, r.allowed
	}
	if r.code == codeUnavailable && r.wait > 0 {
		extensions["retryAfterSeconds"] = rates.Seconds(r.wait)
	}
	if r.progress != nil {
		extensions["progress"] = *r.progress
	}
	if r.expired != nil {
		extensions["keptFrom"] = r.expired.KeptFrom.UTC().Format(site.DateTime)
		if !r.expired.LostFrom.IsZero() {
			extensions["lostFrom"] = r.expired.LostFrom.UTC().Format(site.DateTime)
		}
	}
	return &gqlerror.Error{Message: cutTo(r.message, maxMessage), Extensions: extensions}
}

// list returns the errors to dispatch.
func (r *refusal) list() gqlerror.List {
	if len(r.errors) > 0 {
		return r.errors
	}
	return presentable(r)
}

// presentable returns an error in the form that gqlgen dispatches.
func presentable(err error) gqlerror.List { return gqlerror.List{gqlerror.Wrap(err)} }

// response presents the refusal as the response of an operation.
func (r *refusal) response(op *operation) *graphql.Response {
	return op.exec.refuse(op.ctx, r.list())
}

// finish presents the refusal as what is sent instead of a response.
func (r *refusal) finish(op *operation) *finished {
	if r == overloaded {
		return refusedByOverload
	}
	return finish(r.response(op), r)
}

// alone presents the refusal as what is sent where there is no operation.
func (r *refusal) alone() *finished {
	return finish(&graphql.Response{Errors: gqlerror.List{r.shown()}}, r)
}

// streamable reports whether a client that prefers an event stream gets the refusal as an event. A refusal
// with an error status is never an event.
func (r *refusal) streamable() bool { return r == nil || r.status < http.StatusBadRequest }

// badRequest rejects a request that is not valid GraphQL over HTTP.
func badRequest(format string, args ...any) *refusal {
	return &refusal{code: codeBadRequest, message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

// malformed rejects a request whose JSON is not a GraphQL request.
func malformed(message string) *refusal {
	return &refusal{code: codeBadRequest, message: message, status: http.StatusUnprocessableEntity}
}

// overLimit rejects a document for its size. things is what was counted.
func overLimit(code, things string, asked, allowed int) *refusal {
	return &refusal{
		code: code, asked: int64(asked), allowed: int64(allowed),
		message: fmt.Sprintf("the operation has %d %s, %d are allowed", asked, things, allowed),
	}
}

// Unauthenticated returns the error of a field that anonymous callers may not read.
func Unauthenticated(message string) error {
	return &refusal{code: codeUnauthenticated, message: message}
}

// Forbidden returns the error of a field that the caller's role does not allow.
func Forbidden(message string) error { return &refusal{code: codeForbidden, message: message} }

// SearchNotReady returns the error of a field that needs the search index while that is being built. progress is from 0
// to 1.
func SearchNotReady(message string, progress float64) error {
	return &refusal{code: codeSearchNotReady, message: message, progress: &progress}
}
