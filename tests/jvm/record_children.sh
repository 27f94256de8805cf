#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Processes that the target starts are not sampled, busy as they may be.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

children() {
    local jfr=$T/children-$1-$(jdk_version "$JDK").jfr before after

    jvm_start ExecSelf children 2 1000
    gnomon_start "$jfr" -p "$JVM_PID" --cpu-engine "$1" $CPU_ALONE
    before=$(process_cpu_ns "$JVM_PID")
    jvm_go
    jvm_done
    after=$(process_cpu_ns "$JVM_PID")
    gnomon_stop
    jvm_unharmed
    jfr_readable "$jfr"
    query "$jfr" $CPU_EVENT os | awk '$2 == "sh"' >"$T/children"
    assert_empty "samples of the children" "$T/children"
    # 1 s of its own: a child's would make it twice that
    assert_percent "CPU samples of the target" "$(calc "($after - $before) / 10000000")" \
        "$(weight "$jfr" $CPU_EVENT)" "$2"
    jvm_end
}

# a clock of its own misses an interval for each of its threads, of 100 in all
for_any_jdk children thread 15
# the CPUs' clocks draw: 4 sigma of 100
for_any_jdk children cpu 40
