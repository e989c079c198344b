#!/bin/bash
# peterhellberg/link v1.2.0 (Go), 2026-11-29.
# Guess: in a header Link, a comma within <> is part of the URL, and one within quotes part of a title (RFC 8288, 3).
# Seen: the comma is taken out of the URL without an error, so the next page is that of other articles; the title loses its
# comma, too.
#   https://news.example.org/?ids=12&page=2 Next older
# A server that such clients shall read writes %2C.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get github.com/peterhellberg/link@v1.2.0 2>/dev/null
cat >main.go <<'END'
package main

import (
	"fmt"

	"github.com/peterhellberg/link"
)

func main() {
	next := link.Parse(`<https://news.example.org/?ids=1,2&page=2>; rel="next"; title="Next, older"`)["next"]
	fmt.Println(next.URI, next.Extra["title"])
}
END
[ "$(go run main.go)" = "https://news.example.org/?ids=12&page=2 Next older" ]
