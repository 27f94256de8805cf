#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon daemon, isolated as it is by itself: what parses is nobody, without rights; its files are made for it, root's and in the
# daemon's directory; where it is killed another one goes on in the next file, and what was lost is told; two users' JVMs
# have one each. Then what the daemon is held to when JVMs or itself end (daemon_flight), without.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon daemon
need_cmd setpriv

REC=$T/recordings
SOCK=$T/gnomon.sock
JDK=$(jdk_newest)

namers() { pgrep -P "$DAEMON" -x gnomon-namer; }
namers_are() { [ "$(namers | wc -l)" = "$1" ]; }
status_of() { awk -v k="$2:" '$1 == k { print $2 }' "/proc/$1/status"; }

# nobody PID: it has no rights, and may get none
nobody() {
    assert_eq "its user" "$(id -u nobody)" "$(status_of "$1" Uid)"
    assert_eq "its capabilities" 0000000000000000 "$(status_of "$1" CapPrm)"
    assert_eq "no new ones" 1 "$(status_of "$1" NoNewPrivs)"
    assert_eq "its calls are those of a list" 2 "$(status_of "$1" Seccomp)"
}

classes_seen
CLASSES=$SEEN
own_jar Idle
chmod a+rx "$T" && chmod a+r "$OWN_JAR"
jvm_start -jar "$OWN_JAR" 2 1 10
FIRST=$JVM_PID
printf '%s\n' "directory = $REC" "socket = $SOCK" "chunk-time = 1s" "min-free = 0" "record = no" \
    "[mine]" "name = $OWN_NAME.jar" >"$CONF"
daemon_start
wait_files "$FIRST" 3
assert_eq "processes that name" 1 "$(namers | wc -l)"
OURS=$(namers)
nobody "$OURS"
assert_eq "whose the files are" "0 600" "$(files_of "$FIRST" | xargs stat -c '%u %a' | sort -u)"

jvm_pipes
setpriv --reuid=1234 --regid=1234 --clear-groups "$JDK/bin/java" -jar "$OWN_JAR" 2 1 10 \
    <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
SECOND=$!
CHILDREN+=("$SECOND")
jvm_ready "that of another user"
wait_files "$SECOND" 3
until_true 60 namers_are 2 || fail "two users have $(namers | wc -l) processes that name"

# One is lost, and its JVM's recording goes on, with all that its files had said. The other's has lost nothing.
ask set "$FIRST" --cpu 40ms --for 1h >"$T/out" || fail "set: $(cat "$T/out")"
rates() { query "$(files_of "$FIRST" | tail -n 2 | head -n 1)" values gnomon.RateChange cpuInterval; }
is_slow() { rates 2>/dev/null | grep -q 40000000; }
until_true 60 is_slow || fail "its rate is not told: $(rates)"
n=$(files_of "$FIRST" | wc -l)
kill -KILL "$OURS"
wait_files "$FIRST" $((n + 4))
wait_files "$SECOND" $((n + 2))
until_true 60 namers_are 2 || fail "nobody takes over"
is_slow || fail "its rate is not told any more: $(rates)"
"$GNOMON" dump "$FIRST" --socket "$SOCK" --last 1m -o "$T/first.jfr" 2>"$T/err" || fail "dump: $(cat "$T/err")"
"$GNOMON" dump "$SECOND" --socket "$SOCK" --last 1m -o "$T/second.jfr" 2>"$T/err" || fail "dump: $(cat "$T/err")"
assert_ge "what is told as lost" 1 "$(query "$T/first.jfr" values gnomon.SamplesLost kind reason | grep -c 'process that names')"
assert_eq "what the other one lost so" 0 "$(query "$T/second.jfr" values gnomon.SamplesLost kind reason | grep -c 'process that names')"

# Where ever more are lost there is none for half a minute, and then both go on. So soon one after the other they have said
# nothing of the JVMs, which are recorded all the same.
rests() { [ "$(grep -c 'there is another one in 30 s' "$T/daemon.err")" = 2 ]; }
for _ in {1..600}; do
    rests && break
    namers | xargs -r kill -KILL 2>/dev/null
    nap 0.05
done
rests || fail "ever more are lost, and nobody says so: $(cat "$T/daemon.err")"
n=$(files_of "$FIRST" | wc -l) m=$(files_of "$SECOND" | wc -l)
wait_files "$FIRST" $((n + 3))
wait_files "$SECOND" $((m + 3))
ask status >"$T/status"
for pid in "$FIRST" "$SECOND"; do assert_match "both are recorded" "^ *$pid" "$T/status"; done
assert_eq "none is given up" 0 "$(grep -c 'not recorded any more' "$T/daemon.err")"
daemon_stop
kill "$FIRST" "$SECOND"
FLIGHT_SHORT=1 ISOLATE=0 "$(dirname "$0")/daemon_flight.sh"
