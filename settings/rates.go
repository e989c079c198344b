package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"frontpage/endpoint"
)

// Rates are the settings of rate limits and of the audit of votes.
type Rates struct {
	Rates           RateList      `placeholder:"KIND=RATE" help:"Rates that differ from the defaults: a maximum number per user and time window, or off, for votes, posts, changes, reports and cost; new-votes, new-posts, new-changes and new-reports for new users. addresses=N gives an address N times a user's rate; off alone turns all off. Default: votes=60/1m posts=10/10m changes=30/1m reports=10/10m cost=100000/1m addresses=10; in development mode only those given."`
	NewUserAge      time.Duration `placeholder:"DURATION" help:"How long users are new, whole seconds, such as 7d; 0, the default: never. New users cannot vote down, and FRONTPAGE_RATES can limit them further."`
	NewUserClaim    string        `placeholder:"TEXT" help:"Claim with the time when the account was created, in Unix seconds or as in RFC 3339; dots separate nested names. Without it, the age counts from the first sign-in on the site, or else from the first post or vote."`
	AuditSecret     string        `placeholder:"TEXT" help:"Secret of at least 32 bytes. If set, the time of each vote and a keyed hash of the voter's address are kept for the command audit, as long as voters are."`
	AuditSecretFile string        `hidden:""`

	auditSecret string // of AuditSecret or AuditSecretFile, set by check
}

const minAuditSecret = 32 // bytes

// RateList are the rate limits of a setting.
type RateList struct {
	rates     map[string]endpoint.Rate // by kind; of off the zero value
	addresses int                      // 0: not given
}

var (
	rateKinds    = []string{"votes", "posts", "changes", "reports", "cost", "new-votes", "new-posts", "new-changes", "new-reports"}
	defaultRates = map[string]endpoint.Rate{
		"votes": {Most: 60, Window: time.Minute}, "posts": {Most: 10, Window: 10 * time.Minute},
		"changes": {Most: 30, Window: time.Minute}, "reports": {Most: 10, Window: 10 * time.Minute}, "cost": {Most: 100_000, Window: time.Minute},
	}
)

const (
	maxNewUserAge = 3650 * 24 * time.Hour

	defaultAddresses = 10

	newUsers = "new-" // begins the kinds of rates of new users

	ratesForm = "a list such as votes=60/1m posts=off addresses=10, of rates for votes, posts, changes, reports, cost, new-votes, new-posts, new-changes and new-reports (1 to 1000000000 in at least 1s), or off"
)

var errRates = errors.New("invalid rates")

// parseRates reads KIND=RATE and addresses=N, separated by blanks or commas. off stands for all kinds.
func parseRates(text string) (RateList, error) {
	list := RateList{rates: map[string]endpoint.Rate{}}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == ',' }) {
		kind, value, _ := strings.Cut(word, "=")
		switch {
		case word == "off":
			for _, kind := range rateKinds {
				list.rates[kind] = endpoint.Rate{}
			}
		case kind == "addresses":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > endpoint.MaxRate {
				return list, errRates
			}
			list.addresses = n
		case slices.Contains(rateKinds, kind):
			rate, err := parseRate(value)
			if err != nil {
				return list, err
			}
			list.rates[kind] = rate
		default:
			return list, errRates
		}
	}
	return list, nil
}

// parseRate reads N/DURATION, or off.
func parseRate(text string) (endpoint.Rate, error) {
	if text == "off" {
		return endpoint.Rate{}, nil
	}
	number, window, _ := strings.Cut(text, "/")
	most, err := strconv.Atoi(number)
	d, wrong := parseDuration(window)
	if err != nil || wrong != nil || most < 1 || most > endpoint.MaxRate || d < time.Second {
		return endpoint.Rate{}, errRates
	}
	return endpoint.Rate{Most: most, Window: d}, nil
}

// values are the given rates and, except in development mode, defaults for the others.
func (r *Rates) values(development bool) endpoint.Rates {
	rates := map[string]endpoint.Rate{}
	if !development {
		maps.Copy(rates, defaultRates)
	}
	maps.Copy(rates, r.Rates.rates)
	ofNew := map[string]endpoint.Rate{}
	for kind, rate := range rates {
		if rule, isNew := strings.CutPrefix(kind, newUsers); isNew && rate.Most > 0 {
			ofNew[rule] = rate
		}
	}
	return endpoint.Rates{
		Votes: rates["votes"], Posts: rates["posts"], Changes: rates["changes"], Reports: rates["reports"], Cost: rates["cost"], New: ofNew,
		Addresses: cmp.Or(r.Rates.addresses, defaultAddresses),
	}
}

// ratesText returns rates as the setting has them.
func ratesText(r endpoint.Rates) string {
	text := fmt.Sprintf("votes=%s posts=%s changes=%s reports=%s cost=%s addresses=%d", rateText(r.Votes), rateText(r.Posts), rateText(r.Changes), rateText(r.Reports), rateText(r.Cost), r.Addresses)
	for _, rule := range slices.Sorted(maps.Keys(r.New)) {
		text += " " + newUsers + rule + "=" + rateText(r.New[rule])
	}
	return text
}

func rateText(r endpoint.Rate) string {
	if r.Most == 0 {
		return "off"
	}
	return fmt.Sprintf("%d/%s", r.Most, formatDuration(r.Window))
}

func (r *Rates) check() (err error) {
	if r.NewUserAge < 0 || r.NewUserAge > maxNewUserAge || r.NewUserAge%time.Second != 0 {
		return Invalid(fmt.Errorf("%v is not a whole number of seconds between 0 and 3650d", r.NewUserAge), "new-user-age")
	}
	if r.NewUserAge == 0 && len(r.values(true).New) > 0 {
		return Invalid(errors.New("rates of new users need FRONTPAGE_NEW_USER_AGE: how long users are new"), "rates")
	}
	r.auditSecret, err = secret(r.AuditSecret, r.AuditSecretFile, "audit-secret", minAuditSecret)
	return err
}
