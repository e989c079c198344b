package program_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"frontpage/tests/programtest"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
)

// After erase, beside a server that runs, the files of Redis, an export, the log and the metrics do not have the name.
func TestEraseLeavesNoName(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t).Own()
	require.NoError(t, redis.Client.ConfigSet(t.Context(), "rdbcompression", "no").Err())
	env := []string{"REDIS_URL=" + redis.URL()}
	admin := freeAddress(t)
	s := start(t, append(env, "FRONTPAGE_ADMIN_ADDR="+admin, "FRONTPAGE_ADMIN_TOKEN="+adminToken, "FRONTPAGE_ACCESS_LOG=all", "FRONTPAGE_AUDIT_SECRET=the secret of the audit in all tests")...)
	const name = "QuiltBramblefoxZephyrJnk"
	s.as("bob", "", `mutation { post(input: {title: "article 1", text: "x"}) { article { id } } }`)
	s.as(name, "", `mutation { post(input: {title: "article 2", text: "x", groups: ["go"], idempotencyKey: "key"}) { article { id } } }`)
	const acts = `mutation { vote(input: {article: 1}) { changed } flag(input: {target: 1, reason: SPAM}) { userErrors { message } } blockUser(input: {user: "bob"}) { userErrors { message } } }`
	if got := s.as(name, "", acts); got != `{"data":{"vote":{"changed":true},"flag":{"userErrors":[]},"blockUser":{"userErrors":[]}}}` {
		t.Fatalf("got %s", got)
	}
	s.as("bob", "", `mutation { vote(input: {article: 2}) { changed } }`)
	if code, _ := s.page("/u/" + name); code != 200 {
		t.Errorf("the page of the user: %d", code)
	}
	out, said, code := programtest.Run(t, env, "erase", "--find", name)
	if code != 0 || out != "" {
		t.Errorf("erase --find: %d %s %s", code, out, said)
	}
	out, said, code = programtest.Run(t, env, "erase", name)
	if code != 0 || !strings.HasPrefix(out, "erased: ") || !strings.Contains(out, " has written its append-only file and a snapshot\n") {
		t.Fatalf("erase: %d %s %s", code, out, said)
	}
	const want = `{"data":{"article":{"votes":2,"poster":{"id":"user:deleted user","name":"deleted user"}},"one":{"votes":2}}}`
	if got := s.ask(`{ article(id: 2) { votes poster { id name } } one: article(id: 1) { votes } }`); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if out, _, code := programtest.Run(t, env, "check"); code != 0 {
		t.Errorf("check: %s", out)
	}
	digests, _, _ := programtest.Run(t, env, "erase", "--list")
	if len(digests) != 33 {
		t.Errorf("erase --list: %q", digests)
	}
	exported, _, _ := programtest.Run(t, env, "export")
	_, metrics := s.do(http.DefaultClient, request(t, "http://"+admin+"/metrics", "Authorization", "Bearer "+adminToken))
	everywhere := map[string][]byte{"an export": []byte(exported), "the metrics": []byte(metrics)}
	dir := redis.Client.ConfigGet(t.Context(), "dir").Val()["dir"]
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			everywhere[path], err = os.ReadFile(path)
		}
		return err
	}))
	everywhere["the log"] = []byte(s.Stop())
	if len(everywhere) < 6 {
		t.Errorf("%d files and texts were found, want more", len(everywhere))
	}
	for what, data := range everywhere {
		if len(data) == 0 && what == "the metrics" || bytes.Contains(bytes.ToLower(data), []byte(strings.ToLower(name))) {
			t.Errorf("%s is empty, or has the name: %.300q", what, data)
		}
	}
}
