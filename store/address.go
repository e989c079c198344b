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

// remoteClient creates the client for a URL and the address to show for it.
func remoteClient(o Options, scheme, rest string) (*redis.Client, string, error) {
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	// An @ here means that the password holds an unencoded / ? or #: its parts would be parsed as a host and
	// a path, and shown. Only the path of a socket without credentials may have one.
	if strings.Contains(tail, "@") && (scheme != "unix" || authority != "") {
		return nil, "", o.invalidURL(errMalformed)
	}
	if plain, ok := strings.CutSuffix(scheme, "+sentinel"); ok {
		return sentinelClient(o, plain, authority, tail)
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Fragment != "" || scheme == "unix" && u.Host != "" {
		return nil, "", o.invalidURL(errMalformed)
	}
	client, err := newClient(u, o)
	if err != nil {
		return nil, "", err
	}
	where := client.Options().Addr
	switch {
	case scheme == "unix":
		where = (&url.URL{Path: where}).EscapedPath() // a ? or # in it would end the path
	case !validHost(where):
		return nil, "", errors.Join(o.invalidURL(errMalformed), client.Close())
	default:
		where = strings.ReplaceAll(where, "%", "%25") // the zone of an IPv6 address
	}
	return client, address(scheme, where, client.Options().DB), nil
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

// sentinelClient parses the hosts itself: net/url accepts only one.
func sentinelClient(o Options, scheme, authority, tail string) (*redis.Client, string, error) {
	at := strings.LastIndex(authority, "@")
	u, err := url.Parse("redis://" + authority[:at+1] + "sentinel" + tail)
	if err != nil || u.Fragment != "" {
		return nil, "", o.invalidURL(errMalformed)
	}
	master, database, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	hosts := strings.Split(authority[at+1:], ",")
	for i, host := range hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			hosts[i] = net.JoinHostPort(strings.Trim(host, "[]"), "26379")
		}
		if master != "" && host != "" && !validHost(hosts[i]) {
			return nil, "", o.invalidURL(errMalformed)
		}
		if master == "" || host == "" {
			return nil, "", o.invalidURL(errors.New("it must name hosts and a master: " + scheme + "+sentinel://host1,host2/master"))
		}
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
		return nil, "", err
	}
	return client, address(scheme+"+sentinel", strings.Join(hosts, ",")+"/"+url.PathEscape(master), client.Options().DB), nil
}

func address(scheme, where string, database int) string {
	if database == 0 {
		return scheme + "://" + where
	}
	return fmt.Sprintf("%s://%s (database %d)", scheme, where, database)
}
