package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	maxToken  = 8 << 10 // bytes
	minSecret = 32      // bytes: the length of HS256's hash

	defaultRolesClaim = "roles"
)

var (
	errCritical   = errors.New("the header has a crit member")
	errKeyID      = errors.New("the header's kid is not a string")
	errKeyUnknown = errors.New("no key has this kid")
	errWrongAlg   = errors.New("the key with this kid is for another alg")
)

// tokens verifies JSON Web Tokens.
type tokens struct {
	parser    *jwt.Parser
	validator *jwt.Validator // checks claims like the parser
	secret    []byte
	keys      *keys // nil: the secret is used
	roles     *Roles
	name      string // path of the claim that names the user
	created   string // path of the claim with the time of the account's creation; empty: none
	accounts  *Accounts
	leeway    time.Duration
}

func newTokens(ctx context.Context, o Options) (*tokens, error) {
	t := &tokens{roles: NewRoles(o.RolesClaim, o.Log), name: o.NameClaim, created: o.CreatedClaim, accounts: o.Accounts, leeway: o.Leeway}
	methods := []string{"HS256"}
	var err error
	if o.JWKS != "" {
		methods = []string{"RS256", "ES256", "EdDSA"}
		t.keys, err = openKeys(ctx, o)
	} else {
		t.secret, err = o.readSecret()
	}
	if err != nil {
		return nil, err
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(methods), jwt.WithStrictDecoding(), jwt.WithExpirationRequired(),
		jwt.WithLeeway(o.Leeway), jwt.WithTimeFunc(o.Now), jwt.WithIssuer(o.Issuer), jwt.WithAudience(o.Audience...),
	}
	t.parser, t.validator = jwt.NewParser(options...), jwt.NewValidator(options...)
	return t, nil
}

// readSecret returns the secret that signs tokens.
func (o Options) readSecret() ([]byte, error) {
	if len(o.Secret) < minSecret {
		return nil, fmt.Errorf("%s: the secret has %d bytes and needs at least %d", o.name("Secret"), len(o.Secret), minSecret)
	}
	return []byte(o.Secret), nil
}

// Issue returns a token, signed with o.Secret, which must be set. A Verifier with these options accepts it for its
// lifetime.
func Issue(o Options, user string, roles []string, lifetime time.Duration) (string, error) {
	if err := o.validate(); err != nil {
		return "", err
	}
	if err := validSubject(user, o.ValidName); err != nil {
		return "", fmt.Errorf("%q: %w", user, err)
	}
	if lifetime < time.Second {
		return "", fmt.Errorf("a token cannot be valid for %v: at least 1s", lifetime)
	}
	secret, err := o.readSecret()
	if err != nil {
		return "", err
	}
	now := time.Now()
	if o.Now != nil {
		now = o.Now()
	}
	claims := map[string]any{}
	if o.NameClaim != "" {
		setClaim(claims, o.NameClaim, user)
	}
	claims[subjectClaim], claims["iat"], claims["exp"] = user, now.Unix(), now.Add(lifetime).Unix()
	if o.Issuer != "" {
		claims["iss"] = o.Issuer
	}
	if o.Accounts != nil && o.Issuer != "" && o.Issuer == o.Accounts.Issuer && o.Accounts.NameClaim != subjectClaim {
		setClaim(claims, o.Accounts.NameClaim, user)
	}
	if len(o.Audience) > 0 {
		claims["aud"] = o.Audience
	}
	if len(roles) > 0 {
		setClaim(claims, cmp.Or(o.RolesClaim, defaultRolesClaim), roles)
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(claims)).SignedString(secret)
}

