#!/bin/bash
# Runs the tests. Where apt is available, it installs what is missing: redis-server, gcc, curl, Node and Chromium.
#   scripts/test.sh            Go tests, those of concurrency with the race detector, the site, and its main tests in Chromium
#   scripts/test.sh --quick    Go tests only, without the race detector
#   scripts/test.sh --ci       what CI runs: in addition lint, generated code, faults, failovers of a cluster, and Valkey
#   FULL=1 scripts/test.sh     all there is, each test at its full size, and a release; it installs more programs
#   scripts/test.sh ARGUMENTS  go test with these arguments: scripts/test.sh -run Vote
# A step that fails does not end the others. REDIS_SERVER is the server to test with instead of redis-server, PACKAGES the
# packages to test instead of all, TEST_PARTITIONS how many partitions the sites in the tests of redisrepo have, unless a
# test needs a certain number: REDIS_SERVER=valkey-server TEST_PARTITIONS=16 PACKAGES="./store ./redisrepo" scripts/test.sh -count=1
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/install.sh

temporary=$(mktemp -d)
chmod 755 "$temporary" # a test runs the server as another user
beside=
trap '[ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true; rm -rf "$temporary"' EXIT

# use_server SERVER has tests start this server as redis-server.
use_server() {
	local server folder
	server=$(command -v "$1") || { echo "scripts/test.sh: $1 is not on PATH" >&2; exit 1; }
	folder=$(mktemp -d "$temporary/XXXX")
	chmod 755 "$folder"
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$server" >"$folder/redis-server"
	chmod +x "$folder/redis-server"
	PATH=$folder:$PATH
}
[ -z "${REDIS_SERVER:-}" ] || use_server "$REDIS_SERVER"

# go_test is go test with what all tests share. -trimpath lets clones share what is compiled. The timeout is only for tests
# that hang; several tests of a package at once, since many wait for their servers.
go_test() { CGO_ENABLED=1 go test -trimpath -timeout 60m -parallel 4 "$@"; }

# Nothing else should run beside ./tests/cluster: its nodes fail over by the clock.
packages() { echo "${PACKAGES:-$(go list ./... | grep -v '/tests/cluster$')}"; }

programs() {
	install_missing redis-server:redis-server gcc:"gcc libc6-dev" curl:curl
	[ -z "${FULL:-}" ] || install_missing nginx:nginx haproxy:haproxy prometheus:prometheus
	redis-server --version
}

