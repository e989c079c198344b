package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"frontpage/redisrepo"
)

const (
	maxToken  = 8 << 10 // bytes
	minSecret = 32      // bytes: what the hash of HS256 gives
)

var (
	errCritical   = errors.New("the header has crit")
	errKeyID      = errors.New("the header's kid is not a string")
	errKeyUnknown = errors.New("no key has this kid")
	errUnfit      = errors.New("the key with this kid is not for this alg")
)

// tokens checks JSON Web Tokens.
type tokens struct {
	parser    *jwt.Parser
	validator *jwt.Validator // the parser's, for claims alone
	secret    []byte
	keys      *keys // nil: the secret counts
	roles     string
	leeway    time.Duration
}

func newTokens(ctx context.Context, o Options) (*tokens, error) {
	t := &tokens{roles: o.RolesClaim, leeway: o.Leeway}
	var methods []string
	if o.JWKSURL != "" || o.JWKSFile != "" {
		if o.Issuer == "" || len(o.Audience) == 0 {
			return nil, errors.New("tokens that are checked by a key set need an issuer and an audience to be checked for")
		}
		methods = []string{"RS256", "ES256", "EdDSA"}
	} else {
		secret := []byte(o.Secret)
		if o.SecretFile != "" {
			text, err := os.ReadFile(o.SecretFile)
			if err != nil {
				return nil, fmt.Errorf("read the secret of tokens: %w", err)
			}
			secret = bytes.TrimRight(text, "\r\n")
		}
		if len(secret) < minSecret {
			return nil, fmt.Errorf("the secret of tokens has %d bytes, at least %d are needed", len(secret), minSecret)
		}
		t.secret, methods = secret, []string{"HS256"}
	}
	if slices.Contains(o.Audience, "") {
		return nil, errors.New("an audience of tokens is empty")
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(methods), jwt.WithStrictDecoding(), jwt.WithExpirationRequired(),
		jwt.WithLeeway(o.Leeway), jwt.WithTimeFunc(o.Now), jwt.WithIssuer(o.Issuer), jwt.WithAudience(o.Audience...),
	}
	t.parser, t.validator = jwt.NewParser(options...), jwt.NewValidator(options...)
	if t.secret == nil {
		keys, err := openKeys(ctx, o)
		if err != nil {
			return nil, err
		}
		t.keys = keys
	}
	return t, nil
}

// person checks a token and reads it.
func (t *tokens) person(token string) (Person, error) {
	// The decoder of base64 passes over line ends.
	if len(token) > maxToken || strings.ContainsFunc(token, notInToken) {
		return Person{}, &Error{Code: Invalid, Message: "the token is malformed or over 8 KiB"}
	}
	var c claims
	if _, err := t.parser.ParseWithClaims(token, &c, t.key); err != nil {
		// The issuer may have replaced a key under its old kid, or use none.
		if t.keys != nil && errors.Is(err, jwt.ErrTokenSignatureInvalid) {
			t.keys.ask()
		}
		return Person{}, refusal(err)
	}
	subject, _ := c.MapClaims["sub"].(string)
	name, err := redisrepo.ParseUserName(subject)
	// The decoder of JSON gives this character for everything that is none: two
	// people would have one name.
	if err == nil && strings.ContainsRune(subject, utf8.RuneError) {
		err = errors.New("the subject is not valid text")
	}
	if err != nil {
		// The text alone: in the chain, the error would pass for a refusal of redisrepo's.
		return Person{}, &Error{Code: Invalid, Message: "the subject of the token is not a user name", cause: errors.New(err.Error())}
	}
	expires, err := c.GetExpirationTime()
	if err != nil {
		return Person{}, refusal(err)
	}
	return Person{Name: name, Moderator: slices.Contains(c.roles(t.roles), moderator), Expires: expires.Add(t.leeway)}, nil
}

func notInToken(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
}

// key finds what the signature is checked by. Whatever else the header names,
// such as jwk, jku and x5u, is not looked at.
func (t *tokens) key(token *jwt.Token) (any, error) {
	if _, found := token.Header["crit"]; found {
		return nil, errCritical // it lists extensions that must be understood; none is
	}
	if t.keys == nil {
		return t.secret, nil
	}
	id, isText := token.Header["kid"].(string)
	if _, found := token.Header["kid"]; found && !isText {
		return nil, errKeyID
	}
	named, fitting := t.keys.find(id, token.Method.Alg())
	switch {
	case len(fitting) > 0:
		return jwt.VerificationKeySet{Keys: fitting}, nil
	case named:
		return nil, errUnfit
	}
	// A token that would be refused anyway is no reason to load keys, nor should
	// its owner try again.
	if err := t.validator.Validate(token.Claims); err != nil {
		return nil, err
	}
	t.keys.ask()
	return nil, errKeyUnknown
}

// refusals are what is answered; of several faults, the first of this list.
// Expired comes after the other claims: it tells the client that a new token of
// the same issuer would do. An error of key has ErrTokenUnverifiable beside what
// it came of, which therefore is last.
var refusals = []struct {
	cause   error
	code    Code
	message string
}{
	{errKeyUnknown, KeyUnknown, "the key that signed the token is not known here yet: try again in some seconds"},
	{errCritical, Invalid, "the token needs an extension that is not known here"},
	{jwt.ErrTokenMalformed, Invalid, "the token is malformed"},
	{jwt.ErrTokenSignatureInvalid, Invalid, "the token is not signed by a key and an algorithm that count here"},
	{jwt.ErrInvalidType, Invalid, "a claim of the token has a value of the wrong kind"},
	{jwt.ErrTokenRequiredClaimMissing, Invalid, "the token lacks a claim: exp is required, and so are iss and aud where they are checked"},
	{jwt.ErrTokenInvalidIssuer, Invalid, "the token is of another issuer"},
	{jwt.ErrTokenInvalidAudience, Invalid, "the token is for another audience"},
	{jwt.ErrTokenNotValidYet, Invalid, "the token is not valid yet"},
	{jwt.ErrTokenExpired, Expired, "the token has expired"},
	{jwt.ErrTokenUnverifiable, Invalid, "the token is not signed by a key and an algorithm that count here"},
}

func refusal(err error) *Error {
	for _, r := range refusals {
		if errors.Is(err, r.cause) {
			return &Error{Code: r.code, Message: r.message, cause: err}
		}
	}
	return &Error{Code: Invalid, Message: "the token is not valid", cause: err}
}