// fromToken verifies a token and returns the user whom it names.
func (v *Verifier) fromToken(ctx context.Context, token string) (Caller, error) {
	t := v.tokens
	// The base64 decoder would ignore line breaks.
	if len(token) > maxToken || strings.ContainsFunc(token, notInToken) {
		return Caller{}, &Refusal{Code: Invalid, Message: "the token is malformed or longer than 8 KiB"}
	}
	var c claims
	if _, err := t.parser.ParseWithClaims(token, &c, t.key); err != nil {
		// The issuer may have replaced a key and kept its kid, or use no kid.
		if t.keys != nil && errors.Is(err, jwt.ErrTokenSignatureInvalid) {
			t.keys.requestLoad()
		}
		return Caller{}, refusalOf(err)
	}
	expires, err := c.GetExpirationTime()
	if err != nil {
		return Caller{}, refusalOf(err)
	}
	roles := t.roles.In(Claim(c.MapClaims, t.roles.path))
	isService := slices.Contains(roles, service)
	name, err := v.nameOf(ctx, c.MapClaims, isService)
	if err != nil {
		return Caller{}, err
	}
	return Caller{
		Name: name, Moderator: slices.Contains(roles, v.moderatorRole), Service: isService, Created: TimeIn(Claim(c.MapClaims, t.created)),
		Expires: expires.Add(t.leeway),
	}, nil
}

func notInToken(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
}

// key returns the secret or the keys that may have signed the token. Other members of the header that name
// keys, such as jwk, jku and x5u, are ignored.
func (t *tokens) key(token *jwt.Token) (any, error) {
	header, _, _ := strings.Cut(token.Raw, ".")
	text, err := t.parser.DecodeSegment(header)
	if err == nil {
		_, err = members(text) // of duplicate members, the library uses the last
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the header: %w", jwt.ErrTokenMalformed, err)
	}
	if _, found := token.Header["crit"]; found {
		return nil, errCritical // it lists extensions that the server must support, and none is supported
	}
	if t.keys == nil {
		return t.secret, nil
	}
	id, isString := token.Header["kid"].(string)
	if _, found := token.Header["kid"]; found && !isString {
		return nil, errKeyID
	}
	named, candidates := t.keys.find(id, token.Method.Alg())
	switch {
	case len(candidates) > 0:
		return jwt.VerificationKeySet{Keys: candidates}, nil
	case named:
		return nil, errWrongAlg
	}
	// A token that would be rejected anyway must not cause a load, and its owner should not retry.
	if err := t.validator.Validate(token.Claims); err != nil {
		return nil, err
	}
	t.keys.requestLoad()
	return nil, errKeyUnknown
}

// refusals maps errors of the library to refusals. If a token has several faults, the first entry that
// matches is reported. Expired comes after the other claims, because it tells the client that a new token
// from the same issuer would be accepted. jwt joins ErrTokenUnverifiable to any error of the key function, so
// it must come last.
var refusals = []struct {
	cause   error
	code    Code
	message string
}{
	{errKeyUnknown, KeyUnknown, "the key that signed the token is not known yet: try again in a few seconds"},
	{errCritical, Invalid, "the token requires an extension that is not supported"},
	{jwt.ErrTokenMalformed, Invalid, "the token is malformed"},
	{jwt.ErrTokenSignatureInvalid, Invalid, "the token is not signed with an accepted key and algorithm"},
	{jwt.ErrInvalidType, Invalid, "a claim of the token has a value of the wrong type"},
	{jwt.ErrTokenRequiredClaimMissing, Invalid, "the token lacks a claim: exp is required, and so are iss and aud if they are checked"},
	{jwt.ErrTokenInvalidIssuer, Invalid, "the token is from another issuer"},
	{jwt.ErrTokenInvalidAudience, Invalid, "the token is for another audience"},
	{jwt.ErrTokenNotValidYet, Invalid, "the token is not valid yet"},
	{jwt.ErrTokenExpired, Expired, "the token has expired"},
	{jwt.ErrTokenUnverifiable, Invalid, "the token is not signed with an accepted key and algorithm"},
}

func refusalOf(err error) *Refusal {
	for _, r := range refusals {
		if errors.Is(err, r.cause) {
			return &Refusal{Code: r.code, Message: r.message, cause: err}
		}
	}
	return &Refusal{Code: Invalid, Message: "the token is not valid", cause: err}
}
