#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A kernel that lacks something (GNOMON_WITHOUT, user/capture/features.h): where there is another way, a
# recording has all of its threads' time and their Java frames, and doctor says what is worse; where
# there is none, record and doctor say the same: what is missing, what to do, exit code 5. A refusal
# by the kernel's verifier is not told as a lack of rights.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"

doctor_says() {
    GNOMON_WITHOUT=$1 "$GNOMON" doctor --host-only >"$T/doctor" 2>"$T/doctor.err"
    assert_eq "doctor's exit code without '$1'" "$3" $? "$(cat "$T/doctor.err")"
    assert_match "doctor without '$1'" "$2 +$1 " "$T/doctor"
}

# other_way FEATURE ENGINE: by which wall samples are taken.
other_way() {
    local jfr="$T/${1//[^a-z_]/-}.jfr" seconds i idle

    doctor_says "$1" degraded 0
    assert_match "doctor's proof without '$1'" "ok +a recording's programs" "$T/doctor"
    export GNOMON_WITHOUT=$1
    jvm_wake
    gnomon_start "$jfr" -p "$JVM_PID" --wall-engine auto
    sleep 2
    gnomon_stop
    unset GNOMON_WITHOUT
    jvm_unharmed
    jvm_rest
    jfr_readable "$jfr"
    query "$jfr" show jdk.ActiveSetting >"$T/settings"
    grep -A 3 'gnomon.wallEngine' "$T/settings" | grep -q "\"$2\"" ||
        fail "without '$1' wall samples are not by $2: $(grep -A 3 wallEngine "$T/settings")"
    seconds=$(sed -n 's/.*recorded \([0-9.]*\) s .*/\1/p' "$GN_ERR")
    for i in 1 2 3; do
        idle=$(thread_ms "$jfr" "idle-thread-number-$i")
        assert_ge "ms of idle thread $i without '$1'" "$(calc "$seconds * 1000 - 150")" "$idle"
        assert_ge "$(calc "$seconds * 1000 + 150"), ms of idle thread $i without '$1' at most" \
            "$idle" "$(calc "$seconds * 1000 + 150")"
    done
    # by scans its time in a run queue is drawn at ticks
    assert_ge "ms of the busy thread without '$1'" "$(calc "$seconds * 600")" \
        "$(thread_ms "$jfr" busy-thread-number-1)"
    strict assert_ge "ms of the busy thread without '$1'" "$(calc "$seconds * 1000 - 150")" \
        "$(thread_ms "$jfr" busy-thread-number-1)"
    # all but those of the time in which the tables were made
    idle=$(weight "$jfr" $WALL_EVENT 'thread=idle-.*')
    assert_ge "samples of idle threads in Harness.await, of $idle" "$(calc "$idle * 0.9")" \
        "$(weight "$jfr" $WALL_EVENT 'thread=idle-.*' 'frame=Harness\.await')"
    note "without '$1': by $2, $idle samples of idle threads in $seconds s"
}

by_switches() { other_way "$1" switch; }
by_scans() { other_way "$1" scan; }

# no_way FEATURE ARGS...
no_way() {
    doctor_says "$1" missing 5
    GNOMON_WITHOUT=$1 "$GNOMON" record -p "$JVM_PID" -d 1s -o "$T/none.jfr" "${@:2}" \
        </dev/null >"$T/out" 2>"$T/err"
    assert_eq "record's exit code without '$1'" 5 $? "$(cat "$T/err")"
    assert_match "record without '$1'" "^gnomon: this kernel lacks '$1', needed for " "$T/err"
    assert_match "the remedy" '^  .*(Linux [0-9.]+ and later have it|needs CONFIG_)' "$T/err"
    [ ! -e "$T/none.jfr" ] || fail "a file was left without '$1'"
    note "without '$1': $(head -n 1 "$T/err")"
}

jvm_start Idle 3 1
jvm_rest
some_of 1 by_switches bpf_task_from_pid "iter/task of a process" "batches of inner maps" rq.prev_steal_time_rq tp_btf/sched_waking iter/task_file
some_of 1 by_scans tp_btf/sched_switch cfs_rq.rq task_struct.sched_info "clocks of CPUs"
no_way bpf_loop
no_way iter.s/task
no_way BTF
no_way "ring buffer"
jvm_wake
GNOMON_WITHOUT=iter.s/task "$GNOMON" record -p "$JVM_PID" -d 1s --no-wall -o "$T/cpu.jfr" \
    </dev/null 2>"$T/err" || fail "CPU samples alone without 'iter.s/task': $(cat "$T/err")"
GNOMON_WITHOUT=bpf_lop "$GNOMON" record -p "$JVM_PID" -d 1s -o "$T/none.jfr" </dev/null 2>"$T/err"
assert_eq "exit code without what is no feature" 2 $? "$(cat "$T/err")"
jvm_unharmed
jvm_end
softly_end
