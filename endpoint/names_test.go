package endpoint_test

import (
	"testing"

	"frontpage/endpoint"
)

// Names that stand for users who have none are no user's.
func TestNobodyHasAReservedName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"command line", "deleted user", "Deleted User", "a moderator", " deleted user"} {
		if endpoint.ValidName(name) == nil {
			t.Errorf("%q is a valid name", name)
		}
	}
	for _, name := range []string{"deleted", "deleted users", "moderator"} {
		if err := endpoint.ValidName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
