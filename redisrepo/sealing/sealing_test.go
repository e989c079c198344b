package sealing_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"frontpage/redisrepo/sealing"
	"frontpage/tests/must"
)

var (
	oldSecret = strings.Repeat("o", sealing.MinSecret)
	newSecret = strings.Repeat("n", sealing.MinSecret)
)

func TestSealedTextsOpenAfterARotation(t *testing.T) {
	t.Parallel()
	before, after := must.Get(sealing.New(oldSecret))(t), must.Get(sealing.New(newSecret, oldSecret))(t)
	text, of := []byte("alice@example.org"), []byte("17")
	sealed := must.Get(before.Seal("contact", text, of))(t)
	if got := must.Get(after.Open("contact", sealed, of))(t); !bytes.Equal(got, text) {
		t.Errorf("opened %q", got)
	}
	if bytes.Contains(sealed, text) || bytes.Equal(sealed, must.Get(before.Seal("contact", text, of))(t)) {
		t.Error("the text can be seen, or is sealed the same way twice")
	}
	changed := slices.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another secret":          func() ([]byte, error) { return must.Get(sealing.New(newSecret))(t).Open("contact", sealed, of) },
		"another purpose":         func() ([]byte, error) { return after.Open("webhook", sealed, of) },
		"another associated text": func() ([]byte, error) { return after.Open("contact", sealed, []byte("18")) },
		"a changed text":          func() ([]byte, error) { return after.Open("contact", changed, of) },
		"a short text":            func() ([]byte, error) { return after.Open("contact", []byte("x"), of) },
		"what a new one seals": func() ([]byte, error) {
			return before.Open("contact", must.Get(after.Seal("contact", text, of))(t), of)
		},
	} {
		if got, err := open(); !errors.Is(err, sealing.ErrUnreadable) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestDigestsAreKeyed(t *testing.T) {
	t.Parallel()
	before, after := must.Get(sealing.New(oldSecret))(t), must.Get(sealing.New(newSecret, oldSecret))(t)
	a := must.Get(before.Digest("x", "text"))(t)
	if !bytes.Equal(a, must.Get(before.Digest("x", "text"))(t)) {
		t.Error("two digests of one text differ")
	}
	for _, other := range [][]byte{must.Get(before.Digest("y", "text"))(t), must.Get(before.Digest("x", "other"))(t), must.Get(after.Digest("x", "text"))(t)} {
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
		if got := sealing.Split(text); !slices.Equal(got, want) {
			t.Errorf("Split(%q) = %q, want %q", text, got, want)
		}
	}
	if _, err := sealing.New(oldSecret, "short"); err == nil || !strings.Contains(err.Error(), "secret 2 has 5 bytes") {
		t.Errorf("a short secret: %v", err)
	}
	if _, err := sealing.New(); err == nil {
		t.Error("a box without a secret")
	}
}
