#!/bin/bash
# Runs every fuzz target for some seconds: scripts/fuzz.sh [SECONDS], 10 by default. A failing input is
# written to testdata/fuzz of the package: commit it with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-10}
targets=0
for package in $(grep -rl --include='*_test.go' --exclude-dir=node_modules '^func Fuzz' . | xargs -n 1 dirname | sort -u); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz'); do
		echo "$package $target"
		# Without -fuzzminimizetime, go test may spend a minute on minimizing each interesting input.
		go test -vet=off -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" -fuzzminimizetime 1s "$package" | grep -v '^fuzz: elapsed' || {
			echo "scripts/fuzz.sh: $target of $package failed" >&2
			exit 1
		}
		targets=$((targets + 1))
	done
done
[ "$targets" -gt 0 ] || { echo "scripts/fuzz.sh: no fuzz targets found" >&2; exit 1; }
echo "$targets fuzz targets passed"
