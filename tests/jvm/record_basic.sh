#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A short recording on every JDK: contents, settings, names, and what is said where.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

basic() {
    local jfr=$T/basic-$(jdk_version "$JDK").jfr cpu busy begun most ms s chance

    jvm_start Idle 5 1
    s=$(seconds_for 150)
    [ "$s" -ge 3 ] || s=3
    begun=$EPOCHREALTIME
    "$GNOMON" record -p "$JVM_PID" -d "${s}s" -o "$jfr" </dev/null >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    most=$(calc "1000 * ($EPOCHREALTIME - $begun)") # by this test's clock
    jvm_unharmed
    jvm_end
    assert_empty "stdout" "$T/out"
    grep -q $'\r' "$T/err" && fail "a progress line although stderr is no terminal"
    assert_match "the summary" 'sample' "$T/err"
    assert_match "the summary" "$jfr" "$T/err"

    READERS=all jfr_readable "$jfr"
    assert_eq "jdk.ActiveRecording" 1 "$(query "$jfr" types | awk '$2 == "jdk.ActiveRecording" { print $1 }')"
    assert_match "the list of events" ' jdk.OSInformation$' <(query "$jfr" types)
    assert_match "the list of events" ' jdk.CPUInformation$' <(query "$jfr" types)
    assert_match "the list of events" ' jdk.JVMInformation$' <(query "$jfr" types)
    assert_eq "period of CPU samples" "10 ms" "$(query "$jfr" setting $CPU_EVENT period)"
    assert_eq "period of wall samples" "20 ms" "$(query "$jfr" setting $WALL_EVENT period)"
    assert_eq "state of CPU samples" STATE_DEFAULT "$(query "$jfr" $CPU_EVENT state | cut -d' ' -f2-)"

    # What it cost, by the second: all of the time, once.
    query "$jfr" show gnomon.Overhead >"$T/cost"
    ms=$(awk '$1 == "period" { s += $4 == "ms" ? $3 : $3 * 1000 } END { print s }' "$T/cost")
    assert_between "ms that the costs are of" $((s * 1000 - 50)) "$most" "$ms"
    strict assert_near "ms that the costs are of" $((s * 1000)) "$ms" 700

    # The names of java.lang.Thread, longer than the kernel's 15 characters.
    query "$jfr" $CPU_EVENT thread >"$T/threads"
    assert_match "the sampled threads" ' busy-thread-number-1$' "$T/threads"
    query "$jfr" $WALL_EVENT thread >"$T/threads"
    assert_match "the waiting threads" ' idle-thread-number-3$' "$T/threads"

    cpu=$(weight "$jfr" $CPU_EVENT thread=busy-thread-number-1)
    busy=$(weight "$jfr" $CPU_EVENT thread=busy-thread-number-1 'frame=Harness\.(crunch|burn|cpu)')
    assert_ge "CPU samples of the busy thread" 5 "$cpu"
    # Queueing is sampled, so that a busy machine adds chance to it.
    ms=$(thread_ms "$jfr" busy-thread-number-1)
    chance=$(thread_ms_chance "$jfr" busy-thread-number-1)
    assert_between "ms of the busy thread" "$(calc "$s * 950 - $chance")" "$(calc "$most * 1.03 + $chance")" "$ms"
    strict assert_near "ms of the busy thread" $((s * 1000)) "$ms" 300
    assert_ge "percent of them in its method" 95 "$(calc "100 * $busy / $cpu")"
    # Asleep all the time: one wall sample per interval.
    ms=$(calc "20 * $(weight "$jfr" $WALL_EVENT thread=idle-thread-number-3)")
    assert_between "ms of an idle thread" $((s * 960)) "$most" "$ms"
    strict assert_near "ms of an idle thread" $((s * 1000)) "$ms" 120
}

for_each_jdk basic
softly_end
