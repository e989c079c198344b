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

// columns says where the columns are.
type columns struct {
	at     map[string]int // by name in lower case
	count  int
	unused []string // names
}

func parseHeader(names []string) (*columns, error) {
	c := &columns{at: make(map[string]int), count: len(names)}
	for i, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if name == "" {
			continue // a comma too many, as spreadsheets write
		}
		if _, twice := c.at[name]; twice {
			return nil, fmt.Errorf("two columns have the name %q", name)
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
		return nil, fmt.Errorf("there is no column %s: the first line names the columns, with commas between", strings.Join(missing, ", "))
	}
	return c, nil
}

// value is empty for an optional column that is not there.
func (c *columns) value(fields []string, column string) string {
	if i, found := c.at[column]; found {
		return fields[i]
	}
	return ""
}
