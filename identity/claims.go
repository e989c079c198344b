package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

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

// RolesIn returns the roles in the claim at path. A claim of any other form holds none; that is not an error.
func RolesIn(claims map[string]any, path string) (roles []string) {
	switch value := Claim(claims, path).(type) {
	case string:
		return strings.Fields(value)
	case []any:
		for _, element := range value {
			if role, ok := element.(string); ok {
				roles = append(roles, role)
			}
		}
	}
	return roles
}

// TimeIn returns the time in the claim at path, in Unix seconds or as in RFC 3339, or the zero time. A claim of any other form,
// or of a time before 1970 or after 9999, has none; that is not an error.
func TimeIn(claims map[string]any, path string) time.Time {
	switch value := Claim(claims, path).(type) {
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

// Claim returns the value at a path, or nil. A claim whose name is the whole path, such as a URL, takes
// precedence.
func Claim(object map[string]any, path string) any {
	if value, found := object[path]; found {
		return value
	}
	name, rest, _ := strings.Cut(path, ".")
	inner, ok := object[name].(map[string]any)
	if !ok {
		return nil
	}
	return Claim(inner, rest)
}
