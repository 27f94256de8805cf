#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Wall shares of sleeping, parked, waiting, blocked and reading threads, from wall samples x their count, by frames
# and by states; the wall time of each thread. Within 2 percentage points on a quiet machine. On another a thread
# also queues where it waits: by frames what so many samples drawn allow, and in each of these methods no state but
# its own, queueing and running.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

SECONDS_OF_IT=${QUIET:+20}
: "${SECONDS_OF_IT:=6}"
WORKERS='thread=waits-worker-.*'

# states_of METHOD STATE: of the workers' wall samples in it.
states_of() {
    local other

    other=$(query "$jfr" $WALL_EVENT state "$WORKERS" "frame=Waits\\.$1" |
        awk -v s="STATE_$2" '$2 !~ "^" s "(_TIMED)?$" && $2 !~ /QUEUED|RUNNABLE|RUNNING/ { n += $1; w = w " " $0 } END { print n + 0 w }')
    softly assert_between "samples in Waits.$1 of another state" 0 "$(calc "$total / 100")" "${other%% *}"
    note "in Waits.$1: $other of other states"
}

waits() {
    local label total pair m states i wall cpu all begun most jfr=$T/waits-$(jdk_version "$JDK").jfr

    label="waits $(jdk_version "$JDK")"

    jvm_start Waits 4
    begun=$EPOCHREALTIME
    "$GNOMON" record -p "$JVM_PID" -d ${SECONDS_OF_IT}s -o "$jfr" </dev/null >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    most=$(since "$begun")
    jvm_unharmed
    jvm_end
    jfr_readable "$jfr"
    # taken at the switch or from outside, a wait has the same stack
    "$GNOMON" render "$jfr" -f collapsed --dim off >"$T/stacks" || fail "render"
    grep -m 1 '__schedule [0-9]*$' "$T/stacks" && fail "the scheduler's own frames are in a stack"
    total=$(weight "$jfr" $WALL_EVENT $WORKERS)
    assert_ge "samples" $((SECONDS_OF_IT * 150)) "$total"
    query "$jfr" $WALL_EVENT state $WORKERS >"$T/states"
    for pair in asleep:SLEEPING parked:PARKED waiting:IN_OBJECT_WAIT \
        blocked:BLOCKED_ON_MONITOR_ENTER reading:IO; do
        m=${pair%%:*}
        share_near "$label" "in Waits.$m by frames" "$(truth "Waits.$m" 2)" "$(calc \
            "100 * $(weight "$jfr" $WALL_EVENT $WORKERS "frame=Waits\\.$m") / $total")" "$total"
        # PARKED_TIMED and IN_OBJECT_WAIT_TIMED are the same waits with a time limit
        states=$(weight "$jfr" $WALL_EVENT $WORKERS "state=STATE_${pair#*:}(_TIMED)?")
        if [ -n "${QUIET:-}" ]; then
            share_near "$label" "in Waits.$m by state" "$(truth "Waits.$m" 2)" "$(calc "100 * $states / $total")" "$total"
        else
            states_of "$m" "${pair#*:}"
        fi
    done
    for i in 1 2 3 4; do
        wall=$(weight "$jfr" $WALL_EVENT "thread=waits-worker-number-$i")
        cpu=$(weight "$jfr" $CPU_EVENT "thread=waits-worker-number-$i")
        all=$(calc "$wall * 0.02 + $cpu * 0.01")
        softly assert_between "seconds of worker $i" "$(calc "0.93 * $SECONDS_OF_IT")" "$(calc "1.05 * $most / 1000")" "$all"
        strict assert_percent "seconds of worker $i" $SECONDS_OF_IT "$all" 2
        told "$label" "all time of worker $i" $SECONDS_OF_IT "$all" s - 2 percent
    done
}

for_each_jdk waits
softly_end
