package identity

// Code says why a caller is rejected.
type Code string

// The closed set of codes.
const (
	Expired     Code = "TOKEN_EXPIRED"     // the token was valid and has expired: get a new one
	Invalid     Code = "TOKEN_INVALID"     // the token will never be accepted
	KeyUnknown  Code = "TOKEN_KEY_UNKNOWN" // the token names a key that is not loaded yet: retry in a few seconds
	NameInvalid Code = "USER_NAME_INVALID" // the header is not exactly one valid user name
	Untrusted   Code = "PROXY_UNTRUSTED"   // the proxy's header came from an address that is not a proxy's
	NotService  Code = "FORBIDDEN"         // the caller is not a service, which may act for a user

	SessionEnded Code = "SESSION_ENDED"      // the cookie's session has ended: sign in again
	ForeignPage  Code = "ORIGIN_NOT_ALLOWED" // a page of another origin sent the cookie of a session
	Unavailable  Code = "UNAVAILABLE"        // the user of the session or token cannot be read now; the request can be repeated
)

// Refusal rejects a caller. It is the only error that the methods of a Verifier return. Its Message is safe
// to show to the client: it holds no part of the token and no text of a library. The error that it wraps is
// for the log only.
type Refusal struct {
	Code    Code
	Message string // one sentence in lower case, without a full stop
	cause   error
}

func (r *Refusal) Error() string { return r.Message }

// Unwrap returns the cause of the refusal, or nil if the message says everything.
func (r *Refusal) Unwrap() error { return r.cause }
