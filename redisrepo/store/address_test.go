package store_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"frontpage/redisrepo/store"
)

// database is the suffix of an address with a database other than 0.
var database = regexp.MustCompile(` \(database \d+\)$`)

// FuzzURL checks that neither an address nor an error shows the password, written with or without
// percent-encoding, and that an address parses to itself.
func FuzzURL(f *testing.F) {
	const secret = "s3cret"
	schemes := []string{"redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster"}
	for _, seed := range []struct{ user, before, after, rest string }{
		{"", "", "", "localhost"},
		{"user", "", "", "host:6379/2"},
		{"user", "p@ss/", "?#", "[::1]:6379"},
		{"user", "12/", "", "host:6379"},
		{"", "12?", "#", "host:6379"},
		{"user", "", "%", "host:6379"},
		{"user", "", "[", "host"},
		{"us/er", "", "", "/run/redis"},
		{"", "", "", "/run/redis?db=3"},
		{"", "1/", "", "/run/redis"},
		{"user", "", "", "a,b:26379/main/1?sentinel_password=other&pool_size=5"},
		{"user", "", "", "a,,b/main"},
		{"user", "", "", "a,[::1]:7000,b/0?partitions=16&acks=1"},
		{"user", "", "", "a{b/main"},
		{"user", "", "", "host?pool_size=-1"},
		{"user", "", "", "host/zero"},
	} {
		for i := range schemes {
			f.Add(uint8(i), seed.user, seed.before, seed.after, seed.rest)
		}
	}
	f.Fuzz(func(t *testing.T, scheme uint8, user, before, after, rest string) {
		if strings.Contains(rest, secret) || strings.Contains(user, secret) {
			return // not the password
		}
		if strings.Contains(rest, "idle_conns") {
			return // the client would connect at once
		}
		prefix := schemes[int(scheme)%len(schemes)] + "://"
		password := before + secret + after
		inputs := []string{prefix + url.UserPassword(user, password).String() + "@" + rest}
		if !strings.HasPrefix(prefix+user, "unix:///") { // then this is a path without a password
			inputs = append(inputs, prefix+user+":"+password+"@"+rest)
		}
		for _, input := range inputs {
			address, err := store.ParseURL(input)
			if err != nil {
				if text := err.Error(); strings.Contains(text, secret) || !strings.HasPrefix(text, "URL: ") {
					t.Errorf("%q: error = %q, want the name of the option and no password", input, text)
				}
				continue
			}
			if strings.Contains(address, secret) || !strings.HasPrefix(address, prefix) {
				t.Errorf("%q: address = %q, want the scheme and no password", input, address)
			}
			shown := database.ReplaceAllString(address, "")
			if again, err := store.ParseURL(shown); again != shown {
				t.Errorf("%q: address = %q, which parses to %q, %v", input, address, again, err)
			}
		}
	})
}

// A parsed URL never selects a server that the URL does not name.
func TestAddressNamesTheServerOfTheURL(t *testing.T) {
	t.Parallel()
	var got []string
	for _, input := range []string{
		"redis://localhost", "redis://user:s3cret@host:7000/3", "rediss://[::1]", "unix:///run/redis?db=1",
		"unix://user:s3cret@/run/a%3Fb", "redis+sentinel://a,b:1,[::1]/main/2", "redis://",
		"redis+cluster://user:s3cret@a,b:1,[::1]/0", "rediss+cluster://a?partitions=16",
	} {
		address, err := store.ParseURL(input)
		if err != nil {
			address = err.Error()
		}
		got = append(got, address)
	}
	want := []string{
		"redis://localhost:6379", "redis://host:7000 (database 3)", "rediss://[::1]:6379", "unix:///run/redis (database 1)",
		"unix:///run/a%3Fb", "redis+sentinel://a:26379,b:1,[::1]:26379/main (database 2)", "redis://localhost:6379",
		"redis+cluster://a:6379,b:1,[::1]:6379", "rediss+cluster://a:6379",
	}
	if !slices.Equal(got, want) {
		t.Errorf("addresses = %q, want %q", got, want)
	}
}
