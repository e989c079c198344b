package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"frontpage/redisrepo/site"
)

// meet remembers the erased users whose names are on a line. Words of users that are such a name are met, too: that does no harm.
func (r *reader) meet(line []byte) error {
	if len(r.erased) == 0 {
		return nil
	}
	for texts := json.NewDecoder(bytes.NewReader(line)); ; {
		token, err := texts.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, _ := token.(string)
		says, _, _ := strings.Cut(text, "\n")
		_, member, _ := strings.Cut(" "+says, " "+site.UserPrefix) // of a denial, and who denied it
		for _, name := range []site.UserName{site.UserName(text), site.UserName(member)} {
			if name != "" && r.erased[name.Digest()] {
				r.met[name] = true
			}
		}
	}
}
