#!/bin/bash
# Runs every fuzz target on a number of inputs: scripts/fuzz.sh [INPUTS [unguided]], 20,000 by default. It takes a
# number, because a time fails targets that found nothing before Go 1.27 (golang/go#75804). A failing input is
# written to testdata/fuzz of the package: commit it with the fix. With unguided, inputs are varied at random, without
# coverage as a guide: that is worth little for a few inputs, and needs a build of every package, the standard
# library included.
set -euo pipefail
cd "$(dirname "$0")/.."

inputs=${1:-20000}
coverage=-fuzz=Fuzz
[ "${2-}" != unguided ] || coverage=
binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT
targets=0
for package in $(grep -rl --include='*_test.go' --exclude-dir=node_modules '^func Fuzz' . | xargs -n 1 dirname | sort -u); do
	# One build for all targets of a package: go test would link again for each.
	binary=$binaries/$(basename "$package").test
	# shellcheck disable=SC2086 # no word if there is no coverage
	go test -c -vet=off $coverage -o "$binary" "$package"
	for target in $("$binary" -test.list '^Fuzz'); do
		echo "$package $target"
		# -test.fuzzminimizetime bounds what would otherwise take a minute for each interesting input.
		(cd "$package" && "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${inputs}x" \
			-test.fuzzminimizetime 1s -test.fuzzcachedir "$(go env GOCACHE)/fuzz/frontpage/$package" 2>&1) |
			grep -v -e '^fuzz: elapsed' -e 'without coverage guidance' || {
			echo "scripts/fuzz.sh: $target of $package failed" >&2
			exit 1
		}
		targets=$((targets + 1))
	done
done
[ "$targets" -gt 0 ] || { echo "scripts/fuzz.sh: no fuzz targets found" >&2; exit 1; }
echo "$targets fuzz targets passed"
