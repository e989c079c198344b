package signin

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// errUnreadable is the reason of everything that the provider answers and that no other reason describes.
var errUnreadable = errors.New("the answer cannot be read")

var errOtherUser = errors.New("the answer is about another user")

// reason returns an error for the log that has no part of what the provider answered. Errors of the libraries quote it,
// with tokens, codes and claims of users.
func reason(err error) error {
	var (
		refusal *oauth2.RetrieveError
		status  *statusError
		address *net.OpError
		name    *net.DNSError
		trust   *tls.CertificateVerificationError
		request *url.Error
		invalid *tokenError
	)
	switch {
	case errors.As(err, &refusal) && refusal.ErrorCode == "":
		return fmt.Errorf("the answer has status %d and no code", refusal.Response.StatusCode)
	case errors.As(err, &refusal):
		return fmt.Errorf("the answer has status %d and the code %s", refusal.Response.StatusCode, printable(refusal.ErrorCode))
	case errors.As(err, &status):
		return status
	case errors.As(err, &invalid):
		return invalid
	case errors.As(err, new(*settingError)):
		return err
	case errors.Is(err, errOtherUser):
		return errOtherUser
	case errors.As(err, &request) && request.Timeout():
		return errors.New("no answer in time")
	case errors.As(err, &trust):
		return trust
	case errors.As(err, &address):
		return address
	case errors.As(err, &name):
		return name
	}
	return errUnreadable
}

// tokenError is why an ID token is not accepted.
type tokenError struct {
	text string
	away bool // the keys cannot be read now
}

func (e *tokenError) Error() string { return "the ID token " + e.text }

// tokenErrors are by how go-oidc's errors begin, which end with what the token says.
var tokenErrors = []struct {
	begins string
	tokenError
}{
	{"failed to verify signature: fetching keys", tokenError{"names an unknown key, and the provider's keys cannot be read now", true}},
	{"failed to verify signature", tokenError{"is not signed by the provider", false}},
	{"oidc: id token issued by", tokenError{"is of another issuer", false}},
	{"oidc: expected audience", tokenError{"is for another client", false}},
	{"oidc: current time", tokenError{"is not valid yet", false}},
	{"oidc: malformed jwt", tokenError{"is missing or malformed", false}},
	{"oidc: id token not signed", tokenError{"is not signed by the provider", false}},
}

// invalidToken says why an ID token is not accepted, without a part of it.
func invalidToken(err error) *tokenError {
	if errors.As(err, new(*oidc.TokenExpiredError)) {
		return &tokenError{text: "is expired"}
	}
	for _, e := range tokenErrors {
		if strings.HasPrefix(err.Error(), e.begins) {
			return &e.tokenError
		}
	}
	return &tokenError{text: "is not valid"}
}

// Codes of errors that providers give (RFC 6749, 4.1.2.1 and 5.2; OpenID Connect Core 3.1.2.6). Any other is unknown.
var (
	awayCodes = []string{"server_error", "temporarily_unavailable"}
	userCodes = []string{"invalid_grant", "access_denied", "login_required", "interaction_required", "consent_required", "account_selection_required"}
	siteCodes = []string{"invalid_client", "invalid_request", "invalid_scope", "unauthorized_client", "unsupported_grant_type", "unsupported_response_type"}
)

// isAway reports whether a token endpoint may answer otherwise in a moment.
func isAway(refusal *oauth2.RetrieveError) bool {
	status := refusal.Response.StatusCode
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
		slices.Contains(awayCodes, refusal.ErrorCode)
}

// Outcome is how a sign-in or a renewal ended.
type Outcome string

// The outcomes of signing in.
const (
	SignedIn     Outcome = "signed_in"
	Refused      Outcome = "refused"       // the user, the provider or a check refused it
	ProviderAway Outcome = "provider_away" // the provider did not answer
	Failed       Outcome = "failed"        // the store is away, or the provider refuses this site
)

// The outcomes of renewing a session.
const (
	Renewed        Outcome = "renewed"
	RenewalRefused Outcome = "refused" // the session has ended at the provider, and here
	RenewalFailed  Outcome = "failed"  // the session stays valid, and is renewed later
)

// Counts counts sign-ins and renewals of sessions by outcome, since the process began.
type Counts struct {
	signedIn, refused, providerAway, failed atomic.Int64
	renewed, renewalRefused, renewalFailed  atomic.Int64
}

func (c *Counts) signIn(o Outcome) {
	map[Outcome]*atomic.Int64{SignedIn: &c.signedIn, Refused: &c.refused, ProviderAway: &c.providerAway, Failed: &c.failed}[o].Add(1)
}

func (c *Counts) renewal(o Outcome) {
	map[Outcome]*atomic.Int64{Renewed: &c.renewed, RenewalRefused: &c.renewalRefused, RenewalFailed: &c.renewalFailed}[o].Add(1)
}

// SignIns returns the number of sign-ins by outcome.
func (c *Counts) SignIns() map[Outcome]int64 {
	return map[Outcome]int64{SignedIn: c.signedIn.Load(), Refused: c.refused.Load(), ProviderAway: c.providerAway.Load(), Failed: c.failed.Load()}
}

// Renewals returns the number of renewals by outcome.
func (c *Counts) Renewals() map[Outcome]int64 {
	return map[Outcome]int64{Renewed: c.renewed.Load(), RenewalRefused: c.renewalRefused.Load(), RenewalFailed: c.renewalFailed.Load()}
}
