#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/suite.sh (as root; `make accuracy`)
#
# Every ground-truth program: what is true, what was measured, the error. Then two of the
# end-to-end tests that check shares; and the patterns again for the other profilers that are here.
# ACCURACY_SECONDS (12): of each pattern. Leaves BUILD/accuracy/accuracy.csv and .txt.
# Exit code: 1 if a figure of gnomon's misses its bound.
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$(cd ../.. && pwd)/$BUILD ;; esac
export BUILD
out=$BUILD/accuracy
mkdir -p "$out"
export RESULTS=$out/accuracy.csv
seconds=${ACCURACY_SECONDS:-12}
failed=()

echo case,what,expected,measured,unit,error,standard_errors,bound,verdict >"$RESULTS"

# run NAME COMMAND...
run() {
    local name=$1 rc

    shift
    printf '\n== %s\n' "$name"
    "$@"
    rc=$?
    [ $rc = 0 ] || [ $rc = 77 ] || failed+=("$name")
}

peers() {
    local v

    for v in $(bash -c '. ../bench/lib.sh; variants "$(jdk_newest)"'); do
        case $v in
        jfr | jfr-cputime | async | async-both) echo "$v" ;;
        esac
    done
}

suite() {
    local v

    bash -c '. ../bench/lib.sh; machine'
    run 'known patterns' ./patterns.sh "$seconds"
    run 'waiting for a CPU' ./starvation.sh "$seconds"
    run 'native threads, deep stacks, a collector held up' ./queue_study.sh $((seconds / 2))
    run 'some of the threads' ./reservoir.sh "$seconds"
    run 'impossible and incomplete stacks of a known call tree' \
        env TREE_SECONDS=$((seconds / 3 + 1)) ./calltree.sh default
    run 'shares of methods on CPU (tests/jvm)' ../../tests/jvm/record_shares.sh
    run 'shares of waits (tests/jvm)' ../../tests/jvm/record_waits.sh
    for v in $(peers); do
        run "known patterns, $v (told, not judged)" \
            env PROFILER="$v" ./patterns.sh "$((seconds / 3 + 1))" short convoy uneven
    done
    for v in $(peers | grep -v '^jfr$'); do # which takes no sample of native code
        run "native threads, deep stacks, $v (told, not judged)" \
            env PROFILER="$v" ./queue_study.sh "$((seconds / 3 + 1))" 1 10
    done
    printf '\n'
    awk -F, 'NR > 1 && ($NF == "pass" || $NF == "FAIL") { n[$NF]++; e = $6 < 0 ? -$6 : $6; if ($5 == "%" && e > worst) { worst = e; what = $1 ", " $2 } }
        END { printf "%d of %d figures within their bounds; largest error of a share: %.2f points (%s)\n", n["pass"], n["pass"] + n["FAIL"], worst, what }' "$RESULTS"
    [ ${#failed[@]} -eq 0 ] || printf 'failed: %s\n' "${failed[@]}"
}

# The list of failures has to outlive the pipe.
suite > >(tee "$out/accuracy.txt")
wait
[ ${#failed[@]} -eq 0 ]
