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

// lastSecond is the end of the year 9999. Seconds that an int64 cannot hold
// would become another time, a different one on each kind of machine.
const lastSecond = 253402300799

// claims are those of one token. Their names are compared exactly, which a
// struct's field names would not be.
type claims struct{ jwt.MapClaims }

// UnmarshalJSON refuses a claim that is there twice: whoever checked the token
// before may have read the other one.
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
			return errors.New("a claim is there twice")
		}
		var value any
		if err := in.Decode(&value); err != nil {
			return err
		}
		c.MapClaims[name] = value
	}
	return nil
}

// Validate is called by the library, beside its own checks.
func (c *claims) Validate() error {
	for _, name := range []string{"exp", "nbf"} {
		if at, ok := c.MapClaims[name].(float64); ok && math.Abs(at) > lastSecond {
			return fmt.Errorf("%s is out of range: %w", name, jwt.ErrInvalidType)
		}
	}
	return nil
}

// roles reads the roles. A claim of another form holds none, which is not an error.
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

// at finds a value by its path. A name that has dots itself, as a URL has, goes
// before the path.
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
