// Command oidc is an OIDC provider for tests. The protocol is that of github.com/zitadel/oidc, which is certified; this
// program adds users, and ways to make it misbehave, under /control/. It prints its issuer, and ends when its standard
// input is closed.
//
// The login name identifies the user: alice has the subject sub-alice and wants the name alice; alice@2 is another user
// who wants the same name; alice+moderator is the user alice with a role. The password is secret.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	address := "127.0.0.1:0"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	issuer := "http://" + listener.Addr().String()
	s := newStore(storage.NewStorageWithClients(users{}, map[string]*storage.Client{}))
	c := &control{store: s, requests: map[string]int{}, next: exampleop.SetupServer(issuer, s, nil, false)}
	server := &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	fmt.Println(issuer)
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = server.Close()
}
