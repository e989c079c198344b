#!/bin/bash
# Draws docs/images/cost.svg: what pages, votes and live updates cost on sites of different sizes, as tests/benchmarks measures
# them. That takes ten minutes and 8 GB of memory, and nothing else should run meanwhile. Installs gnuplot with apt.
#   scripts/plot.sh        measures into docs/images/cost.txt, and draws
#   scripts/plot.sh FILE   draws the output of an earlier run
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/install.sh
install_missing gnuplot:gnuplot-nox redis-server:redis-server

measured=${1:-docs/images/cost.txt}
if [ $# = 0 ]; then
	{
		go test -run '^$' -timeout 60m -bench 'Site/.*/.*/handler' ./tests/benchmarks
		go test -run '^$' -timeout 60m -bench 'Watchers|Partitions' -benchtime 1x ./tests/benchmarks
	} | tee "$measured"
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# series FILE CASE UNIT DIVISOR writes a line for each size in the benchmarks whose names match CASE: the part of the name in
# brackets, which is the size, and the number with this unit.
series() {
	sed -nE "s#^Benchmark$2(-[0-9]+)?[[:space:]].*[[:space:]]([0-9.]+) $3([[:space:]].*)?\$#\1 \3#p" "$measured" |
		awk -v by="$4" '{ print $1, $2 / by }' | sort -n >"$folder/$1"
	[ "$(wc -l <"$folder/$1")" -ge 3 ] || { echo "scripts/plot.sh: $measured has no results of $2 in $3" >&2; exit 1; }
}
series page 'Site/([0-9]+)/page/handler' ns/op 1000
series vote 'Site/([0-9]+)/vote/handler' ns/op 1000
series watchers 'Watchers/([0-9]+)/10/1' CPU-% 1
for case in page group vote; do
	series "server-$case" "Partitions/([0-9]+)/$case" server-µs/op 1
	series "redis-$case" "Partitions/([0-9]+)/$case" redis-µs/op 1
done

(cd "$folder" && gnuplot) >docs/images/cost.svg <<'END'
set terminal svg size 960,640 font "sans-serif,13" background "#ffffff"
set multiplot layout 2,2
set style data linespoints
set logscale x
set yrange [0:*]
set grid ytics lc "#dddddd"
set border 3 lc "#666666"
set tics nomirror
set key top left reverse Left
set offsets 0, 0, graph 0.35, 0
set linetype 1 lc "#14624a" lw 2 pt 7 ps 0.6
set linetype 2 lc "#b4451f" lw 2 pt 7 ps 0.6
set linetype 3 lc "#3a5fa0" lw 2 pt 7 ps 0.6
set title "One request at a time, µs"
set xlabel "articles"
set xtics ("1,000" 1000, "100,000" 100000, "10,000,000" 10000000)
set xrange [700:15000000]
plot "page" title "page of 25 articles", "vote" title "vote"
set title "10 votes a second on 25 articles: CPU of the server, % of a core"
set xlabel "watchers of these articles"
unset logscale x
set xrange [-500:19000]
set xtics ("0" 0, "5,000" 5000, "18,000" 18000)
plot "watchers" title "live updates"
set logscale x
set xrange [0.8:80]
set xtics (1, 16, 64)
set xlabel "partitions in a cluster of 3 primaries, 20,000 articles"
set title "CPU of the server, µs"
plot "server-group" title "page of a group", "server-page" title "front page", "server-vote" title "vote"
set title "CPU of all Redis processes, µs"
plot "redis-group" title "page of a group", "redis-page" title "front page", "redis-vote" title "vote"
END
echo "docs/images/cost.svg: drawn from $measured"
