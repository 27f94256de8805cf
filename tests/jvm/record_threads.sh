#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Wall samples of some threads at a time (--threads N), and an event for each tick (--nobatch), of
# 200 threads that do nothing: each is off the CPU all the time.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_oldest)

# refused OPTIONS...: a usage error that names what is wrong with them.
refused() {
    timeout 10 "$GNOMON" record -p "$JVM_PID" -o "$T/refused.jfr" "$@" >/dev/null 2>"$T/refused.err"
    assert_eq "exit code with '$*'" 2 $?
    assert_match "the message" '^gnomon: .*threads' "$T/refused.err"
    [ ! -e "$T/refused.jfr" ] || fail "a file is left after '$*'"
}

events() { "$(jdk_newest)/bin/jfr" summary "$1" | awk -v e=$WALL_EVENT '$1 == e { print $2 }'; }

jvm_start Idle 200 0
refused --threads 0
refused --threads 16 --no-wall

"$GNOMON" record -p "$JVM_PID" -d 5s --no-cpu --wall 10ms --threads 20 -o "$T/some.jfr" \
    2>"$T/some.err" || fail "record --threads: $(cat "$T/some.err")"
"$GNOMON" record -p "$JVM_PID" -d 5s --no-cpu --wall 10ms -o "$T/batch.jfr" 2>"$T/batch.err" ||
    fail "record: $(cat "$T/batch.err")"
"$GNOMON" record -p "$JVM_PID" -d 5s --no-cpu --wall 10ms --nobatch -o "$T/ticks.jfr" \
    2>"$T/ticks.err" || fail "record --nobatch: $(cat "$T/ticks.err")"
# Held up for three epochs, it chooses late whom to look at: nobody has moved meanwhile.
"$GNOMON" record -p "$JVM_PID" -d 5s --no-cpu --wall 10ms --threads 20 -o "$T/held.jfr" \
    2>"$T/held.err" &
sleep 2.5
kill -STOP $!
sleep 1
kill -CONT $!
wait $! || fail "record --threads, held up: $(cat "$T/held.err")"
for name in some batch ticks held; do
    assert_match "losses of '$name'" '^  lost +nothing' "$T/$name.err"
done

"$GNOMON" summary "$T/some.jfr" >"$T/some.txt" || fail "summary fails"
assert_match "the summary" '20 of [0-9]+ threads were sampled at a time' "$T/some.txt"
threads=$(sed -n 's/.* 20 of \([0-9]*\) threads were.*/\1/p' "$T/some.txt")
got=$("$GNOMON" render "$T/some.jfr" -f collapsed -d off --idle 2>/dev/null | awk '{ n += $NF } END { print n / 1e9 }')
softly assert_percent "wall time of all threads, scaled up" "$(calc "$threads * 5")" "$got" 2

pool='thread=idle-thread-.*'
softly assert_percent "ticks of 200 threads" 100000 "$(weight "$T/batch.jfr" $WALL_EVENT "$pool")" 1
softly assert_eq "ticks of 200 threads that are not PARKED" 0 \
    "$(query "$T/batch.jfr" $WALL_EVENT state "$pool" | awk '!/STATE_PARKED/ { n += $1 } END { print n + 0 }')"
softly assert_ge "ticks an event, of threads that sleep" 20 \
    "$(calc "$(weight "$T/batch.jfr" $WALL_EVENT) / $(events "$T/batch.jfr")")"
softly assert_percent "ticks with --nobatch" 100000 "$(weight "$T/ticks.jfr" $WALL_EVENT "$pool")" 1
softly assert_eq "events with --nobatch" "$(weight "$T/ticks.jfr" $WALL_EVENT)" "$(events "$T/ticks.jfr")"
for name in batch ticks; do
    softly assert_percent "time spans of '$name', added up, in s" 1000 \
        "$(calc "$(query "$T/$name.jfr" $WALL_EVENT span "$pool" | cut -d' ' -f1) / 1e9")" 1
done
jvm_end
softly_end
