#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Wall samples of some threads at a time (--sample-threads N), and an event for each tick (--nobatch), of
# 200 threads that do nothing: each is off the CPU all the time.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_oldest)

# refused OPTIONS...: a usage error that names what is wrong with them.
refused() {
    timeout 300 "$GNOMON" record -p "$JVM_PID" -o "$T/refused.jfr" "$@" >/dev/null 2>"$T/refused.err"
    assert_eq "exit code with '$*'" 2 $?
    assert_match "the message" '^gnomon: .*threads' "$T/refused.err"
    [ ! -e "$T/refused.jfr" ] || fail "a file is left after '$*'"
}

events() { jfr_summary "$1" | awk -v e=$WALL_EVENT '$1 == e { print $2 }'; }

jvm_start Idle 200 0
refused --sample-threads 0
refused --sample-threads 16 --no-wall

# recorded NAME OPTIONS...: SECONDS_OF_IT of wall time, or a little more: at most MOST_OF[NAME] ms of them, by this
# test's clock.
SECONDS_OF_IT=3
declare -A MOST_OF
recorded() {
    local begun=$EPOCHREALTIME

    "$GNOMON" record -p "$JVM_PID" -d ${SECONDS_OF_IT}s --no-cpu --wall 10ms "${@:2}" -o "$T/$1.jfr" 2>"$T/$1.err" ||
        fail "record ${*:2}: $(cat "$T/$1.err")"
    MOST_OF[$1]=$(since "$begun")
}

recorded some --sample-threads 20
recorded batch
recorded ticks --nobatch
# Held up for three draws, it chooses late whom to look at: nobody has moved meanwhile.
recorded held --sample-threads 20 &
until_true 60 pgrep -f "$T/held.jfr" >"$T/held.pid" || fail "it does not begin"
held=$(head -n 1 "$T/held.pid")
sleep 1.5
kill -STOP "$held"
sleep 1
kill -CONT "$held"
wait $! || fail "record --sample-threads, held up: $(cat "$T/held.err")"

# lost NAME: how many samples it says it lost.
lost() {
    sed -n 's/^  lost  *//p' "$T/$1.err" | tr -d , | awk '/^nothing/ { exit } { n += $1 } END { print NR ? n + 0 : "?" }'
}
pool='thread=idle-thread-.*'
ticks=$((200 * 100 * SECONDS_OF_IT))
for name in some batch ticks held; do
    strict assert_eq "losses of '$name'" 0 "$(lost $name)"
    softly assert_between "losses of '$name'" 0 $((ticks / 100)) "$(lost $name)"
done

"$GNOMON" summary "$T/some.jfr" >"$T/some.txt" || fail "summary fails"
assert_match "the summary" '20 of [0-9]+ threads were sampled at a time' "$T/some.txt"
threads=$(sed -n 's/.* 20 of \([0-9]*\) threads were.*/\1/p' "$T/some.txt")
got=$("$GNOMON" render "$T/some.jfr" -f collapsed --dim off --idle 2>/dev/null | awk '{ n += $NF } END { print n / 1e9 }')
# what the JVM's own threads are busy with on a loaded machine counts ten times where one of them is drawn
softly assert_between "wall time of all threads, scaled up" "$(calc "0.85 * $threads * $SECONDS_OF_IT")" \
    "$(calc "1.15 * $threads * ${MOST_OF[some]} / 1000")" "$got"
strict assert_percent "wall time of all threads, scaled up" "$(calc "$threads * $SECONDS_OF_IT")" "$got" 2

# ticks_near NAME: nothing that is off the CPU all the time has fewer ticks than there are, or more than fit.
ticks_near() {
    local got

    got=$(weight "$T/$1.jfr" $WALL_EVENT "$pool")
    softly assert_between "ticks of 200 threads ($1)" $((ticks * 98 / 100)) "$(calc "20 * ${MOST_OF[$1]}")" "$got"
    strict assert_percent "ticks of 200 threads ($1)" $ticks "$got" 1
    softly assert_percent "time spans of '$1', added up, in s" "$(calc "$got / 100")" \
        "$(calc "$(query "$T/$1.jfr" $WALL_EVENT span "$pool" | cut -d' ' -f1) / 1e9")" 2
    strict assert_percent "time spans of '$1', added up, in s" $((200 * SECONDS_OF_IT)) \
        "$(calc "$(query "$T/$1.jfr" $WALL_EVENT span "$pool" | cut -d' ' -f1) / 1e9")" 1
}
ticks_near batch
ticks_near ticks
others=$(query "$T/batch.jfr" $WALL_EVENT state "$pool" 'state=(?!STATE_PARKED$).*')
softly assert_eq "ticks of 200 threads that are not PARKED" 0 "$(awk '{ n += $1 } END { print n + 0 }' <<<"$others")" \
    "$others, at $(query "$T/batch.jfr" $WALL_EVENT stack "$pool" 'state=(?!STATE_PARKED$).*' | head -n 3)"
softly assert_ge "ticks an event, of threads that sleep" 20 \
    "$(calc "$(weight "$T/batch.jfr" $WALL_EVENT) / $(events "$T/batch.jfr")")"
softly assert_eq "events with --nobatch" "$(weight "$T/ticks.jfr" $WALL_EVENT)" "$(events "$T/ticks.jfr")"
jvm_end
softly_end
