#!/bin/bash
# Measures the server under load: scripts/load.sh [page|gzip|varied|vote|hot|overload]... For each it prints
# requests a second, the server's own CPU for a request, that of Redis, and how long 99 % of the requests took at most.
# The server has one core, and Redis and the load (wrk) another. SECONDS_EACH is the length of a round, ROUNDS their
# number. Variables of the server are passed on: FRONTPAGE_SHARED_ANSWERS=0 scripts/load.sh page
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/install.sh
install_missing redis-server:redis-server wrk:wrk taskset:util-linux

articles=20100 port=${PORT:-8490} redis_port=${REDIS_PORT:-8491}
folder=$(mktemp -d)
running=()
trap 'kill "${running[@]}" 2>/dev/null; wait; rm -rf "$folder"' EXIT
go build -o "$folder/frontpage" .

redis() { redis-cli -p "$redis_port" "$@"; }
taskset -c 0 redis-server --port "$redis_port" --save '' --dir "$folder" >/dev/null &
running+=($!)
until redis ping >/dev/null 2>&1; do sleep 0.1; done

awk -v n="$articles" -v now="$(date +%s)" 'BEGIN {
	print "id,title,link,votes,poster,posted_at,groups"
	words = split("the a of new how why open fast data server query cache graph vote list time proof small system paper guide story future market design", word, " ")
	for (i = 1; i <= n; i++) {
		title = i
		for (j = 0; j < 8; j++) title = title " " word[int(rand() * words) + 1]
		printf "%d,%s,https://www%d.example.org/%x/%d,%d,%x%d,%d,group%d\n", i, title, i % 300, rand() * 2 ^ 31, i, i % 200, i % 77 * 12345, i % 5000, now - (n - i) * 30, i % 50
	}
}' >"$folder/articles.csv"
export REDIS_URL=redis://127.0.0.1:$redis_port FRONTPAGE_ADDR=127.0.0.1:$port
"$folder/frontpage" import "$folder/articles.csv" >/dev/null 2>&1
GOMAXPROCS=1 taskset -c 1 "$folder/frontpage" >"$folder/log" 2>&1 &
server=$!
running+=("$server")
until curl -sf "http://$FRONTPAGE_ADDR/readyz" >/dev/null; do sleep 0.1; done

page='query Front{articles(order:SCORE,page:1){id title link poster{name} votes createdAt}}'
varied='query Q($p:Int!,$n:Boolean!){top:articles(order:SCORE,page:$p){...Card number @include(if:$n)}} fragment Card on Article{id title link by:poster{name} votes createdAt}'
vote='mutation V($a:ID!){vote(input:{article:$a}){changed article{id votes}}}'

# script prints the program of wrk for a kind of load. The one to warm up stops at a response with errors.
script() {
	[ -z "${2:-}" ] || echo "response = function(status, _, body) if body:find('\"errors\"', 1, true) then io.stderr:write(body); os.exit(1) end end"
	echo "wrk.method, wrk.headers['Content-Type'] = 'POST', 'application/json'"
	case $1 in
	page | overload) echo "wrk.body = '{\"query\":\"$page\",\"operationName\":\"Front\"}'" ;;
	gzip) echo "wrk.headers['Accept-Encoding'] = 'gzip'; wrk.body = '{\"query\":\"$page\",\"operationName\":\"Front\"}'" ;;
	varied) echo "local n = 0
		request = function() n = n + 1; return wrk.format(nil, nil, nil, '{\"query\":\"$varied\",\"variables\":{\"p\":' .. n % 500 + 1 .. ',\"n\":' .. tostring(n % 2 == 0) .. '}}') end" ;;
	vote | hot) echo "local n, voters = 0, os.time() % 100000 * 1000000
		request = function() n = n + 1; wrk.headers['X-User-ID'] = 'u' .. voters + n
		return wrk.format(nil, nil, nil, '{\"query\":\"$vote\",\"variables\":{\"a\":\"article:' .. $articles - $([ "$1" = vote ] && echo 'n % 200' || echo 0) .. '\"}}') end" ;;
	esac
}

cpu_of_server() { awk '{print ($14 + $15) * 10000}' "/proc/$server/stat"; }
cpu_of_redis() { redis info cpu | awk -F: '/used_cpu_(user|sys)_main_thread/ {n += $2} END {print n * 1e6}'; }

# measure prints a line for a round: a kind of load, and how many connections it has.
measure() {
	script "$1" "${3:-}" >"$folder/$1.lua"
	local before_server before_redis
	before_server=$(cpu_of_server) before_redis=$(cpu_of_redis)
	taskset -c 0 wrk -t1 -c"$2" -d"${SECONDS_EACH:-4}s" --timeout 5s --latency -s "$folder/$1.lua" "http://$FRONTPAGE_ADDR/query" >"$folder/out"
	awk -v kind="$1" -v connections="$2" -v server="$(awk "BEGIN {print $(cpu_of_server) - $before_server}")" \
		-v redis="$(awk "BEGIN {print $(cpu_of_redis) - $before_redis}")" -v seconds="${SECONDS_EACH:-4}" '
		$1 == "99%" {p99 = $2}
		/requests in/ {n = $1}
		/Non-2xx/ {refused = $NF}
		END {printf "%-8s %4d connections %8.0f answers/s %6d refused %7.1f us of the server %6.1f us of Redis, 99 %% in %s\n", kind, connections, (n - refused) / seconds, refused, server / n, redis / n, p99}' "$folder/out"
}

for kind in "${@:-page}"; do
	connections=32
	[ "$kind" != hot ] || connections=64
	SECONDS_EACH=1 measure "$kind" "$connections" checked >/dev/null # to warm up
	if [ "$kind" = overload ]; then
		connections="32 128 512 2048"
	fi
	for _ in $(seq "${ROUNDS:-3}"); do
		for c in $connections; do measure "$kind" "$c"; done
	done
done
