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

// Bits of the RSA keys that count. A longer one costs more time than a request may.
const (
	minRSA = 2048
	maxRSA = 8192
)

// key is a public key and the one algorithm that it is for.
type key struct {
	id     string // may be empty
	alg    string
	public any
}

// parseKeys reads a JSON Web Key Set. It passes over keys that are not for
// checking signatures, or are weak, damaged or of an unknown kind, and returns
// why; a set without any other key is an error.
func parseKeys(text []byte) (keys []key, ignored, err error) {
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, nil, fmt.Errorf("read the key set: %w", err)
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
		return nil, ignored, errors.Join(errors.New("the key set has no key that can be used"), ignored)
	}
	return keys, ignored, nil
}

func parseKey(text json.RawMessage) (key, error) {
	var in jwkset.JWKMarshal
	if err := json.Unmarshal(text, &in); err != nil {
		return key{}, err
	}
	if in.USE != "" && in.USE != jwkset.UseSig || len(in.KEYOPS) > 0 && !slices.Contains(in.KEYOPS, jwkset.KeyOpsVerify) {
		return key{}, errors.New("it is not for checking signatures")
	}
	// Only the public part: certificates in the set are not what makes us trust
	// it, and one that cannot be parsed must not cost the key.
	parsed, err := jwkset.NewJWKFromMarshal(jwkset.JWKMarshal{KTY: in.KTY, CRV: in.CRV, X: in.X, Y: in.Y, N: in.N, E: in.E},
		jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return key{}, err
	}
	k := key{id: in.KID, public: parsed.Key()}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < minRSA || bits > maxRSA {
			return key{}, fmt.Errorf("it is an RSA key of %d bits, %d to %d are accepted", bits, minRSA, maxRSA)
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
		return key{}, errors.New("it is of a kind that is not accepted")
	}
	if in.ALG != "" && string(in.ALG) != k.alg {
		return key{}, fmt.Errorf("it is for %q, not %s", in.ALG, k.alg)
	}
	return k, nil
}
