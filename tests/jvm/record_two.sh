#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two gnomons on one JVM: both files whole, and the one that ends first takes nothing from the other.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

two() {
    local a=$T/a-$(jdk_version "$JDK").jfr b=$T/b-$(jdk_version "$JDK").jfr first f all a0 a1 b0 b1 ms chance

    jvm_start Idle 5 1
    gnomon_start "$a" -p "$JVM_PID"
    first=$GN_PID a0=$EPOCHREALTIME
    cpu_spent 200
    gnomon_start "$b" -p "$JVM_PID" --cpu 5ms
    b0=$EPOCHREALTIME
    cpu_spent 500
    b1=$EPOCHREALTIME
    gnomon_stop
    cpu_spent 500
    a1=$EPOCHREALTIME
    GN_PID=$first gnomon_stop
    jvm_unharmed
    jvm_end
    # all the time, but for what each clock may miss at either end: a tick is 4% of the second
    ms=$(thread_ms "$a" busy-thread-number-1) chance=$(thread_ms_chance "$a" busy-thread-number-1)
    assert_ge "ms in the first" "$(calc "850 * ($a1 - $a0) - $chance")" "$ms"
    strict assert_ge "ms in the first" "$(calc "950 * ($a1 - $a0) - $chance")" "$ms"
    ms=$(thread_ms "$b" busy-thread-number-1 5) chance=$(thread_ms_chance "$b" busy-thread-number-1 5)
    assert_ge "ms in the second" "$(calc "850 * ($b1 - $b0) - $chance")" "$ms"
    strict assert_ge "ms in the second" "$(calc "900 * ($b1 - $b0) - $chance")" "$ms"
    for f in "$a" "$b"; do
        jfr_readable "$f"
        all=$(weight "$f" $CPU_EVENT thread=busy-thread-number-1)
        assert_ge "percent of CPU samples with the method's name" 95 "$(calc "100 * $(weight "$f" \
            $CPU_EVENT thread=busy-thread-number-1 'frame=Harness\.(crunch|burn|cpu)') / $all")"
    done
}

for_any_jdk two
