//go:build unix

package store_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/store"
	"frontpage/tests/redistest"
	"frontpage/tests/require"
	"frontpage/tests/sitetest"
)

// authority is a certificate authority.
type authority struct {
	dir    string
	signer *x509.Certificate
	key    *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.signer, a.key = a.sign(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// sign writes NAME.crt and NAME.key. A certificate without NotAfter is valid for an hour.
func (a *authority) sign(t *testing.T, name string, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key := require.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c.SerialNumber, c.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-2*time.Hour)
	c.Subject.CommonName = name
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	signer, by := a.signer, a.key
	if signer == nil {
		signer, by = c, key
	}
	der := require.Value(x509.CreateCertificate(rand.Reader, c, signer, &key.PublicKey, by))(t)
	private := require.Value(x509.MarshalPKCS8PrivateKey(key))(t)
	for file, block := range map[string]*pem.Block{
		a.crt(name): {Type: "CERTIFICATE", Bytes: der}, a.secret(name): {Type: "PRIVATE KEY", Bytes: private},
	} {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	parsed := require.Value(x509.ParseCertificate(der))(t)
	return parsed, key
}

func (a *authority) crt(name string) string    { return filepath.Join(a.dir, name+".crt") }
func (a *authority) secret(name string) string { return filepath.Join(a.dir, name+".key") }

// server returns the arguments of a redis-server with a certificate for 127.0.0.1 and TLS on the port.
func (a *authority) server(t *testing.T, port string, ends time.Time, clients string) []string {
	t.Helper()
	name := "server" + port
	a.sign(t, name, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: ends})
	return []string{"--tls-port", port, "--tls-cert-file", a.crt(name), "--tls-key-file", a.secret(name),
		"--tls-ca-cert-file", a.crt("ca"), "--tls-auth-clients", clients}
}

// start runs such a redis-server, with a password, and returns its URL.
func (a *authority) start(t *testing.T, ends time.Time, clients string) string {
	t.Helper()
	port := redistest.UnusedPort(t)
	startServer(t, append(a.server(t, port, ends, clients), "--requirepass", "s3cret")...)
	return "rediss://:s3cret@127.0.0.1:" + port
}

// unhurried gives handshakes enough time on a busy machine.
const unhurried = "?dial_timeout=3s&read_timeout=3s"

func TestTLSVerifiesBothSides(t *testing.T) {
	t.Parallel()
	ours, foreign := newAuthority(t), newAuthority(t)
	ours.sign(t, "client", &x509.Certificate{})
	foreign.sign(t, "client", &x509.Certificate{})
	var later time.Time
	open, old, asking := ours.start(t, later, "no"), ours.start(t, time.Now().Add(-time.Hour), "no"), ours.start(t, later, "yes")
	good := store.TLS{CAFile: ours.crt("ca")}
	client := store.TLS{CAFile: ours.crt("ca"), CertFile: ours.crt("client"), KeyFile: ours.secret("client")}
	port := redistest.UnusedPort(t)
	startServer(t, "--port", port)

	for name, tt := range map[string]struct {
		url  string
		tls  store.TLS
		want string // part of the error; empty if it works
	}{
		"trusted authority":            {url: open, tls: good},
		"unneeded client certificate":  {url: open, tls: client},
		"system's authorities":         {url: open, want: "unknown authority: set REDIS_CA_FILE"},
		"another authority":            {url: open, tls: store.TLS{CAFile: foreign.crt("ca")}, want: "no authority in REDIS_CA_FILE " + foreign.crt("ca")},
		"another host":                 {url: strings.Replace(open, "127.0.0.1", "localhost", 1), tls: good, want: "REDIS_URL must name the server as its certificate does"},
		"expired certificate":          {url: old, tls: good, want: "expired"},
		"skip_verify":                  {url: old + unhurried + "&skip_verify=true"},
		"missing client certificate":   {url: asking, tls: good, want: "set REDIS_CERT_FILE and REDIS_KEY_FILE"},
		"client certificate":           {url: asking, tls: client},
		"another's client certificate": {url: asking, tls: store.TLS{CAFile: ours.crt("ca"), CertFile: foreign.crt("client"), KeyFile: foreign.secret("client")}, want: "the client certificate sent was that of REDIS_CERT_FILE " + foreign.crt("client")},
		"no TLS to a TLS port":         {url: strings.Replace(open, "rediss:", "redis:", 1), want: "must begin with rediss://"},
		"TLS to a port without TLS":    {url: "rediss://:s3cret@127.0.0.1:" + port, want: "may be without TLS"},
		"TLS to another protocol":      {url: "rediss://:s3cret@" + garbage(t), want: "does not use TLS on this port"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := store.Options{URL: tt.url, TLS: tt.tls}
			if tt.want != "" {
				before := time.Now()
				if text := openError(t, o); !strings.Contains(text, tt.want) || strings.Contains(text, "s3cret") {
					t.Errorf("error = %q, want %q in it and no password", text, tt.want)
				}
				if took := time.Since(before); took > require.Timeout {
					t.Errorf("Open took %v to fail, want at most %v", took, require.Timeout)
				}
				return
			}
			if !strings.Contains(o.URL, "?") {
				o.URL += unhurried
			}
			s := require.Value(store.Open(t.Context(), o))(t)
			defer s.Close()
			set(t, s, "key", "value")
			wantValue(t, s, "key", "value")
			if config := s.Client.(*redis.Client).Options().TLSConfig; config.MinVersion != tls.VersionTLS12 {
				t.Errorf("minimum version of TLS = %x, want 1.2", config.MinVersion)
			}
			if strings.Contains(s.String(), "s3cret") || !strings.HasPrefix(s.Address, "rediss://127.0.0.1:") {
				t.Errorf("String() = %q, Address = %q, want the address and no password", s, s.Address)
			}
		})
	}
}

