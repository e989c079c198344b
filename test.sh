#!/bin/sh
# Runs every test: those in Go with the race detector, each on a Redis of its own, and
# those of the site in a browser. Installs what is missing for that where there is apt.
# With arguments, go test gets them and nothing else runs.
set -eu
cd "$(dirname "$0")"

missing=
command -v redis-server >/dev/null || missing="redis-server"
command -v gcc >/dev/null || missing="$missing gcc libc6-dev"
if [ -n "$missing" ]; then
	if ! command -v apt-get >/dev/null; then
		echo "test.sh: the tests need $missing: install that and run this again" >&2
		exit 1
	fi
	as_root=
	[ "$(id -u)" = 0 ] || as_root=sudo
	$as_root apt-get update -qq
	# shellcheck disable=SC2086 # one word for each package
	DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing
fi
CGO_ENABLED=1 go test -race "$@" ./...
[ $# = 0 ] || exit 0
. web/needs.sh
web/test.sh
