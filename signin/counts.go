package signin

import "sync/atomic"

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
	RenewalFailed  Outcome = "failed"  // the session goes on, and is renewed later
)

// Counts are how often users signed in and sessions were renewed, by outcome, since the process began.
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
