#!/bin/sh
# Runs all tests: the Go tests with the race detector, each on a Redis of its own, then the
# tests of the site in a browser. Where apt is available, it installs missing programs:
# redis-server, nginx, HAProxy, Prometheus, gcc, Node, npm, curl and Chromium.
# With arguments, it passes them to go test and runs nothing else: scripts/test.sh -run Vote
# REDIS_SERVER is the server to test with instead of redis-server, PACKAGES the packages to test instead of all:
# REDIS_SERVER=valkey-server PACKAGES="./store ./redisrepo" scripts/test.sh -count=1
# TEST_PARTITIONS is how many partitions the sites in the tests of redisrepo have, unless a test needs a certain number:
# TEST_PARTITIONS=16 PACKAGES=./redisrepo scripts/test.sh
# All packages are all but ./tests/cluster, whose nodes fail over by the clock: nothing else should run beside it.
set -eu
cd "$(dirname "$0")/.."

. scripts/install.sh
if [ -n "${REDIS_SERVER:-}" ]; then
	server=$(command -v "$REDIS_SERVER") || { echo "scripts/test.sh: $REDIS_SERVER is not on PATH" >&2; exit 1; }
	as_redis=$(mktemp -d)
	chmod 755 "$as_redis" # a test runs the server as another user
	trap 'rm -rf "$as_redis"' EXIT
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$server" >"$as_redis/redis-server"
	chmod +x "$as_redis/redis-server"
	PATH=$as_redis:$PATH
fi
install_missing redis-server:redis-server gcc:"gcc libc6-dev" curl:curl nginx:nginx haproxy:haproxy prometheus:prometheus
echo "testing with $(redis-server --version)" >&2
# Four tests of a package at once: many wait for their servers.
# shellcheck disable=SC2046,SC2086 # one word for each package
CGO_ENABLED=1 go test -race -parallel 4 -timeout 20m "$@" ${PACKAGES:-$(go list ./... | grep -v '/tests/cluster$')}
[ $# = 0 ] || exit 0
. web/needs.sh
web/test.sh
