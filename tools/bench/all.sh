#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/all.sh (as root; `make results`)
#
# All that RESULTS.md holds, measured anew on one commit, and RESULTS.md and the table of README.md beside this file written from it: make bench, make
# accuracy, idle.sh, pingpong.sh, stack_cost.sh, missed.sh. Some 40 minutes of a machine that does nothing else: each part
# waits for a load below 1, two minutes at most, and says so at its beginning where that did not come. What
# `make soak | tee BUILD/bench/soak.txt` left is taken in as it is. A part that fails (a figure beyond
# its bound) is said at the end; exit code 1. With changes that are not committed: refused, unless DIRTY=1.
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
export BUILD
out=$BUILD/bench
tree=$(git describe --tags --always --dirty) || exit 1
failed=()

if [[ $tree == *-dirty && ${DIRTY:-0} != 1 ]]; then
    echo "all: the tree has changes that are not committed: commit them, or set DIRTY=1" >&2
    exit 2
fi

# quiet_wait: until the load is below 1, or two minutes. Each part says itself what load it began with.
quiet_wait() {
    local left=24

    until awk '$1 >= 1 { exit 1 }' /proc/loadavg; do
        ((left-- > 0)) || { echo "all: warning: the machine does not become quiet" >&2; return; }
        sleep 5
    done
}

# part NAME COMMAND...: what it says goes to BUILD/bench/NAME.txt, too.
part() {
    local name=$1 began rc

    shift
    quiet_wait
    began=$SECONDS
    printf '\n#### %s: %s\n' "$name" "$*"
    "$@" > >(tee "$out/$name.txt") 2> >(tee "$out/$name.err" >&2)
    rc=$?
    wait
    echo "#### $name: $((SECONDS - began)) s, exit code $rc"
    [ $rc = 0 ] || failed+=("$name")
}

mkdir -p "$out"
rm -rf "$out"/{bench.csv,bench.txt,bench.svg,idle-*.txt,pingpong.txt,stack.txt,missed.txt} "$BUILD/accuracy"
part make-bench make bench
part idle-10000 tools/bench/idle.sh 10000 60
part idle-30000 tools/bench/idle.sh 30000 60
part pingpong tools/bench/pingpong.sh 3 5
part stack tools/bench/stack_cost.sh 4
part missed tools/bench/missed.sh 4 5
part make-accuracy make accuracy
rm -f "$out"/make-*.txt "$out"/*.err
tools/bench/results.sh >"$out/RESULTS.md" || exit 1
cp "$out/RESULTS.md" tools/bench/RESULTS.md
tools/bench/readme.sh tools/bench/README.md
echo "RESULTS.md and the table of tools/bench/README.md: $tree, $SECONDS s in all; now see that notes.md says what they say"
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
