package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/golang-jwt/jwt/v5"
)

// lastSecond is the end of the year 9999. Seconds beyond the range of an int64 would become another time, which
// differs between processors.
const lastSecond = 253402300799

// claims are the claims of one token. They are a map because encoding/json matches a struct's fields
// case-insensitively.
type claims struct{ jwt.MapClaims }

// UnmarshalJSON rejects duplicate claims.
func (c *claims) UnmarshalJSON(text []byte) (err error) {
	c.MapClaims, err = members(text)
	return err
}

// members returns the members of a JSON object. It rejects duplicates: another program that checked the token
// may have read the other value.
func members(text []byte) (map[string]any, error) {
	found := map[string]any{}
	in := json.NewDecoder(bytes.NewReader(text))
	if first, err := in.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	for in.More() {
		token, err := in.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, errors.New("a member has no name")
		}
		if _, duplicate := found[name]; duplicate {
			return nil, errors.New("a member is duplicated")
		}
		var value any
		if err := in.Decode(&value); err != nil {
			return nil, err
		}
		found[name] = value
	}
	return found, nil
}

// Validate is called by the library in addition to its own checks.
func (c *claims) Validate() error {
	for _, name := range []string{"exp", "nbf"} {
		if at, ok := c.MapClaims[name].(float64); ok && math.Abs(at) > lastSecond {
			return fmt.Errorf("%s is out of range: %w", name, jwt.ErrInvalidType)
		}
	}
	return nil
}

// Roles reads the roles of users from claims. It is safe for concurrent use.
type Roles struct {
	path       string
	log        *slog.Logger
	unreadable sync.Map // the forms of claims that were logged
}

// NewRoles returns Roles that read the claim at path. Each invalid form of the claim is logged once.
func NewRoles(path string, log *slog.Logger) *Roles { return &Roles{path: path, log: log} }

// In returns the roles in a claim that Claim returned: the strings of an array, the parts of a string between blanks or
// commas, or the names of an object's members, except those with the values null, false, 0 or empty. It returns none
// for a missing claim or one of another form; that is not an error.
func (r *Roles) In(claim any) (roles []string) {
	var unreadable string
	switch value := claim.(type) {
	case nil:
	case string:
		roles = splitRoles(value)
	case []any:
		for _, element := range value {
			if role, ok := element.(string); ok {
				roles = append(roles, role)
			} else {
				unreadable = "an array with other elements than strings"
			}
		}
	case map[string]any:
		for role, member := range value {
			if member != nil && member != false && member != 0.0 && member != "" {
				roles = append(roles, role)
			}
		}
	case float64:
		unreadable = "a number"
	default:
		unreadable = "true or false"
	}
	if unreadable == "" {
		return roles
	}
	if _, logged := r.unreadable.LoadOrStore(unreadable, true); !logged {
		r.log.Warn("the roles of users cannot be read: their claim has to be an array of strings, a string, or an object whose members are named after roles",
			"claim", r.path, "form", unreadable)
	}
	return roles
}

// splitRoles returns the roles in a text, between blanks or commas.
func splitRoles(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || c == ',' })
}

// TimeIn returns the time in a claim, in Unix seconds or as in RFC 3339, or the zero time for a claim of another form,
// or for a time before 1970 or after 9999; that is not an error.
func TimeIn(claim any) time.Time {
	switch value := claim.(type) {
	case float64:
		if value > 0 && value <= lastSecond {
			return time.Unix(int64(value), 0).UTC()
		}
	case string:
		if at, err := time.Parse(time.RFC3339, strings.ToUpper(value)); err == nil && at.Unix() > 0 {
			return at.UTC()
		}
	}
	return time.Time{}
}

// setClaim is the opposite of Claim. It keeps other claims beside the path.
func setClaim(object map[string]any, path string, value any) {
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		object[name] = value
		return
	}
	inner, ok := object[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		object[name] = inner
	}
	setClaim(inner, rest, value)
}

// Claim returns the value at a path of names with dots between them, or nil. Names may contain dots, such as the
// client's in resource_access.news.example.org.roles: on each level, the longest name that leads to a value takes
// precedence.
func Claim(object map[string]any, path string) any {
	if value := object[path]; value != nil {
		return value
	}
	for end := strings.LastIndexByte(path, '.'); end >= 0; end = strings.LastIndexByte(path[:end], '.') {
		if inner, ok := object[path[:end]].(map[string]any); ok {
			if value := Claim(inner, path[end+1:]); value != nil {
				return value
			}
		}
	}
	return nil
}
