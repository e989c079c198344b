#!/bin/bash
# tmaxmax/go-sse v0.12.0 and launchdarkly/eventsource v1.11.0 (Go), 2026-11-29.
# Guess: a block without data, such as one that has only an id or a retry, is no event (HTML, 9.2.6): a client gets one
# event of the stream below.
# Seen: it gets one of each block but the comment. Their data is empty, which no decoder of JSON takes.
#   go-sse ["" "" "1"], eventsource ["" "" "1"]
# A client skips events without data before it decodes them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get github.com/tmaxmax/go-sse@v0.12.0 github.com/launchdarkly/eventsource@v1.11.0 2>/dev/null
cat >main.go <<'END'
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/launchdarkly/eventsource"
	"github.com/tmaxmax/go-sse"
)

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": comment\n\nretry: 1000\n\nid: 5\n\ndata: 1\n\n")
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	}))

	var data []string
	req, _ := http.NewRequest(http.MethodGet, server.URL, nil)
	connection := sse.NewConnection(req)
	done := make(chan struct{})
	connection.SubscribeToAll(func(event sse.Event) {
		data = append(data, event.Data)
		if event.Data == "1" {
			close(done)
		}
	})
	go connection.Connect()
	<-done
	fmt.Printf("go-sse %q\n", data)

	data = nil
	stream, err := eventsource.Subscribe(server.URL, "")
	if err != nil {
		panic(err)
	}
	for event := range stream.Events {
		data = append(data, event.Data())
		if event.Data() == "1" {
			break
		}
	}
	fmt.Printf("eventsource %q\n", data)
}
END
go mod tidy 2>/dev/null
[ "$(timeout 30 go run main.go)" = 'go-sse ["" "" "1"]
eventsource ["" "" "1"]' ]
