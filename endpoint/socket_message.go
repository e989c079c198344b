package endpoint

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Types of messages.
const (
	typeInit      = "connection_init"
	typeAck       = "connection_ack"
	typePing      = "ping"
	typePong      = "pong"
	typeSubscribe = "subscribe"
	typeNext      = "next"
	typeError     = "error"
	typeComplete  = "complete"
)

// message is a client message as raw JSON members; encoding/json matches struct fields case-insensitively.
type message map[string]json.RawMessage

// parseMessage parses a client message. problem says what is wrong with it, for the client; it is empty if the
// message is valid. Of the payload it checks only that it is an object.
func parseMessage(data []byte) (m message, payload map[string]any, problem string) {
	if !utf8.Valid(data) || json.Unmarshal(data, &m) != nil {
		return nil, nil, "not a JSON object"
	}
	kind := m.text("type")
	payload, ok := m.payload(kind)
	if !ok && kind != typeComplete {
		return nil, nil, "the payload is not an object"
	}
	switch kind {
	case typeInit, typePing, typePong:
	case typeSubscribe, typeComplete:
		if m.text("id") == "" {
			return nil, nil, kind + " needs an id"
		}
	default:
		return nil, nil, "clients do not send messages of this type"
	}
	return m, payload, ""
}

// text returns a member that is a string; otherwise it is empty.
func (m message) text(name string) string {
	var text string
	if json.Unmarshal(m[name], &text) != nil {
		return ""
	}
	return text
}

// payload returns the member payload, which is optional but must be an object or null. That of subscribe may be
// long, and is parsed by parseSubscribe alone.
func (m message) payload(kind string) (members map[string]any, ok bool) {
	raw := m["payload"]
	if kind == typeSubscribe && bytes.HasPrefix(raw, []byte("{")) {
		return nil, true
	}
	return members, len(raw) == 0 || json.Unmarshal(raw, &members) == nil
}

// parseSubscribe parses the payload of subscribe. problem is empty if it is valid.
func parseSubscribe(m message) (parsed *request, problem string) {
	parsed = &request{}
	if !decode(bytes.NewReader(m["payload"]), parsed) {
		return nil, "the payload of subscribe must have query, operationName, variables and extensions of the right types"
	}
	if refused := parsed.complete(); refused != nil {
		return nil, refused.message
	}
	return parsed, ""
}

// appendMessage appends a message of the server. id and payload are JSON, and left out if nil.
func appendMessage(to []byte, kind string, id, payload []byte) []byte {
	to = append(append(append(to, `{"type":"`...), kind...), '"')
	if id != nil {
		to = append(append(to, `,"id":`...), id...)
	}
	if payload != nil {
		to = append(append(to, `,"payload":`...), payload...)
	}
	return append(to, '}')
}
