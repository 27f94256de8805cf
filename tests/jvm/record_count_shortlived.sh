#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The number of CPU samples of 1,000 threads that are created and die during the recording.
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_oldest)

# shortlived INTERVAL_MS MIN_US MAX_US: each thread's CPU time
shortlived() {
    local jfr=$T/shortlived-$1.jfr want

    jvm_start Churn burst 1000 "$2" "$3"
    gnomon_start "$jfr" -p "$JVM_PID" --cpu "$1ms"
    jvm_go
    jvm_done 150
    gnomon_stop
    want=$(calc "$(truth churn-short-lived 3) / ($1 * 1000000)")
    softly assert_percent "CPU samples every $1 ms" "$want" \
        "$(weight "$jfr" $CPU_EVENT 'thread=churn-short-liv.*')" 2
    jvm_end
}

shortlived 1 2000 8000
shortlived 10 8000 32000
shortlived 20 20000 60000
softly_end
