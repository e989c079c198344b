package webhooks

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"frontpage/redisrepo/webhooks"
)

const (
	tryTime   = 15 * time.Second
	mostRead  = 4 << 10 // bytes of an answer
	mostAfter = 24 * time.Hour
)

// result is what became of a try.
type result struct {
	delivered bool
	gone      bool          // the endpoint wants no more events
	slow      bool          // it has too much to do
	after     time.Duration // how long it asked to wait
	err       string
}

// try sends an event once.
func (s *Sender) try(ctx context.Context, e *webhooks.Endpoint, u *webhooks.Undelivered) (r result) {
	defer func() {
		if r.delivered {
			s.counts.delivered.Add(1)
		} else {
			s.counts.failed.Add(1)
		}
	}()
	if len(e.Secrets) == 0 {
		return result{err: "its secret was encrypted with another FRONTPAGE_SECRET"}
	}
	ctx, stop := context.WithTimeout(ctx, tryTime)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, strings.NewReader(u.Body))
	if err != nil {
		return result{err: err.Error()}
	}
	now := strconv.FormatInt(s.repo.Store.Now().Unix(), 10)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Frontpage",
		"Webhook-Id": u.ID, "Webhook-Timestamp": now, "Webhook-Signature": sign(e.Secrets, u.ID, now, u.Body),
	} {
		req.Header.Set(name, value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return result{err: failure(err)}
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, mostRead) // so that the connection can be used again
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
		return result{delivered: true}
	case code == http.StatusGone:
		return result{gone: true, err: res.Status}
	default:
		slow := code == http.StatusTooManyRequests || code == http.StatusBadGateway || code == http.StatusGatewayTimeout
		return result{slow: slow, after: retryAfter(res.Header.Get("Retry-After"), s.repo.Store.Now()), err: res.Status}
	}
}

// failure is what an operator reads of an error: it leaves out the address that the error repeats.
func failure(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return err.Error()
}

// retryAfter reads a header Retry-After, in seconds or as a time. One that is invalid is 0.
func retryAfter(text string, now time.Time) time.Duration {
	after := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil {
		after = time.Duration(min(max(seconds, 0), int(mostAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		after = at.Sub(now)
	}
	return min(max(after, 0), mostAfter)
}

// NewClient returns a client that connects only to public addresses, and to origins that the operator allows. It
// follows no redirects, which could lead anywhere, and uses no proxy, which would resolve names itself.
func NewClient(allowed *webhooks.Webhooks) *http.Client {
	dial := func(ctx context.Context, network, address string, isAllowed bool) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		addresses, err := allowed.Resolve(ctx, host, isAllowed)
		if err != nil {
			return nil, err
		}
		var dialer net.Dialer
		var errs []error
		for _, ip := range addresses { // by number: the name is not resolved again
			conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(ip.String(), port))
			if err == nil {
				return conn, nil
			}
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	}
	transport := func(isAllowed bool) *http.Transport {
		return &http.Transport{
			MaxIdleConnsPerHost: connections, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: tryTime, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				return dial(ctx, network, address, isAllowed)
			},
		}
	}
	return &http.Client{
		Transport:     byOrigin{allowed, transport(true), transport(false)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// byOrigin chooses the transport of a request. They share no connections.
type byOrigin struct {
	webhooks         *webhooks.Webhooks
	allowed, checked *http.Transport
}

// RoundTrip implements http.RoundTripper.
func (b byOrigin) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.webhooks.Allowed(req.URL.Scheme + "://" + req.URL.Host) {
		return b.allowed.RoundTrip(req)
	}
	if req.URL.Scheme != "https" {
		return nil, errors.New("events are sent by https only")
	}
	return b.checked.RoundTrip(req)
}
