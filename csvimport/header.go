package csvimport

import (
	"fmt"
	"slices"
	"strings"
)

var (
	required = []string{"id", "title", "link", "votes", "poster", "posted_at"}
	optional = []string{"text", "groups"}
)

// columns are those of the header.
type columns struct {
	at     map[string]int // index by name in lower case
	count  int
	unused []string // names in lower case
}

func parseHeader(names []string) (*columns, error) {
	c := &columns{at: make(map[string]int), count: len(names)}
	for i, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" {
			continue // spreadsheets may write trailing commas
		}
		if _, twice := c.at[name]; twice {
			return nil, fmt.Errorf("two columns are named %q", name)
		}
		c.at[name] = i
		if !slices.Contains(required, name) && !slices.Contains(optional, name) {
			c.unused = append(c.unused, name)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(required), func(name string) bool {
		_, found := c.at[name]
		return found
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("missing columns %s: the first line must name the columns, separated by commas", strings.Join(missing, ", "))
	}
	return c, nil
}

// value returns the field in a column, empty for an optional column that is missing.
func (c *columns) value(fields []string, column string) string {
	if i, found := c.at[column]; found {
		return fields[i]
	}
	return ""
}
