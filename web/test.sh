#!/bin/sh
# Checks and tests the site and the explorer in a browser. Called by scripts/test.sh, which
# finds what this needs.
set -eu
cd "$(dirname "$0")"

contents() { find dist -type f -exec sha256sum {} + | LC_ALL=C sort | sha256sum; }

npm ci --loglevel error
before=$(contents)
npm run --silent build
if [ "$before" != "$(contents)" ]; then
	echo "web/dist was not what its sources build: it is now, commit it" >&2
	exit 1
fi
npm run --silent check
npm run --silent unit
npm run --silent e2e
