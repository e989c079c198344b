package structure_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// Imports run one way: server -> graph -> identity, redisrepo -> go-redis.
func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	forbidden := map[string][]string{
		"frontpage/identity":  {"frontpage/graph", "frontpage/endpoint", "frontpage/redisrepo", "frontpage/store", "frontpage/csvimport", "github.com/99designs/gqlgen/graphql"},
		"frontpage/redisrepo": {"frontpage/graph", "frontpage/identity", "frontpage/store", "frontpage/csvimport", "github.com/99designs/gqlgen", "github.com/vektah/gqlparser/v2", "net/http"},
		"frontpage/graph":     {"frontpage/store", "frontpage/csvimport"},
		"frontpage/store":     {"frontpage/graph", "frontpage/redisrepo", "frontpage/identity", "frontpage/csvimport"},
		"frontpage/csvimport": {"frontpage/graph", "frontpage/store"},
		"frontpage/web":       {"frontpage/graph", "frontpage/redisrepo", "frontpage/identity", "frontpage/store"},
		"frontpage/demo":      {"frontpage/graph", "frontpage/store"},
		"frontpage":           {"frontpage/redistest", "testing"},
	}
	for from, targets := range forbidden {
		packages := goList(t, "-deps", from)
		for _, target := range targets {
			if slices.Contains(packages, target) {
				t.Errorf("%s imports %s", from, target)
			}
		}
	}
	if direct := goList(t, "-f", `{{join .Imports "\n"}}`, "frontpage/graph"); slices.Contains(direct, "github.com/redis/go-redis/v9") {
		t.Error("graph imports go-redis: its errors could leak")
	}
}

// One request can kill a server with an older parser, which is what gqlgen asks for.
func TestGraphQLParserIsNewEnough(t *testing.T) {
	t.Parallel()
	const least = "v2.5.64"
	if found := goList(t, "-m", "-f", "{{.Version}}", "github.com/vektah/gqlparser/v2")[0]; semver.Compare(found, least) < 0 {
		t.Errorf("gqlparser is %s, not %s or newer", found, least)
	}
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.Fields(string(out))
}
