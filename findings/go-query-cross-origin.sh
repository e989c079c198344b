#!/bin/bash
# net/http of Go 1.26.8, 2026-11-28.
# Guess: http.CrossOriginProtection lets a QUERY of another origin's page pass as it lets GET, since QUERY is safe, too
# (RFC 10008; RFC 9110, 9.2.1).
# Seen: safe are GET, HEAD and OPTIONS; a QUERY is refused.
#   GET 200, QUERY 403
# A server that answers QUERY for other origins needs a bypass pattern for it, or its own check.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOTOOLCHAIN=go1.26.8 GOFLAGS=-trimpath
cat >main.go <<'END'
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
)

func main() {
	handler := http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, method := range []string{"GET", "QUERY"} {
		req := httptest.NewRequest(method, "https://news.example.org/query", nil)
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		fmt.Println(method, answer.Code)
	}
}
END
[ "$(go run main.go)" = "GET 200
QUERY 403" ]
