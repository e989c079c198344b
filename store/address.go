package store

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// errMalformed takes the place of errors that quote the URL, and so its password.
var errMalformed = errors.New("the URL of the store cannot be read: it must look like redis://user:password@host:6379/0, " +
	"and in a user or password each of : / ? # [ ] @ % must be written in percent encoding")

// remoteClient makes the client for a URL, and the address to show for it.
func remoteClient(o Options, scheme, rest string) (*redis.Client, string, error) {
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	// Such an @ ends a password with a bare / ? or # in it, whose parts would be
	// taken for a host and a path, and shown.
	if scheme != "unix" && strings.Contains(tail, "@") {
		return nil, "", errMalformed
	}
	if plain, ok := strings.CutSuffix(scheme, "+sentinel"); ok {
		return sentinelClient(o, plain, authority, tail)
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Fragment != "" || scheme == "unix" && u.Host != "" {
		return nil, "", errMalformed
	}
	client, err := newClient(u, o.Timeout, o.TLS)
	if err != nil {
		return nil, "", err
	}
	return client, address(scheme, client.Options().Addr, client.Options().DB), nil
}

// sentinelClient reads the hosts by itself: net/url takes a single one.
func sentinelClient(o Options, scheme, authority, tail string) (*redis.Client, string, error) {
	at := strings.LastIndex(authority, "@")
	u, err := url.Parse("redis://" + authority[:at+1] + "sentinel" + tail)
	if err != nil || u.Fragment != "" {
		return nil, "", errMalformed
	}
	master, database, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	hosts := strings.Split(authority[at+1:], ",")
	for i, host := range hosts {
		if _, _, err := net.SplitHostPort(host); err != nil {
			hosts[i] = net.JoinHostPort(strings.Trim(host, "[]"), "26379")
		}
		if master == "" || host == "" {
			return nil, "", errors.New("the URL of the store must name hosts and a master: " + scheme + "+sentinel://host1,host2/master")
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
		url.UserPassword(user, password), u.User, o.Timeout, o.TLS)
	if err != nil {
		return nil, "", err
	}
	return client, address(scheme+"+sentinel", strings.Join(hosts, ",")+"/"+master, client.Options().DB), nil
}

func address(scheme, where string, database int) string {
	if database == 0 {
		return scheme + "://" + where
	}
	return fmt.Sprintf("%s://%s (database %d)", scheme, where, database)
}
