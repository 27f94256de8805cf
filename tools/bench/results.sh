#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/results.sh > tools/bench/RESULTS.md
#
# What was measured last, as one page: the files that bench.sh, suite.sh (make accuracy), idle.sh,
# pingpong.sh, stack_cost.sh, missed.sh and soak.sh left in BUILD (the last five by `| tee BUILD/bench/idle-N.txt`,
# `pingpong.txt`, `stack.txt`, `missed.txt`, `soak.txt`), and what notes.md says of it. Says for each workload and peer who
# was ahead, and why not where it was behind (why.txt). Refused (1) where what says what it costs is of several commits, or a
# binary was not that of its tree; how true it is and make soak may be of others. Writes bench.svg beside it. all.sh does all.
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=../../$BUILD ;; esac
csv=$BUILD/bench/bench.csv
[ -s "$csv" ] || { echo "results: no '$csv': run make bench" >&2; exit 1; }

# "VERSION TREE": of the binary that was measured, and of the sources beside it.
commits_of() { sed -n 's/^[# ]*gnomon \([^ ]*\), tree \([^ ]*\)$/\1 \2/p' "$1" | head -n 1; }

refuse() {
    echo "results: $1" >&2
    exit 1
}

# one_commit FILE: the binary's and the tree's; tree.
one_commit() {
    local version

    tree=
    [ -s "$1" ] || return 0
    read -r version tree < <(commits_of "$1")
    [ -n "${tree:-}" ] || refuse "'$1' does not say of which commit it is: measure it again"
    [ "$version" = "$tree" ] ||
        refuse "'$1' is of a gnomon of $version beside a tree of $tree: run make, and measure it again"
}

# same_commit FILE: that of bench.csv, too.
same_commit() {
    local tree

    one_commit "$1"
    [ -n "$tree" ] || return 0
    [ "$tree" = "${commit:=$tree}" ] || refuse "'$1' is of $tree, '$csv' of $commit: measure both on one commit"
}

commit=
for f in "$csv" "$BUILD"/bench/{idle-*,pingpong,stack,missed}.txt; do
    same_commit "$f"
done
one_commit "$BUILD/accuracy/accuracy.txt"

# part TITLE COMMAND FILE: the file says itself what ran, where it was a script; COMMAND if not. Of another
# commit: said.
part() {
    local ran tree

    printf '\n## %s\n\n' "$1"
    if [ ! -s "$3" ]; then
        printf 'Not run (`%s`).\n' "$2"
        return
    fi
    ran=$(sed -n 's/^[# ]*command: //p' "$3" | head -n 1)
    case $ran in '' | tools/bench/bench.sh | tools/soak/soak.sh) ran=$2 ;; esac
    printf '`%s`\n\n' "$ran"
    read -r _ tree < <(commits_of "$3")
    [ "${tree:-$commit}" = "$commit" ] || printf 'Measured at another commit: %s.\n\n' "$tree"
    printf '```\n'
    sed -e "s:/tmp/gnomon-test[^/]*/::g" -e '/^[# ]*command: /d' "$3"
    printf '```\n'
}

# "44 to 45 frames", of what stack_cost.sh sampled
depths() {
    sed -n 's/.*stack of *\([0-9]*\) frames.*/\1/p' "$1" 2>/dev/null | sort -n |
        awk 'NR == 1 { a = $1 } { b = $1 } END { if (NR) printf a == b ? "%d frames" : "%d to %d frames", a, b }'
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
echo "\`make bench\`. CPU and wall time at once, which of the peers async-both alone records:"
echo
awk -v us=gnomon -v why=why.txt -f versus.awk "$csv"
printf '\nThe same event as the peers, CPU time alone:\n\n'
awk -v us=gnomon-cpu -v why=why.txt -f versus.awk "$csv"
cat <<'END'

throughput, CPU per op (the target's), p99, bytes (of a recording's second): gnomon's divided by the peer's, in windows of
one round, medians; for throughput the least and the most of the rounds, too. Ahead or behind: no round says otherwise and
it is more than the noise, which is 1% (5% of p99 and bytes), or as much as any profiler seems to better the program. "above none":
gnomon's own windows are better than those without a profiler, so what is ahead is noise. CPU samples
taken, gnomon's and the peer's: of the process's CPU time / interval, which includes the garbage collector's and the
compilers' threads; the verdict is by two standard errors. complete: of all samples of either, wall
included, down to the thread's first method; deep-1000 runs with `-XX:FlightRecorderOptions=stackdepth=2048`, without
which the JDK's profilers end at 64 frames. In ant the throughput is that of whole commands: what starting and ending a
profiler takes is in it.

![throughput beside no profiler](bench.svg)
END
cp "$BUILD/bench/bench.svg" bench.svg
part 'What it costs' 'make bench' "$BUILD/bench/bench.txt"
for f in "$BUILD"/bench/idle-*.txt; do
    n=${f##*/idle-}
    part "Idle threads: ${n%.txt}" "tools/bench/idle.sh ${n%.txt} 60" "$f"
done
depths=$(depths "$BUILD/bench/stack.txt")
part 'Switches' 'tools/bench/pingpong.sh 3 5' "$BUILD/bench/pingpong.txt"
part "A sample with a stack${depths:+ of $depths}" 'tools/bench/stack_cost.sh 4' "$BUILD/bench/stack.txt"
part 'Stacks of busy servers' 'tools/bench/missed.sh 4 5' "$BUILD/bench/missed.txt"
# Without the stacks that calltree.sh shows of what it guessed.
awk '/^--- / { inside = 1; next } inside && /^      / { next } { inside = 0; print }' \
    "$BUILD/accuracy/accuracy.txt" >"$BUILD/accuracy/short.txt" 2>/dev/null
part 'How true it is' 'make accuracy' "$BUILD/accuracy/short.txt"
part 'Hours' 'make soak' "$BUILD/bench/soak.txt"
