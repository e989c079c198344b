#!/bin/bash
# Draws docs/images/cost.svg: what pages, votes and live updates cost on sites of different sizes, as tests/benchmarks measures
# them. That takes ten minutes, in which nothing else should run. Installs gnuplot with apt.
#   scripts/plot.sh        measures, keeps the output in dist/cost.txt, and draws
#   scripts/plot.sh FILE   draws the output of an earlier run
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/install.sh
install_missing gnuplot:gnuplot-nox redis-server:redis-server

measured=${1:-dist/cost.txt}
if [ $# = 0 ]; then
	mkdir -p dist
	{
		go test -run '^$' -bench 'Site/.*/.*/handler' ./tests/benchmarks
		go test -run '^$' -bench Watchers -benchtime 1x ./tests/benchmarks
		go test -run '^$' -bench 'Partitions/20000/.*/^(page|group|vote)$' -benchtime 1000x ./tests/benchmarks
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
series vote50 'Watchers/500/([0-9]+)' vote-p50-ms 1
series vote99 'Watchers/500/([0-9]+)' vote-p99-ms 1
series delay50 'Watchers/([0-9]+)/500' delay-p50-ms 1
series delay99 'Watchers/([0-9]+)/500' delay-p99-ms 1
for case in page group vote; do series "partitions-$case" "Partitions/20000/([0-9]+)/$case" redis-µs/op 1; done

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
set xtics ("1,000" 1000, "100,000" 100000, "1,000,000" 1000000)
set xrange [700:1500000]
plot "page" title "page of 25 articles", "vote" title "vote"
set title "A vote with 500 watchers, ms"
set xlabel "votes a second"
set xrange [70:3000]
set xtics (100, 500, "2,000" 2000)
plot "vote50" title "median", "vote99" title "99 %"
set title "From a vote to its watchers at 500 votes a second, ms"
set xlabel "watchers of 25 articles"
set xrange [350:7000]
set xtics (500, "1,500" 1500, "5,000" 5000)
plot "delay50" title "median", "delay99" title "99 %"
set title "CPU of Redis, 20,000 articles, µs"
set xlabel "partitions"
set xrange [0.8:80]
set xtics (1, 16, 64)
plot "partitions-group" title "page of a group", "partitions-page" title "front page", "partitions-vote" title "vote"
END
echo "docs/images/cost.svg: drawn from $measured"
