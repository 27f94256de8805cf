#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A target that is stopped (SIGSTOP) during the recording, and one that was before: gnomon neither
# hangs nor wakes it, and the file is readable.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

stopped_during() {
    local jfr=$T/during-$(jdk_version "$JDK").jfr

    jvm_start Idle 5 1
    gnomon_start "$jfr" -p "$JVM_PID"
    begun=$EPOCHREALTIME
    cpu_spent 500
    process_stop "$JVM_PID"
    sleep 2
    ms=$(since "$begun")
    gnomon_stop
    process_is_stopped "$JVM_PID" || fail "the target runs again"
    jfr_readable "$jfr"
    assert_ge "CPU samples before the stop" 20 "$(weight "$jfr" $CPU_EVENT)"
    # It is not on a CPU while stopped, and its wall time goes on.
    assert_ge "ms of an idle thread" "$(calc "0.96 * $ms")" "$(thread_ms "$jfr" idle-thread-number-1)"
    kill -CONT "$JVM_PID"
    cpu_spent 100
    jvm_unharmed
    file_has "$JVM_OUT" 'Full thread dump' && fail "a thread dump on the target's stdout"
    jvm_end
}

# Java names may be missing then, but not the samples once it goes on.
stopped_before() {
    local jfr=$T/before-$(jdk_version "$JDK").jfr

    jvm_start Idle 5 1
    process_stop "$JVM_PID"
    gnomon_start "$jfr" -p "$JVM_PID"
    process_is_stopped "$JVM_PID" || fail "the target runs again"
    kill -CONT "$JVM_PID"
    cpu_spent 400
    gnomon_stop
    jfr_readable "$jfr"
    assert_ge "CPU samples" 20 "$(weight "$jfr" $CPU_EVENT)"
    jvm_unharmed
    file_has "$JVM_OUT" 'Full thread dump' && fail "a thread dump on the target's stdout"
    jvm_end
}

for_any_jdk stopped_during
for_any_jdk stopped_before
