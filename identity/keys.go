package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	loadTimeout = 5 * time.Second
	maxKeySet   = 1 << 20 // bytes
)

// keys are the issuer's, loaded again in the background. The HTTP client of
// jwkset is not used for it: it makes a token with an unknown key wait for the
// fetch, takes an empty set for good, gives a whole set up for one damaged key,
// and reads answers of any size.
type keys struct {
	source       string // for people
	load         func(context.Context) ([]byte, error)
	every, pause time.Duration
	log          *slog.Logger

	current atomic.Pointer[[]key]
	asked   chan struct{} // holds at most one
	failing bool          // what the last load did; of the one goroutine that loads
}

func openKeys(ctx context.Context, o Options) (*keys, error) {
	k := &keys{every: o.Refresh, pause: o.Pause, log: o.Log, asked: make(chan struct{}, 1)}
	k.current.Store(new([]key))
	if o.JWKSFile != "" {
		k.source, k.load = o.JWKSFile, fromFile(o.JWKSFile)
	} else {
		u, err := url.Parse(o.JWKSURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
			return nil, errors.New("the URL of the key set must begin with https://, or http:// when it is on this machine")
		}
		k.source, k.load = u.Redacted(), fromURL(o.JWKSURL, o.Transport)
	}
	if err := k.refresh(ctx); err != nil && o.JWKSFile != "" {
		return nil, err
	}
	go k.run(ctx)
	return k, nil
}

// find returns the keys that may have signed a token, and whether there is any
// with the id. Without an id, every key that fits the algorithm may.
func (k *keys) find(id, alg string) (named bool, fitting []jwt.VerificationKey) {
	for _, key := range *k.current.Load() {
		if id != "" && key.id != id {
			continue
		}
		named = named || id != ""
		if key.alg == alg {
			fitting = append(fitting, key.public)
		}
	}
	return named, fitting
}

// ask wants the keys to be loaded soon. It does not wait.
func (k *keys) ask() {
	select {
	case k.asked <- struct{}{}:
	default:
	}
}

// run loads the keys every now and then, and when asked to, until ctx ends. A
// failed load is repeated after the pause.
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
		_ = k.refresh(ctx) // which has logged it
	}
}

// refresh loads the keys once. When that fails, the last ones stay.
func (k *keys) refresh(ctx context.Context) error {
	select {
	case <-k.asked: // whoever asked until now gets the answer
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
			level = slog.LevelDebug // said before
		}
		k.failing = true
		k.log.Log(ctx, level, "cannot load the keys of tokens: the last ones still count", "source", k.source, "keys", len(*k.current.Load()), "err", err)
		return fmt.Errorf("load the keys of tokens from %s: %w", k.source, err)
	}
	if k.failing || len(*k.current.Load()) == 0 {
		k.log.InfoContext(ctx, "loaded the keys of tokens", "source", k.source, "keys", len(fresh))
	}
	if ignored != nil {
		k.log.DebugContext(ctx, "passed over keys of tokens", "source", k.source, "err", ignored)
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
		defer file.Close()
		return readLimited(file)
	}
}

func fromURL(address string, transport http.RoundTripper) func(context.Context) ([]byte, error) {
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the rule for the URL would not hold for the next one
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
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the answer has the status %d", resp.StatusCode)
		}
		return readLimited(resp.Body)
	}
}

func readLimited(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxKeySet+1))
	if err == nil && len(text) > maxKeySet {
		err = fmt.Errorf("the key set has more than %d bytes", maxKeySet)
	}
	return text, err
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
