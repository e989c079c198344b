package identity

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"
)

// Accounts maps issuer and subject, which identify a user, to the user's name on the site.
type Accounts struct {
	// Issuer is the issuer of the site's own sign-in; empty if the site has none.
	Issuer string
	// NameClaim is the path of the claim with the name that a new user of that issuer gets.
	NameClaim string
	// Find returns the name of the user with a subject at an issuer. A new user gets the wanted name, or a similar one,
	// for ever; if wanted is empty, the error is ErrUnnamed. Any other error but a *Refusal means that the name cannot be
	// read now.
	Find func(ctx context.Context, issuer, subject, wanted string) (string, error)
}

// ErrUnnamed is the error of Accounts.Find for a new user without a name.
var ErrUnnamed = errors.New("the site does not know the user, and the token names none")

// subjectClaim is the claim that names the user of a token, unless configured otherwise.
const subjectClaim = "sub"

// nameOf returns the name of the user whom the claims of a valid token describe. Tokens of the site's issuer name the user
// who signs in there with the same subject; a service, which does not sign in, may lack the claim for names.
func (v *Verifier) nameOf(ctx context.Context, c map[string]any, isService bool) (string, error) {
	t := v.tokens
	issuer, _ := c["iss"].(string)
	subject, _ := c[subjectClaim].(string)
	wanted, _ := Claim(c, t.name).(string)
	if t.accounts != nil && t.accounts.Issuer != "" && issuer == t.accounts.Issuer { // the site's own sign-in
		name, _ := Claim(c, t.accounts.NameClaim).(string)
		if name != "" || !isService {
			wanted = name
		}
	} else if t.name == subjectClaim {
		return subject, v.checkSubject(subject, v.validName)
	}
	if err := v.checkSubject(subject, func(string) error { return nil }); err != nil {
		return "", err
	}
	if validSubject(wanted, v.validName) != nil {
		wanted = ""
	}
	name, err := t.accounts.Find(ctx, issuer, subject, wanted)
	var refused *Refusal
	switch {
	case errors.Is(err, ErrUnnamed):
		return "", &Refusal{Code: Invalid, Message: "the token has no claim with a name for its user, whom the site does not know yet: sign in with the site once"}
	case errors.As(err, &refused):
		return "", refused
	case err != nil:
		return "", &Refusal{Code: Unavailable, Message: "the user of the token cannot be read now: try again", cause: err}
	}
	return name, v.checkSubject(name, v.validName)
}

// checkSubject is validSubject for a token.
func (v *Verifier) checkSubject(name string, valid func(string) error) error {
	err := validSubject(name, valid)
	if err == nil {
		return nil
	}
	// Only the text: wrapped, the error would be taken for one of ValidName's package.
	return &Refusal{Code: Invalid, Message: "the subject of the token is not a user name", cause: errors.New(err.Error())}
}

// validSubject returns an error if the subject of a token is not a user name.
func validSubject(name string, validName func(string) error) error {
	if name == "" {
		return errors.New("the subject is missing or empty")
	}
	// The JSON decoder replaces all invalid text by this character: two users would have the same name.
	if strings.ContainsRune(name, utf8.RuneError) {
		return errors.New("the subject is not valid text")
	}
	return validName(name)
}
