#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The number of CPU samples of threads that Java did not start (collector, compilers), and of the
# whole process: CPU time / interval, within 2% on a quiet machine; on another what is younger than an interval is
# drawn.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_oldest)

# Threads that lived through it, by what the scheduler counted before and after.
native_truth() {
    awk 'FNR == NR { before[$1] = $2; next }
         $1 in before && $3 ~ /^(GC|G1|C1|C2|VM)$/ && $2 > before[$1] {
             printf "%d %.0f\n", $1, $2 - before[$1] }' "$T/before" "$T/after" >"$T/native"
    awk '{ s += $2 } END { printf "%.0f\n", s }' "$T/native"
}

# native_near WHAT WANT GOT
native_near() {
    [ -n "${QUIET:-}" ] || softly assert_near "$1" "$2" "$3" "$(calc "5 + 4 * sqrt($2)")"
    strict assert_percent "$1" "$2" "$3" 2
    told "count, native threads" "$1" "$2" "$3" samples - 2 percent
}

# native INTERVAL_MS SECONDS
native() {
    local jfr=$T/native-$1.jfr before after tids want

    JVM_OPTS="-XX:+UseParallelGC -Xmx128m -XX:-UseDynamicNumberOfGCThreads
        -XX:-UseDynamicNumberOfCompilerThreads" jvm_start Native "$2"
    gnomon_start "$jfr" -p "$JVM_PID" --cpu "$1ms" $CPU_ALONE
    before=$(process_cpu_ns "$JVM_PID")
    threads_cpu "$JVM_PID" >"$T/before"
    jvm_go
    jvm_done
    nap 0.3
    threads_cpu "$JVM_PID" >"$T/after"
    after=$(process_cpu_ns "$JVM_PID")
    gnomon_stop
    want=$(calc "($after - $before) / ($1 * 1000000)")
    native_near "CPU samples of the process every $1 ms" "$want" "$(weight "$jfr" $CPU_EVENT)"
    want=$(calc "$(native_truth) / ($1 * 1000000)")
    tids=$(cut -d' ' -f1 "$T/native" | paste -sd'|')
    assert_ge "samples to expect of native threads" 5 "$want"
    native_near "CPU samples of native threads every $1 ms" "$want" "$(weight "$jfr" $CPU_EVENT "tid=$tids")"
    jvm_end
}

if [ -n "${QUIET:-}" ]; then
    native 1 6
    native 10 12
    native 20 16
else
    native 10 2
fi
softly_end
