package secretbox_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"frontpage/redisrepo/secretbox"
	"frontpage/tests/require"
)

var (
	oldSecret = strings.Repeat("o", secretbox.MinSecret)
	newSecret = strings.Repeat("n", secretbox.MinSecret)
)

func TestSealedTextsOpenAfterARotation(t *testing.T) {
	t.Parallel()
	before, after := require.Value(secretbox.New(oldSecret))(t), require.Value(secretbox.New(newSecret, oldSecret))(t)
	text, of := []byte("alice@example.org"), []byte("17")
	sealed := require.Value(before.Seal("contact", text, of))(t)
	if got := require.Value(after.Open("contact", sealed, of))(t); !bytes.Equal(got, text) {
		t.Errorf("opened %q", got)
	}
	if bytes.Contains(sealed, text) || bytes.Equal(sealed, require.Value(before.Seal("contact", text, of))(t)) {
		t.Error("the text can be seen, or is sealed the same way twice")
	}
	changed := slices.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another secret":          func() ([]byte, error) { return require.Value(secretbox.New(newSecret))(t).Open("contact", sealed, of) },
		"another purpose":         func() ([]byte, error) { return after.Open("webhook", sealed, of) },
		"another associated text": func() ([]byte, error) { return after.Open("contact", sealed, []byte("18")) },
		"a changed text":          func() ([]byte, error) { return after.Open("contact", changed, of) },
		"a short text":            func() ([]byte, error) { return after.Open("contact", []byte("x"), of) },
		"what a new one seals": func() ([]byte, error) {
			return before.Open("contact", require.Value(after.Seal("contact", text, of))(t), of)
		},
	} {
		if got, err := open(); !errors.Is(err, secretbox.ErrUnreadable) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestDigestsAreKeyed(t *testing.T) {
	t.Parallel()
	before, after := require.Value(secretbox.New(oldSecret))(t), require.Value(secretbox.New(newSecret, oldSecret))(t)
	a := require.Value(before.Digest("x", "text"))(t)
	if !bytes.Equal(a, require.Value(before.Digest("x", "text"))(t)) {
		t.Error("two digests of one text differ")
	}
	for _, other := range [][]byte{require.Value(before.Digest("y", "text"))(t), require.Value(before.Digest("x", "other"))(t), require.Value(after.Digest("x", "text"))(t)} {
		if bytes.Equal(a, other) {
			t.Error("digests for two purposes, of two texts or by two secrets are equal")
		}
	}
}

func TestSecretsAreSplitAndLong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, " \n,": nil, "a": {"a"}, "a,b": {"a", "b"}, " a \r\nb\n": {"a", "b"}, "a,\nb": {"a", "b"},
	} {
		if got := secretbox.Split(text); !slices.Equal(got, want) {
			t.Errorf("Split(%q) = %q, want %q", text, got, want)
		}
	}
	if _, err := secretbox.New(oldSecret, "short"); err == nil || !strings.Contains(err.Error(), "secret 2 has 5 bytes") {
		t.Errorf("a short secret: %v", err)
	}
	if _, err := secretbox.New(); err == nil {
		t.Error("a box without a secret")
	}
}
