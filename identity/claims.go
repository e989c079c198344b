package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// lastSecond is the end of the year 9999. Seconds beyond the range of an int64 would become another time, which
// differs between processors.
const lastSecond = 253402300799

// claims are the claims of one token. They are a map because encoding/json matches a struct's fields
// case-insensitively.
type claims struct{ jwt.MapClaims }

// UnmarshalJSON rejects duplicate claims: another program that checked the token may have read the other value.
func (c *claims) UnmarshalJSON(text []byte) error {
	c.MapClaims = jwt.MapClaims{}
	in := json.NewDecoder(bytes.NewReader(text))
	if first, err := in.Token(); err != nil || first != json.Delim('{') {
		return errors.New("the claims are not an object")
	}
	for in.More() {
		token, err := in.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return errors.New("a claim has no name")
		}
		if _, found := c.MapClaims[name]; found {
			return errors.New("a claim is duplicated")
		}
		var value any
		if err := in.Decode(&value); err != nil {
			return err
		}
		c.MapClaims[name] = value
	}
	return nil
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

// roles returns the roles in the claim at path. A claim of any other form holds none; that is not an error.
func (c *claims) roles(path string) (roles []string) {
	switch value := at(c.MapClaims, path).(type) {
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

// at returns the value at a path, or nil. A claim whose name is the whole path, such as a URL, takes
// precedence.
func at(object map[string]any, path string) any {
	if value, found := object[path]; found {
		return value
	}
	name, rest, _ := strings.Cut(path, ".")
	inner, ok := object[name].(map[string]any)
	if !ok {
		return nil
	}
	return at(inner, rest)
}