if [ $# != 0 ] && [ "$1" != --quick ] && [ "$1" != --ci ]; then
	programs >&2
	# shellcheck disable=SC2046 # one word for each package
	go_test "$@" $(packages)
	exit
fi

# Packages whose tests run with the race detector only, and the tests of others that do so, too.
raced='/(endpoint|sharing|signin|store)$'
concurrent='Concurrent|AtOnce|Together|Beside|While|During|Live|Watch|Listen|Resume|Burst'
# Tests of what few machines have: FULL=1 runs them.
more='^Test(CallersGetTheirOwnAnswersThroughACache|RollingRestartBehindAProxyLosesNoRequest|PrometheusScrapesTheServer)$'

# shellcheck disable=SC2046 # one word for each package
go_tests() { go_test -skip "$more" $(packages | grep -vE "$raced"); }
# shellcheck disable=SC2046
race_detector() {
	go_test -race -skip "$more" $(packages | grep -E "$raced")
	go_test -race -run "$concurrent" ./redisrepo/... ./redistest
}
# shellcheck disable=SC2046
all_with_race_detector() { go_test -race $(packages); }

generated_code() {
	local files="graph/generated.go graph/plan_gen.go graph/schema.resolvers.go" before
	before=$(cat $files | sha256sum)
	go generate ./...
	[ "$before" = "$(cat $files | sha256sum)" ] && [ ! -e graph/models_gen.go ] ||
		{ echo "go generate changes the generated code: run it and commit the result"; exit 1; }
}

contents() { find dist -type f -exec sha256sum {} + | LC_ALL=C sort | sha256sum; }
site() {
	. web/needs.sh
	cd web
	npm ci --loglevel error --prefer-offline --no-audit
	local before
	before=$(contents)
	npm run --silent build
	[ "$before" = "$(contents)" ] || { echo "web/dist was out of date. It is rebuilt: commit it"; exit 1; }
	npm run --silent check
	npm run --silent unit
}
browser() {
	. web/needs.sh
	cd web
	npm run --silent e2e -- ${FULL:+--grep=.}
}

faults() { go run ./tests/faults "$@"; }
valkey() {
	scripts/valkey.sh && use_server valkey-server || echo "WARNING: no valkey-server here: NOT TESTED on Valkey"
	# Without the race detector, which has seen the same code with one partition on Redis.
	TEST_PARTITIONS=16 go_test -count=1 "$@"
}
cluster() { go_test -count=1 "$@" ./tests/cluster; }
benchmarks() { go test -run '^$' -bench '/1000$' -benchtime 1x ./tests/benchmarks; } # they must run; their speed is not judged
clients() { . web/needs.sh; clients/run.sh; }

# step NAME COMMAND runs a step. The command is in a shell of its own, which ends at the first failure.
step() {
	local name=$1 began=$SECONDS result=passed
	shift
	echo "== $name"
	"$BASH" -euo pipefail -c "$(declare -f); . scripts/install.sh; temporary=$temporary raced='$raced' concurrent='$concurrent' more='$more'; \"\$@\"" "$0" "$@" || result=failed
	echo "== $name $result after $((SECONDS - began)) s"
	printf '%s %5d s  %s\n' "$result" $((SECONDS - began)) "$name" >>"$temporary/results"
}

# What needs no Redis, or waits for a browser, runs beside the Go tests. Its output comes at the end.
beside() {
	if [ "$size" != quick ]; then
		step site site
		step browser browser
	fi
	if [ "$size" = ci ] || [ "$size" = full ]; then
		step "generated code" generated_code
		step lint scripts/lint.sh
	fi
	[ "$size" != full ] || step vulnerabilities scripts/vulnerabilities.sh
}

size=${1:---push}
size=${size#--}
[ -z "${FULL:-}" ] || size=full
step programs programs
[ "$size" = quick ] || step "programs for the site" . web/needs.sh
set -m # a group of its own, to end it as a whole
beside >"$temporary/beside" 2>&1 &
beside=$!
set +m
case $size in
full) step "Go tests with the race detector" all_with_race_detector ;;
quick) step "Go tests" go_tests ;;
*)
	step "Go tests" go_tests
	step "race detector" race_detector
	;;
esac
if [ "$size" = ci ]; then
	step faults faults -seed 1 -for 20s
	step Valkey valkey -run 'Random|Oracle|Partition|Migrate|Rights|Script' ./redisrepo
elif [ "$size" = full ]; then
	for seed in 1 2 3; do step "faults of seed $seed" faults -seed $seed -for 20s; done
	step "faults of a cluster" faults -cluster -seed 1 -for 20s
	step "faults of a minute" faults -seed 90002 -for 60s
	step "Valkey, 16 partitions" valkey ./store ./redisrepo/...
fi
wait "$beside" || true
beside=
cat "$temporary/beside"
case $size in
ci) step cluster cluster -run 'TestSiteOutlastsFailures$' ;;
full)
	step cluster cluster
	step benchmarks benchmarks
	step "fuzz targets" scripts/fuzz.sh
	step clients clients
	step deploy scripts/deploy.sh
	step release scripts/release.sh
	;;
esac

echo "== all steps after $SECONDS s"
sort -r "$temporary/results"
failed=$(grep -c ^failed "$temporary/results" || true)
echo "$(($(wc -l <"$temporary/results") - failed)) passed, $failed failed"
[ "$failed" = 0 ]
