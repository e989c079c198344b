package signin

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"frontpage/redisrepo/rates"
)

// What one address may do: each end of a sign-in is a request to the provider.
const (
	ruleSignIns   = "sign-ins"
	maxSignIns    = 30
	signInsWindow = time.Minute
)

// admit returns why the end of a sign-in is not even looked at: its address has ended too many, or this one has ended
// before. All processes count together.
func (s *SignIn) admit(req *http.Request, f flow) *failure {
	repo := s.repo.Load()
	if repo == nil {
		return unstored(errNotReady)
	}
	balances, err := repo.Charge(req.Context(), "", []rates.Charge{{
		Rule: ruleSignIns, Most: maxSignIns, Window: signInsWindow, Amount: 1, Address: s.o.Client(req),
	}})
	if err != nil {
		return unstored(err)
	}
	if wait := balances[0].Wait; !balances[0].Kept {
		return &failure{
			outcome: Refused, status: http.StatusTooManyRequests, wait: wait, cause: errors.New("its address ends too many sign-ins"),
			text: fmt.Sprintf("Too many users of your network sign in at once. Try again in %d s.", rates.Seconds(wait)),
		}
	}
	// Longer than the state is accepted, however far another process' clock is ahead.
	first, err := repo.UseState(req.Context(), f.state, flowTime+2*flowAhead)
	switch {
	case err != nil:
		return unstored(err)
	case !first:
		return usedUp("it has ended before")
	}
	return nil
}