// garbage returns the address of a server that greets each client in plain text.
func garbage(t *testing.T) string {
	t.Helper()
	listener := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			conn.Write([]byte("220 welcome\r\n"))
		}
	}()
	return listener.Addr().String()
}

func TestTLSOlderThan12IsRefused(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	ours.sign(t, "server", &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	certificate := require.Value(tls.LoadX509KeyPair(ours.crt("server"), ours.secret("server")))(t)
	old := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	listener := require.Value(tls.Listen("tcp", "127.0.0.1:0", old))(t)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.(*tls.Conn).HandshakeContext(t.Context())
			conn.Close()
		}
	}()
	o := store.Options{URL: "rediss://" + listener.Addr().String(), TLS: store.TLS{CAFile: ours.crt("ca")}}
	if text := openError(t, o); !strings.Contains(text, "TLS 1.2") {
		t.Errorf("error = %q, want it to name TLS 1.2", text)
	}
}

func TestUnusableTLSFilesAreRefused(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	ours.sign(t, "a", &x509.Certificate{})
	ours.sign(t, "b", &x509.Certificate{})
	gone := filepath.Join(ours.dir, "gone")
	for name, tt := range map[string]struct {
		url  string // empty means one with TLS
		tls  store.TLS
		want []string
	}{
		"missing CA file":             {tls: store.TLS{CAFile: gone}, want: []string{"REDIS_CA_FILE", gone, "no such file"}},
		"CA file is a directory":      {tls: store.TLS{CAFile: ours.dir}, want: []string{"REDIS_CA_FILE", ours.dir}},
		"CA file holds a key":         {tls: store.TLS{CAFile: ours.secret("a")}, want: []string{"REDIS_CA_FILE", ours.secret("a"), "no certificate"}},
		"certificate without key":     {tls: store.TLS{CertFile: ours.crt("a")}, want: []string{"REDIS_CERT_FILE needs REDIS_KEY_FILE"}},
		"key without certificate":     {tls: store.TLS{KeyFile: ours.secret("a")}, want: []string{"REDIS_KEY_FILE needs REDIS_CERT_FILE"}},
		"missing certificate":         {tls: store.TLS{CertFile: gone, KeyFile: ours.secret("a")}, want: []string{"REDIS_CERT_FILE", gone, "no such file"}},
		"missing key":                 {tls: store.TLS{CertFile: ours.crt("a"), KeyFile: gone}, want: []string{"REDIS_KEY_FILE", gone, "no such file"}},
		"another certificate's key":   {tls: store.TLS{CertFile: ours.crt("a"), KeyFile: ours.secret("b")}, want: []string{"REDIS_KEY_FILE", ours.secret("b"), "does not match"}},
		"certificate and key swapped": {tls: store.TLS{CertFile: ours.secret("a"), KeyFile: ours.crt("a")}, want: []string{"REDIS_CERT_FILE", ours.secret("a")}},
		"Sentinels":                   {url: "rediss+sentinel://:s3cret@a,b/main", tls: store.TLS{CAFile: gone}, want: []string{"REDIS_CA_FILE", gone}},
		"no TLS":                      {url: "redis://:s3cret@localhost", tls: store.TLS{CAFile: ours.crt("ca")}, want: []string{"REDIS_CA_FILE", "rediss://"}},
		"unix socket":                 {url: "unix://:s3cret@/socket", tls: store.TLS{KeyFile: ours.secret("a")}, want: []string{"REDIS_KEY_FILE", "rediss://"}},
		"Sentinels without TLS":       {url: "redis+sentinel://:s3cret@a,b/main", tls: store.TLS{CAFile: ours.crt("ca")}, want: []string{"REDIS_CA_FILE", "rediss+sentinel://"}},
		"memory":                      {url: "memory://", tls: store.TLS{CAFile: ours.crt("ca")}, want: []string{"REDIS_CA_FILE", "rediss://"}},
		"private server":              {url: "spawn://", tls: store.TLS{CAFile: ours.crt("ca")}, want: []string{"REDIS_CA_FILE", "rediss://"}},
		"no URL":                      {url: "-", tls: store.TLS{CAFile: ours.crt("ca")}, want: []string{"REDIS_CA_FILE", "rediss://"}},
	} {
		o := store.Options{URL: strings.TrimSuffix(tt.url, "-"), DataDir: t.TempDir(), TLS: tt.tls}
		if tt.url == "" {
			o.URL = "rediss://:s3cret@127.0.0.1:1"
		}
		text := openError(t, o)
		for _, want := range tt.want {
			if !strings.Contains(text, want) || strings.Contains(text, "s3cret") || strings.Contains(text, "BEGIN") {
				t.Errorf("%s: error = %q, want %q in it and no secret", name, text, want)
			}
		}
	}
}

