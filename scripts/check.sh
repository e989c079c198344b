#!/bin/bash
# What CI runs, on a clean clone: generated code, lint, vulnerabilities, tests, on Redis and on Valkey, faults, failovers,
# benchmarks, fuzz targets, clients, the files in deploy/, a release. It installs what is missing where apt is available.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { echo "== $1 (after ${SECONDS} s)" >&2; }

step "generated code"
generated() { cat graph/generated.go graph/plan_gen.go graph/schema.resolvers.go | sha256sum; }
before=$(generated)
go generate ./...
if [ "$before" != "$(generated)" ] || [ -e graph/models_gen.go ]; then
	echo "go generate changes the generated code: run it and commit the result" >&2
	exit 1
fi

step "lint"
scripts/lint.sh

step "vulnerabilities"
scripts/vulnerabilities.sh

step "tests"
scripts/test.sh

step "faults, and tests on Valkey with 16 partitions" # at the same time: both mostly wait
(for seed in 1 2 3; do go run ./tests/faults -seed "$seed" -for 20s || exit; done && go run ./tests/faults -cluster -seed 1 -for 20s) &
faults=$!
trap 'kill "$faults" 2>/dev/null || true' EXIT
other=valkey-server
scripts/valkey.sh || { echo "WARNING: no valkey-server here: NOT TESTED on Valkey" >&2; other=redis-server; }
# Without the race detector, which has seen the same code with one partition on Redis.
REDIS_SERVER=$other TEST_PARTITIONS=16 PACKAGES="./store ./redisrepo" scripts/test.sh -count=1 -race=false
wait "$faults"

step "cluster"
go test -count=1 -timeout 10m ./tests/cluster

step "benchmarks" # they must run; their speed is not judged
go test -run '^$' -bench '/1000$' -benchtime 1x ./tests/benchmarks

step "fuzz targets"
scripts/fuzz.sh 1000 unguided

step "clients"
. web/needs.sh
clients/run.sh

step "deploy"
scripts/deploy.sh

step "release, for one processor of each system"
ONE_PROCESSOR=1 scripts/release.sh

step "done"
