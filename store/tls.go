package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// TLS names the files for an encrypted connection, all of them in PEM form. They
// are read when the store is opened: to use a renewed one, open it again.
type TLS struct {
	// CAFile holds the certificates of the authorities that may vouch for the
	// server. Empty means those that this machine trusts.
	CAFile string

	// CertFile and KeyFile are the certificate that a server may ask its clients
	// for, followed by those between it and its authority, and its private key.
	// Both or neither must be given.
	CertFile, KeyFile string
}

// The settings that the files come from, for people.
const (
	caSetting   = "REDIS_CA_FILE"
	certSetting = "REDIS_CERT_FILE"
	keySetting  = "REDIS_KEY_FILE"
)

var errNoTLS = fmt.Errorf("%s, %s and %s are for rediss:// and rediss+sentinel:// only: no other URL of the store means TLS",
	caSetting, certSetting, keySetting)

// apply reads the files into config, which is nil when there are none.
func (f TLS) apply(config *tls.Config) error {
	if f.CAFile != "" {
		text, err := os.ReadFile(f.CAFile)
		if err != nil {
			return fmt.Errorf("%s: %w", caSetting, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s: there is no certificate in PEM form in %s", caSetting, f.CAFile)
		}
	}
	switch {
	case f.CertFile == "" && f.KeyFile == "":
		return nil
	case f.KeyFile == "":
		return fmt.Errorf("%s needs %s: the private key of that certificate", certSetting, keySetting)
	case f.CertFile == "":
		return fmt.Errorf("%s needs %s: the certificate of that private key", keySetting, certSetting)
	}
	certificate, err := tls.LoadX509KeyPair(f.CertFile, f.KeyFile)
	if err != nil {
		return fmt.Errorf("%s %s with %s %s: %w", certSetting, f.CertFile, keySetting, f.KeyFile, err)
	}
	config.Certificates = []tls.Certificate{certificate}
	return nil
}

// undialed returns why a connection could not be made, which dialHook hides.
func undialed(err error) error {
	if dial := (dialError{}); errors.As(err, &dial) {
		return dial.error
	}
	return err
}

// refusedInTLS reports whether one side refuses the other for good: to try again
// would not help.
func refusedInTLS(err error) bool {
	err = undialed(err)
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError)) || alerted(err)
}

// alerted reports whether the server ended a TLS connection with a reason.
func alerted(err error) bool {
	network := new(net.OpError)
	return errors.As(err, &network) && network.Op == "remote error"
}

// explain says what to do about a connection that does not come about.
func (f TLS) explain(scheme string, err error) error {
	cause := undialed(err)
	var invalid x509.CertificateInvalidError
	help := ""
	switch {
	case errors.As(cause, new(x509.UnknownAuthorityError)) && f.CAFile == "":
		help = "set " + caSetting + " to the certificate of the authority that signed the server's"
	case errors.As(cause, new(x509.UnknownAuthorityError)):
		help = "no certificate in " + caSetting + " " + f.CAFile + " is that of the authority that signed the server's"
	case errors.As(cause, new(x509.HostnameError)):
		help = "the URL must name the server as its certificate does"
	case errors.As(cause, &invalid) && invalid.Reason == x509.Expired:
		help = "the server needs a new certificate, or this machine the right time"
	case alerted(cause) && strings.HasSuffix(cause.Error(), "protocol version not supported"):
		help = "the server must use TLS 1.2 or newer"
	case alerted(cause) && f.CertFile == "":
		help = "if the server asks its clients for a certificate, set " + certSetting + " and " + keySetting
	case alerted(cause):
		help = "the server was shown the certificate of " + certSetting + " " + f.CertFile
	case errors.As(cause, new(tls.RecordHeaderError)):
		help = "the server does not use TLS on this port"
	case cause == context.DeadlineExceeded && isTLS(scheme): // in the handshake: a dial says more
		help = "nobody answers in TLS: the port may be one without, or ?dial_timeout=2s may help"
	case errors.Is(cause, io.EOF) && scheme == "redis":
		help = "the server ends the connection: if it uses TLS on this port, the URL must begin with rediss://"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, help)
}

func isTLS(scheme string) bool { return scheme == "rediss" || scheme == "rediss+sentinel" }
