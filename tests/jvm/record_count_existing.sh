#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The number of CPU samples of threads that were there before: CPU time / interval, each of them within two
# samples (their own clocks) or what so many drawn at random allow (the CPUs'); within 2% on a quiet machine.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_oldest)

# existing INTERVAL_MS CPU_MS ENGINE
existing() {
    local jfr=$T/existing-$1-$3.jfr i sum=0 want=0 n w bound

    note "every $1 ms, --cpu-engine $3"
    jvm_start Split 3 "$2"
    gnomon_start "$jfr" -p "$JVM_PID" --cpu "$1ms" --cpu-engine "$3" $CPU_ALONE
    jvm_go
    jvm_done
    gnomon_stop
    query "$jfr" $CPU_EVENT thread >"$T/by-thread"
    for i in 1 2 3; do
        w=$(calc "$(truth "split-worker-number-$i" 3) / ($1 * 1000000)")
        n=$(awk -v t="split-worker-number-$i" '$2 == t { print $1 }' "$T/by-thread")
        # Where a thread's first and last lie is chance. Its own clock begins anew where others take its CPU, and what its samples are worth is
        # drawn then: beside others it is exact in the mean only.
        bound=$([ "$3" = cpu ] && calc "5 * sqrt($w)" || calc "2 + sqrt($w)")
        softly assert_near "CPU samples of thread $i every $1 ms ($3)" "$w" "${n:-0}" "$bound"
        [ "$3" = cpu ] ||
            strict assert_near "CPU samples of thread $i every $1 ms ($3)" "$w" "${n:-0}" "$(calc "2 + $w / 50")"
        sum=$((sum + ${n:-0}))
        want=$(calc "$want + $w")
    done
    strict assert_percent "CPU samples every $1 ms" "$want" $sum 2
    told "count, $3 clocks" "CPU samples every $1 ms" "$want" $sum samples - 2 percent
    jvm_end
}

if [ -n "${QUIET:-}" ]; then
    existing 1 2000 thread
    existing 10 6000 thread
    existing 20 8000 thread
    existing 10 6000 cpu
else
    some_of 1 eval 'existing 1 400 thread' 'existing 10 800 thread' 'existing 10 800 cpu'
fi
softly_end
