#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/results.sh > tools/bench/RESULTS.md
#
# What was measured last, as one page: the files that bench.sh, suite.sh (make accuracy), idle.sh,
# pingpong.sh, stack_cost.sh and soak.sh left in BUILD (the last four by `| tee BUILD/bench/idle-N.txt`,
# `pingpong.txt`, `stack.txt`, `soak.txt`), and what notes.md says of it. Says for each workload and peer who
# was ahead, and why not where it was behind (why.txt). Writes bench.svg beside it. all.sh does all of it.
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=../../$BUILD ;; esac
csv=$BUILD/bench/bench.csv
[ -s "$csv" ] || { echo "results: no '$csv': run make bench" >&2; exit 1; }

tree_of() { sed -n 's/.*, tree \([^ ]*\)$/\1/p' "$1" | head -n 1; }

part() {
    printf '\n## %s\n\n' "$1"
    if [ -s "$3" ]; then
        printf '`%s`\n\n' "$2"
        tree=$(tree_of "$3")
        [ "$tree" = "$(tree_of "$csv")" ] || [ "$3" = "$BUILD/bench/bench.txt" ] ||
            printf 'Measured at another commit than the tables above: %s.\n\n' "${tree:-not known}"
        printf '```\n'
        sed "s:/tmp/gnomon-test[^/]*/::g" "$3"
        printf '```\n'
    else
        printf 'Not run (`%s`).\n' "$2"
    fi
}

cat <<'END'
# Results

Written by `tools/bench/results.sh`; the words of the next section are those of notes.md. How it was
measured is in README.md. Machine, versions, settings:

END
sed -n 's/^# /    /p' "$csv"
printf '\n'
cat notes.md
printf '\n## gnomon beside the others\n\n'
echo "\`make bench\`. CPU and wall time at once, which no peer here records together:"
echo
awk -v us=gnomon -v why=why.txt -f versus.awk "$csv"
printf '\nThe same event as the peers, CPU time alone:\n\n'
awk -v us=gnomon-cpu -v why=why.txt -f versus.awk "$csv"
cat <<'END'

throughput: gnomon's divided by the peer's, in windows of one round; range: least and most of the rounds.
Ahead or behind: no round says otherwise and it is more than the noise, which is at least one percent, and as much
as any profiler seems to make the program faster. CPU per op (the target's), p99 and kB/s: gnomon's divided by
the peer's, less is better. CPU samples taken: of the process's CPU time / interval,
which includes the garbage collector's and the compilers' threads. complete: of all samples of either, wall
included, down to the thread's first method.

![throughput beside no profiler](bench.svg)
END
cp "$BUILD/bench/bench.svg" bench.svg
part 'What it costs' 'make bench' "$BUILD/bench/bench.txt"
for f in "$BUILD"/bench/idle-*.txt; do
    n=${f##*/idle-}
    part "Idle threads: ${n%.txt}" "tools/bench/idle.sh ${n%.txt}" "$f"
done
part 'Switches' 'tools/bench/pingpong.sh' "$BUILD/bench/pingpong.txt"
part 'A sample with a stack of 50 frames' 'tools/bench/stack_cost.sh' "$BUILD/bench/stack.txt"
# Without the stacks that calltree.sh shows of what it guessed.
awk '/^--- / { inside = 1; next } inside && /^      / { next } { inside = 0; print }' \
    "$BUILD/accuracy/accuracy.txt" >"$BUILD/accuracy/short.txt" 2>/dev/null
part 'How true it is' 'make accuracy' "$BUILD/accuracy/short.txt"
part 'Hours' 'make soak' "$BUILD/bench/soak.txt"
