package store

import "strings"

// ParseURL parses Options.URL as Open does for a remote store, without connecting, and returns the address to
// show.
func ParseURL(url string) (string, error) {
	scheme, rest, _ := strings.Cut(url, "://")
	r, err := openURL(Options{Timeout: defaultTimeout}, scheme, rest)
	if err != nil {
		return "", err
	}
	return r.address, r.client.Close()
}
