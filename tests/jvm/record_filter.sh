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
    local jfr=$T/filter-$(jdk_version "$JDK") tid before begun ms most chance

    jvm_start Idle 12 2
    before=$EPOCHREALTIME
    gnomon_start "$jfr-name.jfr" -p "$JVM_PID" -t '*-thread-number-1'
    begun=$EPOCHREALTIME
    cpu_spent 1500 # of two busy threads
    ms=$(since "$begun")
    gnomon_stop
    most=$(since "$before")
    tid=$(threads_cpu "$JVM_PID" | sort -k2,2rn | awk '/busy/ { print $1; exit }')
    recorded_for 500 1 "$jfr-tid.jfr" -p "$JVM_PID" -t "$tid"
    jvm_end
    only "$jfr-name.jfr" '(busy|idle)-thread-number-1'
    # it may take until they are found by their names
    chance=$(thread_ms_chance "$jfr-name.jfr" busy-thread-number-1)
    assert_between "ms of the busy thread" "$(calc "0.85 * $ms - $chance")" "$(calc "1.15 * $most + 50 + $chance")" \
        "$(thread_ms "$jfr-name.jfr" busy-thread-number-1)"
    assert_between "ms of the idle thread" "$(calc "0.9 * $ms")" "$(calc "$most + 100")" \
        "$(thread_ms "$jfr-name.jfr" idle-thread-number-1)"
    assert_eq "the only thread" "$tid" \
        "$(query "$jfr-tid.jfr" $CPU_EVENT tid | cut -d' ' -f2)"
}

later() {
    local jfr=$T/later.jfr

    jvm_start Churn burst 14 200000 300000
    gnomon_start "$jfr" -p "$JVM_PID" --cpu 1ms -t 'churn-short-lived-1*'
    jvm_go
    jvm_done
    gnomon_stop
    jvm_end
    only "$jfr" 'churn-short-lived-1[0-9]?'
    # five of them, 200 ms each at least; a name takes a moment to be learnt
    assert_ge "CPU samples" 500 "$(weight "$jfr" $CPU_EVENT)"
}

# Nobody is called that yet, which is no error, since it may come, but worth a warning.
nobody() {
    jvm_start Idle 3 1
    "$GNOMON" record -p "$JVM_PID" -d 1s -o "$T/nobody.jfr" -t no-such-thread </dev/null \
        >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    jvm_end
    assert_match "the warning" '^gnomon: warning: no samples: no thread ' "$T/err"
    jfr_readable "$T/nobody.jfr"
    assert_eq "samples" 0 "$(($(weight "$T/nobody.jfr" $CPU_EVENT) +
        $(weight "$T/nobody.jfr" $WALL_EVENT)))"
}

for_any_jdk filter
JDK=$(jdk_newest)
nobody
later
