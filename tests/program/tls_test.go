package program_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"frontpage/tests/require"

	"github.com/coder/websocket"
)

// certificate makes a self-signed certificate for this machine. It returns the files, and a client
// configuration that trusts it.
func certificate(t *testing.T) (cert, key string, trust *tls.Config) {
	t.Helper()
	private := require.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "frontpage"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der := require.Value(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))(t)
	keyDER := require.Value(x509.MarshalPKCS8PrivateKey(private))(t)
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	return fileOf(t, string(certPEM)), fileOf(t, string(keyPEM)), &tls.Config{RootCAs: roots}
}

// client returns a client that speaks only the protocols selected by set.
func client(t *testing.T, trust *tls.Config, set func(*http.Protocols)) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: trust.Clone(), Protocols: new(http.Protocols)}
	set(transport.Protocols)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// eventsBy returns the protocol and the lines of an event stream with one query.
func (s *server) eventsBy(client *http.Client) (protocol, body string) {
	s.t.Helper()
	req := require.Value(http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+"/query?query="+url.QueryEscape(`{ viewer { name } }`), nil))(s.t)
	req.Header.Set("Accept", "text/event-stream")
	res := require.Value(client.Do(req))(s.t)
	defer func() { _ = res.Body.Close() }()
	text := ""
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		text += lines.Text() + "|"
	}
	return res.Proto, text
}

func TestCertificateMakesTheServerServeHTTPS(t *testing.T) {
	t.Parallel()
	cert, key, trust := certificate(t)
	s := start(t, "REDIS_URL=memory://", "FRONTPAGE_TLS_CERT_FILE="+cert, "FRONTPAGE_TLS_KEY_FILE="+key, "FRONTPAGE_JWT_SECRET="+testSecret)
	if !strings.HasPrefix(s.URL, "https://127.0.0.1:") {
		t.Errorf("the server serves at %s, want https", s.URL)
	}
	alice := []string{"Authorization", "Bearer " + tokenFor("alice")}
	one := client(t, trust, func(p *http.Protocols) { p.SetHTTP1(true) })
	two := client(t, trust, func(p *http.Protocols) { p.SetHTTP2(true) })
	for want, client := range map[string]*http.Client{"HTTP/1.1": one, "HTTP/2.0": two} {
		res, body := s.whoAmI(client, alice...)
		if res.Proto != want || body != isAlice || res.TLS == nil || res.TLS.Version < tls.VersionTLS12 {
			t.Errorf("the viewer over %s: protocol %s, %s, want alice and at least TLS 1.2", want, res.Proto, body)
		}
		if protocol, body := s.eventsBy(client); protocol != want || body != `:||event: next|data: {"data":{"viewer":null}}||event: complete|data:||` {
			t.Errorf("an event stream over %s: protocol %s, lines %s", want, protocol, body)
		}
	}
	conn, _, err := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(s.URL, "https")+"/query", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}, HTTPClient: one})
	require.NoError(t, err)
	defer func() { _ = conn.CloseNow() }()
	for _, step := range [][2]string{
		{`{"type":"connection_init","payload":{"Authorization":"Bearer ` + tokenFor("alice") + `"}}`, `{"type":"connection_ack"}`},
		{`{"type":"subscribe","id":"1","payload":{"query":"{ viewer { name } }"}}`, `{"type":"next","id":"1","payload":` + isAlice + `}`},
	} {
		require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(step[0])))
		if _, message, err := conn.Read(t.Context()); err != nil || string(message) != step[1] {
			t.Errorf("%s %v, want %s", message, err, step[1])
		}
	}
	if res, err := http.Get("http" + strings.TrimPrefix(s.URL, "https") + "/healthz"); err == nil {
		_ = res.Body.Close()
		if res.StatusCode != 400 {
			t.Errorf("plain HTTP on the HTTPS port: status %d, want 400", res.StatusCode)
		}
	}
	if res, err := (&http.Client{Transport: &http.Transport{}}).Get(s.URL + "/healthz"); err == nil {
		_ = res.Body.Close()
		t.Error("a client that does not trust the certificate gets a response")
	}
	old := trust.Clone()
	old.MaxVersion = tls.VersionTLS11
	if conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), old); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.1 is accepted")
	}
	if log := s.Stop(); strings.Contains(log, "sesame") || strings.Contains(log, "PRIVATE") {
		t.Errorf("the log contains a secret: %s", log)
	}
}

