package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"frontpage/endpoint"
)

// Rates are the settings of rate limits and of the audit of votes.
type Rates struct {
	RateVotes       Rate   `env:"RATE_VOTES" placeholder:"N/DURATION" help:"Maximum number of votes per user and time window, such as 60/1m, or off. Default: 60/1m; in development mode off."`
	RatePosts       Rate   `env:"RATE_POSTS" placeholder:"N/DURATION" help:"Maximum number of posts per user. Default: 10/10m; in development mode off."`
	RateChanges     Rate   `env:"RATE_CHANGES" placeholder:"N/DURATION" help:"Maximum number of edits, regroupings and deletions per user. Default: 30/1m; in development mode off."`
	RateCost        Rate   `env:"RATE_COST" placeholder:"N/DURATION" help:"Maximum total complexity of a user's operations, points. Default: 100000/1m; in development mode off."`
	RateAddresses   int    `env:"RATE_ADDRESSES" default:"10" help:"Quota of an address, as a multiple of a user's quota, 1 to 1000000000. Anonymous clients are limited by address only."`
	AuditSecret     string `env:"AUDIT_SECRET" placeholder:"TEXT" help:"Secret of at least 32 bytes. If set, the time of each vote and a keyed hash of the voter's address are recorded for the command audit, for as long as voters are kept."`
	AuditSecretFile string `env:"AUDIT_SECRET_FILE" placeholder:"FILE" help:"File with that secret."`

	auditSecret string // of AuditSecret or AuditSecretFile, set by check
}

const minAuditSecret = 32 // bytes

// Rate is a rate limit as a setting gives it.
type Rate struct {
	endpoint.Rate
	given bool
}

const rateForm = "a rate such as 60/1m (1 to 1000000000 in at least 1s), or off"

// parseRate reads N/DURATION, or off.
func parseRate(text string) (Rate, error) {
	if text == "off" {
		return Rate{given: true}, nil
	}
	number, window, found := strings.Cut(text, "/")
	if !found {
		return Rate{}, errors.New("no slash")
	}
	most, err := strconv.Atoi(number)
	if err != nil {
		return Rate{}, err
	}
	d, err := parseDuration(window)
	if err != nil {
		return Rate{}, err
	}
	if most < 1 || most > endpoint.MaxRate || d < time.Second {
		return Rate{}, errors.New("out of range")
	}
	return Rate{endpoint.Rate{Most: most, Window: d}, true}, nil
}

// values are the given rates and, except in development mode, defaults for the others.
func (r *Rates) values(development bool) endpoint.Rates {
	withDefault := func(rate Rate, most int, window time.Duration) endpoint.Rate {
		if !rate.given && !development {
			return endpoint.Rate{Most: most, Window: window}
		}
		return rate.Rate
	}
	return endpoint.Rates{
		Votes:     withDefault(r.RateVotes, 60, time.Minute),
		Posts:     withDefault(r.RatePosts, 10, 10*time.Minute),
		Changes:   withDefault(r.RateChanges, 30, time.Minute),
		Cost:      withDefault(r.RateCost, 100_000, time.Minute),
		Addresses: r.RateAddresses,
	}
}

func (r *Rates) check() (err error) {
	if r.auditSecret, err = secret(r.AuditSecret, r.AuditSecretFile, "audit-secret"); err != nil {
		return err
	}
	if r.auditSecret != "" && len(r.auditSecret) < minAuditSecret {
		return Invalid(fmt.Errorf("it has %d bytes, want at least %d", len(r.auditSecret), minAuditSecret), secretFlag(r.AuditSecretFile, "audit-secret"))
	}
	return nil
}
