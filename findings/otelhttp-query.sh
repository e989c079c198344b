#!/bin/bash
# OpenTelemetry's otelhttp v0.72.0 (Go), 2026-11-28.
# Guess: the span of a request by QUERY has the method as http.request.method.
# Seen: the method is none that it knows: http.request.method is _OTHER, and the span is named HTTP. The method is in
# http.request.method_original, which rules of a collector by method do not look at.
#   HTTP _OTHER QUERY
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp@v0.72.0 go.opentelemetry.io/otel/sdk@v1.47.0 2>/dev/null
cat >main.go <<'END'
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func main() {
	spans := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	handler := otelhttp.NewHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "", otelhttp.WithTracerProvider(provider))
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("QUERY", "/query", nil))
	span := spans.Ended()[0]
	values := map[string]string{}
	for _, attribute := range span.Attributes() {
		values[string(attribute.Key)] = attribute.Value.Emit()
	}
	fmt.Println(span.Name(), values["http.request.method"], values["http.request.method_original"])
}
END
go mod tidy 2>/dev/null
[ "$(go run main.go)" = "HTTP _OTHER QUERY" ]
