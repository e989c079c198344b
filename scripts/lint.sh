#!/bin/bash
# Lints the Go code as .golangci.yml says. Builds golangci-lint, of the version below, on first use.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v2.15.0
folder=${XDG_CACHE_HOME:-$HOME/.cache}/frontpage/golangci-lint-$version-$(go env GOVERSION)
if [ ! -x "$folder/golangci-lint" ]; then
	echo "building golangci-lint $version, which takes a minute or two" >&2
	GOBIN=$folder go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"
fi
"$folder/golangci-lint" run --allow-parallel-runners ./...
(cd clients/go && go vet ./...)
(cd tests/oidc && go vet ./...)
