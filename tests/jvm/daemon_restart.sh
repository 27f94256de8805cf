#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A daemon that another one follows, as at an upgrade: what the first has recorded is whole, the second goes on beside it
# in the same directory, nothing is recorded twice, and what lies between is two seconds at most (where nothing else
# runs).
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon status

REC=$T/recordings
SOCK=$T/gnomon.sock

samples() { "$GNOMON" status --metrics --socket "$SOCK" 2>/dev/null | awk -v n="gnomon_jvm_samples_total{pid=\"$PID\"" 'index($0, n) == 1 && /kind="cpu"/ { print $NF }'; }
more_than() { [ "$(samples)" -gt "$1" ] 2>/dev/null; }

own_jar Idle
JDK=$(jdk_newest)
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
jvm_start -jar "$OWN_JAR" 2 1
PID=$JVM_PID
printf '%s\n' "directory = $REC" "socket = $SOCK" "min-free = 0" "no-vitals = yes" "record = no" \
    "[mine]" "name = $OWN_NAME.jar" >"$CONF"
daemon_run
until_true 120 more_than 20 || fail "it is not recorded: $(cat "$T/daemon.err")"
stopped=$EPOCHREALTIME
daemon_stop
find "$REC" -name '*.jfr' | LC_ALL=C sort >"$T/first"
daemon_run
until_true 120 more_than 20 || fail "it is not recorded by the second one: $(cat "$T/daemon.err")"
took=$(since "$stopped")
daemon_stop
find "$REC" -name '*.jfr' | LC_ALL=C sort >"$T/all"
assert_eq "directories" 1 "$(find "$REC" -mindepth 1 -maxdepth 1 -type d | wc -l)"
comm -13 "$T/first" "$T/all" >"$T/second"
assert_ge "files of the second one" 1 "$(wc -l <"$T/second")"
times() { while read -r f; do query "$f" values $CPU_EVENT startTime; done <"$1" | sort -n; }
last=$(times "$T/first" | tail -n 1)
next=$(times "$T/second" | head -n 1)
[ -n "$last" ] && [ -n "$next" ] || fail "no samples: $last, $next"
gap=$(((next - last) / 1000000))
# it is recorded until the one is told to end, and again before the other is seen to have samples; on a busy machine its
# thread may have no CPU for a second or two
assert_between "ms between the last sample of one and the first of the other" 0 "$(calc "$took + 2000")" "$gap"
strict assert_between "ms that are not recorded" 0 2000 "$gap"
note "not recorded: $gap ms"
while read -r f; do jfr_silent "$JDK" summary "$f"; done <"$T/all"
jvm_unharmed
