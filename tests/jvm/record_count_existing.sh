#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The number of CPU samples of threads that were there before: CPU time / interval, within 2%.
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_oldest)

# existing INTERVAL_MS CPU_MS ENGINE
existing() {
    local jfr=$T/existing-$1-$3.jfr i sum=0 want=0 n w

    note "every $1 ms, --cpu-engine $3"
    jvm_start Split 3 "$2"
    gnomon_start "$jfr" -p "$JVM_PID" --cpu "$1ms" --cpu-engine "$3"
    jvm_go
    jvm_done 150
    gnomon_stop
    query "$jfr" $CPU_EVENT thread >"$T/by-thread"
    for i in 1 2 3; do
        w=$(calc "$(truth "split-worker-number-$i" 3) / ($1 * 1000000)")
        n=$(awk -v t="split-worker-number-$i" '$2 == t { print $1 }' "$T/by-thread")
        note "thread $i: ${n:-0} of $w"
        sum=$((sum + ${n:-0}))
        want=$(calc "$want + $w")
    done
    softly assert_percent "CPU samples every $1 ms" "$want" $sum 2
    jvm_end
}

existing 1 2000 thread
existing 10 8000 thread
existing 20 12000 thread
existing 10 8000 cpu
softly_end
