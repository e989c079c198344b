#!/bin/bash
# Measures what a vote and a page take of PostgreSQL, for docs/comparison.md: 20,100 articles with an index by score, a table of
# votes with one row for each voter, prepared statements, 8 clients for SECONDS_EACH. For each it prints how many there were a
# second, and the CPU of all processes of the database for one.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/install.sh
install_missing pgbench:postgresql
folder=$(mktemp -d)
as=()
[ "$(id -u)" != 0 ] || { as=(runuser -u postgres --) && chown postgres "$folder"; } # it refuses to run as root
binaries=$(find /usr/lib/postgresql -name initdb -printf '%h\n' | sort | tail -1)
control() { "${as[@]}" "$binaries/pg_ctl" -D "$folder/data" -l "$folder/log" -w "$@" >/dev/null; }
trap 'control stop -m immediate || true; rm -rf "$folder"' EXIT
"${as[@]}" "$binaries/initdb" -D "$folder/data" -A trust -U postgres >/dev/null
control start -o "-k $folder -c listen_addresses= -c shared_buffers=512MB"
export PGHOST=$folder PGUSER=postgres PGDATABASE=postgres

psql -q <<'END'
CREATE TABLE article (id int PRIMARY KEY, title text, link text, poster text, created_at timestamptz, votes int, score bigint);
CREATE TABLE vote (article int, voter text, direction smallint, PRIMARY KEY (article, voter));
INSERT INTO article SELECT i, i || ' the quick brown fox jumps over the lazy dog', 'https://www' || i % 300 || '.example.org/' || i,
	'user' || i % 5000, now(), i % 200, 1790000000 + i * 30 + 432 * (i % 200) FROM generate_series(1, 20100) i;
CREATE INDEX ON article (score DESC, id DESC);
VACUUM ANALYZE;
END
cat >"$folder/page" <<'END'
SELECT id, title, link, poster, votes, created_at FROM article ORDER BY score DESC, id DESC LIMIT 25;
END
cat >"$folder/vote" <<'END'
\set a random(19900, 20100)
\set u random(1, 1000000000)
WITH v AS (INSERT INTO vote VALUES (:a, 'user' || :u, 1) ON CONFLICT (article, voter) DO UPDATE SET direction = 1 WHERE vote.direction <> 1 RETURNING 1)
UPDATE article SET votes = votes + 1, score = score + 432 WHERE id = :a AND EXISTS (SELECT FROM v) RETURNING votes;
END

main=$(head -1 "$folder/data/postmaster.pid")
# cpu prints the CPU of all its processes so far, µs. Those that ended count with the first one, a moment later.
cpu() {
	sleep 1
	{ cat "/proc/$main/stat"; for child in $(cat "/proc/$main/task/$main/children"); do sed 's/^/child /' "/proc/$child/stat" 2>/dev/null || true; done; } |
		awk '$1 == "child" {n += $15 + $16} $1 != "child" {n += $14 + $15 + $16 + $17} END {print n * 10000}'
}
for commit in on off; do
	psql -qc "ALTER SYSTEM SET synchronous_commit = $commit" -c 'SELECT pg_reload_conf()' >/dev/null
	for load in page vote; do
		run() { pgbench -n -M prepared -c 8 -T "$1" -f "$folder/$load" 2>/dev/null | awk '/actually processed/ {print $6}'; }
		run 1 >/dev/null
		before=$(cpu) count=$(run "${SECONDS_EACH:-10}")
		echo "$load, synchronous_commit $commit: $((count / ${SECONDS_EACH:-10})) a second, $((($(cpu) - before) / count)) µs"
	done
done
