#!/bin/bash
# Runs the tests. Where apt is available, it installs what is missing: redis-server, gcc, curl, Node and Chromium.
#   scripts/test.sh            Go tests, those of concurrency with the race detector, the site, and its main tests in Chromium
#   scripts/test.sh --quick    most Go tests, without those of concurrency and the race detector
#   scripts/test.sh --ci       what CI runs: also the single-page app, lint, generated code, faults, failovers of a cluster, and Valkey
#   FULL=1 scripts/test.sh     all there is, each test at its full size, and a release; it installs more programs
#   scripts/test.sh ARGUMENTS  go test with these arguments: scripts/test.sh -run Vote ./redisrepo
# A step that fails does not end the others. REDIS_SERVER is the server to test with instead of redis-server,
# TEST_PARTITIONS how many partitions the sites in the tests of redisrepo have, unless a test needs a certain number:
# REDIS_SERVER=valkey-server TEST_PARTITIONS=16 scripts/test.sh -count=1 ./redisrepo/...
# shellcheck disable=SC2046 # one word for each package
set -euo pipefail
cd "$(dirname "$0")/.."

export GOFLAGS="${GOFLAGS:-} -trimpath" # clones share what is compiled, and so do the builds of tests
temporary=$(mktemp -d)
chmod 755 "$temporary" # a test runs the server as another user
beside=
trap '[ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true; rm -rf "$temporary"' EXIT
if [ -n "${REDIS_SERVER:-}" ]; then
	server=$(command -v "$REDIS_SERVER") || { echo "scripts/test.sh: $REDIS_SERVER is not on PATH" >&2; exit 1; }
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$server" >"$temporary/redis-server"
	chmod +x "$temporary/redis-server"
	export PATH=$temporary:$PATH
	unset REDIS_SERVER
fi

programs() {
	. scripts/install.sh
	install_missing redis-server:redis-server gcc:"gcc libc6-dev" curl:curl
	[ -z "${FULL:-}" ] || install_missing nginx:nginx haproxy:haproxy varnishd:varnish prometheus:prometheus
	echo "testing with $(redis-server --version)"
}

# The timeout is for tests that hang. Many tests wait for their servers, so several of a package run at once. The tests of
# redisrepo need 40 % less CPU if garbage is collected as rarely as in the program.
go_test() { CGO_ENABLED=1 GOGC=${GOGC:-400} go test -timeout 60m -parallel 6 "$@"; }

# Nothing else should run beside ./tests/cluster: its nodes fail over by the clock.
packages() { go list ./... | grep -v '/tests/cluster$'; }

# Tests that need more programs, which FULL=1 installs, or a machine that does nothing else.
more='^Test(VotesBesideAnAddressThatAsksForEverything|CallersGetTheirOwnAnswersThroughACache|CachesKeepNoAnswerToAQUERY|RollingRestartBehindAProxyLosesNoRequest|PrometheusScrapesTheServer)$'
# Packages that are tested with the race detector only, and tests that are: they say so beside their names.
raced='/(endpoint|endpoint/sharing|identity/signin|redisrepo/store)$'
marked='^func \KTest\w+(?=.* // with the race detector$)'
concurrent="^($(grep -rhoP "$marked" --include='*_test.go' redisrepo | paste -sd '|'))\$"
raced_packages() { go_test -race -skip "$more" $(packages | grep -E "$raced"); }
concurrent_tests() { go_test -race -run "$concurrent" $(grep -rlP "$marked" --include='*_test.go' redisrepo | sed 's|^|./|; s|/[^/]*$||' | sort -u); }
redisrepo_tests() { go_test -json -skip "$concurrent$long" $(packages | grep -E '/redisrepo(/|$)' | grep -vE "$left_out") | awk -f scripts/progress.awk; }
other_tests() { go_test -json -skip "$more" $(packages | grep -vE "/redisrepo(/|\$)|$left_out") | awk -f scripts/progress.awk; }
left_out=$raced long=
# both runs two of these at once, since tests wait for their servers, and fails if one does.
both() {
	local result=0
	"$1" &
	"$2" || result=1
	wait $! && return $result
}
all_go_tests() { go_test $(packages); }
all_raced() { FULL='' go_test -race -skip "$more" $(packages); } # at their usual size: the detector makes tests ten times slower

