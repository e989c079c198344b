#!/bin/sh
# Runs all tests: the Go tests with the race detector, each on a Redis of its own, then the
# tests of the site in a browser. Where apt is available, it installs missing programs:
# redis-server, gcc, Node, npm, curl and Chromium.
# With arguments, it passes them to go test and runs nothing else: scripts/test.sh -run Vote
set -eu
cd "$(dirname "$0")/.."

. scripts/install.sh
install_missing redis-server:redis-server gcc:"gcc libc6-dev" curl:curl
CGO_ENABLED=1 go test -race "$@" ./...
[ $# = 0 ] || exit 0
. web/needs.sh
web/test.sh
