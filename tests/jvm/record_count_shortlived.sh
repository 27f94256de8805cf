#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The number of CPU samples of threads that are created and die during the recording: of 1,000 within 2% on a quiet
# machine. On any machine within a quarter and what drawing them allows: the younger a thread, the more its share is
# that of who preempts it.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_oldest)

# shortlived INTERVAL_MS MIN_US MAX_US [THREADS]: each thread's CPU time
shortlived() {
    local jfr=$T/shortlived-$1.jfr want got most

    jvm_start Churn burst "${4:-1000}" "$2" "$3"
    gnomon_start "$jfr" -p "$JVM_PID" --cpu "$1ms" $CPU_ALONE
    jvm_go
    jvm_done
    gnomon_stop
    want=$(calc "$(truth churn-short-lived 3) / ($1 * 1000000)")
    got=$(weight "$jfr" $CPU_EVENT 'thread=churn-short-liv.*')
    strict assert_percent "CPU samples every $1 ms" "$want" "$got" 2
    told "count, short-lived" "CPU samples every $1 ms" "$want" "$got" samples - 2 percent
    [ -n "${QUIET:-}" ] || softly assert_near "CPU samples every $1 ms" "$want" "$got" "$(calc "4 * sqrt($want) + $want / 4")"
    jvm_end
}

if [ -n "${QUIET:-}" ]; then
    shortlived 1 2000 8000
    shortlived 10 8000 32000
    [ -n "${ACCURACY_SOME:-}" ] || shortlived 20 20000 60000
else
    shortlived 1 2000 8000 200
    shortlived 10 2000 8000 200
fi
softly_end
