#!/bin/bash
# net/http of Go 1.26.8, 2026-11-28.
# Guess: a client that gets 302 or 301 for the method QUERY sends it again with its body: only POST may become GET
# (RFC 9110, 15.4.3), and QUERY keeps its method (RFC 10008).
# Seen: it asks by GET, without the body, and takes that answer. Node's fetch keeps both.
#   QUERY /from "{ site { name } }", GET /to ""
# Where a QUERY is redirected, 307 or 308 is right for every client.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOTOOLCHAIN=go1.26.8 GOFLAGS=-trimpath
cat >main.go <<'END'
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		fmt.Printf("%s %s %q\n", req.Method, req.URL.Path, body)
		if req.URL.Path == "/from" {
			w.Header().Set("Location", "/to")
			w.WriteHeader(http.StatusFound)
		}
	}))
	defer server.Close()
	req, _ := http.NewRequest("QUERY", server.URL+"/from", strings.NewReader("{ site { name } }"))
	if _, err := http.DefaultClient.Do(req); err != nil {
		panic(err)
	}
}
END
[ "$(go run main.go)" = 'QUERY /from "{ site { name } }"
GET /to ""' ]
