#!/bin/bash
# OpenTelemetry's otlptracehttp v1.47.0 with its SDK v1.47.0 (Go), 2026-11-28.
# Guess: WithEndpointURL takes the address of a collector, as OTEL_EXPORTER_OTLP_ENDPOINT does, and adds /v1/traces.
# Seen: spans go to the path of the URL as it is; to / if it has none. A collector answers 404 there, and only the error
# handler of OpenTelemetry gets it.
#   POST /, POST /otlp
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp@v1.47.0 go.opentelemetry.io/otel/sdk@v1.47.0 2>/dev/null
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { fmt.Println(req.Method, req.URL.Path) }))
	for _, path := range []string{"", "/otlp"} {
		exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(collector.URL+path))
		if err != nil {
			panic(err)
		}
		_, span := trace.NewTracerProvider(trace.WithSyncer(exporter)).Tracer("find").Start(context.Background(), "span")
		span.End()
	}
}
END
go mod tidy 2>/dev/null
[ "$(go run main.go)" = "POST /
POST /otlp" ]