// The server gets another authority, which also has to sign the clients' certificates.
func TestRenewedTLSFilesAreUsed(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	ours.sign(t, "client", &x509.Certificate{})
	theirs.sign(t, "client", &x509.Certificate{})
	ca, cert, key := filepath.Join(ours.dir, "used-ca"), filepath.Join(ours.dir, "used-cert"), filepath.Join(ours.dir, "used-key")
	use := func(a *authority) {
		t.Helper()
		for to, from := range map[string]string{ca: a.crt("ca"), cert: a.crt("client"), key: a.secret("client")} {
			text := require.Value(os.ReadFile(from))(t)
			require.NoError(t, os.WriteFile(to, text, 0o600))
		}
	}
	use(ours)
	port := redistest.UnusedPort(t)
	old := startServer(t, ours.server(t, port, time.Time{}, "yes")...)
	var log sitetest.Log
	s := open(t, store.Options{
		URL: "rediss://127.0.0.1:" + port + unhurried, TLS: store.TLS{CAFile: ca, CertFile: cert, KeyFile: key}, Log: log.Logger(slog.LevelInfo),
	})
	set(t, s, "key", "value")

	require.NoError(t, os.WriteFile(cert, []byte("broken"), 0o600))
	require.Eventually(t, "warning about the broken file", func() bool {
		s.Client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no") // the next command connects
		wantValue(t, s, "key", "value")
		return strings.Contains(log.String(), "cannot be used")
	})

	use(theirs)
	old.kill()
	startServer(t, theirs.server(t, port, time.Time{}, "yes")...)
	require.Eventually(t, "connection with the new files", func() bool { return s.Client.Ping(t.Context()).Err() == nil })
	set(t, s, "key", "value")
}

func TestSubscriptionsUseTLS(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	ours.sign(t, "client", &x509.Certificate{})
	s := open(t, store.Options{
		URL: ours.start(t, time.Time{}, "yes") + unhurried,
		TLS: store.TLS{CAFile: ours.crt("ca"), CertFile: ours.crt("client"), KeyFile: ours.secret("client")},
	})
	subscription := s.Client.Subscribe(t.Context(), "news")
	defer subscription.Close()
	messages := subscription.Channel()
	require.Eventually(t, "subscriber", func() bool { return s.Client.Publish(t.Context(), "news", "hello").Val() > 0 })
	if m := <-messages; m == nil || m.Payload != "hello" {
		t.Errorf("message = %v, want hello", m)
	}
}

func TestSentinelsUseTLS(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	port, sentinelPort := redistest.UnusedPort(t), redistest.UnusedPort(t)
	startServer(t, append(ours.server(t, port, time.Time{}, "no"), "--requirepass", "s3cret")...)
	startRedis(t, "requirepass s3ntinel\nsentinel monitor main 127.0.0.1 "+port+" 1\nsentinel auth-pass main s3cret\n",
		append(ours.server(t, sentinelPort, time.Time{}, "no"), "--tls-replication", "yes", "--sentinel")...)
	url := "rediss+sentinel://:s3cret@127.0.0.1:" + sentinelPort + "/main" + unhurried + "&sentinel_password=s3ntinel"
	s := open(t, store.Options{URL: url, TLS: store.TLS{CAFile: ours.crt("ca")}})
	set(t, s, "key", "value")
	wantValue(t, s, "key", "value")
	if want := "rediss+sentinel://127.0.0.1:" + sentinelPort + "/main"; s.Address != want {
		t.Errorf("Address = %q, want %q", s.Address, want)
	}
	// On a busy machine the first handshake may take longer than a start waits.
	require.Eventually(t, "an error without the authority that names REDIS_CA_FILE", func() bool {
		text := openError(t, store.Options{URL: url})
		if strings.Contains(text, "s3cret") || strings.Contains(text, "s3ntinel") {
			t.Errorf("error without the authority = %q, want no password in it", text)
		}
		return strings.Contains(text, "REDIS_CA_FILE")
	})
}
