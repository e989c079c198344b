#!/bin/sh
# Builds, checks and tests the site and the explorer, in a browser too. scripts/test.sh finds or installs
# the tools, and runs this.
set -eu
cd "$(dirname "$0")"

contents() { find dist -type f -exec sha256sum {} + | LC_ALL=C sort | sha256sum; }

npm ci --loglevel error
before=$(contents)
npm run --silent build
if [ "$before" != "$(contents)" ]; then
	echo "web/dist was out of date. It is rebuilt: commit it" >&2
	exit 1
fi
npm run --silent check
npm run --silent unit
npm run --silent e2e
