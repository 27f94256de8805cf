#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 50 threads start and die per second, under every engine: no crash, a readable file, their CPU.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

churn() {
    local jfr=$T/churn-$1-$(jdk_version "$JDK").jfr before after

    JVM_OPTS=-XX:+UseSerialGC jvm_start Churn rate 50 5000
    sleep 1
    gnomon_start "$jfr" -p "$JVM_PID" --cpu 1ms --cpu-engine "$1"
    sleep 6
    gnomon_stop
    jvm_unharmed
    jfr_readable "$jfr"
    # at least 5 s of 50 threads with 5 ms, and each at its own name
    assert_ge "CPU samples of short-lived threads" 1100 \
        "$(weight "$jfr" $CPU_EVENT 'thread=churn-short-liv.*')"
    assert_ge "threads seen" 200 \
        "$(query "$jfr" $CPU_EVENT tid 'thread=churn-short-liv.*' | wc -l)"
    jvm_end
}

for_each_jdk churn auto
JDK=$(jdk_oldest)
churn thread
churn cpu
