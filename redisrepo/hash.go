package redisrepo

// Fields of an article's hash. Legacy clients write the first five only.
const (
	fieldTitle     = "title"
	fieldLink      = "link"
	fieldPoster    = "poster"
	fieldTime      = "time"
	fieldVotes     = "votes"
	fieldText      = "text"
	fieldDownvotes = "downvotes"
	fieldGroups    = "groups"    // names separated by spaces; missing if only legacy clients wrote the hash
	fieldRevision  = "revision"  // number of changes
	fieldCast      = "cast"      // net votes that are in the histories of their voters; missing if they are not all there
	fieldUncounted = "uncounted" // "1" if the poster's own vote is recorded, but does not count

	// Only edited articles have the next two; edition, also those that were regrouped.
	fieldEdits   = "edits"   // number of changes of the title or the text
	fieldEdited  = "edited"  // time of the last one, Unix seconds
	fieldEdition = "edition" // revision that the last change of the title, the text or the groups made

	fieldMilestone = "milestone" // the highest of Rules.Milestones that the net votes have reached; missing: none

	// Only deleted articles have the next two.
	fieldDeleted   = "deleted" // Unix seconds
	fieldDeletedBy = "deleted_by"
)

// hash is an article's hash. Missing fields are empty, other fields are ignored.
type hash struct {
	title, link, text, poster, time, votes, downvotes, groups, revision, cast, uncounted, edits, edited, edition, deleted, deletedBy string

	grouped bool // whether it has the field groups
}

func (h *hash) set(field, value string) {
	switch field {
	case fieldTitle:
		h.title = value
	case fieldLink:
		h.link = value
	case fieldText:
		h.text = value
	case fieldPoster:
		h.poster = value
	case fieldTime:
		h.time = value
	case fieldVotes:
		h.votes = value
	case fieldDownvotes:
		h.downvotes = value
	case fieldGroups:
		h.groups, h.grouped = value, true
	case fieldRevision:
		h.revision = value
	case fieldCast:
		h.cast = value
	case fieldUncounted:
		h.uncounted = value
	case fieldEdits:
		h.edits = value
	case fieldEdited:
		h.edited = value
	case fieldEdition:
		h.edition = value
	case fieldDeleted:
		h.deleted = value
	case fieldDeletedBy:
		h.deletedBy = value
	}
}

func hashOf(fields map[string]string) (h hash) {
	for field, value := range fields {
		h.set(field, value)
	}
	return h
}

// parseHash parses the raw reply to HGETALL, of RESP2 or RESP3. The values are substrings of it. fields is the number of
// fields; ok is false if the reply is anything but a hash, such as an error.
func parseHash(reply string) (h hash, fields int, ok bool) {
	kind, fields, rest, ok := cutHeader(reply)
	switch {
	case !ok:
		return h, 0, false
	case kind == '*' && fields%2 == 0: // RESP2
		fields /= 2
	case kind != '%': // RESP3
		return h, 0, false
	}
	for range fields {
		var field, value string
		if field, rest, ok = cutBulk(rest); !ok {
			return hash{}, 0, false
		}
		if value, rest, ok = cutBulk(rest); !ok {
			return hash{}, 0, false
		}
		h.set(field, value)
	}
	return h, fields, rest == ""
}

// cutBulk cuts a bulk string off the start of a raw reply.
func cutBulk(reply string) (text, rest string, ok bool) {
	kind, size, rest, ok := cutHeader(reply)
	if !ok || kind != '$' || len(rest)-2 < size || rest[size] != '\r' || rest[size+1] != '\n' {
		return "", "", false
	}
	return rest[:size], rest[size+2:], true
}

// cutHeader cuts a line with the type and the size of what follows off the start of a raw reply.
func cutHeader(reply string) (kind byte, size int, rest string, ok bool) {
	const maxSize = 1 << 30 // Redis allows 512 MB
	for i := 1; i < len(reply); i++ {
		switch c := reply[i]; {
		case c >= '0' && c <= '9' && size < maxSize/10:
			size = 10*size + int(c-'0')
		case c == '\r' && i > 1 && i+1 < len(reply) && reply[i+1] == '\n':
			return reply[0], size, reply[i+2:], true
		default:
			return 0, 0, "", false
		}
	}
	return 0, 0, "", false
}

// hashIn returns the article's hash that is element 1 of a script's reply.
func hashIn(answer reply) (h hash, err error) {
	err = answer.fields(1, h.set)
	return h, err
}
