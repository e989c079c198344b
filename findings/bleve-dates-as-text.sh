#!/bin/bash
# bleve v2.6.3 (Go), 2026-11-28.
# Guess: a document that the default mapping indexed is found by its own text.
# Seen: a text that reads as a date is indexed as a time only, and no query by words finds it: neither the whole nor the
# year. With a word after it, the same text is found.
#   2026-01-31: [notes], 2026: [notes]
# A field of titles needs a text mapping, not the dynamic one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get github.com/blevesearch/bleve/v2@v2.6.3 2>/dev/null
cat >main.go <<'END'
package main

import (
	"fmt"

	"github.com/blevesearch/bleve/v2"
)

func main() {
	index, err := bleve.NewMemOnly(bleve.NewIndexMapping())
	if err != nil {
		panic(err)
	}
	for id, title := range map[string]string{"date": "2026-01-31", "notes": "2026-01-31 notes"} {
		if err := index.Index(id, map[string]string{"title": title}); err != nil {
			panic(err)
		}
	}
	for _, words := range []string{"2026-01-31", "2026"} {
		result, err := index.Search(bleve.NewSearchRequest(bleve.NewMatchQuery(words)))
		if err != nil {
			panic(err)
		}
		var ids []string
		for _, hit := range result.Hits {
			ids = append(ids, hit.ID)
		}
		fmt.Printf("%s: %v\n", words, ids)
	}
}
END
go mod tidy 2>/dev/null
[ "$(go run main.go)" = "2026-01-31: [notes]
2026: [notes]" ]
