package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/redisrepo/store/watchfile"
)

// TLS names PEM files for an encrypted connection. New connections use their contents of that time or, if these are
// invalid, the last valid ones.
type TLS struct {
	// CAFile holds the certificates of the authorities trusted to sign the server's. Empty means the system's.
	CAFile string

	// CertFile holds the client certificate, for servers that require one, followed by any intermediate
	// certificates; KeyFile holds its private key. Both or neither must be given.
	CertFile, KeyFile string
}

// credentials are what the files contain.
type credentials struct {
	roots        *x509.CertPool // nil: the system's
	certificates []tls.Certificate
}

// dialer returns a dialer that uses the latest contents of the files, or nil if none is set: then go-redis' own will
// do. config is nil if the connection has no TLS, and so no files.
func (o Options) dialer(config *tls.Config, timeout time.Duration) (func(ctx context.Context, network, addr string) (net.Conn, error), error) {
	files, err := o.readTLS()
	if files == nil || err != nil {
		return nil, err
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		latest, current := files.Latest(), config.Clone()
		current.RootCAs, current.Certificates = latest.roots, latest.certificates
		return redis.NewDialer(&redis.Options{DialTimeout: cmp.Or(timeout, 5*time.Second), TLSConfig: current})(ctx, network, addr)
	}, nil
}

// readTLS reads the files. It returns nil if none is set.
func (o Options) readTLS() (*watchfile.Files[credentials], error) {
	caName, certName, keyName := o.name("CAFile"), o.name("CertFile"), o.name("KeyFile")
	switch {
	case o.TLS == TLS{}:
		return nil, nil
	case o.TLS.CertFile != "" && o.TLS.KeyFile == "":
		return nil, fmt.Errorf("%s needs %s: the private key of the certificate", certName, keyName)
	case o.TLS.CertFile == "" && o.TLS.KeyFile != "":
		return nil, fmt.Errorf("%s needs %s: the certificate of the private key", keyName, certName)
	}
	var names, paths []string
	for _, f := range [][2]string{{caName, o.TLS.CAFile}, {certName, o.TLS.CertFile}, {keyName, o.TLS.KeyFile}} {
		if f[1] != "" {
			names, paths = append(names, f[0]), append(paths, f[1])
		}
	}
	files, err := watchfile.Read(o.Log, func(contents [][]byte) (c credentials, err error) {
		if o.TLS.CAFile != "" {
			c.roots = x509.NewCertPool()
			if !c.roots.AppendCertsFromPEM(contents[0]) {
				return c, fmt.Errorf("%s: no certificate in PEM format in %s", caName, o.TLS.CAFile)
			}
			contents = contents[1:]
		}
		if o.TLS.CertFile != "" {
			certificate, err := tls.X509KeyPair(contents[0], contents[1])
			if err != nil {
				return c, fmt.Errorf("%s %s with %s %s: %w", certName, o.TLS.CertFile, keyName, o.TLS.KeyFile, err)
			}
			c.certificates = []tls.Certificate{certificate}
		}
		return c, nil
	}, paths...)
	if unread := new(fs.PathError); errors.As(err, &unread) {
		return nil, fmt.Errorf("%s: %w", names[slices.Index(paths, unread.Path)], err)
	}
	return files, err
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
