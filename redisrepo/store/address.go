package store

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// errMalformed replaces errors that quote the URL and its password.
var errMalformed = errors.New("it cannot be parsed: write it like redis://user:password@host:6379/0, " +
	"and percent-encode : / ? # [ ] @ % in a user name or password")

// invalidURL is the error of an unusable Options.URL. It never quotes the URL.
func (o Options) invalidURL(err error) error {
	if quoting := new(url.Error); errors.As(err, &quoting) {
		err = errMalformed
	}
	return fmt.Errorf("%s: %w", o.name("URL"), err)
}

// remote is what a URL says about a Remote store.
type remote struct {
	client     redis.UniversalClient
	address    string // to show
	partitions int    // 0 if it does not say
	acks       int
}

// openURL creates the client for a URL. It connects to nothing.
func openURL(o Options, scheme, rest string) (*remote, error) {
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	// An @ here means that the password holds an unencoded / ? or #: its parts would be parsed as a host and
	// a path, and shown. Only the path of a socket without credentials may have one.
	if strings.Contains(tail, "@") && (scheme != "unix" || authority != "") {
		return nil, o.invalidURL(errMalformed)
	}
	plain, several, _ := strings.Cut(scheme, "+")
	if several == "" {
		return openServer(o, scheme, rest)
	}
	at := strings.LastIndex(authority, "@")
	u, err := url.Parse("redis://" + authority[:at+1] + several + tail) // net/url accepts only one host
	if err != nil || u.Fragment != "" {
		return nil, o.invalidURL(errMalformed)
	}
	u.Scheme = plain
	hosts := strings.Split(authority[at+1:], ",")
	if several == "sentinel" {
		return openSentinels(o, u, hosts)
	}
	return openCluster(o, u, hosts)
}

// openServer is openURL for a single server.
func openServer(o Options, scheme, rest string) (*remote, error) {
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Fragment != "" || scheme == "unix" && u.Host != "" {
		return nil, o.invalidURL(errMalformed)
	}
	r, err := o.parameters(u, 0)
	if err != nil {
		return nil, err
	}
	client, err := newClient(u, o)
	if err != nil {
		return nil, err
	}
	where := client.Options().Addr
	switch {
	case scheme == "unix":
		where = (&url.URL{Path: where}).EscapedPath() // a ? or # in it would end the path
	case !validHost(where):
		return nil, errors.Join(o.invalidURL(errMalformed), client.Close())
	default:
		where = strings.ReplaceAll(where, "%", "%25") // the zone of an IPv6 address
	}
	r.client, r.address = client, address(scheme, where, client.Options().DB)
	return r, nil
}

// parameters removes from the URL the parameters that are not go-redis'. acks is the default of that parameter.
func (o Options) parameters(u *url.URL, acks int) (*remote, error) {
	r, query := &remote{acks: acks}, u.Query()
	if o.Acks != nil {
		r.acks = *o.Acks
	}
	if query.Has("partitions") {
		n, err := strconv.ParseUint(query.Get("partitions"), 10, 31)
		if err != nil || n == 0 {
			return nil, o.invalidURL(errors.New("partitions must be a number such as 1, 2, 4, 8 or 16"))
		}
		r.partitions = int(n) // #nosec G115 -- 31 bits
	}
	if query.Has("acks") {
		n, err := strconv.ParseUint(query.Get("acks"), 10, 31)
		if err != nil || n > MaxAcks {
			return nil, o.invalidURL(fmt.Errorf("acks must be between 0 and %d", MaxAcks))
		}
		r.acks = int(n) // #nosec G115 -- at most MaxAcks
	}
	query.Del("partitions")
	query.Del("acks")
	u.RawQuery = query.Encode()
	return r, nil
}

// validHost reports whether a host with a port is a name or an IP address.
func validHost(hostPort string) bool {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return false
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	_, err = netip.ParseAddr(host)
	return err == nil || host != "" && !strings.ContainsAny(host, ":[]%/?#@")
}

// hostsAndPorts adds the port to the hosts that have none. An empty host is the error missing.
func (o Options) hostsAndPorts(hosts []string, port string, missing error) error {
	for i, host := range hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			hosts[i] = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		if host == "" {
			return o.invalidURL(missing)
		}
		if !validHost(hosts[i]) {
			return o.invalidURL(errMalformed)
		}
	}
	return nil
}

// openSentinels is openURL for a primary that Sentinels name.
func openSentinels(o Options, u *url.URL, hosts []string) (*remote, error) {
	scheme := u.Scheme
	missing := errors.New("it must name hosts and a master: " + scheme + "+sentinel://host1,host2/master")
	master, database, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if master == "" {
		return nil, o.invalidURL(missing)
	}
	if err := o.hostsAndPorts(hosts, "26379", missing); err != nil {
		return nil, err
	}
	r, err := o.parameters(u, 0)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	user, password := query.Get("sentinel_username"), query.Get("sentinel_password")
	query.Del("sentinel_username")
	query.Del("sentinel_password")
	query.Set("master_name", master)
	query["addr"] = hosts[1:]
	client, err := newFailoverClient(
		&url.URL{Scheme: scheme, Host: hosts[0], Path: "/" + database, RawQuery: query.Encode()},
		url.UserPassword(user, password), u.User, o)
	if err != nil {
		return nil, err
	}
	r.client, r.address = client, address(scheme+"+sentinel", strings.Join(hosts, ",")+"/"+url.PathEscape(master), client.Options().DB)
	return r, nil
}

// openCluster is openURL for a Redis Cluster. The hosts are some of its nodes, which name the others.
func openCluster(o Options, u *url.URL, hosts []string) (*remote, error) {
	scheme := u.Scheme
	if database := strings.Trim(u.Path, "/"); database != "" && database != "0" {
		return nil, o.invalidURL(errors.New("a Redis Cluster has database 0 only: write it like " + scheme + "+cluster://host1,host2"))
	}
	if err := o.hostsAndPorts(hosts, "6379", errors.New("it must name hosts: "+scheme+"+cluster://host1,host2")); err != nil {
		return nil, err
	}
	r, err := o.parameters(u, 1)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	query["addr"] = hosts[1:]
	client, err := newClusterClient(&url.URL{Scheme: scheme, User: u.User, Host: hosts[0], RawQuery: query.Encode()}, o)
	if err != nil {
		return nil, err
	}
	r.client, r.address = client, address(scheme+"+cluster", strings.Join(hosts, ","), 0)
	return r, nil
}

func address(scheme, where string, database int) string {
	if database == 0 {
		return scheme + "://" + where
	}
	return fmt.Sprintf("%s://%s (database %d)", scheme, where, database)
}