contents() { find "$@" -type f -exec sha256sum {} + | LC_ALL=C sort | sha256sum; }
generated_code() {
	local before
	before=$(contents graph deploy)
	go generate ./...
	[ "$before" = "$(contents graph deploy)" ] || { echo "go generate changes the generated code: run it and commit the result"; exit 1; }
}
site() {
	. site/web/needs.sh
	cd site/web
	npm ci --loglevel error --no-audit --prefer-offline
	npm run --silent check
	npm run --silent unit
	# Built in a copy: the Go tests that run beside this read dist.
	local copy before
	before=$(contents dist)
	copy=$(mktemp -d "$temporary/site.XXXX")
	mkdir -p "$copy/site/web" "$copy/clients/js"
	cp ../../schema.graphqls "$copy"
	cp -r ../../clients/js/{src,LICENSE,README.md,package.json,tsconfig.json} "$copy/clients/js"
	find . -mindepth 1 -maxdepth 1 ! -name node_modules -exec cp -r {} "$copy/site/web" \;
	ln -s "$PWD/node_modules" "$copy/site/web"
	cd "$copy/site/web"
	npm run --silent build
	[ "$before" = "$(contents dist)" ] || { echo "site/web/dist is out of date: run make web and commit it"; exit 1; }
}
browser() {
	. site/web/needs.sh
	cd site/web
	npm run --silent e2e -- --grep "$([ -n "${FULL:-}" ] || echo @core)"
}
valkey() {
	export TEST_PARTITIONS=16 REDIS_SERVER=valkey-server
	scripts/valkey.sh || { echo "WARNING: no valkey-server here: NOT TESTED on Valkey"; unset REDIS_SERVER; }
	scripts/test.sh -count=1 "$@"
}

if [ $# != 0 ] && [ "$1" != --quick ] && [ "$1" != --ci ]; then
	programs >&2
	case " $*" in
	*" ./"*) go_test "$@" ;;
	*) go_test "$@" $(packages) ;;
	esac
	exit
fi

# step NAME COMMAND runs a step in a shell of its own, which ends at the first failure.
export more raced concurrent marked left_out long temporary
export -f programs go_test packages raced_packages concurrent_tests redisrepo_tests other_tests both all_go_tests all_raced contents generated_code site browser valkey
step() {
	local name=$1 began=$SECONDS result=passed
	shift
	echo "== $name"
	"$BASH" -euo pipefail -c '"$@"' "$0" "$@" || result=failed
	echo "== $name $result after $((SECONDS - began)) s"
	printf '%s %5d s  %s\n' "$result" $((SECONDS - began)) "$name" >>"$temporary/results"
}

size=${1:-push}
[ -z "${FULL:-}" ] || size=--full
step programs programs
[ "$size" = --quick ] || step "programs for the site" . site/web/needs.sh

case $size in --ci | --full) step "generated code" generated_code ;; esac # it writes what the tests compile

# What waits for a browser, or needs no Redis, runs beside the Go tests: in a process group of its own, which ends with this
# script. Its output comes at the end.
set -m
{
	case $size in push | --ci | --full) step site site ;; esac
	case $size in push | --ci) step browser browser ;; esac # not beside tests at full size, which leave it no time
	case $size in --ci) step "single-page app" clients/run.sh spa ;; esac # with --full, the clients have it
	case $size in --ci | --full) step lint scripts/lint.sh ;; esac
	case $size in --full) step vulnerabilities scripts/vulnerabilities.sh ;; esac
} >"$temporary/beside" 2>&1 &
beside=$!
set +m
case $size in
--full)
	step "Go tests" all_go_tests
	step "race detector" all_raced
	;;
--quick)
	left_out="$raced|/tests/(program|documents|benchmarks)$" long='|Match(es)?TheOracle|Upgrade|Switched|Hanging|VoidedRing|ErasesAgain|ErasedName|WalksAreComplete|ListAsOne|FollowWrites|DeepPage|WithoutARight'
	step "Go tests" both redisrepo_tests other_tests
	;;
*)
	step "Go tests" both redisrepo_tests other_tests
	step "race detector" both concurrent_tests raced_packages
	;;
esac
case $size in
--ci)
	step faults go run ./tests/faults -seed 1 -for 20s
	step Valkey valkey -run 'Random|Oracle|Partition|Export|Rights|Script' -skip '/embedded.true' ./redisrepo/... # the store in memory is no Valkey
	;;
--full)
	for seed in 1 2 3; do step "faults of seed $seed" go run ./tests/faults -seed "$seed" -for 20s; done
	step "faults of a cluster" go run ./tests/faults -cluster -seed 1 -for 20s
	step "faults of a minute" go run ./tests/faults -seed 90002 -for 60s
	step Valkey valkey ./redisrepo/...
	;;
esac
wait "$beside" || true
beside=
cat "$temporary/beside"
case $size in
--ci) step cluster go_test -count=1 -run 'TestSiteOutlastsFailures$/^(failover_on_command|partition_moved|primary_killed|live_updates_after_a_move)$' ./tests/cluster ;;
--full)
	step browser browser
	step cluster go_test -count=1 ./tests/cluster
	step benchmarks go test -run '^$' -bench '/1000$' -benchtime 1x ./tests/benchmarks # they must run; their speed is not judged
	step "fuzz targets" scripts/fuzz.sh 5000 unguided
	step clients clients/run.sh
	step deploy scripts/deploy.sh
	step release env ONE_PROCESSOR=1 scripts/release.sh
	;;
esac

echo "== all steps, after $SECONDS s"
sort -r "$temporary/results"
failed=$(grep -c ^failed "$temporary/results" || true)
echo "$(($(wc -l <"$temporary/results") - failed)) passed, $failed failed"
[ "$failed" = 0 ]
