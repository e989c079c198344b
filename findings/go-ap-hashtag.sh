#!/bin/bash
# go-ap/activitypub v0.0.0-20250810115208-cb73b20a1742 (Go), 2026-11-28.
# Guess: of a Note with a Hashtag, as Mastodon sends it, the tag stays with its name and href: it is an extension of Link.
# Seen: a tag of a type that is none of ActivityStreams' own vanishes from the list without an error, while a Mention stays.
#   1 Mention
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get github.com/go-ap/activitypub@v0.0.0-20250810115208-cb73b20a1742 2>/dev/null
cat >main.go <<'END'
package main

import (
	"fmt"

	"github.com/go-ap/activitypub"
)

const note = `{
  "@context": ["https://www.w3.org/ns/activitystreams", {"Hashtag": "as:Hashtag"}],
  "id": "https://social.example/notes/1", "type": "Note", "content": "#go for @bob",
  "tag": [
    {"type": "Hashtag", "href": "https://social.example/tags/go", "name": "#go"},
    {"type": "Mention", "href": "https://social.example/users/bob", "name": "@bob"}
  ]
}`

func main() {
	item, err := activitypub.UnmarshalJSON([]byte(note))
	if err != nil {
		panic(err)
	}
	tags := item.(*activitypub.Object).Tag
	fmt.Println(len(tags), tags[0].GetType())
}
END
go mod tidy 2>/dev/null
[ "$(go run main.go)" = "1 Mention" ]
