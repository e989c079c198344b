package redisrepo_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"frontpage/redisrepo/site"
	"frontpage/tests/require"
)

// The tests of the site read the same table.
func TestHostsOfLinks(t *testing.T) {
	t.Parallel()
	text := require.Value(os.ReadFile("testdata/hosts.json"))(t)
	hosts := map[string]string{}
	if err := json.Unmarshal(text, &hosts); err != nil || len(hosts) < 20 {
		t.Fatalf("%d hosts, %v", len(hosts), err)
	}
	for _, none := range []string{"", "go.dev", "ftp://go.dev/", "https://", "https://./", "https://.:8080/", "https://a b.example/", "mailto:a@go.dev", "javascript:alert(1)"} {
		hosts[none] = ""
	}
	for link, want := range hosts {
		if got := site.HostOf(link); string(got) != want {
			t.Errorf("the host of %q is %q, want %q", link, got, want)
		}
	}
}

func TestNamesOfHostsAreNormalized(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]site.HostName{
		"go.dev": "go.dev", "WWW.Go.dev.": "go.dev", "bücher.example": "xn--bcher-kva.example", "go.dev:443": "go.dev", "a.example:81": "a.example:81", "[::0]": "[::]",
	} {
		if got, err := site.ParseHostName(given); got != want || err != nil {
			t.Errorf("ParseHostName(%q) = %q, %v, want %q", given, got, err, want)
		}
	}
	for _, bad := range []string{"", " ", ".", ":80", "a b", "go.dev/", "go.dev?", "go.dev#", "me@go.dev", "https://go.dev", "a:b", "go.dev\n", strings.Repeat("a", 2001)} {
		_, err := site.ParseHostName(bad)
		wantRefused(t, err, "INVALID")
	}
}
