#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The fields of the JDK's events are the JDK's, in its order, since readers go by position. And `--plain` has no name
# that the JDK has not: of events, states and types of frames, with all of the time.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
classes

types() { "$JDK/bin/java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$CLASSES" JfrTypes "$@" 2>"$T/err" || fail "JfrTypes: $(cat "$T/err")"; }

jvm_start Waits 4

# ---- fields ----
record() {
    timeout 120 "$GNOMON" record -p "$JVM_PID" -o "$@" </dev/null >"$T/out" 2>"$T/gnomon.err" || fail "gnomon: $(cat "$T/gnomon.err")"
}
record "$T/usual.jfr" -d 1
types "$T/usual.jfr" >"$T/usual"
[ "$(jdk_version "$JDK")" -lt 25 ] || {
    types >"$T/jdk"
    grep '^event jdk\.' "$T/usual" >"$T/ours"
    assert_ge "events of the JDK that are declared" 10 "$(wc -l <"$T/ours")"
    grep -vxFf "$T/jdk" "$T/ours" >"$T/differ"
    while read -r _ name fields; do
        softly fail "$name has '$fields', the JDK '$(sed -n "s/^event $name //p" "$T/jdk")'"
    done <"$T/differ"
    # it can fail: a field more
    sed 's/^event jdk.ExecutionSample .*/& more:int/' "$T/ours" | grep -vxFf "$T/jdk" | grep -q '^event jdk.ExecutionSample' ||
        fail "a field more is not found"
}
# async-profiler's, by which its converter reads (src/jfrMetadata.cpp); the JDK takes a state for its only field
assert_eq "fields of profiler.WallClockSample" \
    "startTime:long sampledThread:java.lang.Thread stackTrace:jdk.types.StackTrace state:java.lang.String samples:int timeSpan:long" \
    "$(sed -n 's/^event profiler.WallClockSample //p' "$T/usual")"

# ---- plain ----
waits=$JVM_PID
jvm_start Idle 2 1
record "$T/busy.jfr" --plain -d 1
types "$T/busy.jfr" >"$T/busy"
JVM_PID=$waits
record "$T/plain.jfr" --plain -d 4
jfr_readable "$T/plain.jfr"
types "$T/plain.jfr" >"$T/plain"
cat "$T/busy" >>"$T/plain"
grep '^event ' "$T/plain" | grep -v '^event jdk\.' >"$T/odd"
assert_empty "events that the JDK has not" "$T/odd"
# of java.base's jdk.internal.event and src/hotspot/share/jfr: JfrThreadState, JfrFrameType
grep '^state ' "$T/plain" | grep -vE ' STATE_(NEW|TERMINATED|RUNNABLE|SLEEPING|IN_OBJECT_WAIT|IN_OBJECT_WAIT_TIMED|PARKED|PARKED_TIMED|BLOCKED_ON_MONITOR_ENTER)$' >"$T/odd"
assert_empty "states that the JDK has not" "$T/odd"
grep '^frame ' "$T/plain" | grep -vE ' (Interpreted|JIT compiled|Inlined|Native)$' >"$T/odd"
assert_empty "types of frames that the JDK has not" "$T/odd"
for state in RUNNABLE SLEEPING PARKED_TIMED IN_OBJECT_WAIT_TIMED BLOCKED_ON_MONITOR_ENTER; do
    grep -q "^state STATE_$state$" "$T/plain" || softly fail "no STATE_$state: $(grep '^state' "$T/plain")"
done
assert_eq "its interval, as others' readers look for it" 10000000 "$(query "$T/plain.jfr" setting jdk.ExecutionSample interval)"
grep -q '^  lost          nothing' "$T/gnomon.err" || note "$(grep '^  lost' "$T/gnomon.err")"

# All of the time is there, and ours reads it so: each thread has an event for each 10 ms, running or not.
ms=$("$GNOMON" summary "$T/plain.jfr" 2>&1 | sed -n 's/^  recorded .*, \([0-9.]*\) s$/\1/p')
for n in 1 2; do
    thread=waits-worker-number-$n
    got=$(calc "$(weight "$T/plain.jfr" $CPU_EVENT "thread=$thread") * 10")
    softly assert_between "ms of $thread in events" "$(calc "$ms * 1000 - 400")" "$(calc "$ms * 1000 + 230")" "$got"
done
"$GNOMON" render "$T/plain.jfr" -f xml --idle -t waits-worker-number-1 >"$T/xml" || fail "render"
cpu=$(sed -n 's/^<profile.* cpu_ns="\([0-9]*\)".*/\1/p' "$T/xml") off=$(sed -n 's/^<profile.* off_ns="\([0-9]*\)".*/\1/p' "$T/xml")
softly assert_between "its ms off the CPU, as gnomon reads them" "$(calc "$ms * 900")" "$(calc "$ms * 1000 + 230")" "$(calc "$off / 1000000")"
softly assert_between "and on it" 0 200 "$(calc "$cpu / 1000000")"

# ---- what it is not for ----
bad() {
    "$GNOMON" record -p "$JVM_PID" -o "$T/bad.jfr" "$@" </dev/null >"$T/out" 2>"$T/err"
    assert_eq "exit code of $*" 2 $?
    [ ! -e "$T/bad.jfr" ] || fail "a file in spite of $*"
}
bad --plain --cpu 5ms --wall 20ms
bad --plain --sample-threads 2
bad --plain --cpu-event cputime
jvm_unharmed
softly_end
