#!/bin/bash
# Starts a server with 500 articles on a free port and runs all clients against it; with the argument spa, tests the
# single-page app of docs/spa.md only; with statuses, makes the table of docs/clients.md again. Needs Go and redis-server, and installs Node, Chromium and curl as site/web/needs.sh does.
set -euo pipefail
cd "$(dirname "$0")/.."
. site/web/needs.sh
cd clients
for tool in go node npm curl redis-server; do
	command -v "$tool" >/dev/null || { echo "clients/run.sh: needs $tool: install it and try again" >&2; exit 1; }
done

unset FRONTPAGE_URL
site=$(mktemp -d)
server=
tear_down() {
	local code=$?
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null && wait "$server" || true
	fi
	if [ "$code" != 0 ] && [ -f "$site/log" ]; then
		echo "clients/run.sh: failed. The last lines of the server log:" >&2
		tail -n 20 "$site/log" >&2 || true
	fi
	rm -rf "$site"
	exit "$code"
}
trap tear_down EXIT

omit=() # the app needs dependencies only, the other clients devDependencies
[ "${1-}" != spa ] || omit=(--omit=dev)
npm ci --loglevel error --no-audit --prefer-offline "${omit[@]}"
PATH=$PWD/node_modules/.bin:$PATH
(cd js && npm run --silent build)

(cd .. && go build -trimpath -o "$site/frontpage" .)
export SITE_PROGRAM=$site/frontpage

# The app of docs/spa.md.
rm -rf js/examples/react/gql
cp ../schema.graphqls js/examples/react
(cd js/examples/react && graphql-codegen --silent && tsc --noEmit --strict --jsx react-jsx --module esnext --moduleResolution bundler --skipLibCheck main.tsx)
vitest run --root js/test/spa
[ "${1-}" != spa ] || exit 0

# Two articles per second, so that paging has to deal with equal scores.
{
	echo id,title,link,votes,poster,posted_at,groups
	for i in $(seq 500); do
		echo "$((1000 + i)),article $i,https://example.org/$i,$((i % 7)),poster$((i % 50)),$((1700000000 + i / 2)),walk"
	done
} >"$site/articles.csv"
export FRONTPAGE_ADDR=127.0.0.1:0 FRONTPAGE_SECRET="a secret of at least thirty-two bytes"
WEBHOOK_PORT=$(node -e 'const s = require("net").createServer().listen(0, () => { console.log(s.address().port); s.close(); })')
export WEBHOOK_PORT FRONTPAGE_WEBHOOK_ORIGINS=http://127.0.0.1:$WEBHOOK_PORT

# serve starts a server with the articles alone, after the one before has ended.
serve() {
	[ -z "$server" ] || { kill "$server" && wait "$server" || true; }
	rm -rf "$site/data" "$site/stderr"
	export REDIS_URL="spawn://$site/data"
	"$site/frontpage" import --shift-to-now "$site/articles.csv" 2>"$site/log"
	mkfifo "$site/stderr"
	"$site/frontpage" 2>"$site/stderr" &
	server=$!
	exec 3<"$site/stderr"
	FRONTPAGE_URL=
	while [ -z "$FRONTPAGE_URL" ] && read -ru 3 line; do
		echo "$line" >>"$site/log"
		[[ $line =~ endpoint=([^ ]+) ]] && export FRONTPAGE_URL=${BASH_REMATCH[1]}
	done
	cat <&3 >>"$site/log" &
	[ -n "$FRONTPAGE_URL" ] || { echo "clients/run.sh: the server did not start" >&2; exit 1; }
}
serve

rm -rf build generated relay/__generated__
graphql-codegen --silent --config codegen.ts
diff -r generated/sdl generated/live || { echo "graphql-codegen: the schema at its URL and by introspection give different types" >&2; exit 1; }
# relay-compiler only reads files named *.graphql.
cp ../schema.graphqls generated/schema.graphql
relay-compiler
tsc
if [ "${1-}" = statuses ]; then
	node build/statuses.js --write
	exit
fi
(cd .. && eslint --config clients/eslint.config.mjs schema.graphqls)

for client in contract audits protocol sockets events search webhooks subgraph urql apollo relay/client statuses; do
	node "build/$client.js"
done
tsc -p js/test
(cd js && vitest run --exclude test/spa)
./curl.sh

cd go
before=$(sha256sum generated.go)
go generate
[ "$before" = "$(sha256sum generated.go)" ] || { echo "genqlient: clients/go/generated.go was out of date. It is regenerated: commit it" >&2; exit 1; }
go vet .
go run .
cd ..

# The same with graphql-js 17, but for Relay, which has its own, and those that need 16.
serve
for client in contract audits sockets events urql apollo; do
	node --require ./seventeen.cjs "build/$client.js"
done
