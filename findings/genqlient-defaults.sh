#!/bin/bash
# genqlient v0.8.1 (Go), 2026-11-28.
# Guess: a field of an input that has a default and is not set is left out of the request, so the default holds.
# Seen: Go's zero value is sent, for optional: pointer as well, and null for an optional field. The server refuses "" for
# an enum, but takes 0 for a number.
#   {"article":"1","direction":"","weight":0,"note":null}
# Set each such field, or write # @genqlient(for: "VoteInput.direction", omitempty: true) over the operation.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-trimpath
go mod init example.org/find 2>/dev/null
go get golang.org/x/tools@v0.52.0 2>/dev/null
go get -tool github.com/Khan/genqlient@v0.8.1 2>/dev/null
go get github.com/Khan/genqlient/graphql@v0.8.1 2>/dev/null
cat >schema.graphql <<'END'
type Query { votes: Int }
type Mutation { vote(input: VoteInput!): Int }
enum Direction { UP DOWN }
input VoteInput { article: ID!, direction: Direction! = UP, weight: Int! = 1, note: String }
END
echo 'mutation Vote($input: VoteInput!) { vote(input: $input) }' >operations.graphql
printf '%s\n' 'schema: schema.graphql' 'operations: [operations.graphql]' 'generated: generated.go' 'package: main' 'optional: pointer' >genqlient.yaml
cat >main.go <<'END'
package main

import (
	"encoding/json"
	"fmt"
)

func main() {
	variables, err := json.Marshal(VoteInput{Article: "1"})
	fmt.Println(string(variables), err)
}
END
go tool genqlient >/dev/null
[ "$(go run .)" = '{"article":"1","direction":"","weight":0,"note":null} <nil>' ]
