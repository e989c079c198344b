package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"frontpage/endpoint"
	"frontpage/graph"
	"frontpage/settings"
	"frontpage/site/web"
	"frontpage/telemetry/admin"
	"frontpage/telemetry/metrics"
)

// operator is the listener for operators. It is nil if FRONTPAGE_ADMIN_ADDR is unset.
type operator struct {
	metrics *metrics.Metrics
	server  *http.Server
	address net.Addr
	stopped chan struct{}
}

// serveOperator starts the listener for operators, unless FRONTPAGE_ADMIN_ADDR is unset. It serves before the store is open, so
// that operators can see what a slow start does.
func serveOperator(s *settings.Settings, trusted *endpoint.Trusted, log *slog.Logger) (*operator, error) {
	if s.AdminAddr == "" {
		return nil, nil
	}
	names, err := operationNames(trusted)
	if err != nil {
		return nil, err
	}
	listener, err := admin.Listen(s.AdminAddr, s.AdminSecret())
	switch {
	case errors.Is(err, admin.ErrOpen):
		return nil, settings.Invalid(fmt.Errorf("%w: set %s", err, settings.Variable("admin-token")), "admin-addr")
	case err != nil:
		return nil, cannotListen(err, "admin-addr")
	}
	build := thisBuild()
	o := &operator{address: listener.Addr(), stopped: make(chan struct{})}
	o.metrics = metrics.New(log, metrics.Build{Version: build.version, Commit: build.commitText(), Go: build.goVersion, Layout: build.layout}, names)
	o.server = admin.NewServer(s.AdminSecret(), build.String(), o.metrics, log)
	go func() {
		defer close(o.stopped)
		if err := o.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics and profiles are no longer served", "err", err)
		}
	}()
	return o, nil
}

// operationNames returns the names of the operations of the trusted documents or, without them, of the site.
func operationNames(trusted *endpoint.Trusted) (names []string, err error) {
	if trusted == nil {
		if trusted, err = endpoint.ReadTrusted(web.Documents(), graph.Schema(), graph.Scalars, endpoint.DefaultLimits()); err != nil {
			return nil, fmt.Errorf("the documents of the site: %w", err)
		}
	}
	return trusted.Operations(), nil
}

// close ends the listener.
func (o *operator) close() {
	_ = o.server.Close()
	<-o.stopped
}
