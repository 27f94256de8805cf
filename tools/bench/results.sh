#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/results.sh > tools/bench/RESULTS.md
#
# What was measured last, as one page: the files that bench.sh, suite.sh (make accuracy), idle.sh and
# pingpong.sh left in BUILD (the latter two by `| tee BUILD/bench/idle.txt`, `pingpong.txt`). Says
# for each workload and peer who was ahead. Nothing is in it that is not in those files.
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-../../build}
case $BUILD in /*) ;; *) BUILD=../../$BUILD ;; esac
csv=$BUILD/bench/bench.csv
[ -s "$csv" ] || { echo "results: no '$csv': run make bench" >&2; exit 1; }

part() {
    printf '\n## %s\n\n' "$1"
    if [ -s "$3" ]; then
        printf '`%s`\n\n```\n' "$2"
        cat "$3"
        printf '```\n'
    else
        printf 'Not run (`%s`).\n' "$2"
    fi
}

cat <<'END'
# Results

Written by `tools/bench/results.sh`; how it was measured is in README.md. Machine, versions and
commands:

END
sed -n 's/^# /    /p' "$csv"
printf '\n## gnomon beside the others\n\n'
awk -f versus.awk "$csv"
part 'What it costs' 'make bench' "$BUILD/bench/bench.txt"
part 'Idle threads' 'tools/bench/idle.sh' "$BUILD/bench/idle.txt"
part 'Switches' 'tools/bench/pingpong.sh' "$BUILD/bench/pingpong.txt"
part 'How true it is' 'make accuracy' "$BUILD/accuracy/accuracy.txt"
