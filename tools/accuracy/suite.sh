#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/suite.sh [--some] (as root; `make accuracy`)
#
# Every ground-truth program: what is true, what was measured, the error. Then those of the end-to-end
# tests that hold figures; and for the other profilers that are here what they can tell of. --some: what
# .ci/run has time for, four minutes of it.
# ACCURACY_SECONDS (12): of each pattern. Leaves BUILD/accuracy/accuracy.csv and .txt.
# Exit code: 1 if a figure of gnomon's misses its bound.
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$(cd ../.. && pwd)/$BUILD ;; esac
export BUILD
out=$BUILD/accuracy
mkdir -p "$out"
export RESULTS=$out/accuracy.csv
some=0
[ "${1:-}" != --some ] || some=1
seconds=${ACCURACY_SECONDS:-$((some ? 6 : 12))}
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

# total: of gnomon's figures. What expects next to nothing (no more than its bound) is easily right and
# counted apart. One figure beyond 2 standard errors is chance; more of them on one side are a bias.
total() {
    awk -F, '
        NR > 1 && ($NF == "pass" || $NF == "FAIL") {
            n[$NF]++
            e = $6 < 0 ? -$6 : $6
            if ($5 == "%" && e > worst) { worst = e; what = $1 ", " $2 }
            if ($3 <= $8 && $3 >= -$8) nothing++
            if ($7 != "-") { with++; low += $7 < -2; high += $7 > 2 }
        }
        END {
            printf "%d of %d figures within their bounds, %d of them expect nothing; largest error of a share: %.2f points (%s)\n",
                n["pass"], n["pass"] + n["FAIL"], nothing, worst, what
            printf "of %d with a standard error %d are more than 2 of them too low, %d too high (of random samples %.0f would be on each side)\n",
                with, low, high, 0.0228 * with
        }' "$RESULTS"
}

# What a profiler can tell of: those without wall samples have nothing of threads that do not run.
patterns_of() {
    case $1 in
    async-both) echo short long uneven convoy pingpong instep ;;
    *) echo short long convoy pingpong instep ;;
    esac
}

of_peers() {
    local v length=$((seconds / 3))

    for v in $(peers); do
        # shellcheck disable=SC2046
        run "known patterns, $v (told, not judged)" \
            env PROFILER="$v" ./patterns.sh "$length" $(patterns_of "$v")
        case $v in
        jfr | async) run "impossible stacks of a known call tree, $v (told, not judged)" \
            env PROFILER="$v" ./tree.sh "$length" ;;
        esac
        # the JDK's sampler takes none of native code
        [ "$v" = jfr ] || run "native threads, deep stacks, $v (told, not judged)" \
            env PROFILER="$v" ./queue_study.sh "$length" 1 10
    done
}

# of_some: patterns of three kinds, and what else takes a few seconds each.
of_some() {
    run 'known patterns' ./patterns.sh "$seconds" short uneven instep
    run 'waiting for a CPU' ./starvation.sh "$seconds"
    run 'some of the threads' ./reservoir.sh "$seconds"
    run 'impossible and incomplete stacks of a known call tree' \
        env TREE_HOMES="$(bash -c '. ../bench/lib.sh; jdk_newest')" ./tree.sh 3 default
    run 'what threads wait for' env ONE_JDK=1 ./causes.sh "$seconds" waits chain
    run 'counts, shares and waits (tests/jvm)' \
        env ACCURACY_SOME=1 JAVA_HOMES="$(bash -c '. ../bench/lib.sh; jdk_newest')" ./tests.sh record_basic record_count_shortlived record_shares record_waits
}

of_all() {
    run 'known patterns' ./patterns.sh "$seconds"
    run 'waiting for a CPU' ./starvation.sh "$seconds"
    run 'native threads, deep stacks, a collector held up' ./queue_study.sh $((seconds / 2))
    run 'some of the threads' ./reservoir.sh "$seconds"
    run 'impossible and incomplete stacks of a known call tree' ./tree.sh $((seconds / 3 + 1)) default
    run "calls of others' programs, by their class files" ./calls.sh
    run 'shares of methods and of waits (tests/jvm)' ./tests.sh record_shares record_waits
    run 'a steady server against itself (tests/jvm)' ./tests.sh record_twice
    run 'counts of CPU samples (tests/jvm)' ./tests.sh record_count_existing record_count_native record_count_shortlived
    run 'what else the tests hold figures of (tests/jvm)' ./tests.sh record_basic record_ends record_form record_limits \
        record_rename record_threads stacks_remapped stacks_rest stacks_tables record_hundred record_without
    run 'what threads wait for' ./causes.sh "$seconds"
    run 'who had the CPUs of queued threads (tests/jvm)' ./tests.sh causes_cpu
    run 'loads and waits beside the JVM itself (tests/jvm)' ./tests.sh vitals_events
    # the newest JDK alone: each takes 15 s
    run 'virtual threads (tests/jvm)' \
        env GNOMON_TREES=/nonexistent JAVA_HOMES="$(bash -c '. ../bench/lib.sh; jdk_newest')" ./tests.sh record_virtual
    run 'counts and times of the BPF programs (tests/bpf)' env QUIET=1 "$BUILD/tests/bpf/test_capture"
    run 'what a begin does to the JVM' ./pause.sh
    run 'how long the pages take, in a browser' env QUIET=1 ../../tests/browser/run.sh
    of_peers
}

suite() {
    local stolen at=$SECONDS

    bash -c '. ../bench/lib.sh; machine'
    stolen=$(bash -c '. ../bench/lib.sh; stolen_ms')
    if [ $some = 1 ]; then of_some; else of_all; fi
    printf '\n'
    total
    bash -c '. ../bench/lib.sh; stolen_since "$@"' - "$stolen" $((SECONDS - at))
    printf '\n'
    [ ${#failed[@]} -eq 0 ] || printf 'failed: %s\n' "${failed[@]}"
}

# The list of failures has to outlive the pipe.
suite > >(tee "$out/accuracy.txt")
wait
[ ${#failed[@]} -eq 0 ]
