// Package denials keeps the denials by moderators, of all changes to a user or of links to a host, and the
// blocks between users.
package denials

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/net/publicsuffix"

	_ "frontpage/redisrepo/events" // moderation.lua
	"frontpage/redisrepo/failover"
	"frontpage/redisrepo/site"
	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var denyScript = wire.Script(luaFiles, "deny.lua")

const (
	// lookPause is how long Follow waits between two looks at the store. A denial is in force everywhere within a second.
	lookPause = 250 * time.Millisecond
	// kept is how long a denial is listed that has ended.
	kept = 400 * site.Day
	// mostDropped is how many old denials one call drops.
	mostDropped = 100

	fieldVersion = "version"

	// erasedPrefix and erasingPrefix begin, before the digest of a name, the fields of denials of erased users, and of those who
	// are being erased.
	erasedPrefix  = "erased:"
	erasingPrefix = "erasing:"
)

// Denials has all denials of a site, in memory, so that reading one takes no round trip. Follow keeps them up to date.
type Denials struct {
	store *wire.Store
	all   atomic.Pointer[list]

	OnErased func() // is called after a user was erased

	mu sync.Mutex // held while all is replaced, or is about to be

	blockers blockers
}

// list is what was read at one moment. It is not modified.
type list struct {
	version string // replaced by each change
	of      map[string]*Denial
	digests int // how many are known by a digest
}

// New returns the denials of a site. They are empty until ReadDenials is called.
func New(store *wire.Store) *Denials {
	d := &Denials{store: store, OnErased: func() {}}
	d.all.Store(&list{of: map[string]*Denial{}})
	return d
}

// Denial forbids a user all changes, or all users links to a host.
type Denial struct {
	User       site.UserName // empty: it is about Host
	Host       site.HostName
	Subdomains bool       // also for all names below Host
	Until      *time.Time // UTC, whole seconds; nil: for ever
	At         time.Time  // when it was said, UTC, whole seconds
	By         site.UserName
	Ground     site.Ground
	Reason     string

	Digest  string // of the name of an erased user; User is ErasedUser then
	Erasing bool   // it is in force while the user is being erased
}

// member is the field of the denial.
func (d *Denial) member() string {
	switch {
	case d.Erasing:
		return erasingPrefix + d.Digest
	case d.Digest != "":
		return erasedPrefix + d.Digest
	case d.User != "":
		return d.User.Member()
	}
	return site.HostPrefix + string(d.Host)
}

// isOver reports whether the denial has ended at a time.
func (d *Denial) isOver(now time.Time) bool { return d.Until != nil && !now.Before(*d.Until) }

// Text is the value of the denial's field.
func (d *Denial) Text() string { return fmt.Sprintf("%s %d %s", d.ends(), d.At.Unix(), d.says()) }

func (d *Denial) ends() string {
	if d.Until == nil {
		return "-"
	}
	return strconv.FormatInt(d.Until.Unix(), 10)
}

func (d *Denial) says() string {
	subdomains := 0
	if d.Subdomains {
		subdomains = 1
	}
	return fmt.Sprintf("%s %d %s\n%s", d.Ground, subdomains, d.By.Member(), d.Reason)
}

// Parse parses a field and its value, as Text returns it.
func Parse(member, text string) (*Denial, error) {
	line, reason, _ := strings.Cut(text, "\n")
	words := strings.SplitN(line, " ", 5)
	if len(words) != 5 {
		return nil, fmt.Errorf("the denial of %q is %q", member, text)
	}
	d := about(member)
	d.Subdomains, d.By, d.Ground, d.Reason = words[3] == "1", site.UserOf(words[4]), site.Ground(words[2]), reason
	at, err := site.ParseNumber(words[1])
	d.At = site.UnixTime(at)
	if words[0] != "-" {
		until, untilErr := site.ParseNumber(words[0])
		d.Until, err = new(site.UnixTime(until)), errors.Join(err, untilErr)
	}
	return d, err
}

// about returns a denial of whom or what a field is about.
func about(member string) *Denial {
	if host, isHost := strings.CutPrefix(member, site.HostPrefix); isHost {
		return &Denial{Host: site.HostName(host)}
	}
	if digest, isErased := strings.CutPrefix(member, erasedPrefix); isErased {
		return &Denial{User: site.ErasedUser, Digest: digest}
	}
	if digest, isErasing := strings.CutPrefix(member, erasingPrefix); isErasing {
		return &Denial{User: site.ErasedUser, Digest: digest, Erasing: true}
	}
	return &Denial{User: site.UserOf(member)}
}

