package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

const (
	loadTimeout = 5 * time.Second
	maxKeySet   = 1 << 20 // bytes
)

// keys are the issuer's, reloaded in the background. The HTTP client of jwkset is not used: it makes a token
// with an unknown key wait for the fetch, accepts an empty set, rejects a whole set for one damaged key, and
// reads responses of any size.
type keys struct {
	source       string // URL or file, for messages
	load         func(context.Context) ([]byte, error)
	every, pause time.Duration
	log          *slog.Logger

	current atomic.Pointer[[]key]
	asked   chan struct{} // capacity 1: a value requests a load
	failing bool          // whether the last load failed; owned by the goroutine that loads
}

func openKeys(ctx context.Context, o Options) (*keys, error) {
	k := &keys{every: o.Refresh, pause: o.Pause, log: o.Log, asked: make(chan struct{}, 1)}
	k.current.Store(new([]key))
	isFile := !strings.Contains(o.JWKS, "://")
	if isFile {
		k.source, k.load = o.JWKS, fromFile(o.JWKS)
	} else {
		u, err := url.Parse(o.JWKS)
		if err != nil || !IsConfidential(u) {
			return nil, fmt.Errorf("%s: a URL must begin with https://, or with http:// for a host on this machine", o.name("JWKS"))
		}
		k.source, k.load = u.Redacted(), fromURL(o.JWKS, o.Transport)
	}
	k.failing = isFile // it returns an error instead of logging a warning
	if err := k.refresh(ctx); err != nil && isFile {
		return nil, fmt.Errorf("%s: %w", o.name("JWKS"), err)
	}
	go k.run(ctx)
	return k, nil
}

// find returns the keys that may have signed a token and whether a key with the id exists. Without an id,
// every key for the algorithm may have signed it.
func (k *keys) find(id, alg string) (named bool, candidates []jwt.VerificationKey) {
	for _, key := range *k.current.Load() {
		if id != "" && key.id != id {
			continue
		}
		named = named || id != ""
		if key.alg == alg {
			candidates = append(candidates, key.public)
		}
	}
	return named, candidates
}

// requestLoad makes run load the keys soon. It does not wait.
func (k *keys) requestLoad() {
	select {
	case k.asked <- struct{}{}:
	default:
	}
}

// run loads the keys at intervals and on request, until ctx ends. It retries a failed load after the pause.
func (k *keys) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.pause):
		}
		if !k.failing {
			select {
			case <-ctx.Done():
				return
			case <-k.asked:
			case <-time.After(k.every - k.pause):
			}
		}
		_ = k.refresh(ctx) // it has logged the error
	}
}

// refresh loads the keys once. If that fails, the last ones stay in use.
func (k *keys) refresh(ctx context.Context) error {
	select {
	case <-k.asked: // this load answers all requests so far
	default:
	}
	limited, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	var fresh []key
	var ignored error
	text, err := k.load(limited)
	if err == nil {
		fresh, ignored, err = parseKeys(text)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		level := slog.LevelWarn
		if k.failing {
			level = slog.LevelDebug // warned before
		}
		k.failing = true
		message := "cannot load the keys for tokens: the last ones stay in use"
		if len(*k.current.Load()) == 0 {
			message = "cannot load the keys for tokens: no token is accepted until they are loaded"
		}
		k.log.Log(ctx, level, message, "source", k.source, "keys", len(*k.current.Load()), "err", err)
		return fmt.Errorf("load keys from %s: %w", k.source, err)
	}
	if k.failing || len(*k.current.Load()) == 0 {
		k.log.InfoContext(ctx, "loaded the keys for tokens", "source", k.source, "keys", len(fresh))
	}
	if ignored != nil {
		k.log.DebugContext(ctx, "ignored keys for tokens", "source", k.source, "err", ignored)
	}
	k.failing = false
	k.current.Store(&fresh)
	return nil
}

func fromFile(path string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		file, err := os.Open(path) // #nosec G304 -- the path is a setting
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		return readLimited(file)
	}
}

func fromURL(address string, transport http.RoundTripper) func(context.Context) ([]byte, error) {
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the next URL might not be https://
	}}
	return func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/jwk-set+json, application/json")
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the response has status %d", resp.StatusCode)
		}
		return readLimited(resp.Body)
	}
}

func readLimited(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxKeySet+1))
	if err == nil && len(text) > maxKeySet {
		err = fmt.Errorf("the key set is larger than %d bytes", maxKeySet)
	}
	return text, err
}

// IsConfidential reports whether requests to a URL cannot be read by others: it is https, or http to this machine.
func IsConfidential(u *url.URL) bool {
	address, err := netip.ParseAddr(u.Hostname())
	isLoopback := u.Hostname() == "localhost" || err == nil && address.IsLoopback()
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && isLoopback)
}

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
