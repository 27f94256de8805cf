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
    gnomon_start "$jfr" -p "$JVM_PID" --cpu 1ms --cpu-engine "$@"
    # 100 of them, 5 ms each, as soon as they have run
    cpu_spent 500
    gnomon_stop
    jvm_unharmed
    jvm_end
    jfr_readable "$jfr"
    # each at its own name
    assert_ge "CPU samples of short-lived threads" 250 \
        "$(weight "$jfr" $CPU_EVENT 'thread=churn-short-liv.*')"
    assert_ge "threads seen" 50 \
        "$(query "$jfr" $CPU_EVENT tid 'thread=churn-short-liv.*' | wc -l)"
}

for_any_jdk churn auto
JDK=$(jdk_oldest)
churn thread $CPU_ALONE
churn cpu $CPU_ALONE
