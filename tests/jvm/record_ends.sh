#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How a recording ends: Ctrl-C, SIGTERM, the target's exit, its execve, kill -9 of gnomon, and that a
# closed pipe ends none. Each time the file is readable, the target unharmed and nothing of ours left
# in it.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
need_cmd gcc

# What there is of us in the target: files it holds, threads, and files where we could put any.
traces() {
    local d

    ls -l "/proc/$JVM_PID/fd" 2>/dev/null | sed -n 's/.* -> //p' | grep '\.gnomon\|memfd:gnomon'
    grep -il gnomon "/proc/$JVM_PID"/task/*/comm 2>/dev/null
    for d in tmp var/tmp dev/shm run; do
        ls -A "/proc/$JVM_PID/root/$d" |
            grep "gnomon-agent-$JVM_PID\|^\.attach_pid$JVM_PID\$\|^perf-$JVM_PID\.map\$"
    done
    return 0
}

# The one documented remainder: the agent's memory file, where the agent was used.
traces_but_documented() { traces | grep -v '^/memfd:gnomon'; }

nothing_left() {
    traces_but_documented >"$T/traces"
    assert_empty "what is left in the target" "$T/traces"
}

# busy_for MS FILE: at least so much of the busy thread was recorded, but for chance.
busy_for() {
    local busy='(exec-)?busy-thread-number-1'

    jfr_readable "$2"
    assert_ge "ms of the busy thread" "$(calc "$1 - $(thread_ms_chance "$2" "$busy")")" "$(thread_ms "$2" "$busy")"
    assert_ge "CPU samples" 3 "$(weight "$2" $CPU_EVENT 'thread=(exec-)?busy-thread-number-1')"
}

# chunk_ns FILE: the length of its first chunk.
chunk_ns() { od -An -j40 -N8 -t u8 --endian=big "$1" | tr -d ' '; }

# gnomon is held up (as a busy host of a guest does) while its time is over: all ends in time.
held_up() {
    local jfr=$T/held-$(jdk_version "$JDK").jfr ms chance

    jvm_start Idle 5 1 30
    GN_SETTLE=0 gnomon_start "$jfr" -p "$JVM_PID" -d 3s
    sleep 1
    kill -STOP "$GN_PID"
    sleep 4
    kill -CONT "$GN_PID"
    gnomon_end 30
    assert_eq "exit code" 0 "$GN_RC" "$(cat "$GN_ERR")"
    jvm_end
    assert_eq "length of the recording" 3000000000 "$(chunk_ns "$jfr")"
    jfr_readable "$jfr"
    for t in idle-thread-number-1 busy-thread-number-1; do
        ms=$(thread_ms "$jfr" $t)
        chance=$(thread_ms_chance "$jfr" $t)
        # without what a busy host takes to find the threads at the start
        assert_between "ms of $t" "$(calc "2500 - $chance")" "$(calc "3040 + $chance")" "$ms"
        strict assert_ge "ms of $t" "$(calc "2900 - $chance")" "$ms"
    done
}

by_signal() {
    local jfr=$T/$1-$(jdk_version "$JDK").jfr

    jvm_start Idle 5 1 30
    gnomon_start "$jfr" -p "$JVM_PID"
    begun=$EPOCHREALTIME
    cpu_spent 400
    ms=$(since "$begun")
    kill "-$1" "$GN_PID"
    gnomon_end 60
    assert_eq "exit code after SIG$1" 0 "$GN_RC" "$(cat "$GN_ERR")"
    jvm_unharmed
    nothing_left
    jvm_end
    busy_for "$(calc "0.9 * $ms")" "$jfr"
    assert_empty stdout "$GN_OUT"
}

killed() {
    local jfr=$T/killed-$(jdk_version "$JDK").jfr

    jvm_start Idle 5 1 30
    gnomon_start "$jfr" -p "$JVM_PID"
    begun=$EPOCHREALTIME
    cpu_spent 300
    until_true 60 larger_than "$jfr" "$(stat -c %s "$jfr")" || fail "nothing is flushed"
    sleep 2
    ms=$(since "$begun")
    kill -KILL "$GN_PID"
    gnomon_end 60
    sleep 1
    jvm_unharmed
    nothing_left
    # and the next one finds nothing in its way
    recorded_for 100 1 "$T/next.jfr" -p "$JVM_PID"
    jvm_end
    # A flush per second: at most that is lost, and what is on its way.
    busy_for 450 "$jfr"
    strict assert_ge "ms of the busy thread after kill -9" "$(calc "$ms - 1500")" \
        "$(thread_ms "$jfr" busy-thread-number-1)"
    busy_for 900 "$T/next.jfr"
    rm "$T/next.jfr"
}

target_exits() {
    local jfr=$T/$1-$(jdk_version "$JDK").jfr

    jvm_start Idle 5 1 30
    gnomon_start "$jfr" -p "$JVM_PID" -d 600s
    begun=$EPOCHREALTIME
    cpu_spent 500
    ms=$(since "$begun")
    "$@"
    pid_gone "$JVM_PID" 60 || fail "the target does not end"
    gnomon_end 60
    assert_eq "exit code after the target's end" 0 "$GN_RC" "$(cat "$GN_ERR")"
    busy_for "$(calc "0.9 * $ms")" "$jfr"
}

quietly() { jvm_end; }
by_kill() { kill -KILL "$JVM_PID"; }

target_execs() {
    local jfr=$T/execs-$(jdk_version "$JDK").jfr

    gcc -shared -fPIC -o "$T/libexecself.so" "$LIB_DIR/execself.c" || fail "gcc failed"
    jvm_start ExecSelf exec "$T/libexecself.so"
    gnomon_start "$jfr" -p "$JVM_PID" -d 600s
    begun=$EPOCHREALTIME
    cpu_spent 500
    ms=$(since "$begun")
    jvm_go
    until_true 60 grep -q '^sleep$' "/proc/$JVM_PID/comm" || fail "it did not exec"
    # The process is the same, so the recording goes on, with what was before.
    sleep 1
    gnomon_stop
    busy_for "$(calc "0.9 * $ms")" "$jfr"
    kill "$JVM_PID"
}

# Nobody reads its messages any more, of which there are many with -vv: it goes on, and ends as told.
closed_pipe() {
    local jfr=$T/closed.jfr format

    jvm_start Idle 5 1 30
    {
        "$GNOMON" -vv record -p "$JVM_PID" -d 3s -o "$jfr" </dev/null 2>&1
        echo $? >"$T/closed.rc"
    } | head -n 1 >"$T/closed.head"
    until_true 60 test -s "$T/closed.rc" || fail "gnomon does not end"
    assert_eq "exit code with a closed pipe" 0 "$(cat "$T/closed.rc")"
    assert_match "what was read of it" '^gnomon: ' "$T/closed.head"
    jvm_unharmed
    jvm_end
    busy_for 2800 "$jfr"
    # Data: the reader has had enough, which is no reason for words.
    for format in collapsed csv; do
        {
            sleep 0.5
            "$GNOMON" render --idle --format "$format" "$jfr" 2>"$T/render.err"
            echo $? >"$T/render.rc"
        } | : # reads nothing
        until_true 60 test -s "$T/render.rc" || fail "render does not end"
        assert_eq "exit code of render --format $format" 6 "$(cat "$T/render.rc")" \
            "$(cat "$T/render.err")"
        assert_empty "what render says" "$T/render.err"
        rm "$T/render.rc"
    done
    "$GNOMON" render "$jfr" 2>"$T/render.err" >/dev/full
    assert_eq "exit code where stdout is full" 6 $?
    assert_match "what is said then" '^gnomon: cannot write to stdout: No space' "$T/render.err"
}

for_any_jdk held_up
some_of 1 'for_any_jdk by_signal' INT TERM
for_any_jdk killed
some_of 1 'for_any_jdk target_exits' quietly by_kill
JDK=$(jdk_newest)
closed_pipe
target_execs
softly_end