// DenyUser denies a user all changes until a time, or for ever. A past time ends the denial; without a denial it is a
// no-op. A denial does not apply to moderators while they are moderators.
//
// The Refusal is Forbidden if the actor is not a moderator, or is the user itself, and Invalid or TooLong for an
// invalid name, time or reason; only ending a denial needs no reason.
func (d *Denials) DenyUser(ctx context.Context, name string, until *time.Time, ground site.Ground, reason string, by site.Actor) (*Denial, error) {
	if !by.Moderator {
		return nil, site.Refuse(site.Forbidden, "user", "only moderators can deny a user changes")
	}
	user, err := site.ParseUserName(name)
	switch {
	case err != nil:
		return nil, site.InField("user", err)
	case user == by.Name:
		return nil, site.Refuse(site.Forbidden, "user", "you cannot deny yourself changes, nor end that")
	case until != nil && until.UTC().Year() > 9999:
		return nil, site.Refuse(site.Invalid, "until", "a denial ends before the year 10000, or never")
	}
	if now := d.store.Now(); until != nil && until.Before(now) {
		until = &now // it ends now
	}
	if until != nil {
		until = new(until.UTC().Truncate(time.Second))
	}
	denial := &Denial{User: user, Until: until, By: by.Name, Ground: ground, Reason: reason}
	if all := d.all.Load(); all.digests > 0 { // a name that has left the store does not come back by it
		if digest := user.Digest(); all.of[erasingPrefix+digest] != nil || all.of[erasedPrefix+digest] != nil {
			denial.Digest = digest
		}
	}
	return d.deny(ctx, denial, by)
}

// DenyHost denies all users links to a host, and with subdomains to all names below it, or ends that. A host without a
// port stands for all of its ports.
//
// The Refusal is Forbidden if the actor is not a moderator, Invalid or TooLong for an invalid name or reason, and
// Invalid for subdomains of a public suffix (https://publicsuffix.org), such as com or co.uk.
func (d *Denials) DenyHost(ctx context.Context, name string, denied, subdomains bool, reason string, by site.Actor) (*Denial, error) {
	if !by.Moderator {
		return nil, site.Refuse(site.Forbidden, "host", "only moderators can deny links to a host")
	}
	host, err := site.ParseHostName(name)
	if err != nil {
		return nil, site.InField("host", err)
	}
	if denied && subdomains && isPublicSuffix(host) {
		return nil, site.Refuse(site.Invalid, "host", "%s is a public suffix, and sites of many owners are below it: name a site, or set subdomains to false to deny %[1]s alone", host)
	}
	denial := &Denial{Host: host, Subdomains: subdomains, By: by.Name, Ground: site.GroundRules, Reason: reason}
	if !denied {
		denial.Until = new(d.store.Now().UTC().Truncate(time.Second))
	}
	return d.deny(ctx, denial, by)
}

// isPublicSuffix reports whether a host is in the list of public suffixes. A name of one label that is not in it, such as
// localhost, is none.
func isPublicSuffix(host site.HostName) bool {
	name, _, _ := strings.Cut(string(host), ":")
	suffix, isICANN := publicsuffix.PublicSuffix(name)
	return suffix == name && (isICANN || strings.Contains(name, "."))
}

func (d *Denials) deny(ctx context.Context, denial *Denial, by site.Actor) (*Denial, error) {
	now := d.store.Now()
	why, broken := site.Why{Ground: denial.Ground, Reason: denial.Reason}.Check()
	if why.Reason == "" && len(broken) == 0 && !denial.isOver(now) {
		broken = site.Refuse(site.Invalid, "reason", "give a reason: it is shown with each refusal")
	}
	if len(broken) > 0 {
		return nil, broken
	}
	denial.Ground, denial.Reason = why.Ground, why.Reason
	d.mu.Lock() // so that no look that began before replaces the list after
	defer d.mu.Unlock()
	args := []any{
		denial.member(),        // ARGV[1] field
		denial.ends(),          // ARGV[2] ends
		denial.says(),          // ARGV[3] says
		rand.Text(),            // ARGV[4] version
		d.store.ScriptNow(),    // ARGV[5] now
		site.Seconds(kept),     // ARGV[6] kept
		site.ModerationEntries, // ARGV[7] max_entries
		by.Name.Member(),       // ARGV[8] by
		by.ViaMember(),         // ARGV[9] via
		string(denial.Ground),  // ARGV[10] ground
		denial.Reason,          // ARGV[11] reason
	}
	fixed := len(args)
	for member, old := range d.all.Load().of { // ARGV[12...] old
		if len(args) < fixed+mostDropped && old.isOver(now.Add(-kept)) {
			args = append(args, member)
		}
	}
	scriptKeys := []string{
		d.store.Partitions[0].Denials(),    // KEYS[1] denials
		d.store.Partitions[0].Moderation(), // KEYS[2] log
	}
	answer, err := d.store.Call(ctx, denyScript, scriptKeys, args)
	if err != nil {
		return nil, failover.Wrap("deny "+denial.member(), err)
	}
	if answer.Status() == "NONE" {
		return denial, nil
	}
	stored, err := Parse(denial.member(), answer.Text(1))
	if err != nil {
		return nil, err
	}
	next := list{version: d.all.Load().version, of: maps.Clone(d.all.Load().of)}
	next.of[stored.member()] = stored
	d.use(&next)
	if stored.Digest != "" {
		stored = new(*stored) // the caller knows the name
		stored.User = denial.User
	}
	return stored, nil
}