func TestRenewedCertificateIsServed(t *testing.T) {
	t.Parallel()
	cert, key, trustOld := certificate(t)
	newCert, newKey, trustNew := certificate(t)
	s := start(t, "REDIS_URL=memory://", "FRONTPAGE_TLS_CERT_FILE="+cert, "FRONTPAGE_TLS_KEY_FILE="+key)
	trusted := func(trust *tls.Config) bool {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(s.URL, "https://"), trust)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	replace := func(path, by string) {
		t.Helper()
		text := require.Value(os.ReadFile(by))(t)
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
	if !trusted(trustOld) || trusted(trustNew) {
		t.Fatal("the old certificate is not served")
	}
	replace(key, newKey)
	require.Eventually(s.t, "the log warns of the key without its certificate", func() bool {
		return trusted(trustOld) && strings.Contains(s.Log(), "changed files cannot be used")
	})
	replace(cert, newCert)
	require.Eventually(s.t, "the new certificate is served", func() bool { return trusted(trustNew) })
	if trusted(trustOld) {
		t.Error("the old certificate is still served")
	}
	if log := s.Stop(); strings.Contains(log, "PRIVATE") {
		t.Errorf("the log contains a secret: %s", log)
	}
}

func TestHTTP2IsAcceptedWithoutTLS(t *testing.T) {
	t.Parallel()
	two := client(t, &tls.Config{}, func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) })
	on := start(t, "REDIS_URL=memory://")
	if res, body := on.whoAmI(two, "X-User-ID", "alice"); res.Proto != "HTTP/2.0" || body != isAlice {
		t.Errorf("the viewer without TLS: protocol %s, %s, want alice over HTTP/2.0", res.Proto, body)
	}
	if protocol, body := on.eventsBy(two); protocol != "HTTP/2.0" || !strings.HasSuffix(body, `||event: complete|data:||`) {
		t.Errorf("an event stream without TLS: protocol %s, lines %s", protocol, body)
	}
	if res, body := on.whoAmI(http.DefaultClient, "X-User-ID", "alice"); res.Proto != "HTTP/1.1" || body != isAlice {
		t.Errorf("a client of HTTP/1.1 without TLS: protocol %s, %s, want alice", res.Proto, body)
	}
	if res, _ := on.whoAmI(two, "Host", "evil.example"); res.StatusCode != 421 {
		t.Errorf("a foreign Host over HTTP/2: status %d, want 421", res.StatusCode)
	}
	_ = on.socket("{ viewer { name } }")
	on.Stop()
}

// Broken HTTP/2 frames, failed handshakes and broken requests leave no address of a client in the log, over TLS and
// without it.
func TestBrokenConnectionsLeaveNoAddressInTheLog(t *testing.T) {
	t.Parallel()
	cert, key, trust := certificate(t)
	const preface, settings = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	broken := map[string]string{
		"headers on stream 0":  preface + settings + "\x00\x00\x01\x01\x05\x00\x00\x00\x00\x88",
		"a frame too long":     preface + settings + "\xff\xff\xff\x00\x00\x00\x00\x00\x01",
		"a push by the client": preface + settings + "\x00\x00\x04\x05\x04\x00\x00\x00\x01\x00\x00\x00\x02",
		"broken compression":   preface + settings + "\x00\x00\x01\x01\x05\x00\x00\x00\x01\xff",
		"no settings":          preface + "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678",
		"a broken preface":     "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
		"a broken request":     "GET /%zz HTTP/1.1\r\n\r\n",
		"no HTTP":              "\x00\x01\x02\r\n\r\n",
	}
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 77)}, Timeout: 10 * time.Second}
	for name, env := range map[string][]string{"TLS": {"FRONTPAGE_TLS_CERT_FILE=" + cert, "FRONTPAGE_TLS_KEY_FILE=" + key}, "no TLS": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, append(env, "REDIS_URL=memory://", "FRONTPAGE_JWT_SECRET="+testSecret, "FRONTPAGE_LOG_LEVEL=debug")...)
			address := strings.TrimPrefix(strings.TrimPrefix(s.URL, "https://"), "http://")
			for sent, text := range broken {
				for _, protocols := range [][]string{nil, {"h2"}, {"http/1.1"}} { // nil: without TLS
					conn := require.Value(from.Dial("tcp", address))(t)
					_ = conn.SetDeadline(time.Now().Add(10 * time.Minute))
					if name == "TLS" && protocols != nil {
						encrypted := trust.Clone()
						encrypted.ServerName, encrypted.NextProtos = "localhost", protocols
						conn = tls.Client(conn, encrypted)
					}
					if _, err := conn.Write([]byte(text)); err != nil {
						t.Errorf("%s by %v: %v", sent, protocols, err)
					}
					_, _ = io.Copy(io.Discard, conn) // until the server closes it
					_ = conn.Close()
				}
			}
			if log := s.Stop(); strings.Contains(log, "127.0.0.77") || !strings.Contains(log, "stopped") {
				t.Errorf("got the address of a client in the log:\n%s", log)
			}
		})
	}
}
