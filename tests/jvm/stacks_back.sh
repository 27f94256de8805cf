#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Threads that a tick finds at rest, before the collector's visit: 24 hand a token to each other on one
# CPU, and the tick thread is kept from it. Stacks are taken as they come back, or by others of them as
# those leave the CPU, and none is another thread's.
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
need_cmd chrt
need_cmd taskset

tick_thread() {
    local t

    for t in /proc/"$1"/task/*; do
        [ "$(cat "$t/comm")" != gnomon-ticks ] || echo "${t##*/}"
    done
}

# Of the lowest priority on a CPU that is never idle, it comes late by milliseconds.
starve() { taskset -p -c 0 "$1" >/dev/null && chrt -i -p 0 "$1"; }
# It has to come to its end, too.
let_run() { taskset -p "$(printf '%x' $(((1 << $(nproc)) - 1)))" "$1" >/dev/null && chrt -o -p 0 "$1"; }

relayed() {
    local jfr=$T/relay-$(jdk_version "$JDK").jfr ticks thread wrong

    jvm_start Relay 24
    taskset -a -p -c 0 "$JVM_PID" >/dev/null || fail "taskset"
    jvm_go
    gnomon_start "$jfr" -p "$JVM_PID" --wall 10ms
    thread=$(tick_thread "$GN_PID")
    [ -n "$thread" ] || fail "no tick thread"
    starve "$thread" || fail "the tick thread cannot be kept from its CPU"
    sleep 5
    let_run "$thread" || fail "the tick thread cannot be let run again"
    gnomon_stop
    jvm_unharmed
    jvm_end
    ticks=$(grep '^gnomon: ticks:' "$GN_ERR")
    note "$ticks"
    note "without a stack: $(weight "$jfr" $WALL_EVENT 'frame=.*stack not captured.*') of $(weight "$jfr" $WALL_EVENT)"
    assert_ge "threads read as they came back" 20 "$(sed -n 's/.* \([0-9]*\) read as they came back,.*/\1/p' <<<"$ticks")"
    # for kernels that find tasks by pid
    ! "$GNOMON" doctor 2>&1 | grep -q 'ok  *bpf_task_from_pid' ||
        assert_ge "threads read by others" 200 "$(sed -n 's/.* \([0-9]*\) by others of their process$/\1/p' <<<"$ticks")"
    "$GNOMON" render "$jfr" -f collapsed --dim off --by-thread -t 'relay-runner-*' >"$T/collapsed" || fail "render"
    wrong=$(awk '{ split($0, part, ";"); gsub(/[^0-9]/, "", part[1])
            n = gsub(/Relay\.deep/, "&"); if (n && n != part[1]) print }' "$T/collapsed" | head -n 3)
    [ -z "$wrong" ] || fail "a stack of another thread: $wrong"
}

for_any_jdk relayed
