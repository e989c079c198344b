package endpoint

import (
	"fmt"
	"net/http"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// The closed set of codes of top-level errors. gqlgen's two are in it:
// GRAPHQL_PARSE_FAILED and GRAPHQL_VALIDATION_FAILED.
const (
	codeBadInput    = "BAD_USER_INPUT" // an argument is not of its form; message and path say which
	codeUnavailable = "UNAVAILABLE"    // the store does not answer; the request can be repeated
	codeTimeout     = "TIMEOUT"        // the request took too long; it can be repeated
	codeInternal    = "INTERNAL"       // a fault that was logged

	codeBadRequest       = "BAD_REQUEST"            // the request is not what GraphQL over HTTP asks for
	codeMethod           = "METHOD_NOT_ALLOWED"     // the header Allow says which
	codeNotAcceptable    = "NOT_ACCEPTABLE"         // the client takes no answer that there is
	codeMediaType        = "UNSUPPORTED_MEDIA_TYPE" // the body is not JSON
	codeOrigin           = "ORIGIN_NOT_ALLOWED"     // a WebSocket of a foreign page
	codePreflight        = "PREFLIGHT_REQUIRED"     // a GET lacks the header that a foreign page cannot send
	codeNotPersisted     = "PERSISTED_QUERY_NOT_FOUND"
	codeNotTrusted       = "DOCUMENT_NOT_TRUSTED"     // only documents of a list run here
	codeNoIntrospection  = "INTROSPECTION_DISABLED"   // the schema is not told
	codeRate             = "RATE_LIMITED"             // too much in too short a time; the header Retry-After says how long to wait
	codeForbidden        = "FORBIDDEN"                // this is for moderators
	codeStreamLimit      = "STREAM_LIMIT_EXCEEDED"    // too many streams of one address or viewer
	codeOperationLimit   = "OPERATION_LIMIT_EXCEEDED" // too many operations on one WebSocket
	codeBodyLimit        = "BODY_LIMIT_EXCEEDED"
	codeTokenLimit       = "TOKEN_LIMIT_EXCEEDED" // #nosec G101 -- words of a document, no credentials
	codeDepthLimit       = "DEPTH_LIMIT_EXCEEDED"
	codeAliasLimit       = "ALIAS_LIMIT_EXCEEDED"
	codeRootFieldLimit   = "ROOT_FIELD_LIMIT_EXCEEDED"
	codeDirectiveLimit   = "DIRECTIVE_LIMIT_EXCEEDED"
	codeFieldLimit       = "FIELD_LIMIT_EXCEEDED"
	codeCostLimit        = "COMPLEXITY_LIMIT_EXCEEDED" // gqlgen's own name for it
	codeIntrospectionMax = "INTROSPECTION_DEPTH_LIMIT_EXCEEDED"
)

// refused is an error that says, in public, why a request goes no further.
type refused struct {
	code    string
	message string
	status  int // of HTTP; 0: that of any document that cannot run
	// How much was asked for, at least, and how much is allowed; 0: no limit is behind it.
	asked, allowed int64
	wait           time.Duration // after which it would go; 0: not known
}

func (r *refused) Error() string { return r.message }

// badRequest refuses what is no GraphQL request at all.
func badRequest(format string, args ...any) *refused {
	return &refused{code: codeBadRequest, message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

// overLimit refuses a document for its size. things is what was counted.
func overLimit(code, things string, asked, allowed int) *refused {
	return &refused{
		code: code, asked: int64(asked), allowed: int64(allowed),
		message: fmt.Sprintf("the operation has %d %s, %d are allowed", asked, things, allowed),
	}
}

// list makes the refusal what gqlgen dispatches.
func (r *refused) list() gqlerror.List { return presentable(r) }

// presentable makes an error what gqlgen dispatches.
func presentable(err error) gqlerror.List { return gqlerror.List{gqlerror.Wrap(err)} }

// Forbidden refuses a field for its viewer's role.
func Forbidden(message string) error { return &refused{code: codeForbidden, message: message} }
