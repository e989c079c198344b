#!/bin/bash
# gorilla/feeds v1.2.0 (Go), 2026-11-28.
# Guess: for an item without an id it makes one of the link, the same in each format.
# Seen: in JSON Feed the id is empty, though each item must have one; in Atom it has the day of Created, so it changes when
# that is corrected, and readers show the item twice (RFC 4287, 4.2.6).
#   JSON "", Atom tag:news.example.org,2026-06-01:/a/1, then tag:news.example.org,2026-06-02:/a/1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get github.com/gorilla/feeds@v1.2.0 2>/dev/null
cat >main.go <<'END'
package main

import (
	"fmt"
	"regexp"
	"time"

	"github.com/gorilla/feeds"
)

func main() {
	for day := 1; day <= 2; day++ {
		created := time.Date(2026, 6, day, 10, 0, 0, 0, time.UTC)
		item := &feeds.Item{Title: "One", Link: &feeds.Link{Href: "https://news.example.org/a/1"}, Created: created}
		feed := &feeds.Feed{Title: "News", Link: &feeds.Link{Href: "https://news.example.org/"}, Items: []*feeds.Item{item}}
		json, _ := feed.ToJSON()
		atom, _ := feed.ToAtom()
		fmt.Println(regexp.MustCompile(`"id": "[^"]*"`).FindString(json), regexp.MustCompile(`<id>tag:[^<]*`).FindString(atom))
	}
}
END
go mod tidy 2>/dev/null
[ "$(go run main.go)" = '"id": "" <id>tag:news.example.org,2026-06-01:/a/1
"id": "" <id>tag:news.example.org,2026-06-02:/a/1' ]
