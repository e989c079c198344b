package identity

// Code says why somebody is refused.
type Code string

// The closed set of codes.
const (
	Expired     Code = "TOKEN_EXPIRED"     // the token was good once: get a new one
	Invalid     Code = "TOKEN_INVALID"     // the token never counts here
	KeyUnknown  Code = "TOKEN_KEY_UNKNOWN" // the token names a key that is not known yet: try again in some seconds
	NameInvalid Code = "USER_NAME_INVALID" // a header gives something that is not one user's name
	Untrusted   Code = "PROXY_UNTRUSTED"   // the proxy's header came from an address that is not a proxy's
)

// Error is a refusal, and the only error of a Verifier. Its Message may be shown
// to whoever asked: it holds no part of the token and no text of a library. What
// it wraps is for the log only.
type Error struct {
	Code    Code
	Message string // one sentence in lower case, without a full stop
	cause   error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what led to the refusal, or nil when the message says it all.
func (e *Error) Unwrap() error { return e.cause }
