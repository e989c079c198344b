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

// TLS names PEM files for an encrypted connection. They are read when the store is opened: to use a renewed
// certificate, open the store again.
type TLS struct {
	// CAFile holds the certificates of the authorities trusted to sign the server's. Empty means the system's.
	CAFile string

	// CertFile holds the client certificate, for servers that require one, followed by any intermediate
	// certificates; KeyFile holds its private key. Both or neither must be given.
	CertFile, KeyFile string
}

// errNoTLS is returned when TLS files are given for a connection without TLS.
func (o Options) errNoTLS() error {
	return fmt.Errorf("%s, %s and %s need %s to begin with rediss://, rediss+sentinel:// or rediss+cluster://",
		o.name("CAFile"), o.name("CertFile"), o.name("KeyFile"), o.name("URL"))
}

// loadTLS reads the files into config, which is nil if the connection has no TLS, and so no files.
func (o Options) loadTLS(config *tls.Config) error {
	caName, certName, keyName := o.name("CAFile"), o.name("CertFile"), o.name("KeyFile")
	if o.TLS.CAFile != "" {
		text, err := os.ReadFile(o.TLS.CAFile)
		if err != nil {
			return fmt.Errorf("%s: %w", caName, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("%s: no certificate in PEM format in %s", caName, o.TLS.CAFile)
		}
	}
	switch {
	case o.TLS.CertFile == "" && o.TLS.KeyFile == "":
		return nil
	case o.TLS.KeyFile == "":
		return fmt.Errorf("%s needs %s: the private key of the certificate", certName, keyName)
	case o.TLS.CertFile == "":
		return fmt.Errorf("%s needs %s: the certificate of the private key", keyName, certName)
	}
	certificate, err := tls.LoadX509KeyPair(o.TLS.CertFile, o.TLS.KeyFile)
	if err != nil {
		return fmt.Errorf("%s %s with %s %s: %w", certName, o.TLS.CertFile, keyName, o.TLS.KeyFile, err)
	}
	config.Certificates = []tls.Certificate{certificate}
	return nil
}

// dialCause returns why a connection failed, which dialHook hides.
func dialCause(err error) error {
	if dial := (dialError{}); errors.As(err, &dial) {
		return dial.error
	}
	return err
}

// tlsFailed reports whether one side rejected the other in the TLS handshake, so that retrying would not help.
func tlsFailed(err error) bool {
	err = dialCause(err)
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError)) || alerted(err)
}

// alerted reports whether the server ended the handshake with a TLS alert.
func alerted(err error) bool {
	network := new(net.OpError)
	return errors.As(err, &network) && network.Op == "remote error"
}

// explain adds to the error of a failed connection what to do about it.
func (o Options) explain(scheme string, err error) error {
	cause := dialCause(err)
	var invalid x509.CertificateInvalidError
	help := ""
	switch {
	case errors.As(cause, new(x509.UnknownAuthorityError)) && o.TLS.CAFile == "":
		help = "set " + o.name("CAFile") + " to the certificate of the authority that signed the server's"
	case errors.As(cause, new(x509.UnknownAuthorityError)):
		help = "no authority in " + o.name("CAFile") + " " + o.TLS.CAFile + " signed the server's certificate"
	case errors.As(cause, new(x509.HostnameError)):
		help = o.name("URL") + " must name the server as its certificate does"
	case errors.As(cause, &invalid) && invalid.Reason == x509.Expired:
		help = "renew the server's certificate, or correct the clock of this machine"
	case alerted(cause) && strings.HasSuffix(cause.Error(), "protocol version not supported"):
		help = "the server must support TLS 1.2 or newer"
	case alerted(cause) && o.TLS.CertFile == "":
		help = "if the server requires client certificates, set " + o.name("CertFile") + " and " + o.name("KeyFile")
	case alerted(cause):
		help = "the client certificate sent was that of " + o.name("CertFile") + " " + o.TLS.CertFile
	case errors.As(cause, new(tls.RecordHeaderError)):
		help = "the server does not use TLS on this port"
	case cause == context.DeadlineExceeded && isTLS(scheme): //nolint:errorlint // in the handshake: a failed dial has another error, which wraps this one
		help = "no reply to the TLS handshake: the port may be without TLS, or ?dial_timeout=2s may help"
	case errors.Is(cause, io.EOF) && (scheme == "redis" || scheme == "redis+cluster"):
		help = "the server closed the connection: if it uses TLS on this port, " + o.name("URL") + " must begin with redis" + strings.Replace(scheme, "redis", "s", 1) + "://"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, help)
}

func isTLS(scheme string) bool { return strings.HasPrefix(scheme, "rediss") }
