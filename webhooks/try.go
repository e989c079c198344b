package webhooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"frontpage/redisrepo/events"
	"frontpage/redisrepo/site"
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
	if of, ok := errors.AsType[*url.Error](err); ok {
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

// NewClient returns a client that connects only to public addresses and to origins that the operator allows. It follows
// no redirects, which could lead anywhere, and uses no proxy, which would resolve names itself.
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

// message is the body of an event. It has no names of users.
type message struct {
	Type      string `json:"type"` // such as article.voted
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
}

// change is what changed of an article. Counts are those after the change.
type change struct {
	Article   string           `json:"article"`
	Revision  int              `json:"revision"`
	Votes     int              `json:"votes"`
	Upvotes   int              `json:"upvotes"`
	Downvotes int              `json:"downvotes"`
	Score     float64          `json:"score"`
	Groups    []site.GroupName `json:"groups,omitempty"`
	Milestone *int             `json:"milestone,omitempty"`
	Ground    site.Ground      `json:"ground,omitempty"`
	Basis     string           `json:"basis,omitempty"`
	Reason    string           `json:"reason,omitempty"`
}

// loss is what an event of the type gap says.
type loss struct {
	LostFrom *string `json:"lostFrom"` // null: unknown
	KeptFrom string  `json:"keptFrom"`
}

// body returns the body of an event.
func body(e *events.Event) string {
	c := change{Article: e.Article.String(), Revision: e.Revision, Votes: e.Votes, Upvotes: e.Votes + e.Downvotes, Downvotes: e.Downvotes, Score: e.Score, Groups: e.Groups, Milestone: e.Milestone}
	if e.Why != nil {
		c.Ground, c.Basis, c.Reason = e.Why.Ground, e.Why.Basis, e.Why.Reason
	}
	return text(message{"article." + string(e.Kind), e.At.UTC().Format(site.DateTime), c})
}

// gap returns id and body of the event that says that others were lost.
func gap(endpoint string, e *events.ExpiredError, now time.Time) (id, body string) {
	l := loss{KeptFrom: e.KeptFrom.UTC().Format(site.DateTime)}
	if !e.LostFrom.IsZero() {
		l.LostFrom = new(e.LostFrom.UTC().Format(site.DateTime))
	}
	return fmt.Sprintf("msg_gap_%s_%d", endpoint, now.UnixMilli()), text(message{"gap", now.UTC().Format(site.DateTime), l})
}

func text(m message) string {
	encoded, _ := json.Marshal(m) // no value that it cannot encode
	return string(encoded)
}

// sign returns the header webhook-signature: a signature by each secret.
func sign(secrets [][]byte, id, timestamp, body string) string {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}
