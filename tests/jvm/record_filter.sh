#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# -t: only threads so named or numbered, those that come later too.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

only() {
    local jfr=$1 want=$2 event

    jfr_readable "$jfr"
    for event in $CPU_EVENT $WALL_EVENT; do
        query "$jfr" $event thread >"$T/threads"
        cut -d' ' -f2- "$T/threads" | grep -Evx "$want" >"$T/others"
        assert_empty "threads of $event that were not asked for" "$T/others"
    done
}

filter() {
    local jfr=$T/filter-$(jdk_version "$JDK") tid

    jvm_start Idle 12 2
    "$GNOMON" record -p "$JVM_PID" -d 2s -o "$jfr-name.jfr" -t '*-thread-number-1' \
        </dev/null >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    only "$jfr-name.jfr" '(busy|idle)-thread-number-1'
    assert_near "ms of the busy thread" 2000 "$(thread_ms "$jfr-name.jfr" busy-thread-number-1)" 250
    assert_near "ms of the idle thread" 2000 "$(thread_ms "$jfr-name.jfr" idle-thread-number-1)" 100

    tid=$(threads_cpu "$JVM_PID" | sort -k2,2rn | awk '/busy/ { print $1; exit }')
    "$GNOMON" record -p "$JVM_PID" -d 2s -o "$jfr-tid.jfr" -t "$tid" </dev/null >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    assert_eq "the only thread" "$tid" \
        "$(query "$jfr-tid.jfr" $CPU_EVENT tid | cut -d' ' -f2)"
    jvm_end
}

later() {
    local jfr=$T/later.jfr

    jvm_start Churn burst 40 200000 300000
    gnomon_start "$jfr" -p "$JVM_PID" --cpu 1ms -t 'churn-short-lived-3*'
    jvm_go
    jvm_done 30
    gnomon_stop
    only "$jfr" 'churn-short-lived-3[0-9]?'
    # eleven of them, 200 ms each at least; a name takes a moment to be learnt
    assert_ge "CPU samples" 1100 "$(weight "$jfr" $CPU_EVENT)"
    jvm_end
}

# Nobody is called that yet, which is no error, since it may come, but worth a warning.
nobody() {
    jvm_start Idle 3 1
    "$GNOMON" record -p "$JVM_PID" -d 1s -o "$T/nobody.jfr" -t no-such-thread </dev/null \
        >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    assert_match "the warning" '^gnomon: warning: no samples: no thread ' "$T/err"
    jfr_readable "$T/nobody.jfr"
    assert_eq "samples" 0 "$(($(weight "$T/nobody.jfr" $CPU_EVENT) +
        $(weight "$T/nobody.jfr" $WALL_EVENT)))"
    jvm_end
}

for_each_jdk filter
JDK=$(jdk_newest)
nobody
later
