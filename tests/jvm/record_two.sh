#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two gnomons on one JVM: both files whole, and the one that ends first takes nothing from the other.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

two() {
    local a=$T/a-$(jdk_version "$JDK").jfr b=$T/b-$(jdk_version "$JDK").jfr first f all

    jvm_start Idle 5 1
    gnomon_start "$a" -p "$JVM_PID"
    first=$GN_PID
    gnomon_start "$b" -p "$JVM_PID" --cpu 5ms
    sleep 1
    gnomon_stop
    sleep 1
    GN_PID=$first gnomon_stop
    jvm_unharmed
    assert_ge "ms in the first" 4500 "$(thread_ms "$a" busy-thread-number-1)"
    assert_ge "ms in the second" 1900 "$(thread_ms "$b" busy-thread-number-1 5)"
    for f in "$a" "$b"; do
        jfr_readable "$f"
        all=$(weight "$f" $CPU_EVENT thread=busy-thread-number-1)
        assert_ge "percent of CPU samples with the method's name" 95 "$(calc "100 * $(weight "$f" \
            $CPU_EVENT thread=busy-thread-number-1 'frame=Harness\.(crunch|burn|cpu)') / $all")"
    done
    jvm_end
}

for_each_jdk two
