#!/bin/sh
# Runs every test: those in Go with the race detector, each on a Redis of its own, and
# those of the site in a browser. Installs what is missing for that where there is apt.
# With arguments, go test gets them and nothing else runs.
set -eu
cd "$(dirname "$0")"

. ./install.sh
install_missing redis-server:redis-server gcc:"gcc libc6-dev"
CGO_ENABLED=1 go test -race "$@" ./...
[ $# = 0 ] || exit 0
. web/needs.sh
web/test.sh
