package migrate

import (
	"fmt"
	"strings"

	"frontpage/redisrepo/casts"
	"frontpage/redisrepo/keys"
	"frontpage/redisrepo/site"
)

// cell is a key without the tag of its partition. Its kind has no name if it is not a key of a site.
type cell struct {
	keys.Kind
	name, rest string
}

func parseCell(name string) cell {
	kind, rest := keys.Parse(name)
	return cell{kind, name, rest}
}

// isMark reports whether a member of a user's votes says that older ones were dropped. It is of no article.
func (c cell) isMark(member string) bool {
	return member == casts.CastCut && c.Of == keys.UserMonth
}

// indexOf is the partition, of n, of a member of a key.
func (c cell) indexOf(n int, member string) (int, error) {
	if c.Copy == keys.ByKey {
		return c.Of.Index(n, c.rest), nil
	}
	if c.Of == keys.UserMonth {
		member = strings.TrimPrefix(member, "-")
	}
	id, err := site.ParseArticleID(member)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not an article: remove it", c.name, member)
	}
	return int(id) % n, nil
}
