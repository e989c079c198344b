package identity

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

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
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
			return nil, fmt.Errorf("%s: a URL must begin with https://, or with http:// for a host on this machine", o.name("JWKS"))
		}
		k.source, k.load = u.Redacted(), fromURL(o.JWKS, o.Transport)
	}
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

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
