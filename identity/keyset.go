package identity

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/MicahParks/jwkset"
)

// Bits of an accepted RSA key. Checking a signature with a longer one would take too long for a request.
const (
	minRSA = 2048
	maxRSA = 8192
)

// key is a public key and the only algorithm that it may be used with.
type key struct {
	id     string // may be empty
	alg    string
	public any
}

// parseKeys parses a JSON Web Key Set. It ignores keys that are not for signatures, weak, damaged or of an
// unknown type, and returns why in ignored. A set without a usable key is an error.
func parseKeys(text []byte) (keys []key, ignored, err error) {
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, nil, fmt.Errorf("parse the key set: %w", err)
	}
	var reasons []error
	for i, text := range set.Keys {
		k, err := parseKey(text)
		if err != nil {
			reasons = append(reasons, fmt.Errorf("key %d of the set: %w", i+1, err))
			continue
		}
		keys = append(keys, k)
	}
	ignored = errors.Join(reasons...)
	if len(keys) == 0 {
		return nil, ignored, errors.Join(errors.New("the key set has no usable key"), ignored)
	}
	return keys, ignored, nil
}

func parseKey(text json.RawMessage) (key, error) {
	var in jwkset.JWKMarshal
	if err := json.Unmarshal(text, &in); err != nil {
		return key{}, err
	}
	if in.USE != "" && in.USE != jwkset.UseSig || len(in.KEYOPS) > 0 && !slices.Contains(in.KEYOPS, jwkset.KeyOpsVerify) {
		return key{}, errors.New("it is not for verifying signatures")
	}
	// Only the public part: trust does not come from certificates in the set, and a damaged one must not make
	// the key unusable.
	parsed, err := jwkset.NewJWKFromMarshal(jwkset.JWKMarshal{KTY: in.KTY, CRV: in.CRV, X: in.X, Y: in.Y, N: in.N, E: in.E},
		jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return key{}, err
	}
	k := key{id: in.KID, public: parsed.Key()}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < minRSA || bits > maxRSA {
			return key{}, fmt.Errorf("it is an RSA key of %d bits: %d to %d are accepted", bits, minRSA, maxRSA)
		}
		k.alg = "RS256"
	case *ecdsa.PublicKey:
		if public.Curve != elliptic.P256() {
			return key{}, errors.New("its curve is not P-256")
		}
		k.alg = "ES256"
	case ed25519.PublicKey:
		k.alg = "EdDSA"
	default:
		return key{}, errors.New("its type is not supported")
	}
	if in.ALG != "" && string(in.ALG) != k.alg {
		return key{}, fmt.Errorf("it is for %q, not %s", in.ALG, k.alg)
	}
	return k, nil
}
