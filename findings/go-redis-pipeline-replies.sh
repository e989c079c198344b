#!/bin/bash
# go-redis v9.23.0, 2026-11-29.
# Guess: if a connection is lost after the reply to the first of two pipelined commands, that command has its reply and no
# error, and the second one has the error, with Client and with ClusterClient.
# Seen: with ClusterClient it is so. With Client the first command has the value of its reply and the error EOF. With the
# default number of retries, both send the whole pipeline four times, also the command whose reply they have.
#   Client: 1, EOF; 0, EOF    ClusterClient: 1, <nil>; 0, EOF
# A command's error does not mean that it did not run: votes go in scripts that may run twice, and say when they did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get github.com/redis/go-redis/v9@v9.23.0 2>/dev/null
cat >main.go <<'END'
package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// serve answers as a Redis whose connection is lost after the reply to the first INCR of a pipeline.
func serve(l net.Listener, increments *atomic.Int64) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			lines := bufio.NewScanner(conn)
			for lines.Scan() {
				switch strings.ToLower(lines.Text()) {
				case "hello":
					fmt.Fprint(conn, "-ERR unknown command 'HELLO'\r\n")
				case "slots":
					port := l.Addr().(*net.TCPAddr).Port
					fmt.Fprintf(conn, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n", port)
				case "readonly":
					fmt.Fprint(conn, "+OK\r\n")
				case "command":
					fmt.Fprint(conn, "*0\r\n")
				case "incr":
					if increments.Add(1)%2 == 0 {
						return
					}
					fmt.Fprintf(conn, ":%d\r\n", increments.Load())
				}
			}
		}()
	}
}

func main() {
	ctx := context.Background()
	for _, retries := range []int{-1, 0} {
		for _, cluster := range []bool{false, true} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				panic(err)
			}
			var increments atomic.Int64
			go serve(l, &increments)
			var client redis.UniversalClient
			name := "Client"
			if cluster {
				name = "ClusterClient"
				client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{l.Addr().String()}, MaxRetries: -1, MaxRedirects: retries, DisableIdentity: true, Protocol: 2})
			} else {
				client = redis.NewClient(&redis.Options{Addr: l.Addr().String(), MaxRetries: retries, DisableIdentity: true, Protocol: 2})
			}
			commands, _ := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Incr(ctx, "a")
				pipe.Incr(ctx, "a")
				return nil
			})
			fmt.Printf("%s, retries %d:", name, retries)
			for _, c := range commands {
				fmt.Printf(" %d, %v;", c.(*redis.IntCmd).Val(), c.Err())
			}
			fmt.Printf(" %d INCR received\n", increments.Load())
			client.Close()
			l.Close()
		}
	}
}
END
[ "$(go run . 2>/dev/null)" = 'Client, retries -1: 1, EOF; 0, EOF; 2 INCR received
ClusterClient, retries -1: 1, <nil>; 0, EOF; 2 INCR received
Client, retries 0: 7, EOF; 0, EOF; 8 INCR received
ClusterClient, retries 0: 7, <nil>; 0, EOF; 8 INCR received' ]