// Follow looks for changes by other processes until ctx ends.
func (d *Denials) Follow(ctx context.Context) {
	ctx = failover.Impatient(ctx)
	for ctx.Err() == nil {
		_ = d.ReadDenials(ctx) // the next look tries again; until then those that are known are in force
		failover.Wait(ctx, lookPause)
	}
}

// ReadDenials reads the denials if they have changed, and which users have begun to block others.
func (d *Denials) ReadDenials(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.read(ctx), d.readBlockers(ctx))
}

func (d *Denials) read(ctx context.Context) error {
	key := d.store.Partitions[0].Denials()
	// Before the others: a change meanwhile has another version, and is read by the next look.
	var version *redis.StringCmd
	err := d.store.Read(ctx, func(pipe redis.Pipeliner) { version = pipe.HGet(ctx, key, fieldVersion) })
	if err != nil {
		return failover.Wrap("look for denials", err)
	}
	if version.Val() == d.all.Load().version {
		return nil
	}
	next := list{version: version.Val()}
	err = d.store.Scan(ctx, wire.Scan{Command: redis.Cmdable.HScan, Key: key, Step: 1, Begin: func() { next.of = map[string]*Denial{} }, Handle: func(pairs []string) error {
		for pair := range slices.Chunk(pairs, 2) {
			if denial, err := Parse(pair[0], pair[1]); err == nil {
				next.of[pair[0]] = denial
			}
		}
		return nil
	}})
	if err != nil {
		return failover.Wrap("read denials", err)
	}
	d.use(&next)
	return nil
}

// use has a list of denials in force from now on. If a user who was being erased is not in it any more, this process forgets
// what it knows of names.
func (d *Denials) use(next *list) {
	isOver := false
	for member, old := range d.all.Load().of {
		isOver = isOver || old.Erasing && next.of[member] == nil
	}
	for _, denial := range next.of {
		if denial.Digest != "" {
			next.digests++
		}
	}
	d.all.Store(next)
	if isOver {
		d.blockers.forget()
		d.OnErased()
	}
}

// LastDenial returns the last stored denial of a user, in force or ended, or nil.
func (d *Denials) LastDenial(user site.UserName) *Denial { return d.all.Load().of[user.Member()] }

// DenialOf returns the denial that is in force for a user, or nil.
func (d *Denials) DenialOf(user site.UserName) *Denial {
	if d.all.Load().digests > 0 {
		digest := user.Digest()
		if denial := cmp.Or(d.inForce(erasingPrefix+digest), d.inForce(erasedPrefix+digest)); denial != nil {
			return denial
		}
	}
	return d.inForce(user.Member())
}

func (d *Denials) inForce(member string) *Denial {
	if denial := d.all.Load().of[member]; denial != nil && !denial.isOver(d.store.Now()) {
		return denial
	}
	return nil
}

// MayChange returns a Refusal, Denied, if a denial is in force for the actor.
func (d *Denials) MayChange(by site.Actor) error {
	denial := d.DenialOf(by.Name)
	if denial == nil || by.Moderator && !denial.Erasing {
		return nil
	}
	if denial.Erasing {
		return site.Refuse(site.Denied, "", "this user name is being erased: it can be used again when that is done")
	}
	until := ""
	if denial.Until != nil {
		until = " until " + denial.Until.Format("2 January 2006, 15:04 MST")
	}
	refusal := site.Refuse(site.Denied, "", "a moderator has denied you all changes%s, you can only read: %s", until, denial.Reason)
	refusal[0].Until, refusal[0].Reason = denial.Until, denial.Reason
	return refusal
}

// CheckLinks returns a Refusal, HostDenied, if the link or a link in the text leads to a denied host. Both may be empty.
func (d *Denials) CheckLinks(link, text string) (refusals site.Refusal) {
	if len(d.all.Load().of) == 0 {
		return nil
	}
	check := func(field string, hosts ...site.HostName) {
		for _, host := range hosts {
			if denial := d.ofHost(host); denial != nil {
				refusals = append(refusals, site.Refuse(site.HostDenied, field, "links to %s are not accepted here: %s", denial.Host, denial.Reason)...)
				return
			}
		}
	}
	check("link", site.HostOf(link))
	check("text", site.HostsIn(text)...)
	return refusals
}

// ofHost returns the denial of a host, or of a name above it.
func (d *Denials) ofHost(host site.HostName) *Denial {
	plain, port := host.Port()
	for name := plain; name != ""; {
		for _, n := range []string{name + port, name} {
			if denial := d.inForce(site.HostPrefix + n); denial != nil && (denial.Subdomains || name == plain) {
				return denial
			}
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return nil
}
