package documents_test

import (
	"fmt"
	"strings"
	"testing"

	"frontpage/redisrepo/keys"
)

// docs/data.md has the table of the kinds of keys that the program has.
func TestKindsOfKeysAreDocumented(t *testing.T) {
	t.Parallel()
	table := "| key | type | contents |\n|---|---|---|\n"
	for _, k := range keys.Kinds {
		table += fmt.Sprintf("| `%s:%s` | %s | %s |\n", k.Name, k.Of.Shown, k.Holds, k.Doc)
	}
	if !strings.Contains(read(t, "docs/data.md"), "\n\n"+table+"\n") {
		t.Errorf("docs/data.md has another table of keys than:\n%s", table)
	}
}
